//! The operations that are recorded: one table for names, layers and classes.

/// Where in the software stack a call was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Layer {
    /// MPI-IO.
    Mpi,
    /// The C library's buffered streams.
    Stdio,
    /// System calls through the C library.
    Posix,
    /// What containers of `stow` do to their logs, within calls of the layers above.
    Logs,
}

impl Layer {
    /// Every layer, from the top of the stack to the bottom.
    pub const ALL: [Layer; 4] = [Layer::Mpi, Layer::Stdio, Layer::Posix, Layer::Logs];

    /// Those whose calls programs make.
    pub const OF_PROGRAMS: [Layer; 3] = [Layer::Mpi, Layer::Stdio, Layer::Posix];

    /// Returns its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Layer::Mpi => "mpi",
            Layer::Stdio => "stdio",
            Layer::Posix => "posix",
            Layer::Logs => "logs",
        }
    }
}

/// What an operation does, which decides the fields that an event of it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// Moves data from a file to memory; has offset and length.
    Read,
    /// Moves data from memory to a file; has offset and length.
    Write,
    /// Makes data durable.
    Sync,
    /// Moves a position; the argument is the new one.
    Seek,
    /// Takes or waits for a lock.
    Lock,
    /// Gives a lock back.
    Unlock,
    /// Opens a file.
    Open,
    /// Closes a file.
    Close,
    /// Names, attributes and directories.
    Metadata,
    /// Anything else.
    Other,
}

impl Class {
    /// Every class, in the order of their numbers.
    pub const ALL: [Class; 10] = [
        Class::Read,
        Class::Write,
        Class::Sync,
        Class::Seek,
        Class::Lock,
        Class::Unlock,
        Class::Open,
        Class::Close,
        Class::Metadata,
        Class::Other,
    ];

    /// Returns true for classes whose events have offset and length.
    #[inline]
    pub const fn is_data(self) -> bool {
        matches!(self, Class::Read | Class::Write)
    }
}

macro_rules! operations {
    ($($(#[$doc:meta])* $variant:ident = $number:literal $layer:ident $class:ident $name:literal;)*) => {
        /// An operation. Numbers are part of the file format: never reuse one.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        #[allow(missing_docs)] // the names say it
        pub enum Op { $($(#[$doc])* $variant = $number,)* }

        impl Op {
            /// Every operation.
            pub const ALL: &'static [Op] = &[$(Op::$variant,)*];

            /// Returns the operation of a number in a file.
            #[inline]
            pub const fn from_number(number: u8) -> Option<Op> {
                match number {
                    $($number => Some(Op::$variant),)*
                    _ => None,
                }
            }

            /// Returns its canonical name: pwrite64 is pwrite.
            pub const fn name(self) -> &'static str {
                match self { $(Op::$variant => $name,)* }
            }

            /// Returns the layer that it belongs to.
            #[inline]
            pub const fn layer(self) -> Layer {
                match self { $(Op::$variant => Layer::$layer,)* }
            }

            /// Returns what it does.
            #[inline]
            pub const fn class(self) -> Class {
                match self { $(Op::$variant => Class::$class,)* }
            }
        }
    };
}

impl Op {
    /// Returns true for transfers that go on while the program does something else: their time is not
    /// time that the program spends.
    #[inline]
    pub const fn is_asynchronous(self) -> bool {
        matches!(self, Op::AioRead | Op::AioWrite | Op::AioSync)
    }

    /// Returns true for calls of MPI-IO that begin a transfer, for which the program waits elsewhere: what moves the data may be in no call of this layer.
    #[inline]
    pub const fn is_nonblocking(self) -> bool {
        use Op::*;
        matches!(
            self,
            MpiIread
                | MpiIreadAt
                | MpiIreadAll
                | MpiIreadAtAll
                | MpiIreadShared
                | MpiIwrite
                | MpiIwriteAt
                | MpiIwriteAll
                | MpiIwriteAtAll
                | MpiIwriteShared
        )
    }
}

operations! {
    Open = 1 Posix Open "open";
    Close = 2 Posix Close "close";
    Read = 3 Posix Read "read";
    Write = 4 Posix Write "write";
    Pread = 5 Posix Read "pread";
    Pwrite = 6 Posix Write "pwrite";
    Readv = 7 Posix Read "readv";
    Writev = 8 Posix Write "writev";
    Preadv = 9 Posix Read "preadv";
    Pwritev = 10 Posix Write "pwritev";
    Lseek = 11 Posix Seek "lseek";
    Fsync = 12 Posix Sync "fsync";
    Fdatasync = 13 Posix Sync "fdatasync";
    SyncFileRange = 14 Posix Sync "sync_file_range";
    Ftruncate = 15 Posix Metadata "ftruncate";
    Truncate = 16 Posix Metadata "truncate";
    Fallocate = 17 Posix Metadata "fallocate";
    Lock = 18 Posix Lock "fcntl_lock";
    Unlock = 19 Posix Unlock "fcntl_unlock";
    Flock = 20 Posix Lock "flock";
    Funlock = 21 Posix Unlock "flock_unlock";
    Stat = 22 Posix Metadata "stat";
    Access = 23 Posix Metadata "access";
    Unlink = 24 Posix Metadata "unlink";
    Rename = 25 Posix Metadata "rename";
    Mkdir = 26 Posix Metadata "mkdir";
    Rmdir = 27 Posix Metadata "rmdir";
    Opendir = 28 Posix Metadata "opendir";
    Readdir = 29 Posix Metadata "readdir";
    Mmap = 30 Posix Other "mmap";
    Msync = 31 Posix Sync "msync";
    Munmap = 32 Posix Other "munmap";
    CopyFileRange = 33 Posix Write "copy_file_range";
    Sendfile = 34 Posix Read "sendfile";
    /// Version 1; since then one of the two below.
    Splice = 35 Posix Other "splice";
    Dup = 36 Posix Other "dup";
    Link = 37 Posix Metadata "link";
    Symlink = 38 Posix Metadata "symlink";
    Readlink = 39 Posix Metadata "readlink";
    Chmod = 40 Posix Metadata "chmod";
    Sync = 41 Posix Sync "sync";
    Closedir = 42 Posix Metadata "closedir";
    Statfs = 43 Posix Metadata "statfs";
    Xattr = 44 Posix Metadata "xattr";
    /// A transfer, from its beginning to when it was seen to be complete.
    AioRead = 45 Posix Read "aio_read";
    AioWrite = 46 Posix Write "aio_write";
    AioSync = 47 Posix Sync "aio_fsync";
    /// The source of a `copy_file_range`: one call has an event for each of its files.
    CopyFileRangeRead = 48 Posix Read "copy_file_range_read";
    /// The destination of a `sendfile`.
    SendfileWrite = 49 Posix Write "sendfile_write";
    SpliceRead = 50 Posix Read "splice_read";
    SpliceWrite = 51 Posix Write "splice_write";
    /// The call that begins asynchronous transfers; the argument says how many.
    AioSubmit = 52 Posix Other "aio_submit";
    /// The call that waits for asynchronous transfers.
    AioWait = 53 Posix Other "aio_wait";

    /// Of one log, from its first byte to its last one; there may be several system calls.
    LogRead = 56 Logs Read "log_read";
    LogWrite = 57 Logs Write "log_write";
    LogSync = 58 Logs Sync "log_sync";
    /// Waits for a target that takes more; the file is the target's directory.
    LogWait = 59 Logs Other "log_wait";

    Fopen = 64 Stdio Open "fopen";
    Fclose = 65 Stdio Close "fclose";
    Fread = 66 Stdio Read "fread";
    Fwrite = 67 Stdio Write "fwrite";
    Fgets = 68 Stdio Read "fgets";
    Fputs = 69 Stdio Write "fputs";
    Fgetc = 70 Stdio Read "fgetc";
    Fputc = 71 Stdio Write "fputc";
    Fprintf = 72 Stdio Write "fprintf";
    Fscanf = 73 Stdio Read "fscanf";
    Getline = 74 Stdio Read "getline";
    Fseek = 75 Stdio Seek "fseek";
    Fflush = 76 Stdio Sync "fflush";

    MpiOpen = 128 Mpi Open "MPI_File_open";
    MpiClose = 129 Mpi Close "MPI_File_close";
    MpiRead = 130 Mpi Read "MPI_File_read";
    MpiReadAt = 131 Mpi Read "MPI_File_read_at";
    MpiReadAll = 132 Mpi Read "MPI_File_read_all";
    MpiReadAtAll = 133 Mpi Read "MPI_File_read_at_all";
    MpiReadShared = 134 Mpi Read "MPI_File_read_shared";
    MpiReadOrdered = 135 Mpi Read "MPI_File_read_ordered";
    MpiIread = 136 Mpi Read "MPI_File_iread";
    MpiIreadAt = 137 Mpi Read "MPI_File_iread_at";
    MpiIreadAll = 138 Mpi Read "MPI_File_iread_all";
    MpiIreadAtAll = 139 Mpi Read "MPI_File_iread_at_all";
    MpiIreadShared = 140 Mpi Read "MPI_File_iread_shared";
    MpiReadAllBegin = 141 Mpi Read "MPI_File_read_all_begin";
    MpiReadAllEnd = 142 Mpi Other "MPI_File_read_all_end";
    MpiReadAtAllBegin = 143 Mpi Read "MPI_File_read_at_all_begin";
    MpiReadAtAllEnd = 144 Mpi Other "MPI_File_read_at_all_end";
    MpiReadOrderedBegin = 145 Mpi Read "MPI_File_read_ordered_begin";
    MpiReadOrderedEnd = 146 Mpi Other "MPI_File_read_ordered_end";
    MpiWrite = 150 Mpi Write "MPI_File_write";
    MpiWriteAt = 151 Mpi Write "MPI_File_write_at";
    MpiWriteAll = 152 Mpi Write "MPI_File_write_all";
    MpiWriteAtAll = 153 Mpi Write "MPI_File_write_at_all";
    MpiWriteShared = 154 Mpi Write "MPI_File_write_shared";
    MpiWriteOrdered = 155 Mpi Write "MPI_File_write_ordered";
    MpiIwrite = 156 Mpi Write "MPI_File_iwrite";
    MpiIwriteAt = 157 Mpi Write "MPI_File_iwrite_at";
    MpiIwriteAll = 158 Mpi Write "MPI_File_iwrite_all";
    MpiIwriteAtAll = 159 Mpi Write "MPI_File_iwrite_at_all";
    MpiIwriteShared = 160 Mpi Write "MPI_File_iwrite_shared";
    MpiWriteAllBegin = 161 Mpi Write "MPI_File_write_all_begin";
    MpiWriteAllEnd = 162 Mpi Other "MPI_File_write_all_end";
    MpiWriteAtAllBegin = 163 Mpi Write "MPI_File_write_at_all_begin";
    MpiWriteAtAllEnd = 164 Mpi Other "MPI_File_write_at_all_end";
    MpiWriteOrderedBegin = 165 Mpi Write "MPI_File_write_ordered_begin";
    MpiWriteOrderedEnd = 166 Mpi Other "MPI_File_write_ordered_end";
    MpiSeek = 170 Mpi Seek "MPI_File_seek";
    MpiSeekShared = 171 Mpi Seek "MPI_File_seek_shared";
    MpiSetView = 172 Mpi Other "MPI_File_set_view";
    MpiSetSize = 173 Mpi Metadata "MPI_File_set_size";
    MpiPreallocate = 174 Mpi Metadata "MPI_File_preallocate";
    MpiSync = 175 Mpi Sync "MPI_File_sync";
    MpiDelete = 176 Mpi Metadata "MPI_File_delete";
    MpiSetInfo = 177 Mpi Other "MPI_File_set_info";

    /// A call that may contain others begins; the event that ends it has its operation.
    Enter = 255 Posix Other "enter";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_are_unique_and_lead_back() {
        let mut names: Vec<&str> = Op::ALL.iter().map(|op| op.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Op::ALL.len());
        for &op in Op::ALL {
            assert_eq!(Op::from_number(op as u8), Some(op));
        }
        assert_eq!(Op::from_number(0), None);
    }

    #[test]
    fn layers_have_the_names_that_reports_use() {
        assert_eq!(Layer::ALL.map(Layer::name), ["mpi", "stdio", "posix", "logs"]);
    }
}
