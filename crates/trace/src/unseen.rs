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

            /// Returns the reason of a number in a file.
            pub const fn from_number(number: u64) -> Option<Unseen> {
                match number {
                    $($number => Some(Unseen::$variant),)*
                    _ => None,
                }
            }

            /// Returns the reason in a few words, which follow the program's name.
            pub const fn text(self) -> &'static str {
                match self { $(Unseen::$variant => $text,)* }
            }

            /// Returns true if the program could not even start with the library in its environment, or
            /// would say something about it.
            pub const fn must_not_be_preloaded(self) -> bool {
                matches!(self, Unseen::OutOfReach | Unseen::OtherMachine | Unseen::OtherLibc)
            }

            /// Returns how much is not seen.
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
    /// The library is for another processor, and is taken out of the program's environment.
    OtherMachine = 4 WholeAndChildren "built for another kind of processor";
    /// The library is for another C library, and is taken out of the program's environment.
    OtherLibc = 5 WholeAndChildren "linked to another C library";
    /// The library or the recording does not exist there: another root directory.
    OutOfReach = 6 WholeAndChildren "cannot reach";
    /// It runs as a user who may not write to the recording.
    OtherUser = 7 WholeAndChildren "runs as a user who may not write to the recording";
    /// It was started, should have been recorded, and left no file.
    NoFile = 8 Whole "left no file: killed before its first call, or unable to create one";
    /// It was forked and could not create a file.
    NoFileOfChild = 9 Whole "forked, and could not create a file";
    /// Its file is empty.
    NoSpace = 10 Whole "no space for its file, a quota or a limit of the size of files";
    /// The other ranks say how many they are, and it is not among them.
    NoRank = 11 Whole "a rank that is not here: not recorded, or its file is elsewhere; record --collect looks for it";
    /// It makes system calls itself, as Go does: only what it calls in the C library is recorded.
    RawCalls = 64 Part "makes its system calls itself (Go)";
    /// It uses io_uring: transfers are submitted through memory.
    IoUring = 65 Part "uses io_uring, whose transfers are not recorded";
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
