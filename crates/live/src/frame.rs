//! A frame: the head, a list or what is looked at closely, and the keys.

use plimsoll_report::{visible, words};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Wrap};

use crate::View;
use crate::listing::Listing;

/// The jobs that move most are shown below targets in frames of at least this height.
const HEIGHT_WITH_JOBS: u16 = 30;
/// Rows of them, with heading and title.
const JOBS_HEIGHT: u16 = 8;

const HELP: &str = "\
q          leave
tab, 1-5   targets, servers, file systems, jobs, targets of metadata
s, r       sort by the next column; reverse
/          show only what has these letters in its name; esc shows all
space      freeze, and go on
enter      look closely: history, sizes or names of operations; esc goes back
up, down   choose a row; also k, j, page up, page down, home, end

FSU (file system utilization) is the time that the operations of the last
5 s take their target, in percent: idle below 2, busy from 30 on, and 100 is
fully busy. 'by bandwidth' is the same if only bytes took time: what a look
at bandwidth says. The line shows FSU in steps of 5 s, from 0 to 100. A
blank there is not known, and - elsewhere.

Any key goes back.";

impl View {
    /// Draws the view.
    pub fn draw(&self, frame: &mut Frame<'_>) {
        let notes = Paragraph::new(self.notes()).wrap(Wrap { trim: true });
        let notes = notes.style(self.palette.faint());
        let room = frame.area();
        // Notes must leave room for what they are about.
        let notes_height = notes_height(&self.notes(), room.width).min(room.height / 6);
        let [head, lists, note, body, keys] = Layout::vertical([
            Constraint::Length(1),
            Constraint::Length(1),
            Constraint::Length(notes_height),
            Constraint::Min(0),
            Constraint::Length(1),
        ])
        .areas(room);
        frame.render_widget(self.head(), head);
        frame.render_widget(self.lists(), lists);
        frame.render_widget(notes, note);
        self.draw_body(frame, body);
        frame.render_widget(self.keys(), keys);
    }

    fn draw_body(&self, frame: &mut Frame<'_>, body: Rect) {
        if self.has_help {
            return frame.render_widget(Paragraph::new(HELP).wrap(Wrap { trim: false }), body);
        }
        if let Some(close) = self.close() {
            return self.draw_closely(close, frame, body);
        }
        let Some(listed) = self.listing.of(&self.snapshot().latest) else {
            let text = match self.listing {
                Listing::Metadata => "No target of metadata is here: this is no Lustre MDS.",
                _ => "Jobs are not known: Lustre's job statistics are off, or nobody reads them.",
            };
            return frame.render_widget(Paragraph::new(text).wrap(Wrap { trim: false }), body);
        };
        if listed.is_empty() {
            return frame.render_widget(Line::from("nothing yet"), body);
        }
        let has_jobs = self.snapshot().latest.jobs.as_ref().is_some_and(|jobs| !jobs.is_empty());
        let is_room = self.listing == Listing::Targets && body.height >= HEIGHT_WITH_JOBS;
        if !(has_jobs && is_room) {
            return self.draw_list(frame, body);
        }
        let [list, title, jobs] = Layout::vertical([
            Constraint::Min(0),
            Constraint::Length(1),
            Constraint::Length(JOBS_HEIGHT),
        ])
        .areas(body);
        self.draw_list(frame, list);
        frame.render_widget(Line::from("busiest jobs").style(self.palette.strong()), title);
        self.draw_busiest_jobs(frame, jobs);
    }

    /// When, what must not be missed, and of what: a long name must not hide the rest.
    fn head(&self) -> Line<'static> {
        let snapshot = self.snapshot();
        let mut head = vec![Span::styled("plimsoll top", self.palette.strong())];
        if !snapshot.moment.is_empty() {
            head.push(Span::raw(format!("  {}", snapshot.moment)));
        }
        if let Some(trouble) = &snapshot.trouble {
            head.push(Span::styled(format!("  {}", visible(trouble)), self.palette.warning()));
        }
        if self.is_frozen() {
            head.push(Span::styled("  frozen", self.palette.warning()));
        }
        head.push(Span::raw(format!("  {}", visible(&snapshot.source))));
        Line::from(head)
    }

    /// The lists that there are, with how many each has.
    fn lists(&self) -> Line<'static> {
        let mut parts = Vec::new();
        // Before the lists: a narrow terminal must show what is typed.
        if self.is_typing || !self.filter.is_empty() {
            let cursor = if self.is_typing { "_" } else { "" };
            let filter = format!("filter: {}{cursor}", visible(&self.filter));
            parts.extend([Span::styled(filter, self.palette.warning()), Span::raw("  ")]);
        }
        for (number, listing) in (1..).zip(Listing::ALL) {
            let count =
                listing.of(&self.snapshot().latest).map(|rows| words::grouped(rows.len() as u64));
            let count = count.unwrap_or_else(|| "-".to_owned());
            let text = format!("{number} {} ({count})", listing.title());
            let is_shown = listing == self.listing;
            let style = if is_shown { self.palette.selected() } else { self.palette.faint() };
            parts.extend([Span::styled(text, style), Span::raw("  ")]);
        }
        Line::from(parts)
    }

    fn notes(&self) -> String {
        let notes: Vec<String> = self.snapshot().notes.iter().map(|note| visible(note)).collect();
        notes.join("; ")
    }

    fn keys(&self) -> Line<'static> {
        let text = match () {
            () if self.is_typing => {
                "type letters of a name   enter: keep   esc: show all".to_owned()
            }
            () if self.close().is_some() => "q quit   space freeze   esc back".to_owned(),
            () => format!(
                "q quit  s sort: {}  r reverse  / filter  space freeze  enter closer  ? help",
                self.sort.words()
            ),
        };
        Line::from(text).style(self.palette.faint())
    }
}

/// Lines that the notes take: one more than their letters need, as words are not cut.
fn notes_height(notes: &str, width: u16) -> u16 {
    let letters = notes.chars().count();
    let lines = letters.div_ceil(usize::from(width.max(1)));
    u16::try_from(if lines > 1 { lines + 1 } else { lines }).unwrap_or(u16::MAX)
}
