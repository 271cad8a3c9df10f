//! The header says what the library has, and programs in C work with it.

use std::collections::BTreeSet;
use std::ffi::{CString, c_char, c_int, c_void};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use plimsoll_stow::{Container, Reader, check};
use plimsoll_stow_c::*;

/// A type, in Rust and in C.
trait Spelled {
    const IN_C: &'static str;
}

macro_rules! spelled {
    ($($rust:ty = $c:literal),* $(,)?) => {
        $(impl Spelled for $rust { const IN_C: &'static str = $c; })*
    };
}

spelled! {
    c_int = "int", i64 = "int64_t", u64 = "uint64_t", usize = "size_t", isize = "ssize_t",
    *mut Handle = "plimsoll_stow *", *const c_char = "const char *", *const c_void = "const void *",
    *mut c_void = "void *", *const *const c_char = "const char *const *",
}

/// The functions: their types are compared with the code by the compiler of Rust, and with the header by that of C.
macro_rules! functions {
    ($($name:ident($($argument:ty),*) -> $result:ty;)*) => {
        fn prototypes() -> Vec<(&'static str, String)> {
            vec![$({
                let _: unsafe extern "C" fn($($argument),*) -> $result = $name;
                let arguments: Vec<&str> = vec![$(<$argument as Spelled>::IN_C),*];
                let arguments =
                    if arguments.is_empty() { "void".to_string() } else { arguments.join(", ") };
                let result = <$result as Spelled>::IN_C;
                (stringify!($name), format!("{result} (*)({arguments})"))
            }),*]
        }
    };
}

functions! {
    plimsoll_stow_api() -> c_int;
    plimsoll_stow_open(*const c_char, c_int, *const *const c_char, usize) -> *mut Handle;
    plimsoll_stow_write_at(*mut Handle, *const c_void, usize, u64) -> isize;
    plimsoll_stow_append(*mut Handle, *const c_void, usize) -> i64;
    plimsoll_stow_read_at(*mut Handle, *mut c_void, usize, u64) -> isize;
    plimsoll_stow_refresh(*mut Handle) -> c_int;
    plimsoll_stow_size(*mut Handle) -> i64;
    plimsoll_stow_truncate(*mut Handle, u64) -> c_int;
    plimsoll_stow_sync(*mut Handle) -> c_int;
    plimsoll_stow_close(*mut Handle) -> c_int;
    plimsoll_stow_error() -> *const c_char;
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Returns the library that was built beside this test; cargo builds it for tests of its own package.
fn library(ending: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let name = format!("libplimsoll_stow_c.{ending}");
    let mut folders = test.ancestors().skip(1).take(2);
    folders.find_map(|it| Some(it.join(&name)).filter(|it| it.exists())).expect(&name)
}

/// Compiles a program; `None`, and says so, without a compiler.
fn compile(source: &Path, program: &Path, arguments: &[&str]) -> Option<()> {
    let mut command = Command::new("cc");
    command.args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O1", "-I"]);
    command.arg(root().join("include")).arg("-o").arg(program).arg(source).args(arguments);
    let Ok(output) = command.output() else {
        eprintln!("SKIPPED: there is no C compiler");
        return None;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(())
}

#[test]
fn the_header_says_what_the_library_has() {
    let header = fs::read_to_string(root().join("include/plimsoll_stow.h")).unwrap();
    let declared: BTreeSet<&str> = header
        .lines()
        .filter(|line| line.ends_with(");") && !line.starts_with([' ', '*', '/']))
        .filter_map(|line| line[..line.find('(')?].rsplit([' ', '*']).next())
        .collect();
    let prototypes = prototypes();
    assert_eq!(declared, prototypes.iter().map(|(name, _)| *name).collect());
    assert!(header.contains(&format!("#define PLIMSOLL_STOW_API {API}")));
    let mut source = "#include <plimsoll_stow.h>\n".to_string();
    for (name, prototype) in &prototypes {
        source += &format!(
            "_Static_assert(__builtin_types_compatible_p(__typeof__(&{name}), {prototype}), \"{name}\");\n"
        );
    }
    source += "int main(void) { return plimsoll_stow_api() == PLIMSOLL_STOW_API ? 0 : 1; }\n";
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("prototypes.c");
    fs::write(&path, source).unwrap();
    let program = folder.path().join("prototypes");
    let library = library("so");
    if compile(&path, &program, &[library.to_str().unwrap()]).is_some() {
        // Found by its name, as it is installed.
        std::os::unix::fs::symlink(library, folder.path().join("libplimsoll_stow.so.1")).unwrap();
        let status = Command::new(program).env("LD_LIBRARY_PATH", folder.path()).status().unwrap();
        assert_eq!(status.code(), Some(0));
    }
}

#[test]
fn four_processes_of_a_program_in_c_write_one_container() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let targets = ["ost0", "ost1"].map(|name| folder.path().join(name));
    targets.iter().for_each(|it| fs::create_dir(it).unwrap());
    let (path, program) = (folder.path().join("big"), folder.path().join("strided"));
    let source = root().join("crates/stow-c/example/strided.c");
    let library = library("a");
    let with = [library.to_str().unwrap(), "-lpthread", "-ldl", "-lm"];
    if compile(&source, &program, &with).is_none() {
        return;
    }
    let output = Command::new(&program).arg(&path).args(&targets).output().unwrap();
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "12320768 bytes by 4 processes\n");
    let reader = Reader::open(Arc::new(Container::open(&path, &[]).unwrap())).unwrap();
    assert_eq!((reader.size(), check(&reader, &mut |_| ()).unwrap()), (12_320_768, Vec::new()));
    let mut bytes = vec![0; 12_320_768];
    reader.read_verified_at(&mut bytes, 0).unwrap();
    let is_right = |(number, record): (usize, &[u8])| {
        record.iter().all(|it| usize::from(*it) == usize::from(b'a') + number % 26)
    };
    assert!(bytes.chunks(47 * 1024).enumerate().all(is_right));
    // A second run finds the container there and writes over it; without rights or targets it says why.
    assert!(Command::new(&program).arg(&path).args(&targets).status().unwrap().success());
    let refused = Command::new(&program).arg(folder.path().join("none/big")).arg("x").output();
    let words = String::from_utf8_lossy(&refused.unwrap().stderr).into_owned();
    assert!(words.contains("No such file or directory"), "{words}");
}

#[test]
fn a_child_cannot_use_the_handle_of_its_parent() {
    const SOURCE: &str = r#"
        #include <errno.h>
        #include <sys/wait.h>
        #include <unistd.h>
        #include <plimsoll_stow.h>
        int main(int argc, char **argv)
        {
            const char *const targets[] = {argv[argc - 1]};
            plimsoll_stow *box =
                plimsoll_stow_open(argv[1], PLIMSOLL_STOW_WRITE | PLIMSOLL_STOW_CREATE, targets, 1);
            if (!box || plimsoll_stow_write_at(box, "a", 1, 0) != 1)
                return 1;
            if (fork() == 0) {
                int is_refused = plimsoll_stow_write_at(box, "b", 1, 1) == -1 && errno == EBADF;
                _exit(is_refused && plimsoll_stow_close(box) == 0 ? 0 : 2);
            }
            int status;
            wait(&status);
            if (plimsoll_stow_write_at(box, "c", 1, 1) != 1 || plimsoll_stow_close(box) != 0)
                return 3;
            return WEXITSTATUS(status);
        }"#;
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let (source, program) = (folder.path().join("child.c"), folder.path().join("child"));
    fs::write(&source, SOURCE).unwrap();
    let library = library("a");
    let with = [library.to_str().unwrap(), "-lpthread", "-ldl", "-lm"];
    if compile(&source, &program, &with).is_none() {
        return;
    }
    let path = folder.path().join("box");
    let status = Command::new(&program).arg(&path).arg(folder.path()).status().unwrap();
    assert_eq!(status.code(), Some(0));
    let reader = Reader::open(Arc::new(Container::open(&path, &[]).unwrap())).unwrap();
    let mut bytes = [0; 2];
    reader.read_verified_at(&mut bytes, 0).unwrap();
    assert_eq!(&bytes, b"ac");
}

/// Returns errno and the text of the last failure.
fn failure() -> (i32, String) {
    // SAFETY: it is a C string until the next failure of this thread.
    let text = unsafe { std::ffi::CStr::from_ptr(plimsoll_stow_error()) };
    (errno::errno().0, text.to_string_lossy().into_owned())
}

#[test]
fn a_failed_call_says_why_and_a_wrong_one_is_refused() {
    use rustix::io::Errno;
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let text = |path: &Path| CString::new(path.to_str().unwrap()).unwrap();
    let (path, target) = (text(&folder.path().join("box")), text(folder.path()));
    let targets = [target.as_ptr()];
    // SAFETY: all pointers are to values that live through the calls, and lengths are those of the values.
    unsafe {
        let open = |flags| plimsoll_stow_open(path.as_ptr(), flags, targets.as_ptr(), 1);
        for (flags, errno) in
            [(0, Errno::INVAL), (64, Errno::INVAL), (1 | 16, Errno::INVAL), (1, Errno::NOENT)]
        {
            assert!(open(flags).is_null());
            assert_eq!(failure().0, errno.raw_os_error(), "{flags}: {}", failure().1);
        }
        assert!(plimsoll_stow_open(std::ptr::null(), 1, std::ptr::null(), 0).is_null());
        assert!(plimsoll_stow_open(path.as_ptr(), 1, std::ptr::null(), 2).is_null());
        let writer = open(2 | 4 | 8);
        assert!(!writer.is_null(), "{}", failure().1);
        assert!(open(2 | 4 | 8).is_null());
        assert_eq!(failure().0, Errno::EXIST.raw_os_error());
        let bytes = b"some words";
        let count = bytes.len();
        assert_eq!(plimsoll_stow_write_at(writer, bytes.as_ptr().cast(), count, 5), 10);
        assert_eq!(plimsoll_stow_append(writer, bytes.as_ptr().cast(), count), 15);
        assert_eq!(plimsoll_stow_write_at(writer, std::ptr::null(), 0, 5), 0);
        assert_eq!(plimsoll_stow_write_at(writer, std::ptr::null(), 1, 5), -1);
        assert_eq!(plimsoll_stow_write_at(writer, bytes.as_ptr().cast(), count, u64::MAX), -1);
        assert_eq!(failure().0, Errno::FBIG.raw_os_error());
        let mut room = [1u8; 40];
        assert_eq!(plimsoll_stow_read_at(writer, room.as_mut_ptr().cast(), 40, 0), -1);
        assert_eq!(failure(), (9, "it was not opened with PLIMSOLL_STOW_READ".into()));
        let both = open(1 | 2);
        assert_eq!(plimsoll_stow_size(both), 25);
        assert_eq!(plimsoll_stow_read_at(both, room.as_mut_ptr().cast(), 40, 3), 22);
        assert_eq!(&room[..23], b"\0\0some wordssome words\x01");
        // Its own writes are seen at once, those of others after a refresh.
        assert_eq!(plimsoll_stow_truncate(both, 7), 0);
        assert_eq!(plimsoll_stow_size(both), 7);
        assert_eq!(plimsoll_stow_write_at(writer, bytes.as_ptr().cast(), count, 90), 10);
        assert_eq!((plimsoll_stow_size(both), plimsoll_stow_refresh(both)), (7, 0));
        assert_eq!(plimsoll_stow_size(both), 100);
        assert_eq!((plimsoll_stow_sync(both), plimsoll_stow_close(both)), (0, 0));
        assert_eq!(plimsoll_stow_close(writer), 0);
        let reader = open(1);
        assert_eq!(plimsoll_stow_size(reader), 100);
        assert_eq!(plimsoll_stow_sync(reader), -1);
        assert_eq!(plimsoll_stow_close(reader), 0);
        assert_eq!((plimsoll_stow_size(std::ptr::null_mut()), failure().0), (-1, 22));
        assert_eq!(plimsoll_stow_close(std::ptr::null_mut()), 0);
        let empty = open(2 | 16);
        assert_eq!(plimsoll_stow_close(empty), 0);
    }
}
