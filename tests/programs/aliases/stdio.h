/* Part of aliases.c: the C library's streams. */

extern size_t __fread_chk(void *, size_t, size_t, size_t, FILE *);
extern char *__fgets_chk(char *, size_t, int, FILE *);
extern int __dprintf_chk(int, int, const char *, ...);
extern int __vdprintf_chk(int, int, const char *, va_list);
extern int __printf_chk(int, const char *, ...);
extern int __fprintf_chk(FILE *, int, const char *, ...);
extern int __vprintf_chk(int, const char *, va_list);
extern int __vfprintf_chk(FILE *, int, const char *, va_list);

/* As many letters as bytes are to be written. */
static const char *text(void)
{
    memset(buffer, 'y', size);
    buffer[size] = 0;
    return buffer;
}

static void opens_stream(void)
{
    file();
    EACH CHECK(fclose(AS(fopen)(path, "r")) == 0);
    expect("fopen", count, 0);
    expect("fclose", count, 0);
}

static void opens_descriptor_stream(void)
{
    file();
    EACH CHECK(fclose(AS(fdopen)(open(path, O_RDONLY), "r")) == 0);
    expect("open", count, 0);
    expect("fopen", count, 0);
    expect("fclose", count, 0);
}

static void closes_stream(void)
{
    file();
    EACH CHECK(AS(fclose)(fopen(path, "r")) == 0);
    expect("fopen", count, 0);
    expect("fclose", count, 0);
}

static void opens_temporary_stream(void)
{
    EACH CHECK(AS(tmpfile)());
    expect_in("-", "fopen", count, 0);
}

STREAM(reopens_stream, "r", "fopen", 0, AS(freopen)(path, "r", open_stream) == open_stream)
STREAM(reads_items, "r", "fread", count * size, AS(fread)(buffer, 1, size, open_stream) == size)
STREAM(reads_items_chk, "r", "fread", count * size,
       AS(__fread_chk)(buffer, sizeof buffer, 1, size, open_stream) == size)
STREAM(writes_items, "r+", "fwrite", count * size, AS(fwrite)(buffer, 1, size, open_stream) == size)
STREAM(reads_line, "r", "fgets", count * size,
       AS(fgets)(buffer, sizeof buffer, open_stream) == buffer)
STREAM(reads_line_chk, "r", "fgets", count * size,
       AS(__fgets_chk)(buffer, sizeof buffer, sizeof buffer, open_stream) == buffer)
STREAM(writes_text, "r+", "fputs", count * size, AS(fputs)(text(), open_stream) >= 0)
STREAM(reads_byte, "r", "fgetc", count, AS(fgetc)(open_stream) >= 0)
STREAM(writes_byte, "r+", "fputc", count, AS(fputc)('z', open_stream) == 'z')
STREAM(writes_byte_of_full, "r+", "fputc", count, AS(__overflow)(open_stream, 'z') == 'z')
STREAM(seeks_stream, "r", "fseek", 0, AS(fseek)(open_stream, size, SEEK_SET) == 0)
STREAM(seeks_stream_far, "r", "fseek", 0, AS(fseeko)(open_stream, size, SEEK_SET) == 0)
STREAM(flushes, "r+", "fflush", 0, AS(fflush)(open_stream) == 0)
STREAM(rewinds, "r", "fseek", 0, (AS(rewind)(open_stream), 1))
STANDARD(writes_line, 1, "fputs", count * (size + 1), AS(puts)(text()) >= 0)
STANDARD(reads_input_byte, 0, "fgetc", count, AS(getchar)() >= 0)
STANDARD(writes_output_byte, 1, "fputc", count, AS(putchar)('z') == 'z')

static void restores_position(void)
{
    FILE *open_stream = stream("r");
    fpos_t position;
    CHECK(fgetpos(open_stream, &position) == 0);
    EACH CHECK(AS(fsetpos)(open_stream, &position) == 0);
    done(open_stream, "fseek", 0);
}

static char *line;
static size_t line_room;
STREAM(gets_delimited, "r", "getline", count * size,
       AS(getdelim)(&line, &line_room, '\n', open_stream) == (ssize_t)size)
STREAM(gets_line, "r", "getline", count * size,
       AS(getline)(&line, &line_room, open_stream) == (ssize_t)size)

/* Formatted output and input, with more arguments than registers hold. */
#define FORMAT "%.*s%s%s%s%s%s%.0f"
#define ARGUMENTS (int)size - 1, text(), "", "", "", "", "", 3.0
STREAM(prints, "r+", "fprintf", count * size, AS(fprintf)(open_stream, FORMAT, ARGUMENTS) == (int)size)
STREAM(prints_chk, "r+", "fprintf", count * size,
       AS(__fprintf_chk)(open_stream, 1, FORMAT, ARGUMENTS) == (int)size)
STANDARD(prints_output, 1, "fprintf", count * size, AS(printf)(FORMAT, ARGUMENTS) == (int)size)
STANDARD(prints_output_chk, 1, "fprintf", count * size,
         AS(__printf_chk)(1, FORMAT, ARGUMENTS) == (int)size)
DATA(prints_descriptor, "write", AS(dprintf)(fd, FORMAT, ARGUMENTS))
DATA(prints_descriptor_chk, "write", AS(__dprintf_chk)(fd, 1, FORMAT, ARGUMENTS))
/* All but the last newline, which the next word would begin with. */
#define SCANNED (count * (long)size - 1)
STREAM(scans, "r", "fscanf", SCANNED, AS(fscanf)(open_stream, "%s", buffer) == 1)
/* Of other functions on standard input, bytes of another file may be left in the buffer. */
#define WITHOUT_REST(call_it) (call == 0 ? __fpurge(stdin) : (void)0, (call_it))
STANDARD(scans_input, 0, "fscanf", SCANNED, WITHOUT_REST(AS(scanf)("%s", buffer) == 1))

/* The same with a list of arguments: how the list is passed on is what differs. */
#define THROUGH_LIST(helper, call_it)                                        \
    static int helper(FILE *open_stream, ...)                                \
    {                                                                        \
        va_list list;                                                        \
        va_start(list, open_stream);                                         \
        int result = (call_it);                                              \
        va_end(list);                                                        \
        return result;                                                       \
    }
static int open_descriptor;
THROUGH_LIST(print_descriptor_list, AS(vdprintf)(open_descriptor, FORMAT, list))
THROUGH_LIST(print_descriptor_list_chk, AS(__vdprintf_chk)(open_descriptor, 1, FORMAT, list))
THROUGH_LIST(print_list, AS(vfprintf)(open_stream, FORMAT, list))
THROUGH_LIST(print_list_chk, AS(__vfprintf_chk)(open_stream, 1, FORMAT, list))
THROUGH_LIST(print_output_list, AS(vprintf)(FORMAT, list))
THROUGH_LIST(print_output_list_chk, AS(__vprintf_chk)(1, FORMAT, list))
THROUGH_LIST(scan_list, AS(vfscanf)(open_stream, "%s", list))
THROUGH_LIST(scan_input_list, AS(vscanf)("%s", list))
DATA(prints_descriptor_list, "write",
     (open_descriptor = fd, print_descriptor_list(NULL, ARGUMENTS)))
DATA(prints_descriptor_list_chk, "write",
     (open_descriptor = fd, print_descriptor_list_chk(NULL, ARGUMENTS)))
STREAM(prints_list, "r+", "fprintf", count * size, print_list(open_stream, ARGUMENTS) == (int)size)
STREAM(prints_list_chk, "r+", "fprintf", count * size,
       print_list_chk(open_stream, ARGUMENTS) == (int)size)
STANDARD(prints_output_list, 1, "fprintf", count * size,
         print_output_list(stdout, ARGUMENTS) == (int)size)
STANDARD(prints_output_list_chk, 1, "fprintf", count * size,
         print_output_list_chk(stdout, ARGUMENTS) == (int)size)
STREAM(scans_list, "r", "fscanf", SCANNED, scan_list(open_stream, buffer) == 1)
STANDARD(scans_input_list, 0, "fscanf", SCANNED,
         WITHOUT_REST(scan_input_list(stdin, buffer) == 1))

#define STDIO_ROWS                                                                              \
    { "fopen", opens_stream }, { "fopen64", opens_stream }, { "freopen", reopens_stream },      \
    { "freopen64", reopens_stream }, { "fdopen", opens_descriptor_stream },                     \
    { "fclose", closes_stream }, { "fread", reads_items }, { "fread_unlocked", reads_items },   \
    { "__fread_chk", reads_items_chk }, { "__fread_unlocked_chk", reads_items_chk },            \
    { "fwrite", writes_items }, { "fwrite_unlocked", writes_items }, { "fgets", reads_line },   \
    { "fgets_unlocked", reads_line }, { "__fgets_chk", reads_line_chk },                        \
    { "__fgets_unlocked_chk", reads_line_chk }, { "fputs", writes_text },                       \
    { "fputs_unlocked", writes_text }, { "puts", writes_line }, { "fgetc", reads_byte },        \
    { "getc", reads_byte }, { "_IO_getc", reads_byte }, { "__uflow", reads_byte },              \
    { "fgetc_unlocked", reads_byte }, { "getc_unlocked", reads_byte },                          \
    { "getchar", reads_input_byte }, { "getchar_unlocked", reads_input_byte },                  \
    { "fputc", writes_byte }, { "putc", writes_byte }, { "_IO_putc", writes_byte },             \
    { "__overflow", writes_byte_of_full }, { "fputc_unlocked", writes_byte },                   \
    { "putc_unlocked", writes_byte }, { "putchar", writes_output_byte },                        \
    { "putchar_unlocked", writes_output_byte }, { "getdelim", gets_delimited },                 \
    { "__getdelim", gets_delimited }, { "getline", gets_line }, { "printf", prints_output },    \
    { "fprintf", prints }, { "__printf_chk", prints_output_chk },                               \
    { "__fprintf_chk", prints_chk }, { "vprintf", prints_output_list },                         \
    { "vfprintf", prints_list }, { "__vprintf_chk", prints_output_list_chk },                   \
    { "__vfprintf_chk", prints_list_chk }, { "fscanf", scans }, { "__isoc99_fscanf", scans },   \
    { "__isoc23_fscanf", scans }, { "vfscanf", scans_list },                                    \
    { "__isoc99_vfscanf", scans_list }, { "__isoc23_vfscanf", scans_list },                     \
    { "scanf", scans_input }, { "__isoc99_scanf", scans_input },                                \
    { "__isoc23_scanf", scans_input }, { "vscanf", scans_input_list },                          \
    { "__isoc99_vscanf", scans_input_list }, { "__isoc23_vscanf", scans_input_list },           \
    { "fseek", seeks_stream }, { "fseeko", seeks_stream_far },                                  \
    { "fseeko64", seeks_stream_far }, { "fsetpos", restores_position },                         \
    { "fsetpos64", restores_position }, { "rewind", rewinds }, { "fflush", flushes },           \
    { "fflush_unlocked", flushes }, { "dprintf", prints_descriptor },                           \
    { "__dprintf_chk", prints_descriptor_chk }, { "vdprintf", prints_descriptor_list },         \
    { "__vdprintf_chk", prints_descriptor_list_chk },
