//! What the kernel tells about a process in one line, /proc/PID/stat (see proc(5)).

/// A line of /proc/PID/stat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatLine {
    /// The process ended, with all its threads, and its parent has not asked how.
    pub is_dead: bool,
    /// When it began, in ticks of the kernel's clock since the boot.
    pub start_ticks: u64,
}

impl StatLine {
    /// Reads a line: the state is field 3, the number of threads field 20, the start time field 22. The name in brackets, field 2, is the only
    /// one that can have blanks and brackets in it. The state is that of the first thread, which may end (Z) while others go on. Returns `None` for what is no such line.
    pub fn parse(line: &[u8]) -> Option<Self> {
        let name_end = line.iter().rposition(|byte| *byte == b')')?;
        let mut fields = line.get(name_end + 1..)?.strip_prefix(b" ")?.split(|byte| *byte == b' ');
        let state = fields.next()?;
        let number = |field: &[u8]| core::str::from_utf8(field).ok()?.parse::<u64>().ok();
        let threads = number(fields.nth(16)?)?;
        let start_ticks = number(fields.nth(1)?)?;
        let is_dead = matches!(state, b"X" | b"x") || (state == b"Z" && threads <= 1);
        Some(StatLine { is_dead, start_ticks })
    }

    /// Returns when it began, in nanoseconds since the boot, time asleep included.
    pub fn start_ns(&self, ticks_per_second: u64) -> u64 {
        let ns = u128::from(self.start_ticks) * 1_000_000_000 / u128::from(ticks_per_second.max(1));
        u64::try_from(ns).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_and_start_time_are_found_behind_any_name() {
        for name in ["sh", "a b", "x) y (z", ""] {
            for (state, threads, is_dead) in [
                ("S", 1, false),
                ("Z", 0, true),
                ("Z", 1, true),
                ("Z", 2, false),
                ("X", 2, true),
                ("R", 7, false),
            ] {
                let fields = format!("1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 {threads} 18 4711 20");
                let line = format!("7 ({name}) {state} {fields}\n");
                let expected = Some(StatLine { is_dead, start_ticks: 4711 });
                assert_eq!(StatLine::parse(line.as_bytes()), expected, "{line}");
            }
        }
        for line in [
            "",
            "7 (sh) S 1 2",
            "7 (sh)",
            "7 sh S 1",
            "7 (sh) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 x 20",
        ] {
            assert_eq!(StatLine::parse(line.as_bytes()), None, "{line}");
        }
    }

    #[test]
    fn ticks_are_a_part_of_a_second() {
        let line = StatLine { is_dead: false, start_ticks: 250 };
        assert_eq!((line.start_ns(100), line.start_ns(1000)), (2_500_000_000, 250_000_000));
        assert_eq!(line.start_ns(0), 250_000_000_000, "as one tick a second");
        assert_eq!(StatLine { start_ticks: u64::MAX, ..line }.start_ns(1), u64::MAX);
    }
}
