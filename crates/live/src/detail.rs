//! A close look at one target, server, file system or job.

use std::collections::BTreeMap;

use plimsoll_history::{ComponentKind, Measure};
use plimsoll_report::{Unit, visible, words};
use plimsoll_utilization::{CLASSES, Lately, Options};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::symbols::bar;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Sparkline, SparklineBar, Wrap};

use crate::View;

/// Rows of the history.
const HISTORY_HEIGHT: u16 = 5;

impl View {
    pub(crate) fn draw_closely(&self, of: &Lately, frame: &mut Frame<'_>, area: Rect) {
        let history = if of.history.is_empty() { 0 } else { HISTORY_HEIGHT };
        let [facts, scale, line, sizes] = Layout::vertical([
            Constraint::Length(4),
            Constraint::Length(u16::from(history > 0)),
            Constraint::Length(history),
            Constraint::Min(0),
        ])
        .areas(area);
        let is_metadata = of.kind == Some(ComponentKind::Mdt);
        let known = match is_metadata {
            true => self.facts_of_metadata(of),
            false => self.facts(of),
        };
        frame.render_widget(Paragraph::new(known), facts);
        let least = if is_metadata { 1.0 } else { 100.0 };
        let top = of.history.iter().flatten().fold(least, |top: f64, value| top.max(*value));
        let heading = match is_metadata {
            true => format!("operations a second in steps of 5 s, from 0 to {}", words::short(top)),
            false => format!("FSU in steps of 5 s, from 0 to {}", Unit::Percent.show(top)),
        };
        frame.render_widget(Line::from(heading).style(self.palette.faint()), scale);
        frame.render_widget(history_line(of, line.width, top), line);
        let below = match is_metadata {
            true => self.operations(of.metadata.as_ref(), sizes),
            false => self.sizes(of, sizes),
        };
        frame.render_widget(below, sizes);
    }

    fn facts_of_metadata(&self, of: &Lately) -> Vec<Line<'static>> {
        let rate = of.operations().map_or("-".to_owned(), words::short);
        vec![
            Line::from(self.title(of)).style(self.palette.strong()),
            Line::from(format!("{rate} operations a second")),
        ]
    }

    /// A row for each name of an operation, the most frequent first.
    fn operations(&self, rates: Option<&BTreeMap<Measure, f64>>, area: Rect) -> Paragraph<'static> {
        let Some(rates) = rates else {
            let text = "Not known yet: its counters were read once, or have not changed.";
            return Paragraph::new(text).wrap(Wrap { trim: false });
        };
        let heading = "operations a second over the last 5 s, by name";
        let mut lines = vec![Line::from(heading).style(self.palette.faint())];
        let mut rates: Vec<(&Measure, &f64)> = rates.iter().collect();
        rates.sort_by(|one, other| other.1.total_cmp(one.1).then(one.0.cmp(other.0)));
        let most = rates.first().map_or(0.0, |it| *it.1);
        let width = usize::from(area.width).saturating_sub(26 + 12);
        for (measure, rate) in rates {
            let name = measure.name().replace('_', " ");
            let bar = bar_of(*rate, most, width);
            lines.push(Line::from(format!("{name:>25} {:>10} {bar}", words::short(*rate))));
        }
        Paragraph::new(lines)
    }

    fn facts(&self, of: &Lately) -> Vec<Line<'static>> {
        let show =
            |unit: Unit, value: Option<f64>| value.map_or("-".to_owned(), |it| unit.show(it));
        let per_second = |value: Option<f64>| {
            value.map_or("-".to_owned(), |it| format!("{}/s", words::short(it)))
        };
        let class = of.fsu.map_or("", |fsu| CLASSES[Options::default().class(fsu)]);
        let fsu = format!("FSU {} {class}", show(Unit::Percent, of.fsu));
        let alone = format!("  ({} by bandwidth alone)", show(Unit::Percent, of.bandwidth_only));
        let direction = |what: &str, bytes, operations, size| {
            format!(
                "{what} {}, {} of {}",
                show(Unit::BytesPerSec, bytes),
                per_second(operations),
                show(Unit::Bytes, size)
            )
        };
        vec![
            Line::from(self.title(of)).style(self.palette.strong()),
            Line::from(vec![Span::styled(fsu, self.palette.of_fsu(of.fsu)), Span::raw(alone)]),
            Line::from(direction("read   ", of.read_bytes, of.read_operations, of.read_size())),
            Line::from(direction(
                "written",
                of.written_bytes,
                of.write_operations,
                of.write_size(),
            )),
        ]
    }

    fn title(&self, of: &Lately) -> String {
        let mut title = visible(&of.name);
        if let Some(kind) = of.kind {
            title.push_str(&format!(", {}", kind.name().replace('_', " ")));
        } else {
            title.push_str(&format!(", {}", words::count(of.targets as u64, "target")));
        }
        for (word, name) in [("of", &of.file_system), ("on", &of.server)] {
            if !name.is_empty() {
                title.push_str(&format!(" {word} {}", visible(name)));
            }
        }
        if !of.is_present {
            title.push_str(", absent");
        }
        title
    }

    /// A row for each size, with bars of reads and writes on one scale.
    fn sizes(&self, of: &Lately, area: Rect) -> Paragraph<'static> {
        let Some(sizes) = &of.sizes else {
            let text = "Sizes of single operations are not known, only their mean: \
                        the kernel counts operations and bytes.";
            return Paragraph::new(text).wrap(Wrap { trim: false });
        };
        let heading = "operations between server and disk in the last minute, by size at most";
        let mut lines = vec![Line::from(heading).style(self.palette.faint())];
        let most = sizes.values().map(|it| it.0.max(it.1)).max().unwrap_or(0);
        // Two bars and two counts share what a size leaves.
        let width = usize::from(area.width).saturating_sub(10 + 2 * 20) / 2;
        for (size, (reads, writes)) in sizes {
            let size = Unit::Bytes.show(*size as f64);
            let part = |what: &str, count: u64| {
                let bar = bar_of(count as f64, most as f64, width);
                format!("  {what} {:>10} {bar:width$}", words::grouped(count))
            };
            lines.push(Line::from(format!(
                "{size:>10}{}{}",
                part("reads", *reads),
                part("writes", *writes)
            )));
        }
        if sizes.is_empty() {
            lines.push(Line::from("none"));
        }
        Paragraph::new(lines)
    }
}

/// A bar to the half of a character; what is there is seen.
fn bar_of(count: f64, most: f64, width: usize) -> String {
    if most <= 0.0 || count <= 0.0 {
        return String::new();
    }
    let halves = (count / most * width as f64 * 2.0).round().max(1.0) as usize;
    format!("{}{}", bar::FULL.repeat(halves / 2), if halves % 2 == 1 { "▌" } else { "" })
}

/// What is not known is a blank.
fn history_line(of: &Lately, width: u16, top: f64) -> Sparkline<'static> {
    let first = of.history.len().saturating_sub(width.into());
    // A window in which nothing was done is not one that nobody knows of: it has the least height, an eighth of a row.
    let least = top / f64::from(HISTORY_HEIGHT * 8);
    let points = of.history[first..]
        .iter()
        .map(|fsu| SparklineBar::from(fsu.map(|fsu| (fsu.max(least) * FINE).ceil() as u64)));
    Sparkline::default().data(points).max((top * FINE).ceil() as u64)
}

/// Steps of a percent that heights are worked out in.
const FINE: f64 = 100.0;
