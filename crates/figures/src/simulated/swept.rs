//! How the parameters of a sweep are spoken of, and drawn.

use plimsoll_report::html::{Axis, Scale};
use plimsoll_report::{Unit, words};
use plimsoll_route::Policy;
use plimsoll_simulate::Point;
use plimsoll_simulate::scenario::{Parameter, Sweep};

/// Returns the parameter as an axis.
pub fn value_axis(parameter: Parameter) -> Axis {
    let (title, unit, scale) = match parameter {
        Parameter::Tf => ("throttling factor", Unit::Ratio, Scale::Linear),
        Parameter::BurstSeconds => ("duration of a quiet burst", Unit::Seconds, Scale::Log10),
        Parameter::SlowSeconds => ("mean duration of slowness", Unit::Seconds, Scale::Log10),
        Parameter::Block => ("block", Unit::Bytes, Scale::Log2),
        Parameter::Cache => ("cache of a process", Unit::Bytes, Scale::Linear),
        Parameter::BufferCapacity => ("capacity of a buffer", Unit::Bytes, Scale::Linear),
        Parameter::BufferRate => ("what a buffer takes in", Unit::BytesPerSec, Scale::Log2),
        Parameter::Pairs => ("pairs", Unit::Count, Scale::Linear),
        _ => (parameter.label(), Unit::Count, Scale::Log2),
    };
    Axis::new(title, unit).scale(scale)
}

/// Returns the name of a policy, without what the sweep changes.
pub fn swept_name(sweep: &Sweep, policy: &Policy) -> String {
    let name = policy.to_string();
    if sweep.parameter != Parameter::Tf && sweep.across != Some(Parameter::Tf) {
        return name;
    }
    let kept: Vec<&str> = name.split(':').filter(|part| !part.starts_with("tf=")).collect();
    kept.join(":")
}

/// Returns where a point lies: "bursts of 2 s and no buffer".
pub fn place(sweep: &Sweep, point: &Point) -> String {
    let first = point.value.map(|value| with(sweep.parameter, value));
    let across = sweep.across.zip(point.across).map(|(parameter, value)| with(parameter, value));
    let places: Vec<String> = first.into_iter().chain(across).collect();
    places.join(" and ")
}

/// "4 processes", "blocks of 4 MiB".
pub fn with(parameter: Parameter, value: f64) -> String {
    let whole = value.max(0.0) as u64;
    match parameter {
        Parameter::Tf => format!("a throttling factor of {}", words::short(value)),
        Parameter::Processes | Parameter::Scale => words::count(whole, "process"),
        Parameter::Pairs => words::count(whole, "pair"),
        Parameter::BurstSeconds => format!("bursts of {}", words::time(value)),
        Parameter::SlowSeconds => format!("slowness of {}", words::time(value)),
        Parameter::Block => format!("blocks of {}", words::bytes(whole)),
        Parameter::Cache if whole == 0 => "no cache".into(),
        Parameter::Cache => format!("a cache of {}", words::bytes(whole)),
        Parameter::Stripes => words::count(whole, "stripe"),
        Parameter::BufferCapacity if whole == 0 => "no buffer".into(),
        Parameter::BufferCapacity => format!("buffers of {}", words::bytes(whole)),
        Parameter::BufferRate => format!("buffers that take in {}/s", words::bytes(whole)),
    }
}

/// "the number of processes".
pub fn plural(parameter: Parameter) -> &'static str {
    match parameter {
        Parameter::Tf => "the throttling factor",
        Parameter::Processes | Parameter::Scale => "the number of processes",
        Parameter::Pairs => "the number of pairs",
        Parameter::BurstSeconds => "the duration of a burst",
        Parameter::SlowSeconds => "the duration of slowness",
        Parameter::Block => "the size of blocks",
        Parameter::Cache => "the size of the cache",
        Parameter::Stripes => "the number of stripes",
        Parameter::BufferCapacity => "the size of buffers",
        Parameter::BufferRate => "the rate of buffers",
    }
}
