//! A line of /proc/self/mountinfo, as far as it says who serves a mount. Allocates nothing: the library reads it inside
//! other people's programs, and the command reads it for files of its own.

/// Which mount it is, and who serves it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MountLine {
    /// The number of the mount.
    pub number: u64,
    /// The user who serves it (FUSE), by their number outside of containers; `None` for the kernel.
    pub server: Option<u64>,
    /// Whether it shows a directory and its containers ([`VIEW`]).
    pub is_view: bool,
}

/// What mounts of `plimsoll stow mount` call what they show.
pub const VIEW: &str = "plimsoll-stow";

impl MountLine {
    /// Reads a line (proc(5)). `None` if it is no such line, or is cut off before it says who serves a file system of
    /// FUSE.
    pub fn parse(line: &[u8]) -> Option<MountLine> {
        let number = leading_number(line)?;
        // Blanks in names are spelled out there, so this is not part of one.
        let at = line.windows(3).position(|it| it == b" - ")?;
        let mut fields = line.get(at + 3..)?.split(|byte| *byte == b' ');
        let kind = fields.next()?;
        // What is mounted. Without it, the kind may be cut off.
        let is_view = fields.next()? == VIEW.as_bytes();
        if !matches!(kind.split(|byte| *byte == b'.').next(), Some(b"fuse" | b"fuseblk")) {
            return Some(MountLine { number, server: None, is_view: false });
        }
        let user = |option: &[u8]| leading_number(option.strip_prefix(b"user_id=")?);
        let server = fields.next()?.split(|byte| *byte == b',').find_map(user)?;
        Some(MountLine { number, server: Some(server), is_view })
    }
}

/// Returns the number that a user has outside of a container, by the text of /proc/self/uid_map: lines have the first
/// user inside, the same outside, and how many (user_namespaces(7)).
pub fn user_outside(map: &[u8], user: u64) -> Option<u64> {
    map.split(|byte| *byte == b'\n').find_map(|line| {
        let fields = line.split(|byte| *byte == b' ').filter(|field| !field.is_empty());
        let mut numbers = fields.map(leading_number);
        let (inside, outside, count) = (numbers.next()??, numbers.next()??, numbers.next()??);
        let distance = user.checked_sub(inside).filter(|distance| *distance < count)?;
        outside.checked_add(distance)
    })
}

/// Returns the number that a text begins with.
fn leading_number(text: &[u8]) -> Option<u64> {
    let digits = text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    let add = |sum: u64, digit: &u8| sum.checked_mul(10)?.checked_add(u64::from(*digit - b'0'));
    if digits == 0 { None } else { text.get(..digits)?.iter().try_fold(0, add) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fuse_is_served_by_who_mounted_it_and_the_rest_by_the_kernel() {
        let read = |line: &str| MountLine::parse(line.as_bytes()).map(|it| (it.number, it.server));
        for (line, known) in [
            ("22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw", Some((22, None))),
            (
                "30 22 0:40 / /tmp/x\\040-\\040ext4 rw - fuse forged rw,user_id=65533,group_id=1",
                Some((30, Some(65_533))),
            ),
            ("31 22 0:41 / /far rw - fuse.sshfs me@far: rw,user_id=1000", Some((31, Some(1000)))),
            ("32 22 8:2 / /win rw master:3 - fuseblk /dev/sda2 rw,user_id=0", Some((32, Some(0)))),
            ("33 22 0:42 / /c rw - fusectl fusectl rw", Some((33, None))),
            // By the mount, not by a name of it.
            ("34 22 0:43 / /cvmfs rw - fuse cvmfs2,user_id=7 ro,user_id=0", Some((34, Some(0)))),
            ("35 22 0:44 / /odd rw - tmpfs user_id=9 rw,user_id=9", Some((35, None))),
            // Cut off: nobody can tell.
            ("36 22 0:45 / /a/very/long/na", None),
            ("36 22 0:45 / /a rw - fu", None),
            ("36 22 0:45 / /a rw - fuse forged rw,nosui", None),
            ("junk", None),
            ("", None),
        ] {
            assert_eq!(read(line), known, "{line}");
        }
    }

    #[test]
    fn views_are_told_by_what_is_mounted() {
        for (line, is_view) in [
            ("30 22 0:40 / /plimsoll-stow rw - fuse other rw,user_id=7", false),
            ("30 22 0:40 / /a rw - fuse plimsoll-stow rw,user_id=7", true),
            ("30 22 0:40 / /a rw - tmpfs plimsoll-stow rw", false),
        ] {
            assert_eq!(MountLine::parse(line.as_bytes()).unwrap().is_view, is_view, "{line}");
        }
    }

    #[test]
    fn a_container_gives_users_other_numbers() {
        let map = b"         0       1000          1\n         1     100000      65536\n";
        assert_eq!(user_outside(map, 0), Some(1000));
        assert_eq!(user_outside(map, 3), Some(100_002));
        assert_eq!(user_outside(b"0 1000 1\n", 1), None);
        assert_eq!(user_outside(b"", 0), None);
    }
}
