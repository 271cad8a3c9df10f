//! Which target a writer's next segment goes to.

use std::os::fd::BorrowedFd;

use rustix::io::Errno;

/// How segments are spread over targets.
#[derive(Default)]
pub enum Placement {
    /// Each segment goes to the target behind that of the one before.
    #[default]
    Striped,
    /// Each writer keeps to one target.
    Static,
    /// A router of the host says where each segment goes, and may wait until a target takes more.
    Routed(Box<dyn Router>),
}

/// Where a segment goes, and how many bytes it may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Berth {
    /// The place of the target in [`Container::targets`](crate::Container::targets).
    pub lane: usize,
    /// The bytes.
    pub length: u32,
}

/// Says where segments go. Clocks, waiting and what processes share are its own business, so that containers need none of them.
///
/// A writer asks for a place, begins a segment there, says how far it is filled, and ends it; then it asks again. It has one segment at a
/// time. Nothing that a router says or fails to say makes a container wrong: a target that it wrongly names refuses,
/// and where it names none the writer goes round the targets.
pub trait Router: Send {
    /// Of many targets, the node writes to these only, by their places in [`Container::targets`](crate::Container::targets). It is said before the first
    /// segment, and again whenever that changes.
    fn keep_to(&mut self, lanes: &[usize]);

    /// Returns where the next segment goes, when there is room; so many bytes are at hand. `None` if it knows of no target that takes any, or
    /// cannot work.
    fn place(&mut self, waiting: u64) -> Option<Berth>;

    /// The segment lies in this log, from this position on.
    fn begin(&mut self, log: u32, position: u64);

    /// It holds so many bytes. Returns false if it should end here.
    fn fill(&mut self, bytes: u32) -> bool;

    /// It has ended with so many bytes: they should be written out.
    fn end(&mut self, log: BorrowedFd<'_>, bytes: u32);

    /// Much is durable: it is worth looking at what was under way.
    fn look(&mut self);

    /// A target refused a segment.
    fn refuse(&mut self, lane: usize, errno: Errno);

    /// All targets refused, and will be tried again.
    fn retry(&mut self);
}

impl Placement {
    /// Returns the targets in the order in which a writer's next segment is tried on them: those further back take over when the ones
    /// before refuse.
    pub fn order(
        &self,
        writer: u64,
        segment: u64,
        targets: usize,
    ) -> impl Iterator<Item = usize> + use<> {
        let count = targets.max(1) as u64;
        let first = match self {
            Placement::Striped | Placement::Routed(_) => (writer % count + segment % count) % count,
            Placement::Static => writer % count,
        };
        (0..targets as u64).map(move |step| ((first + step) % count) as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn striped_goes_round_and_static_stays() {
        let order = |placement: Placement, writer, segment| -> Vec<usize> {
            placement.order(writer, segment, 3).collect()
        };
        assert_eq!(order(Placement::Striped, 0, 0), [0, 1, 2]);
        assert_eq!(order(Placement::Striped, 1, 1), [2, 0, 1]);
        assert_eq!(order(Placement::Striped, u64::MAX, u64::MAX).len(), 3);
        assert_eq!(order(Placement::Static, 4, 7), [1, 2, 0]);
        assert_eq!(Placement::Static.order(4, 7, 0).count(), 0);
    }
}
