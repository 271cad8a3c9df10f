//! When bursts began, and when all processes could go on after each.

/// The bursts of a program, with a barrier after each.
#[derive(Debug, Default)]
pub struct Bursts {
    /// Bursts that began.
    pub begun: u32,
    begin_ns: u64,
    /// Processes of the burst that cannot go on yet.
    waiting: u32,
    /// All could go on since it was last asked.
    is_released: bool,
    /// How long all had to wait in each burst.
    pub stalls_ns: Vec<u64>,
    /// When all could go on after the last burst.
    pub released_ns: u64,
}

impl Bursts {
    /// A burst begins, in which so many processes cannot go on at once.
    pub fn begin(&mut self, now_ns: u64, waiting: u32) {
        self.begun += 1;
        self.begin_ns = now_ns;
        self.waiting += waiting;
        self.note_release(now_ns);
    }

    /// One process more can go on.
    pub fn go_on(&mut self, now_ns: u64) {
        self.waiting -= 1;
        self.note_release(now_ns);
    }

    /// True while a process of the burst cannot go on.
    pub fn are_waited_for(&self) -> bool {
        self.waiting > 0
    }

    /// True once for each burst, when every process can go on.
    pub fn take_release(&mut self) -> bool {
        std::mem::take(&mut self.is_released)
    }

    fn note_release(&mut self, now_ns: u64) {
        if self.waiting == 0 {
            self.stalls_ns.push(now_ns - self.begin_ns);
            self.released_ns = now_ns;
            self.is_released = true;
        }
    }
}
