//! Who is who, and what can be set.

use std::ops::Range;

use crate::{ActorId, Factor, TargetId, placement};

/// Actors of policy `coordinator`: the coordinator is 0, then the sub-coordinators in the
/// order of their targets, then the clients in the order of their writers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Layout {
    /// Targets, numbered from 0; at least one. Each has a sub-coordinator.
    pub targets: u16,
    /// Writers, numbered from 0. Each has a client.
    pub writers: u32,
}

impl Layout {
    /// The coordinator.
    pub fn coordinator(&self) -> ActorId {
        ActorId(0)
    }

    /// The sub-coordinator of a target.
    pub fn sub(&self, target: TargetId) -> ActorId {
        ActorId(1 + u32::from(target.0))
    }

    /// The client of a writer. A damaged message may name one that no layout has; its client is an
    /// actor that no host has.
    pub fn client(&self, writer: u32) -> ActorId {
        ActorId((1 + u32::from(self.targets)).saturating_add(writer))
    }

    /// All actors.
    pub fn actors(&self) -> u32 {
        1 + u32::from(self.targets) + self.writers
    }

    /// The target whose sub-coordinator this is.
    pub fn target_of(&self, actor: ActorId) -> Option<TargetId> {
        let index = actor.0.checked_sub(1)?;
        (index < u32::from(self.targets)).then_some(TargetId(index as u16))
    }

    /// The target to which a writer's data belongs: neighbours share one (section 3.1).
    pub fn home(&self, writer: u32) -> TargetId {
        TargetId(placement::home(writer, self.writers, usize::from(self.targets)) as u16)
    }

    /// The writers whose data belongs to a target.
    pub fn group(&self, target: TargetId) -> Range<u32> {
        let first = |target: u64| {
            let writers = u64::from(self.writers);
            (target * writers).div_ceil(u64::from(self.targets.max(1))) as u32
        };
        first(u64::from(target.0))..first(u64::from(target.0) + 1)
    }
}

/// What can be set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RoleSettings {
    /// Who is who.
    pub layout: Layout,
    /// TF.
    pub factor: Factor,
    /// Ask every group once for the length of its queue (section 3.5).
    pub status_inquiry: bool,
    /// A group that rejected is asked by nobody until it says that it is busy again. Else the
    /// coordinator knows "busy or idle" and no more (section 3.5): only who was rejected asks
    /// elsewhere.
    pub remembers_rejects: bool,
    /// Grant parts of this many bytes; 0 is whole blocks.
    pub part_bytes: u64,
    /// Say again what was not answered within this time; 0 where messages are never lost,
    /// repeated or overtaken.
    pub retry_ns: u64,
}

impl RoleSettings {
    /// As in the paper: TF 0.1, one inquiry, whole blocks, a transport that loses nothing.
    pub fn new(layout: Layout) -> Self {
        let factor = Factor::from_millionths(100_000);
        RoleSettings {
            layout,
            factor,
            status_inquiry: true,
            remembers_rejects: true,
            part_bytes: 0,
            retry_ns: 0,
        }
    }

    pub(super) fn is_lossy(&self) -> bool {
        self.retry_ns > 0
    }

    /// Parts of a block.
    pub(super) fn parts(&self, length_bytes: u64) -> u32 {
        if self.part_bytes == 0 { 1 } else { length_bytes.div_ceil(self.part_bytes) as u32 }
    }

    /// Bytes of the part that begins where `left_bytes` are left.
    pub(super) fn part_length(&self, left_bytes: u64) -> u64 {
        if self.part_bytes == 0 { left_bytes } else { left_bytes.min(self.part_bytes) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_and_homes_agree() {
        for (targets, writers) in [(4, 16), (3, 7), (5, 2), (1, 9), (16, 256)] {
            let layout = Layout { targets, writers };
            for target in 0..targets {
                let group = layout.group(TargetId(target));
                assert!(group.clone().all(|writer| layout.home(writer) == TargetId(target)));
            }
            let all: u32 = (0..targets).map(|t| layout.group(TargetId(t)).len() as u32).sum();
            assert_eq!(all, writers);
            assert_eq!(layout.target_of(layout.sub(TargetId(0))), Some(TargetId(0)));
            assert_eq!(layout.target_of(layout.client(0)), None);
            assert_eq!(layout.client(u32::MAX), ActorId(u32::MAX));
            let last = layout.client(writers - 1);
            assert_eq!(layout.actors(), last.0 + 1, "one coordinator, then subs, then clients");
        }
    }
}
