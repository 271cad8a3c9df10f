//! The constants of policy `window`.

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// The law's constants, measured on limited loop devices and in simulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct WindowSettings {
    /// The delay from submission to durable that is aimed at.
    pub tau_ns: u64,
    /// Least lease. A target whose window is smaller gets one only now and then.
    pub lease_bytes_min: u64,
    /// Largest lease.
    pub lease_bytes_max: u64,
    /// Largest window, as far as it is less than 4 GiB.
    pub window_bytes_max: u64,
    /// The fair share: a node does not let the sum of its windows fall below this many
    /// bytes for each of its writers, however long the storage takes, but aims at a longer
    /// delay. Else a neighbour that floods the targets would starve who watches the delay.
    pub share_bytes_per_writer: u64,
    /// Second attempts where nothing waits.
    pub rescue: bool,
}

impl Default for WindowSettings {
    fn default() -> Self {
        WindowSettings {
            tau_ns: 50_000_000,
            lease_bytes_min: 256 * KIB,
            lease_bytes_max: 4 * MIB,
            window_bytes_max: 256 * MIB,
            share_bytes_per_writer: MIB,
            rescue: true,
        }
    }
}
