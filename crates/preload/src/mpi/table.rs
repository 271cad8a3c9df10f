//! The table of MPI functions that are intercepted. Exports, the functions behind them and the
//! list of names come from it.
//!
//! The rows are at the end of this file, below the macros that read them; functions with the same arguments share
//! one. For example,
//!
//! ```text
//! data::transfer, (Explicit Status), (file, offset, buffer, count, datatype, status) {
//!     "File_write_at" MpiWriteAt;
//! }
//! ```
//!
//! makes `MPI_File_write_at` and `PMPI_File_write_at` of these arguments. Both call `data::transfer`, which calls the
//! real function and records a `MpiWriteAt`; the shape says that the offset is an argument and that the last argument
//! is a status. As its rows are under "two counts", there are also `MPI_File_write_at_c` and
//! `PMPI_File_write_at_c`, whose counts are of type MPI_Count instead of int. The shape of a function that moves no data is `()`.

use core::ffi::c_int;

use plimsoll_trace::Op;

use super::real::{RealMpi, Words, text};
use super::{Last, MpiFunction, Position, Shape, control, data, meeting, session};

macro_rules! functions {
    (
        one count: {
            $($handler:path, $shape:tt, $words:tt { $($name:literal $op:ident;)* })*
        }
        two counts: {
            $($data_handler:path, $data_shape:tt, $data_words:tt {
                $($data_name:literal $data_op:ident;)*
            })*
        }
    ) => {
        /// Names without `MPI_` and `PMPI_`, and what they are recorded as. `Op::Enter` stands
        /// for functions that make no event.
        pub const FUNCTIONS: &[(&str, Op)] = &[
            $($(($name, Op::$op),)*)*
            $($(($data_name, Op::$data_op), (concat!($data_name, "_c"), Op::$data_op),)*)*
        ];

        $($(both!($handler, $op, (shape!($shape false)), $words, $name);)*)*
        $($(
            both!($data_handler, $data_op, (shape!($data_shape false)), $data_words, $data_name);
            both!($data_handler, $data_op, (shape!($data_shape true)), $data_words,
                $data_name "_c");
        )*)*
    };
}

macro_rules! shape {
    (() $is_large:literal) => {
        Shape::Other
    };
    (($position:ident $last:ident) $is_large:literal) => {
        Shape::Data { position: Position::$position, last: Last::$last, is_large: $is_large }
    };
}

/// The `MPI_` and the `PMPI_` hook of a function.
macro_rules! both {
    ($handler:path, $op:ident, $shape:tt, $words:tt, $name:literal $($large:literal)?) => {
        hook!($handler, $op, $shape, $words, "MPI_" "PMPI_" $name $($large)?);
        hook!($handler, $op, $shape, $words, "PMPI_" "MPI_" $name $($large)?);
    };
}

macro_rules! hook {
    (
        $handler:path, $op:ident, ($shape:expr), ($($word:ident),*),
        $prefix:literal $other:literal $name:literal $($large:literal)?
    ) => {
        const _: () = {
            static FUNCTION: MpiFunction = MpiFunction {
                op: Op::$op,
                shape: $shape,
                real: RealMpi::new(
                    [
                        text(concat!($prefix, $name, $($large,)? "\0")),
                        text(concat!($other, $name, $($large,)? "\0")),
                    ],
                    [text(concat!($prefix, $name, "\0")), text(concat!($other, $name, "\0"))],
                    count(&[$(stringify!($word)),*]),
                    $shape.count_at(),
                ),
            };

            #[unsafe(export_name = concat!($prefix, $name $(, $large)?))]
            extern "C-unwind" fn hook($($word: usize),*) -> c_int {
                let result = $handler(&FUNCTION, words([$($word),*]));
                meeting::note();
                result
            }
        };
    };
}

functions! {
    one count: {
        session::init, (), (argc, argv) { "Init" Enter; }
        session::init, (), (argc, argv, required, provided) { "Init_thread" Enter; }
        session::finalize, (), () { "Finalize" Enter; }

        control::open, (), (comm, name, mode, info, file) { "File_open" MpiOpen; }
        control::close, (), (file) { "File_close" MpiClose; }
        control::delete, (), (name, info) { "File_delete" MpiDelete; }
        control::set_view, (), (file, displacement, etype, filetype, representation, info) {
            "File_set_view" MpiSetView;
        }
        control::seek, (), (file, offset, whence) { "File_seek" MpiSeek; }
        control::seek_shared, (), (file, offset, whence) { "File_seek_shared" MpiSeekShared; }
        control::set_size, (), (file, size) {
            "File_set_size" MpiSetSize;
            "File_preallocate" MpiPreallocate;
        }
        control::plain, (), (file) { "File_sync" MpiSync; }
        control::set_info, (), (file, info) { "File_set_info" MpiSetInfo; }

        control::plain, (), (file, buffer, status) {
            "File_read_all_end" MpiReadAllEnd;
            "File_read_at_all_end" MpiReadAtAllEnd;
            "File_read_ordered_end" MpiReadOrderedEnd;
            "File_write_all_end" MpiWriteAllEnd;
            "File_write_at_all_end" MpiWriteAtAllEnd;
            "File_write_ordered_end" MpiWriteOrderedEnd;
        }
    }
    two counts: {
        data::transfer, (Explicit Status), (file, offset, buffer, count, datatype, status) {
            "File_read_at" MpiReadAt;
            "File_read_at_all" MpiReadAtAll;
            "File_write_at" MpiWriteAt;
            "File_write_at_all" MpiWriteAtAll;
        }
        data::transfer, (Individual Status), (file, buffer, count, datatype, status) {
            "File_read" MpiRead;
            "File_read_all" MpiReadAll;
            "File_write" MpiWrite;
            "File_write_all" MpiWriteAll;
        }
        data::transfer, (Shared Status), (file, buffer, count, datatype, status) {
            "File_read_shared" MpiReadShared;
            "File_read_ordered" MpiReadOrdered;
            "File_write_shared" MpiWriteShared;
            "File_write_ordered" MpiWriteOrdered;
        }
        data::transfer, (Explicit Request), (file, offset, buffer, count, datatype, request) {
            "File_iread_at" MpiIreadAt;
            "File_iread_at_all" MpiIreadAtAll;
            "File_iwrite_at" MpiIwriteAt;
            "File_iwrite_at_all" MpiIwriteAtAll;
        }
        data::transfer, (Individual Request), (file, buffer, count, datatype, request) {
            "File_iread" MpiIread;
            "File_iread_all" MpiIreadAll;
            "File_iwrite" MpiIwrite;
            "File_iwrite_all" MpiIwriteAll;
        }
        data::transfer, (Shared Request), (file, buffer, count, datatype, request) {
            "File_iread_shared" MpiIreadShared;
            "File_iwrite_shared" MpiIwriteShared;
        }
        data::transfer, (Explicit Nothing), (file, offset, buffer, count, datatype) {
            "File_read_at_all_begin" MpiReadAtAllBegin;
            "File_write_at_all_begin" MpiWriteAtAllBegin;
        }
        data::transfer, (Individual Nothing), (file, buffer, count, datatype) {
            "File_read_all_begin" MpiReadAllBegin;
            "File_write_all_begin" MpiWriteAllBegin;
        }
        data::transfer, (Shared Nothing), (file, buffer, count, datatype) {
            "File_read_ordered_begin" MpiReadOrderedBegin;
            "File_write_ordered_begin" MpiWriteOrderedBegin;
        }
    }
}

const fn count(names: &[&str]) -> usize {
    names.len()
}

/// Arguments as words, the rest zero.
fn words<const N: usize>(given: [usize; N]) -> Words {
    let mut words = [0; 6];
    words[..N].copy_from_slice(&given);
    words
}
