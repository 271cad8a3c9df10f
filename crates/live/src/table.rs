//! A list as a table.

use plimsoll_utilization::Lately;
use ratatui::Frame;
use ratatui::layout::{Alignment, Constraint, Rect};
use ratatui::text::Text;
use ratatui::widgets::{Cell, Row, Table, TableState};

use crate::View;
use crate::column::Column;
use crate::listing::{Listing, SortBy};

impl View {
    /// Draws the list, so that the selected row can be seen.
    pub(crate) fn draw_list(&self, frame: &mut Frame<'_>, area: Rect) {
        let rows = self.rows();
        let selected = (!rows.is_empty()).then(|| self.place(&rows));
        let table =
            Listed { view: self, listing: self.listing, rows: &rows, sort: Some(self.sort) };
        let mut state = TableState::new().with_selected(selected);
        let table = table.to_table(area.width).row_highlight_style(self.palette.selected());
        frame.render_stateful_widget(table, area, &mut state);
    }

    /// Draws the jobs that move most, below the targets.
    pub(crate) fn draw_busiest_jobs(&self, frame: &mut Frame<'_>, area: Rect) {
        let jobs = self.snapshot().latest.jobs.as_deref().unwrap_or_default();
        let mut rows: Vec<&Lately> = jobs.iter().collect();
        SortBy::Fsu.sort(&mut rows, false);
        let table = Listed { view: self, listing: Listing::Jobs, rows: &rows, sort: None };
        frame.render_widget(table.to_table(area.width), area);
    }
}

/// Rows and how they are shown.
struct Listed<'a> {
    view: &'a View,
    listing: Listing,
    rows: &'a [&'a Lately],
    sort: Option<SortBy>,
}

impl Listed<'_> {
    fn to_table(&self, width: u16) -> Table<'static> {
        let columns = self.listing.fitted(width, self.rows);
        let headings = columns.iter().map(|(column, _)| self.heading(*column));
        let rows = self.rows.iter().map(|row| {
            Row::new(columns.iter().map(|(column, width)| self.cell(*column, *width, row)))
        });
        let widths = columns.iter().map(|(_, width)| Constraint::Length(*width));
        Table::new(rows, widths)
            .column_spacing(1)
            .header(Row::new(headings).style(self.view.palette.faint()))
    }

    fn heading(&self, column: Column) -> Cell<'static> {
        let is_sorted = self.sort.is_some() && column.sorts() == self.sort;
        let arrow = match is_sorted {
            true if self.view.is_reversed => "▲",
            true => "▼",
            false => "",
        };
        aligned(column, format!("{}{arrow}", column.heading()))
    }

    fn cell(&self, column: Column, width: u16, row: &Lately) -> Cell<'static> {
        let cell = aligned(column, column.text(row, width));
        match column {
            Column::Fsu | Column::Class => cell.style(self.view.palette.of_fsu(row.fsu)),
            _ => cell,
        }
    }
}

fn aligned(column: Column, text: String) -> Cell<'static> {
    let alignment = if column.is_number() { Alignment::Right } else { Alignment::Left };
    Cell::from(Text::from(text).alignment(alignment))
}
