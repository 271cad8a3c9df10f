//! Spans of time in rows: one MPI call as the POSIX calls that it made on each rank.

use serde_json::json;

use crate::Unit;

use super::axis::{Axis, Fitted, exact};
use super::colour::{Hue, Palette};
use super::escape::spelled;
use super::figure::{Drawing, Mark, skipped_note};
use super::frame::Frame;
use super::svg::rect;
use super::table::{Cell, Column, Table};

/// A span of time.
#[derive(Debug, Clone, PartialEq)]
pub struct Span {
    /// Index of the row.
    pub row: usize,
    /// Index of the kind.
    pub kind: usize,
    /// Where it starts on the x axis.
    pub start: f64,
    /// Where it ends.
    pub end: f64,
    /// More about it, for its tooltip. May be empty.
    pub detail: String,
}

/// Rows of spans, coloured by kind.
#[derive(Debug, Clone, PartialEq)]
pub struct Gantt {
    pub(crate) title: String,
    x: Axis,
    rows: Vec<String>,
    kinds: Vec<String>,
    spans: Vec<Span>,
    palette: Palette,
}

const ROWS_MAX: usize = 64;
const SPANS_MAX: usize = 5000;
const SLOT: f64 = 20.0;

impl Gantt {
    /// Rows and kinds by name, no spans yet.
    pub fn new(title: impl Into<String>, x: Axis, rows: Vec<String>, kinds: Vec<String>) -> Self {
        let x = Axis { scale: Default::default(), ..x };
        let (spans, palette) = (Vec::new(), Palette::default());
        Gantt { title: title.into(), x, rows, kinds, spans, palette }
    }

    /// Adds a span.
    pub fn span(mut self, span: Span) -> Self {
        self.push(span);
        self
    }

    /// Adds a span in place.
    pub fn push(&mut self, span: Span) {
        self.spans.push(span);
    }

    /// Whether its row and its kind exist, and it does not end before it starts.
    fn holds(&self, span: &Span) -> bool {
        span.row < self.rows.len()
            && span.kind < self.kinds.len()
            && self.x.holds(span.start)
            && self.x.holds(span.end)
            && span.start <= span.end
    }

    /// Gives each kind the colour that its kind of call has on every page.
    pub fn hues(mut self, hues: Vec<Hue>) -> Self {
        self.palette = Palette::new(hues);
        self
    }

    pub(crate) fn draw(&self, width: f64) -> Drawing {
        let held: Vec<&Span> = self.spans.iter().filter(|span| self.holds(span)).collect();
        let skipped = self.spans.len() - held.len();
        let ends = held.iter().flat_map(|span| [span.start, span.end]);
        let Some(x) = self.x.fit(ends) else { return Drawing::empty(skipped) };
        let mut notes = skipped_note(skipped);
        if self.rows.len() > ROWS_MAX {
            let more = self.rows.len() - ROWS_MAX;
            notes.push(format!("The first {ROWS_MAX} rows; {more} more are not drawn."));
        }
        let in_rows: Vec<&Span> = held.iter().copied().filter(|span| span.row < ROWS_MAX).collect();
        let drawn = longest(&in_rows);
        if drawn.len() < in_rows.len() {
            notes.push(format!(
                "The {} longest of {} spans are drawn.",
                drawn.len(),
                in_rows.len()
            ));
        }
        let rows = &self.rows[..self.rows.len().min(ROWS_MAX)];
        let frame =
            Frame::with_names(rows.iter().map(String::as_str), SLOT * rows.len() as f64, width);
        let data = json!({ "kind": "spans", "plot": frame.json(), "x": x.json() });
        let svg = self.svg(&frame, &x, rows, &drawn);
        let legend = self.kinds.iter().map(|kind| (kind.clone(), Mark::Block)).collect();
        let table = Some(self.table(&held));
        let palette = self.palette.clone();
        Drawing { svg, legend, palette, filter: true, notes, data: Some(data), table, zoom: true }
    }

    fn svg(&self, frame: &Frame, x: &Fitted, rows: &[String], spans: &[&Span]) -> String {
        let mut inside = frame.x_axis(x);
        for (index, name) in rows.iter().enumerate() {
            let middle = frame.top + (index as f64 + 0.5) * SLOT;
            inside.push_str(&frame.row_name(name, middle));
        }
        let mut marks = String::new();
        for (kind, _) in self.kinds.iter().enumerate() {
            let of_kind = spans.iter().filter(|span| span.kind == kind);
            let rects: String = of_kind.map(|span| self.span_svg(frame, x, span)).collect();
            let colour = self.palette.class(kind);
            marks.push_str(&format!("<g class=\"{colour}\" data-s=\"{kind}\">{rects}</g>"));
        }
        inside.push_str(&frame.area(&marks));
        inside.push_str(&frame.base_line());
        let words = format!("{}: spans in {} rows, {}", self.title, self.rows.len(), x.words());
        frame.chart(&words, true, &inside)
    }

    fn span_svg(&self, frame: &Frame, x: &Fitted, span: &Span) -> String {
        let (start, end) = (x.share(span.start) * frame.width, x.share(span.end) * frame.width);
        let exactly = |value: f64| exact(value, self.x.unit);
        let mut tip = format!(
            "{}: {}\nfrom {}\nfor {}",
            spelled(&self.rows[span.row]),
            spelled(&self.kinds[span.kind]),
            exactly(span.start),
            exactly(span.end - span.start)
        );
        if !span.detail.is_empty() {
            tip.push('\n');
            tip.push_str(&spelled(&span.detail));
        }
        let y = span.row as f64 * SLOT + 3.0;
        rect(start, y, end - start, SLOT - 6.0, "f span", &tip)
    }

    /// Sums by row and kind.
    fn table(&self, spans: &[&Span]) -> Table {
        let kinds = self.kinds.iter().map(|kind| Column::figures(kind.as_str()));
        let columns = [Column::text("row"), Column::figures("spans")].into_iter().chain(kinds);
        let mut table = Table::new(columns.collect());
        let mut sums = vec![(0u64, vec![0.0; self.kinds.len()]); self.rows.len()];
        for span in spans {
            if let Some((count, seconds)) = sums.get_mut(span.row) {
                *count += 1;
                seconds[span.kind] += span.end - span.start;
            }
        }
        for (name, (count, seconds)) in self.rows.iter().zip(sums) {
            let first = [Cell::Text(name.clone()), Cell::value(count, Unit::Count)];
            let sums = seconds.into_iter().map(|sum| Cell::value(sum, self.x.unit));
            table.push(first.into_iter().chain(sums).collect());
        }
        table
    }
}

/// Returns the longest spans, in their own order, where there are too many to draw.
fn longest<'a>(spans: &[&'a Span]) -> Vec<&'a Span> {
    if spans.len() <= SPANS_MAX {
        return spans.to_vec();
    }
    let length = |index: &usize| spans[*index].end - spans[*index].start;
    let mut order: Vec<usize> = (0..spans.len()).collect();
    order.sort_by(|a, b| length(b).total_cmp(&length(a)).then(a.cmp(b)));
    order.truncate(SPANS_MAX);
    order.sort_unstable();
    order.into_iter().map(|index| spans[index]).collect()
}
