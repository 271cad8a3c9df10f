//! What a file says about its process, once.

use plimsoll_trace::layout::{
    Anchor, BLOCK_BYTES, FILE_MAGIC, FORMAT_VERSION, FileHeader, identity_checksum, put_text,
};
use plimsoll_trace::{marker, secrets};
use rustix::fs::{AtFlags, CWD};

use crate::text::Text;
use crate::{circumstances, clock, config, sys};

/// Fills in the first page of a new file.
pub fn describe(header: &mut FileHeader, pid: u32, host: &[u8], now: Anchor) {
    let identity = &mut header.identity;
    identity.magic = FILE_MAGIC;
    identity.version = FORMAT_VERSION;
    identity.block_bytes = BLOCK_BYTES as u32;
    identity.clock = clock::source();
    identity.pid = pid;
    identity.parent_pid =
        rustix::process::getppid().map_or(0, |parent| parent.as_raw_nonzero().get() as u32);
    // Not now: the first recorded call has ended already.
    identity.start = config::get().loaded;
    let mut boot = [0u8; 40];
    let boot = sys::read_file(c"/proc/sys/kernel/random/boot_id", &mut boot);
    let digits = boot.iter().filter_map(|byte| (*byte as char).to_digit(16));
    for (index, digit) in digits.take(32).enumerate() {
        if let Some(byte) = identity.boot_id.get_mut(index / 2) {
            *byte = *byte << 4 | digit as u8;
        }
    }
    put_text(&mut identity.host, host);
    put_text(&mut identity.job, config::get().job.as_bytes());
    let mut link = Text::<1024>::new();
    link.push_link(c"/proc/self/exe");
    put_text(&mut identity.program, link.as_bytes());
    // More than is kept: a secret of which the end is cut off is not known as one.
    let mut arguments = [0; 4096];
    sys::read_file(c"/proc/self/cmdline", &mut arguments);
    secrets::mask_cut(&mut arguments);
    put_text(&mut identity.arguments, &arguments);
    link.truncate(0);
    link.push_link(c"/proc/self/cwd");
    put_text(&mut identity.directory, link.as_bytes());
    header.identity_crc = identity_checksum(&header.identity);
    header.rank = -1;
    header.latest = now;
    circumstances::describe(&mut header.circumstances, &now);
    let namespace = rustix::fs::statat(CWD, c"/proc/self/ns/pid", AtFlags::empty());
    header.pid_namespace = namespace.map_or(0, |status| status.st_ino);
    put_text(&mut header.recording, marker::split_variable(config::get().id.as_bytes()).0);
}
