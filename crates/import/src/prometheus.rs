//! Series of Prometheus as samples: labels say what they are of, metrics what is measured, by a mapping.

use std::collections::{BTreeMap, HashSet};
use std::io::Read;
use std::ops::RangeInclusive;
use std::path::Path;

use plimsoll_history::{Component, Import, Measure};

use crate::mapped_samples::{Cell, MappedSamples};
use crate::mapping::{Counters, KEYS, Mapping};
use crate::notes::Notes;
use crate::opened::Opened;
use crate::prometheus_answer::{AnswerError, Labels, TakesSeries, read_answers};
use crate::selector::Selector;
use crate::{ImportError, Options};

/// Label that has the name of a metric.
const NAME: &str = "__name__";

/// Takes an answer that was saved to a file.
pub(crate) fn take(
    path: &Path,
    opened: &Opened,
    options: &Options,
    import: &mut Import,
    notes: &mut Notes,
) -> Result<&'static str, ImportError> {
    let mut metrics = Metrics::new(path, options, import)?;
    read_answers(opened.stream(), &mut metrics).map_err(|error| failed(path, error))?;
    metrics.finish(notes)?;
    Ok("Prometheus")
}

/// Returns how many values answers have that are read from their beginning to their end; `path` is for errors.
///
/// # Errors
/// If they are damaged, or no answers of Prometheus.
pub fn count_answer_values(path: &Path, input: impl Read) -> Result<u64, ImportError> {
    let mut count = Count { values: 0 };
    read_answers(input, &mut count).map_err(|error| failed(path, error))?;
    Ok(count.values)
}

/// Counts values.
struct Count {
    values: u64,
}

impl TakesSeries for Count {
    fn series(&mut self, _: &Labels) -> Result<(), ImportError> {
        Ok(())
    }

    fn value(&mut self, _: f64, _: &str) -> Result<(), ImportError> {
        self.values += 1;
        Ok(())
    }

    fn histograms(&mut self) {}

    fn warning(&mut self, _: &str) {}
}

/// Says why an answer cannot be read.
pub(crate) fn failed(path: &Path, error: AnswerError) -> ImportError {
    match error {
        AnswerError::Io(cause) => ImportError::io(path, cause),
        AnswerError::Wrong(reason) => ImportError::content(path, reason),
        AnswerError::Refused(words) => {
            ImportError::content(path, format!("Prometheus could not answer: {}", one_line(&words)))
        }
        AnswerError::Taker(error) => error,
    }
}

/// Returns words of others as one line that is not too long.
pub(crate) fn one_line(words: &str) -> String {
    words.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(300).collect()
}

/// Takes series.
pub(crate) struct Metrics<'a> {
    mapping: &'a Mapping,
    samples: MappedSamples<'a>,
    /// What is measured, by what metrics are called.
    selectors: Vec<(Measure, Selector)>,
    /// What the answer at hand was asked for.
    asked: Option<Question>,
    current: Option<Current>,
    /// Series of the answer at hand.
    seen: HashSet<(Measure, u64, Component)>,
    counts: SeriesCounts,
    /// What Prometheus says of answers that are not whole, and how often.
    warnings: BTreeMap<String, u64>,
}

/// The series whose values come.
struct Current {
    measure: Measure,
    bin: u64,
    component: Component,
    server: String,
    factor: f64,
}

#[derive(Default)]
struct SeriesCounts {
    series: u64,
    values: u64,
    unknown: u64,
    twice: u64,
    no_time: u64,
    not_asked_for: u64,
    histograms: u64,
    ports: u64,
}

impl<'a> Metrics<'a> {
    pub fn new(
        path: &'a Path,
        options: &'a Options,
        import: &'a mut Import,
    ) -> Result<Self, ImportError> {
        let mapping = &options.mapping;
        // Metrics are totals since a process began, unless somebody says otherwise.
        let counters = mapping.counters.unwrap_or(Counters::Totals);
        let samples = MappedSamples::new(path, options, counters, import)?.in_order_of_time();
        let selectors = mapping.queries().map(|(measure, text)| (measure, Selector::parse(text)));
        let selectors = selectors.filter_map(|(measure, it)| Some((measure, it?))).collect();
        let (asked, current, seen, counts, warnings) = Default::default();
        Ok(Metrics { mapping, samples, selectors, asked, current, seen, counts, warnings })
    }

    /// Says what the next answer is of, how far its samples are apart, in milliseconds, and between which moments they are.
    pub fn answers(&mut self, measure: Measure, step: u32, moments: RangeInclusive<u64>) {
        self.asked = Some(Question { measure, step, moments });
        self.seen.clear();
    }

    /// Says what happened.
    pub fn finish(self, notes: &mut Notes) -> Result<(), ImportError> {
        let counts = self.counts;
        notes.recognised(counts.series, "series");
        notes.recognised(counts.values, "values");
        notes.repaired(counts.ports, "names of instances, without their ports");
        notes.left_out(counts.unknown, "series of metrics that no measure is mapped to; hint: name them in a mapping (--mapping FILE, docs/import.md)");
        let twice = "series that differ only in labels which nothing is mapped to; hint: target = \"{instance}:{device}\", or sum by (…) in the query";
        notes.left_out(counts.twice, twice);
        notes.left_out(counts.no_time, "values whose time cannot be read");
        notes.left_out(counts.not_asked_for, "values of times that were not asked for");
        notes.left_out(counts.histograms, "histograms of series");
        for (words, count) in &self.warnings {
            notes.left_out(*count, format!("what this warning of Prometheus is about: {words}"));
        }
        self.samples.finish(notes)
    }

    fn measure(&self, labels: &Labels) -> Option<Measure> {
        if let Some(asked) = &self.asked {
            return Some(asked.measure);
        }
        if let Some((measure, _)) = self.selectors.iter().find(|it| it.1.selects(labels)) {
            return Some(*measure);
        }
        let named = self.mapping.values.get("measure").or_else(|| labels.get(NAME));
        named.and_then(|it| Measure::named(it))
    }
}

impl TakesSeries for Metrics<'_> {
    fn series(&mut self, labels: &Labels) -> Result<(), ImportError> {
        self.current = None;
        self.counts.series += 1;
        let Some(measure) = self.measure(labels) else {
            self.counts.unknown += 1;
            return Ok(());
        };
        let text = |key: &str| said(self.mapping, labels, key);
        let Some(component) = self.samples.component(text) else { return Ok(()) };
        let server = text("server");
        let bin = text("bin").parse().unwrap_or(0);
        let has_port = labels.get("instance").is_some_and(|it| without_port(it) != it);
        self.counts.ports += u64::from(has_port);
        if !self.seen.insert((measure, bin, component.clone())) {
            self.counts.twice += 1;
            return Ok(());
        }
        let factor = self.mapping.factors.get(measure.name()).copied().unwrap_or(1.0);
        self.current = Some(Current { measure, bin, component, server, factor });
        Ok(())
    }

    fn value(&mut self, seconds: f64, value: &str) -> Result<(), ImportError> {
        let Some(current) = &self.current else { return Ok(()) };
        self.counts.values += 1;
        if !(3e7..4e9).contains(&seconds) {
            self.counts.no_time += 1;
            return Ok(());
        }
        let end = (seconds * 1000.0).round() as u64;
        if self.asked.as_ref().is_some_and(|it| !it.moments.contains(&end)) {
            self.counts.not_asked_for += 1;
            return Ok(());
        }
        let Current { measure, bin, component, server, factor } = current;
        let of = (*measure, *bin, component, server.as_str());
        let length = self.samples.interval().or(self.asked.as_ref().map(|it| it.step));
        self.samples.sample(of, (end, length), (Cell::Text(value), *factor))
    }

    fn histograms(&mut self) {
        self.counts.histograms += 1;
    }

    fn warning(&mut self, words: &str) {
        let words = one_line(words);
        if self.warnings.len() < WARNINGS_MAX || self.warnings.contains_key(&words) {
            *self.warnings.entry(words).or_default() += 1;
        }
    }
}

/// Different warnings that are told.
const WARNINGS_MAX: usize = 10;

/// What was asked for.
struct Question {
    measure: Measure,
    /// Milliseconds from one sample to the next.
    step: u32,
    /// Moments that were asked for, in milliseconds since 1970.
    moments: RangeInclusive<u64>,
}

/// Returns what labels, or the mapping, say of what a series is of.
fn said(mapping: &Mapping, labels: &Labels, key: &str) -> String {
    let label = |name: &str| {
        let value = labels.get(name).map(String::as_str);
        if name == "instance" { value.map(without_port) } else { value }
    };
    let found = match mapping.columns.get(key) {
        Some(text) if text.contains('{') => filled(text, label),
        Some(name) => label(name).map(str::to_owned),
        // What Prometheus calls a job is what it scrapes.
        None if matches!(key, "job" | "measure" | "value" | "time") => None,
        None => {
            let others = KEYS.iter().find(|it| it.0 == key).map_or(&[][..], |it| it.1);
            let names = [key].into_iter().chain(others.iter().copied());
            let instance = (key == "server").then_some("instance");
            names.chain(instance).find_map(label).map(str::to_owned)
        }
    };
    let found = found.filter(|it| !it.is_empty());
    found.or_else(|| mapping.values.get(key).cloned()).unwrap_or_default()
}

/// Returns a text with labels in the place of their names in curly brackets; nothing if a label is not there.
fn filled<'l>(text: &str, label: impl Fn(&str) -> Option<&'l str>) -> Option<String> {
    let mut parts = text.split('{');
    let mut all = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once('}')?;
        all += label(name.trim())?;
        all += rest;
    }
    Some(all)
}

/// Returns the host of `host:9100`.
fn without_port(instance: &str) -> &str {
    match instance.rsplit_once(':') {
        Some((host, port))
            if !host.is_empty()
                && !port.is_empty()
                && port.bytes().all(|it| it.is_ascii_digit()) =>
        {
            host
        }
        _ => instance,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_say_what_series_are_of() {
        let text = "[columns]\ntarget = '{instance}:{device}'\njob = 'jobid'\n[values]\nkind = 'block_device'\nserver = 'none'\n";
        let mapping = Mapping::parse(text).unwrap();
        let labels = [("instance", "oss1:9100"), ("device", "sda"), ("job", "node")];
        let labels: Labels = labels.map(|(name, value)| (name.into(), value.into())).into();
        assert_eq!(said(&mapping, &labels, "target"), "oss1:sda");
        assert_eq!(said(&mapping, &labels, "server"), "oss1");
        assert_eq!(said(&mapping, &labels, "kind"), "block_device");
        assert_eq!(said(&mapping, &labels, "job"), "");
        assert_eq!(said(&Mapping::default(), &labels, "target"), "sda");
        assert_eq!(said(&Mapping::default(), &labels, "job"), "");
        assert_eq!(
            (without_port("a:b"), without_port("[::1]:9"), without_port(":9")),
            ("a:b", "[::1]", ":9")
        );
    }
}
