//! The constants of policy `window`.

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// The law's constants, measured on limited loop devices and in simulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct WindowSettings {
    /// The delay from submission to durable that is aimed at.
    pub tau_ns: u64,
    /// Least lease: near the end, and on a target that is slower than the others. A target whose
    /// window is smaller gets one only now and then.
    pub lease_bytes_min: u64,
    /// Least lease otherwise, where nobody knows what a request costs; less where the node's share
    /// is not enough for one on each of its targets, or where nodes crowd the targets.
    pub lease_bytes_usual: u64,
    /// Largest lease.
    pub lease_bytes_max: u64,
    /// What a request costs beside its bytes, as the bytes that a target writes in that time;
    /// 0 if nobody knows. Leases are several times this.
    pub request_bytes: u64,
    /// Largest window, as far as it is less than 4 GiB.
    pub window_bytes_max: u64,
    /// The fair share: a node does not let the sum of its windows fall below this many
    /// bytes for each of its writers, however long the storage takes, but aims at a longer
    /// delay. Else a neighbour that floods the targets would starve who watches the delay.
    pub share_bytes_per_writer: u64,
    /// How many nodes of the same program use each target, as far as is known. Where they are many, they
    /// make targets slow themselves, and no node takes more than its share for that.
    pub nodes_per_target: u32,
    /// Second attempts where nothing waits.
    pub rescue: bool,
}

impl Default for WindowSettings {
    fn default() -> Self {
        WindowSettings {
            tau_ns: 50_000_000,
            lease_bytes_min: 256 * KIB,
            lease_bytes_usual: MIB,
            lease_bytes_max: 4 * MIB,
            request_bytes: 0,
            window_bytes_max: 256 * MIB,
            share_bytes_per_writer: MIB,
            nodes_per_target: 1,
            rescue: true,
        }
    }
}

/// From more nodes than these on, a target is crowded by them.
const CROWD: u32 = 16;

/// A lease is so many times what a request costs: a seventeenth of the time is then lost to it. At least so many times
/// near the end and on slow targets; and where there is little to write, and targets would be idle otherwise.
const LEASE_PER_REQUEST: u64 = 16;
const LEAST_PER_REQUEST: u64 = 8;
const SMALL_PER_REQUEST: u64 = 4;

/// Less than so many times what a request costs waits for more. Not more: a writer that waits for its data submits nothing more.
const HOLD_PER_REQUEST: u64 = 2;

/// No lease is larger, whatever a request costs.
const LEASE_BYTES_MOST: u64 = 64 * MIB;

/// Parts of a small block: what a device writes in any case.
const SMALL_BYTES: u64 = 4 * KIB;

impl WindowSettings {
    /// Returns the same for targets on which a request costs as much as so many bytes; 0 if nobody knows.
    pub fn where_requests_cost(self, request_bytes: u64) -> Self {
        let times = |times: u64| request_bytes.saturating_mul(times).min(LEASE_BYTES_MOST);
        WindowSettings {
            request_bytes,
            lease_bytes_min: self.lease_bytes_min.max(times(LEAST_PER_REQUEST)),
            lease_bytes_max: self.lease_bytes_max.max(times(LEASE_PER_REQUEST)),
            share_bytes_per_writer: self.share_bytes_per_writer.max(times(LEASE_PER_REQUEST)),
            ..self
        }
    }

    /// Returns the least part of a block where there is less to write than a lease for each target.
    #[inline]
    pub(super) fn small_lease_bytes(&self) -> u64 {
        self.request_bytes.saturating_mul(SMALL_PER_REQUEST).max(SMALL_BYTES)
    }

    /// Returns how much a writer must have submitted before a second lease of it goes on its way while more may come. Nothing where nobody
    /// knows what a request costs: who waits for more may have waited for nothing.
    #[inline]
    pub(super) fn hold_bytes(&self) -> u64 {
        self.request_bytes.saturating_mul(HOLD_PER_REQUEST).min(LEASE_BYTES_MOST)
    }

    /// Returns whether no other node of the program uses the targets: what is in flight is the node's own.
    #[inline]
    pub(super) fn is_alone(&self) -> bool {
        self.nodes_per_target <= 1
    }

    /// Returns whether the nodes of the program make targets slow themselves.
    #[inline]
    pub(super) fn is_crowded(&self) -> bool {
        self.nodes_per_target > CROWD
    }

    /// Returns the fair share of a node with this many writers.
    #[inline]
    pub(super) fn share_bytes(&self, writers: u32) -> u64 {
        self.share_bytes_per_writer.saturating_mul(u64::from(writers))
    }

    /// Returns the least lease on a target that is as quick as the others, while the end is far.
    #[inline]
    pub(super) fn usual_lease_bytes(&self, writers: u32, lanes: usize) -> u64 {
        let usual = if self.request_bytes > 0 {
            self.request_bytes.saturating_mul(LEASE_PER_REQUEST).min(self.lease_bytes_max)
        } else if self.is_crowded() {
            self.lease_bytes_min
        } else {
            self.lease_bytes_usual.min(self.share_bytes(writers) / lanes.max(1) as u64)
        };
        usual.max(self.lease_bytes_min)
    }
}
