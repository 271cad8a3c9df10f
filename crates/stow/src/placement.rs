//! Which target a writer's next segment goes to.

/// How segments are spread over targets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Placement {
    /// Each segment goes to the target behind that of the one before.
    #[default]
    Striped,
    /// Each writer keeps to one target.
    Static,
}

impl Placement {
    /// Returns the targets in the order in which a writer's next segment is tried on them: those further back take over when the ones
    /// before refuse.
    pub fn order(self, writer: u64, segment: u64, targets: usize) -> impl Iterator<Item = usize> {
        let count = targets.max(1) as u64;
        let first = match self {
            Placement::Striped => (writer % count + segment % count) % count,
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
