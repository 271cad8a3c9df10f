//! One component that is followed: what it did in the last seconds, and how busy it was before.

use std::collections::{BTreeMap, VecDeque};

use plimsoll_history::{GAP_MILLIS, Measure};

use crate::TargetCosts;
use crate::span::Span;
use crate::window::{WINDOW_MILLIS, Window};

/// Sizes of operations are added up over this many windows: a minute.
pub(crate) const SIZE_WINDOWS: u64 = 12;

/// Reads and writes by size.
pub(crate) type Sizes = BTreeMap<u64, (u64, u64)>;

/// What is known of a component.
#[derive(Debug)]
pub(crate) struct Followed {
    pub server: String,
    pub is_present: bool,
    /// When somebody told of it last, in milliseconds since 1970.
    pub heard: u64,
    costs: TargetCosts,
    has_sizes: bool,
    /// The last ones, enough for a window.
    spans: VecDeque<Span>,
    /// By number; one that nothing is known of is not there.
    windows: BTreeMap<u64, Window>,
    sizes: BTreeMap<u64, Sizes>,
    /// Of windows, as above: milliseconds that are known, and operations of metadata.
    metadata: BTreeMap<u64, (u64, f64)>,
}

/// What a component does now: over the last window's time, or what is known of it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Current {
    /// What it costs the target; nothing if not enough is known.
    pub window: Option<Window>,
    /// A second.
    pub read_bytes: Option<f64>,
    pub written_bytes: Option<f64>,
    pub read_operations: Option<f64>,
    pub write_operations: Option<f64>,
    /// Operations of metadata by name; nothing where none is counted.
    pub metadata: Option<BTreeMap<Measure, f64>>,
}

impl Followed {
    pub fn new(costs: TargetCosts) -> Self {
        Followed {
            server: String::new(),
            is_present: true,
            heard: 0,
            costs,
            has_sizes: false,
            spans: VecDeque::new(),
            windows: BTreeMap::new(),
            sizes: BTreeMap::new(),
            metadata: BTreeMap::new(),
        }
    }

    /// Returns the end of what is known.
    pub fn end(&self) -> Option<u64> {
        self.spans.back().map(|span| span.end)
    }

    /// Adds what happened after everything that is known. Longer times than a minute are gaps: nobody knows when in them.
    pub fn push(&mut self, span: Span, kept_windows: u64) {
        let is_later = self.end().is_none_or(|end| span.end > end);
        if span.length == 0 || span.length > GAP_MILLIS || !is_later {
            return;
        }
        self.has_sizes |= span.has_sizes;
        let last = span.end.saturating_sub(1) / WINDOW_MILLIS;
        if kept_windows > 0 {
            if let Some(whole) = span.window(&self.costs, self.has_sizes) {
                self.spread(&span, &whole);
            }
            self.spread_metadata(&span);
            let sizes = self.sizes.entry(last).or_default();
            for (size, (reads, writes)) in &span.sizes {
                let sum = sizes.entry(*size).or_default();
                *sum = (sum.0.saturating_add(*reads), sum.1.saturating_add(*writes));
            }
        }
        self.windows = self.windows.split_off(&last.saturating_sub(kept_windows));
        self.metadata = self.metadata.split_off(&last.saturating_sub(kept_windows));
        self.sizes = self.sizes.split_off(&last.saturating_sub(SIZE_WINDOWS - 1));
        self.spans.push_back(span);
        let is_enough = |spans: &VecDeque<Span>| {
            spans.iter().skip(1).map(|span| span.length).sum::<u64>() >= WINDOW_MILLIS
        };
        while is_enough(&self.spans) {
            self.spans.pop_front();
        }
    }

    /// Forgets what it did: it begins anew.
    pub fn forget(&mut self) {
        self.spans.clear();
    }

    /// Adds to each window its share of what a span cost.
    fn spread(&mut self, span: &Span, whole: &Window) {
        for (number, covered) in span.windows() {
            let share = |cost: u128| cost / u128::from(span.length) * u128::from(covered);
            let window = self.windows.entry(number).or_default();
            window.targets = 1;
            window.covered += covered;
            window.cost += share(whole.cost);
            window.byte_cost += share(whole.byte_cost);
        }
    }

    /// Adds to each window its share of the operations of metadata.
    fn spread_metadata(&mut self, span: &Span) {
        if span.metadata.is_empty() {
            return;
        }
        let operations = operations_of(span) as f64 / span.length as f64;
        for (number, covered) in span.windows() {
            let (known, sum) = self.metadata.entry(number).or_default();
            (*known, *sum) = (*known + covered, *sum + operations * covered as f64);
        }
    }

    /// Returns the operations of metadata a second in a window of the past, if enough of it is known.
    pub fn metadata_rate(&self, number: u64) -> Option<f64> {
        let (known, operations) = self.metadata.get(&number)?;
        let window = Window { targets: 1, covered: *known, ..Window::default() };
        window.is_known().then(|| operations / (*known as f64 / 1000.0))
    }

    /// Returns a window of the past, if enough of it is known.
    pub fn window(&self, number: u64) -> Option<&Window> {
        self.windows.get(&number).filter(|window| window.is_known())
    }

    /// Returns operations by size of the last minute; nothing if no sizes are known.
    pub fn sizes(&self, now: u64) -> Option<Sizes> {
        let first = (now.saturating_sub(1) / WINDOW_MILLIS).saturating_sub(SIZE_WINDOWS - 1);
        let mut sum = Sizes::new();
        for (size, (reads, writes)) in self.sizes.range(first..).flat_map(|it| it.1) {
            let of_size = sum.entry(*size).or_default();
            *of_size = (of_size.0.saturating_add(*reads), of_size.1.saturating_add(*writes));
        }
        self.has_sizes.then_some(sum)
    }

    /// Returns what it does now. Nothing is known of it if nothing was told for longer than a window and twice the time
    /// of the last span.
    pub fn current(&self, now: u64) -> Current {
        let Some(last) = self.spans.back() else { return Current::default() };
        if now.saturating_sub(last.end) > WINDOW_MILLIS + 2 * last.length {
            return Current::default();
        }
        let spans: Vec<&Span> = self.latest().collect();
        let seconds = spans.iter().map(|span| span.length).sum::<u64>() as f64 / 1000.0;
        let rate = |of: fn(&Span) -> Option<u64>| {
            let sum: Option<u128> = spans.iter().map(|span| of(span).map(u128::from)).sum();
            sum.map(|sum| sum as f64 / seconds)
        };
        Current {
            window: self.latest_window(&spans).filter(Window::is_known),
            read_bytes: rate(|it| it.read.bytes),
            written_bytes: rate(|it| it.write.bytes),
            read_operations: rate(|it| it.read.operations),
            write_operations: rate(|it| it.write.operations),
            metadata: metadata_rates(&spans, seconds),
        }
    }

    fn latest_window(&self, spans: &[&Span]) -> Option<Window> {
        let mut sum = Window::default();
        for span in spans {
            sum.add(&span.window(&self.costs, self.has_sizes)?);
        }
        // It is one target, however many spans it has, and the window is as long as they are.
        sum.targets = 1;
        (!spans.is_empty()).then_some(sum)
    }

    /// The last spans that follow each other without a gap, until they make a window.
    fn latest(&self) -> impl Iterator<Item = &Span> {
        let mut covered = 0;
        let mut start = None;
        self.spans.iter().rev().take_while(move |span| {
            // Readings are some milliseconds early or late.
            let follows = start.is_none_or(|start: u64| start.saturating_sub(span.end) < 500);
            let is_needed = covered + span.length / 2 < WINDOW_MILLIS;
            covered += span.length;
            start = Some(span.end.saturating_sub(span.length));
            follows && is_needed
        })
    }
}

/// Operations of metadata that are part of others that are counted, too (Lustre, mdt_reint.c).
const COUNTED_TWICE: [Measure; 3] =
    [Measure::RenamesSameDirectory, Measure::RenamesCrossDirectory, Measure::RenamesParallel];

/// Returns whether operations of a name count where all are added up.
pub(crate) fn counts_once(measure: Measure) -> bool {
    !COUNTED_TWICE.contains(&measure)
}

fn operations_of(span: &Span) -> u64 {
    let once = span.metadata.iter().filter(|it| counts_once(*it.0));
    once.fold(0, |sum: u64, it| sum.saturating_add(*it.1))
}

/// Of names that are not in all of the spans, nothing is known before they appear: they are counted from there on.
fn metadata_rates(spans: &[&Span], seconds: f64) -> Option<BTreeMap<Measure, f64>> {
    let mut rates = BTreeMap::new();
    for (measure, count) in spans.iter().flat_map(|span| &span.metadata) {
        *rates.entry(*measure).or_default() += *count as f64 / seconds;
    }
    (!rates.is_empty()).then_some(rates)
}
