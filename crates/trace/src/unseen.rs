//! Why something is not in a recording.

macro_rules! reasons {
    ($($(#[$doc:meta])* $variant:ident = $number:literal $extent:ident $text:literal;)*) => {
        /// Why a program, or a part of what it does, is not recorded. Numbers are part of the file
        /// format: never reuse one.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Unseen { $($(#[$doc])* $variant = $number,)* }

        impl Unseen {
            /// Every reason.
            pub const ALL: &'static [Unseen] = &[$(Unseen::$variant,)*];

            /// The reason of a number in a file.
            pub const fn from_number(number: u64) -> Option<Unseen> {
                match number {
                    $($number => Some(Unseen::$variant),)*
                    _ => None,
                }
            }

            /// The reason in a few words, which follow the program's name.
            pub const fn text(self) -> &'static str {
                match self { $(Unseen::$variant => $text,)* }
            }

            /// How much is not seen.
            pub const fn extent(self) -> Extent {
                match self { $(Unseen::$variant => Extent::$extent,)* }
            }
        }
    };
}

/// How much is not seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// Nothing of the program is recorded.
    Whole,
    /// Nothing of the program is recorded, nor of the programs that it starts.
    WholeAndChildren,
    /// A part of what the program does is not recorded.
    Part,
}

reasons! {
    /// There is no dynamic linker that could load a library into it.
    Static = 1 Whole "statically linked";
    /// The dynamic linker trusts nothing that the caller gave, and hands nothing on.
    SetId = 2 WholeAndChildren "set-user-id or set-group-id";
    /// As set-user-id.
    Capabilities = 3 WholeAndChildren "has file capabilities";
    /// The library is for another processor.
    OtherMachine = 4 Whole "built for another kind of processor";
    /// The library is for another C library.
    OtherLibc = 5 Whole "linked to another C library";
    /// The library or the recording does not exist there: another root directory.
    OutOfReach = 6 WholeAndChildren "cannot reach";
    /// It runs as a user who may not write to the recording.
    OtherUser = 7 WholeAndChildren "runs as a user who may not write to the recording";
    /// It was started, should have been recorded, and left no file.
    NoFile = 8 Whole "left no file: killed before its first call, or unable to create one";
    /// It was forked and could not create a file.
    NoFileOfChild = 9 Whole "forked, and could not create a file";
    /// It makes system calls itself, as Go does: only what it calls in the C library is recorded.
    RawCalls = 64 Part "makes its system calls itself (Go)";
    /// It uses io_uring: transfers are submitted through memory.
    IoUring = 65 Part "uses io_uring, whose transfers are not recorded";
    /// It uses kernel asynchronous I/O in a way that is not followed.
    KernelAio = 66 Part "uses kernel asynchronous I/O without libaio, whose transfers are not recorded";
    /// More was read or written by system calls than was recorded.
    RawBytes = 67 Part "moved data by system calls that were not recorded";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_lead_back_and_zero_is_no_reason() {
        for reason in Unseen::ALL {
            assert_eq!(Unseen::from_number(*reason as u64), Some(*reason));
        }
        assert_eq!(Unseen::from_number(0), None);
    }
}
