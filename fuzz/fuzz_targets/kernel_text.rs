//! What the kernel and installed programs print, with any damage: no crash.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_machine::{
    parse_block_stat, parse_brw_sizes, parse_diskstats, parse_ld_cache,
    parse_meminfo, parse_mountinfo, parse_mpi_version, parse_pressure, parse_processor_time,
};

fuzz_target!(|bytes: &[u8]| {
    parse_mountinfo(bytes);
    parse_ld_cache(bytes);
    parse_brw_sizes(bytes);
    let text = String::from_utf8_lossy(bytes);
    parse_diskstats(&text);
    parse_block_stat(&text);
    parse_meminfo(&text);
    parse_pressure(&text);
    parse_processor_time(&text);
    parse_mpi_version(&text);
});
