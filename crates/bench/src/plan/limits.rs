//! Bounds beyond which a number in a plan is a typing error.

/// Clients, processes of one instance, and its processes times their targets: what is held in
/// memory for an instance.
pub(crate) const PROCESSES_MAX: u64 = 1 << 18;
/// Different settings of a plan: values times burst sizes times groups.
pub(crate) const SETTINGS_MAX: usize = 10_000;
/// Transfers in flight; io_uring itself allows 32768 entries.
pub(crate) const DEPTH_MAX: u32 = 4096;
/// Bytes of one instance: file offsets are signed 64-bit numbers, regions of a shared file are
/// rounded up to whole stripes, and what is read is written before.
pub(crate) const INSTANCE_BYTES_MAX: u64 = 1 << 60;
/// Bytes of one call: Linux moves at most 2 GiB less one page (read(2), NOTES).
pub(crate) const TRANSFER_MAX: u64 = 1 << 30;
/// What O_DIRECT wants of addresses and lengths at least; the device may want more.
pub(crate) const DIRECT_ALIGNMENT: u64 = 512;
/// What Lustre wants of stripe sizes (`LOV_MIN_STRIPE_SIZE`).
pub(crate) const LUSTRE_STRIPE_UNIT: u64 = 1 << 16;
/// Largest OST index that fits a layout request; 65535 means "any".
pub(crate) const LUSTRE_INDEX_MAX: u32 = u16::MAX as u32 - 1;
/// Characters of a name: names reach terminals, file names and results.
pub(crate) const NAME_CHARS_MAX: usize = 200;
