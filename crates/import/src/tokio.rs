//! TOKIO's time series in HDF5 (pytokio): a group for each kind of component, with times and matrices of steps and columns.
//!
//! Names of datasets say what they hold; the attribute `units` does not always. A count of step i is of the time from its time to the next one's;
//! -0.0 is a step that nobody filled.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use hdf5_reader::Dataset;
use plimsoll_history::{Component, Import, Measure, Series};

use crate::by_column::by_column;
use crate::components::Components;
use crate::hdf5::{Hdf5, Matrix, text, texts};
use crate::names::operation;
use crate::notes::Notes;
use crate::plane::{Plane, Steps, series_of_days, take_planes};
use crate::{ImportError, Options};

const TIMES: &str = "timestamps";
const COLUMNS: &str = "columns";

/// What a group's components are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Of {
    DataTargets,
    MetadataTargets,
    Servers,
}

/// What the values of a dataset are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Values {
    /// What was counted during a step.
    Counts,
    /// The same per second.
    Rates,
    /// Percent at a moment, kept in millionths.
    Percent,
    /// At a moment, and the total: what is kept is the total, and the rest.
    Total,
    Rest,
}

/// Takes all of a file.
pub(crate) fn take(
    file: &Hdf5,
    options: &Options,
    import: &mut Import,
    notes: &mut Notes,
) -> Result<&'static str, ImportError> {
    let groups = read_groups(file, notes)?;
    if groups.is_empty() {
        let reason =
            "it is HDF5, but neither of TOKIO (no group has times and columns) nor of pyLMT";
        return Err(file.error(reason));
    }
    match file.root_text("version").as_deref() {
        None | Some("1") => {}
        Some(other) => notes.recognised(1, format!("version {other:?}, taken as version 1")),
    }
    let names = |name: &str| -> Vec<String> {
        let of_group = groups.iter().filter(|it| it.name == name);
        of_group.flat_map(|it| it.datasets.values().flat_map(|it| it.1.clone())).collect()
    };
    let targets = names("datatargets");
    let components = Components::of(&options.cluster, targets.iter().map(String::as_str));
    let servers = names("mdservers");
    let mut planes = Vec::new();
    for group in &groups {
        group_planes(file, group, &components, &servers, &mut planes, notes)?;
    }
    file.require_stored(series_of_days(&planes))?;
    take_planes(&mut planes, import, notes)?;
    Ok("TOKIO HDF5")
}

/// A group with its times, and its datasets with their columns.
struct GroupOf {
    name: String,
    source: String,
    steps: Steps,
    datasets: BTreeMap<String, (Dataset, Vec<String>)>,
}

/// Returns the groups with times. Of an object with several names, only the first one counts.
fn read_groups(file: &Hdf5, notes: &mut Notes) -> Result<Vec<GroupOf>, ImportError> {
    let (mut groups, mut known) = (Vec::new(), BTreeSet::new());
    let mut is_new = |address: u64, notes: &mut Notes| {
        let is_new = known.insert(address);
        notes.left_out(u64::from(!is_new), "further names of a group or dataset");
        is_new
    };
    for group in file.groups()? {
        if !is_new(group.address(), notes) {
            continue;
        }
        let name = plain(group.name());
        let mut datasets = BTreeMap::new();
        let mut times = None;
        for dataset in file.datasets(&group)? {
            let own = plain(dataset.name());
            if own == TIMES {
                times = Some(dataset);
            } else if is_new(dataset.address(), notes)
                && let Some(columns) = texts(&dataset, COLUMNS)
            {
                datasets.insert(own, (dataset, columns));
            }
        }
        let Some(times) = times.filter(|_| !datasets.is_empty()) else { continue };
        let of_datasets = datasets.values().filter_map(|(it, _)| it.shape().first().copied());
        let most = of_datasets.max().unwrap_or(0) as usize;
        let Some(steps) = Steps::read(&file.matrix(times)?, most, notes)? else {
            notes.left_out(1, format!("group {name}: fewer than two steps"));
            continue;
        };
        let source = text(group.attribute("source").ok()).unwrap_or_default();
        groups.push(GroupOf { name, source, steps, datasets });
    }
    Ok(groups)
}

/// Returns the last part of a path.
fn plain(name: &str) -> String {
    name.rsplit('/').next().unwrap_or(name).to_owned()
}

fn group_planes<'a>(
    file: &'a Hdf5,
    group: &GroupOf,
    components: &Components,
    servers: &[String],
    planes: &mut Vec<Plane<'a>>,
    notes: &mut Notes,
) -> Result<(), ImportError> {
    let counted = |name: &str| group.datasets.contains_key(name);
    for (name, (dataset, columns)) in &group.datasets {
        let whole = format!("{}/{name}", group.name);
        if name.strip_suffix("total").is_some_and(counted) {
            // It is read with what it is the total of.
            continue;
        }
        let known = meaning(&group.name, name);
        if known.is_empty() {
            notes.left_out(1, format!("dataset {whole}: nothing in a store is like it"));
        }
        for (of, measure, values) in known {
            // Rates of what is also counted say the same again.
            if values == Values::Rates && counted(&name.replace("rates", "bytes")) {
                notes.left_out(1, format!("dataset {whole}: the same is there as counts"));
                continue;
            }
            let matrix = file.matrix(dataset.clone())?;
            let total = match values {
                Values::Total | Values::Rest => match group.datasets.get(&format!("{name}total")) {
                    Some((total, _)) => Some(file.matrix(total.clone())?),
                    None => {
                        notes.left_out(1, format!("dataset {whole}: without the total"));
                        continue;
                    }
                },
                _ => None,
            };
            let factor = factor(group, name, values, dataset, notes);
            let series = columns
                .iter()
                .map(|column| {
                    let (component, server) = component(of, components, column, servers);
                    Series { measure, bin: 0, component, server }
                })
                .collect();
            if of == Of::MetadataTargets && is_only_server(servers, columns) {
                let what = "metadata targets that have their server's name, by dataset: called as the only one of the file system";
                notes.repaired(1, what);
            }
            notes.recognised(1, format!("{whole}: {}", measure.name()));
            planes.push(plane(
                &group.steps,
                matrix,
                total,
                series,
                measure,
                values,
                factor,
                notes,
            )?);
        }
    }
    Ok(())
}

/// Returns the factor of the values, and says where the file is wrong about them.
fn factor(
    group: &GroupOf,
    name: &str,
    values: Values,
    dataset: &Dataset,
    notes: &mut Notes,
) -> f64 {
    let units = text(dataset.attribute("units").ok()).unwrap_or_default();
    let per_second = units.contains("/s") || units.contains("per s");
    let step = group.steps.step;
    match values {
        Values::Counts if per_second => {
            let what =
                format!("units {units:?} of {}/{name}: these are counts per step", group.name);
            notes.repaired(1, what);
            1.0
        }
        Values::Counts => 1.0,
        Values::Rates => {
            if !per_second && !units.is_empty() {
                let what = format!("units {units:?} of {}/{name}: these are rates", group.name);
                notes.repaired(1, what);
            }
            step as f64 / 1000.0
        }
        Values::Percent => 10_000.0,
        Values::Total | Values::Rest if name == "bytes" => {
            // LMT's and lfs' numbers are KiB whatever the file says.
            let is_kib =
                units == "KiB" || matches!(group.source.as_str(), "lmt" | "lfsstate" | "lfsstatus");
            if is_kib && units != "KiB" {
                let what = format!("units {units:?} of {}/{name}: these are KiB", group.name);
                notes.repaired(u64::from(values == Values::Total), what);
            }
            if is_kib { 1024.0 } else { 1.0 }
        }
        Values::Total | Values::Rest => 1.0,
    }
}

fn component(
    of: Of,
    components: &Components,
    column: &str,
    servers: &[String],
) -> (Component, String) {
    match of {
        Of::DataTargets => components.data_target(column),
        Of::MetadataTargets => {
            let is_only = servers.len() == 1 && servers[0] == column;
            components.metadata_target(column, is_only)
        }
        Of::Servers => components.server(column),
    }
}

fn is_only_server(servers: &[String], columns: &[String]) -> bool {
    servers.len() == 1 && columns.len() == 1 && servers == columns
}

/// Returns what a dataset is of, by its name: nothing if no measure is like it.
fn meaning(group: &str, name: &str) -> Vec<(Of, Measure, Values)> {
    use Values::{Counts, Percent, Rates, Rest, Total};
    let one = |of, measure, values| vec![(of, measure, values)];
    match (group, name) {
        ("datatargets", "readbytes") => one(Of::DataTargets, Measure::ReadBytes, Counts),
        ("datatargets", "writebytes") => one(Of::DataTargets, Measure::WrittenBytes, Counts),
        ("datatargets", "readrates") => one(Of::DataTargets, Measure::ReadBytes, Rates),
        ("datatargets", "writerates") => one(Of::DataTargets, Measure::WrittenBytes, Rates),
        ("datatargets", "readops") => one(Of::DataTargets, Measure::ReadOperations, Counts),
        ("datatargets", "writeops") => one(Of::DataTargets, Measure::WriteOperations, Counts),
        ("datatargets", "readoprates") => one(Of::DataTargets, Measure::ReadOperations, Rates),
        ("datatargets", "writeoprates") => one(Of::DataTargets, Measure::WriteOperations, Rates),
        ("dataservers" | "mdservers", "cpuload") => one(Of::Servers, Measure::CpuLoad, Percent),
        ("dataservers" | "mdservers", "netinbytes") => {
            one(Of::Servers, Measure::ReceivedBytes, Counts)
        }
        ("dataservers" | "mdservers", "netoutbytes") => {
            one(Of::Servers, Measure::SentBytes, Counts)
        }
        ("dataservers" | "mdservers", "netinrates") => {
            one(Of::Servers, Measure::ReceivedBytes, Rates)
        }
        ("dataservers" | "mdservers", "netoutrates") => one(Of::Servers, Measure::SentBytes, Rates),
        ("fullness", "bytes") => vec![
            (Of::DataTargets, Measure::CapacityBytes, Total),
            (Of::DataTargets, Measure::FreeBytes, Rest),
        ],
        ("fullness", "inodes") => vec![
            (Of::DataTargets, Measure::Inodes, Total),
            (Of::DataTargets, Measure::FreeInodes, Rest),
        ],
        ("mdtargets", name) => {
            let (operation_name, values) = match name.strip_suffix("rates") {
                Some(name) => (name, Rates),
                None => (name.strip_suffix('s').unwrap_or(name), Counts),
            };
            let measure = operation(operation_name);
            measure.map(|measure| (Of::MetadataTargets, measure, values)).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

#[allow(clippy::too_many_arguments, reason = "what a plane is made of")]
fn plane<'a>(
    steps: &Steps,
    matrix: Matrix<'a>,
    total: Option<Matrix<'a>>,
    series: Vec<Series>,
    measure: Measure,
    values: Values,
    factor: f64,
    notes: &mut Notes,
) -> Result<Plane<'a>, ImportError> {
    let mut series = series;
    let rows = matrix.rows.min(steps.millis.len());
    let other = matrix.rows.max(steps.millis.len()) - rows;
    notes.left_out(
        other as u64,
        format!("steps without a time or without values, of {}", measure.name()),
    );
    series.truncate(matrix.columns);
    let unnamed = matrix.columns - series.len();
    notes.left_out(unnamed as u64, format!("columns without a name, of {}", measure.name()));
    let is_level = matches!(values, Values::Percent | Values::Total | Values::Rest);
    let length = if is_level { 0 } else { steps.step };
    let ends = steps.millis[..rows].iter().map(|it| it + length).collect();
    let is_rest = values == Values::Rest;
    let columns_of_chunk = matrix.columns_of_chunk();
    let read = move |steps, columns: Range<usize>, into: &mut Vec<u64>, notes: &mut Notes| {
        let read_rows = |steps: Range<usize>| {
            let mut values = matrix.read(steps.clone(), columns.clone())?;
            if let Some(total) = &total {
                let totals = total.read(steps, columns.clone())?;
                for (value, total) in values.iter_mut().zip(totals) {
                    let is_known = is_filled(*value) && is_filled(total) && *value <= total;
                    let kept = if is_rest { total - *value } else { total };
                    *value = if is_known { kept } else { -0.0 };
                }
            }
            Ok(values)
        };
        let pieces = matrix.pieces(steps, columns.len());
        by_column(&pieces, columns.len(), factor, read_rows, into, notes)
    };
    Ok(Plane { series, ends, length: length as u32, columns_of_chunk, read: Box::new(read) })
}

fn is_filled(value: f64) -> bool {
    !(value == 0.0 && value.is_sign_negative()) && value >= 0.0
}
