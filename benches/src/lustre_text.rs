//! Text of Lustre servers of any size, as `lctl get_param` prints it.

use std::fmt::Write;

/// The histograms of a target on ldiskfs, and whether their bins double.
const HISTOGRAMS: [(&str, &str, bool); 7] = [
    ("pages per bulk r/w", "rpcs", true),
    ("discontiguous pages", "rpcs", false),
    ("discontiguous blocks", "rpcs", false),
    ("disk fragmented I/Os", "ios", false),
    ("disk I/Os in flight", "ios", false),
    ("I/O time (1/1000s)", "ios", true),
    ("disk I/O size", "ios", true),
];

/// Operations of an OST beside reading and writing.
const OPERATIONS: [&str; 8] =
    ["read", "write", "punch", "sync", "create", "statfs", "get_info", "setattr"];

/// Returns the text of `stats` of an OST.
pub fn stats(seed: u64) -> String {
    let mut text = head(seed, "");
    for name in ["read_bytes", "write_bytes"] {
        let samples = 4_000_000 + seed * 17;
        let (sum, squares) = (samples * 1_048_576, samples * 1_099_511);
        let _ = writeln!(text, "{name:25} {samples} samples [bytes] 4096 4194304 {sum} {squares}");
    }
    for (place, name) in OPERATIONS.iter().enumerate() {
        let samples = 25_001 * (place as u64 + 1) + seed;
        let (sum, squares) = (samples * 211, samples * 44_521);
        let _ = writeln!(text, "{name:25} {samples} samples [usecs] 2 16684 {sum} {squares}");
    }
    text
}

/// Returns the text of `brw_stats` of a target.
pub fn brw_stats(seed: u64) -> String {
    let mut text = head(seed, ":");
    for (name, unit, doubles) in HISTOGRAMS {
        let _ = writeln!(text, "\n{:26} read      |     write", "");
        let _ = writeln!(text, "{name:22} {unit:5} % cum % |  {unit:11} % cum %");
        for place in 0..if doubles { 23 } else { 16 } {
            let label = if doubles { label(place) } else { place.to_string() };
            let (reads, writes) = (seed * 31 + place * 977, 4_000_000 + place * 1021);
            let _ = writeln!(text, "{label}:\t\t{reads:10}   4  47   | {writes:4}   0   0");
        }
    }
    text
}

fn label(power: u64) -> String {
    let unit = ["", "K", "M"][(power / 10) as usize];
    format!("{}{unit}", 1u64 << (power % 10))
}

fn head(seed: u64, colon: &str) -> String {
    format!(
        "snapshot_time{colon}             1688603042.{:09} secs.nsecs\n\
         start_time{colon}                1688526475.271489350 secs.nsecs\n\
         elapsed_time{colon}              76567.282925497 secs.nsecs\n",
        seed % 1_000_000_000
    )
}

/// Returns what `lctl get_param` prints of so many OSTs.
pub fn lctl(targets: u64) -> String {
    let name = |seed: u64| format!("bench-OST{seed:04x}");
    let mut text = String::from("health_check=healthy\n");
    for seed in 0..targets {
        let _ = writeln!(text, "osd-ldiskfs.{}.kbytesfree={}", name(seed), 3_875_693_364 - seed);
    }
    for seed in 0..targets {
        let _ = write!(text, "osd-ldiskfs.{}.brw_stats=\n{}", name(seed), brw_stats(seed));
    }
    for seed in 0..targets {
        let _ = write!(text, "obdfilter.{}.stats=\n{}", name(seed), stats(seed));
    }
    text
}
