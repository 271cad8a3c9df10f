//! The program's bursts, whether it writes to storage or to buffers before it.

use super::Host;
use crate::bursts::Bursts;
use crate::queue::Event;
use crate::staging::Staging;

impl Host {
    /// All processes have computed and write, to storage or to buffers before it.
    pub fn begin_burst(&mut self) {
        match &mut self.staging {
            Some(staging) => staging.begin_burst(self.now_ns),
            None => self.program.begin_burst(self.now_ns),
        }
        self.follow_buffers();
    }

    /// A buffer has taken in a block.
    pub fn entered(&mut self, node: u32) {
        if let Some(staging) = &mut self.staging {
            staging.entered(self.now_ns, node);
            self.progress_ns = self.now_ns;
            self.follow_buffers();
        }
    }

    /// The bursts of the program, whatever it writes to.
    pub fn bursts(&self) -> &Bursts {
        self.staging.as_ref().map_or(&self.program.bursts, |staging| &staging.bursts)
    }

    /// True while processes wait for data to become durable, and nothing else happens that they could wait for.
    pub fn is_waiting(&self) -> bool {
        let is_full = |staging: &Staging| staging.is_waiting();
        self.program.is_waiting() || self.staging.as_ref().is_some_and(is_full)
    }

    /// True once for each burst, when every process can go on.
    pub fn take_release(&mut self) -> bool {
        match &mut self.staging {
            Some(staging) => staging.bursts.take_release(),
            None => self.program.bursts.take_release(),
        }
    }

    /// Carries out what buffers began and handed on.
    pub(super) fn follow_buffers(&mut self) {
        let Some(staging) = &mut self.staging else { return };
        staging.take_handed().for_each(|stream| self.program.feed(stream));
        for (at_ns, node) in staging.take_begun() {
            self.queue.push(at_ns, Event::Entered(node));
        }
    }
}
