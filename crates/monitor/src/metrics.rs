//! The readings of a scrape as text for Prometheus: OpenMetrics 1.0, or the older text format.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;

use plimsoll_history::{Component, ComponentKind, Measure, Reading, Value};

use crate::Monitor;
use crate::family::{Family, family};

/// Which text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// OpenMetrics 1.0.
    OpenMetrics,
    /// The text format 0.0.4, which every version of Prometheus reads.
    Text,
}

/// How the monitor itself fares.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Health {
    /// Scrapes since the start.
    pub scrapes: u64,
    /// Scrapes that were left out, because the one before took too long.
    pub skipped: u64,
    /// Seconds that the last scrape took.
    pub scrape_seconds: f64,
    /// Samples that the store took.
    pub stored: u64,
    /// Scrapes that the store could not take.
    pub not_stored: u64,
    /// How often somebody set the clock.
    pub clock_steps: u64,
}

/// How busy a target is.
#[derive(Debug, Clone, PartialEq)]
pub struct TargetUtilization {
    /// The target.
    pub component: Component,
    /// File system utilization over the last 5 s; 1 is fully busy.
    pub ratio: f64,
    /// Whether what its operations cost was measured, and not assumed.
    pub is_measured: bool,
}

/// What is shown.
#[derive(Debug, Clone, Copy)]
pub struct Shown<'a> {
    /// How the monitor itself fares.
    pub health: &'a Health,
    /// How busy targets are, those of which it is known.
    pub utilization: &'a [TargetUtilization],
    /// Whether readings of jobs are shown, too.
    pub jobs: bool,
}

/// Writes the readings of a monitor's last scrape.
pub fn metrics(monitor: &Monitor, shown: &Shown<'_>, format: Format) -> String {
    let mut text = Exposition { format, families: BTreeMap::new() };
    let mut known = HashMap::new();
    for reading in monitor.readings().iter().filter(|it| shown.jobs || it.component.job.is_empty())
    {
        text.add_reading(reading, &mut known);
    }
    text.add_utilization(shown.utilization);
    text.add_own(monitor, shown.health);
    text.finish()
}

/// What families are called, by what they depend on.
type Known = HashMap<(ComponentKind, bool, Measure), Option<Family>>;

struct Exposition {
    format: Format,
    /// Heads and samples by the name of the family: samples of one must stand together.
    families: BTreeMap<String, String>,
}

impl Exposition {
    fn add_reading(&mut self, reading: &Reading, known: &mut Known) {
        let component = &reading.component;
        let labels = labels(component);
        let is_other = !component.job.is_empty() || !component.file_system.is_empty();
        for value in &reading.values {
            let key = (component.kind, is_other, value.measure);
            let family = known.entry(key).or_insert_with(|| family(component, value.measure));
            if let Some(family) = family {
                self.add_value(family, &labels, value);
            }
        }
    }

    fn add_value(&mut self, family: &Family, labels: &str, value: &Value) {
        let text = self.of_family(&family.name, family.is_counter, family.help);
        text.push_str(&family.name);
        text.push_str(suffix(family.is_counter));
        let mut separator = '{';
        let mut label = |name: &str, value: &str| {
            let _ = write!(text, "{separator}{name}=\"{value}\"");
            separator = ',';
        };
        if let Some(operation) = family.operation {
            label("operation", operation);
        }
        if family.has_size {
            label("size", &value.bin.to_string());
        }
        if !labels.is_empty() {
            let _ = write!(text, "{separator}{labels}");
            separator = ',';
        }
        if separator == ',' {
            text.push('}');
        }
        let _ = match family.divisor {
            1 => writeln!(text, " {}", value.value),
            1024 => writeln!(text, " {}", value.value / 1024),
            divisor => writeln!(text, " {}", value.value as f64 / divisor as f64),
        };
    }

    /// Returns the text of a family, with its head.
    fn of_family(&mut self, name: &str, is_counter: bool, help: &str) -> &mut String {
        // The older format calls a counter by its samples' name.
        let of_head = match self.format {
            Format::OpenMetrics => "",
            Format::Text => suffix(is_counter),
        };
        if !self.families.contains_key(name) {
            let kind = if is_counter { "counter" } else { "gauge" };
            let head = format!("# HELP {name}{of_head} {help}\n# TYPE {name}{of_head} {kind}\n");
            self.families.insert(name.to_owned(), head);
        }
        self.families.entry(name.to_owned()).or_default()
    }

    fn add_utilization(&mut self, utilization: &[TargetUtilization]) {
        let name = "plimsoll_utilization_ratio";
        let help = "File system utilization (FSU) over the last 5 s: time that operations take their target; 1 is fully busy.";
        for TargetUtilization { component, ratio, is_measured } in utilization {
            let text = self.of_family(name, false, help);
            let costs = if *is_measured { "measured" } else { "assumed" };
            let labels = labels(component);
            let _ = writeln!(text, "{name}{{{labels},costs=\"{costs}\"}} {ratio}");
        }
    }

    fn add_own(&mut self, monitor: &Monitor, health: &Health) {
        let counters = [
            ("scrapes", health.scrapes, "Scrapes since the start."),
            (
                "skipped_scrapes",
                health.skipped,
                "Scrapes left out, as the one before took too long.",
            ),
            ("unreadable_files", monitor.missed(), "Files that could not be read."),
            (
                "jobs_left_out",
                monitor.jobs_left_out(),
                "Jobs beyond the most that are read at once or anew in an hour.",
            ),
            ("stored_samples", health.stored, "Samples that the store took."),
            ("failed_stores", health.not_stored, "Scrapes that the store could not take."),
            ("clock_steps", health.clock_steps, "How often the clock was set."),
        ];
        for (name, value, help) in counters {
            let name = format!("plimsoll_monitor_{name}");
            let text = self.of_family(&name, true, help);
            let _ = writeln!(text, "{name}_total {value}");
        }
        let name = "plimsoll_monitor_scrape_seconds";
        let text = self.of_family(name, false, "Time that the last scrape took.");
        let _ = writeln!(text, "{name} {}", health.scrape_seconds);
        let name = "plimsoll_monitor_unknown_lines";
        let help = "Lines of Lustre's and the kernel's that were not understood, by pattern.";
        let text = self.of_family(name, true, help);
        for (pattern, count) in monitor.unknowns().patterns() {
            let _ = writeln!(text, "{name}_total{{pattern=\"{}\"}} {count}", escaped(pattern));
        }
    }

    fn finish(self) -> String {
        let mut text: String = self.families.into_values().collect();
        if self.format == Format::OpenMetrics {
            text.push_str("# EOF\n");
        }
        text
    }
}

fn suffix(is_counter: bool) -> &'static str {
    if is_counter { "_total" } else { "" }
}

/// The labels of a component, as they stand between braces.
fn labels(component: &Component) -> String {
    let name = escaped(&component.name);
    let mut labels = match component.kind {
        ComponentKind::Ost | ComponentKind::Mdt | ComponentKind::Mgt => {
            format!("component=\"{}\",target=\"{name}\"", component.kind.name())
        }
        ComponentKind::SeenTarget => format!("component=\"client\",target=\"{name}\""),
        ComponentKind::Mount if component.file_system.is_empty() => {
            format!("mountpoint=\"{name}\"")
        }
        ComponentKind::Mount => format!("component=\"client\",target=\"{name}\""),
        ComponentKind::BlockDevice => format!("device=\"{name}\""),
        ComponentKind::Router => format!("nid=\"{name}\""),
        ComponentKind::Server => String::new(),
    };
    if !component.job.is_empty() {
        let _ = write!(labels, ",jobid=\"{}\"", escaped(&component.job));
    }
    labels
}

/// A value of a label: OpenMetrics 1.0, "escaped-string".
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
