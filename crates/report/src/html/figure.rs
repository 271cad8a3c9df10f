//! What stands around a chart: title, legend, notes, and its numbers as a table.
//!
//! Each kind of chart in `html` is in a file of its own and implements the trait of this one, which is why they use
//! each other.

use serde_json::Value as Json;

use super::bars::Bars;
use super::boxplots::BoxPlots;
use super::colour::Palette;
use super::escape::{escape, script_json};
use super::frame::SIZES;
use super::gantt::Gantt;
use super::heatmap::HeatMap;
use super::lines::Lines;
use super::ratio_map::cell_class;
use super::scatter::Scatter;
use super::stacked::StackedBars;
use super::table::Table;
use crate::RatioMap;

/// A chart of one of the kinds.
#[derive(Debug, Clone, PartialEq)]
pub enum Chart {
    /// Values by category.
    Bars(Bars),
    /// Values by category, each made of parts.
    Stacked(StackedBars),
    /// Values over a continuous quantity.
    Lines(Lines),
    /// Points.
    Scatter(Scatter),
    /// Rows by time, coloured by class.
    HeatMap(HeatMap),
    /// Spans of time in rows.
    Gantt(Gantt),
    /// Distributions by category.
    BoxPlots(BoxPlots),
    /// Ratios over two quantities.
    RatioMap(RatioMap),
}

macro_rules! from_chart {
    ($($data:ident => $kind:ident),*) => {
        $(impl From<$data> for Chart {
            fn from(data: $data) -> Self {
                Chart::$kind(data)
            }
        })*
    };
}

from_chart!(Bars => Bars, StackedBars => Stacked, Lines => Lines, Scatter => Scatter,
            HeatMap => HeatMap, Gantt => Gantt, BoxPlots => BoxPlots, RatioMap => RatioMap);

/// How the mark of a series looks in the legend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    Block,
    /// With this dash pattern of style.css.
    Line(usize),
    /// With this path of scatter.rs.
    Shape(&'static str),
    /// A cell of a map: whether it is a gain, and its shade.
    Cell(bool, usize),
}

/// What a chart gives to its figure.
#[derive(Debug, Default)]
pub(crate) struct Drawing {
    /// The SVG element; empty where there is nothing to draw.
    pub svg: String,
    /// Names of series or kinds.
    pub legend: Vec<(String, Mark)>,
    /// Their colours.
    pub palette: Palette,
    /// Whether a click on a name hides and shows its marks.
    pub filter: bool,
    /// What was left out or made coarser, a sentence each.
    pub notes: Vec<String>,
    /// For the script.
    pub data: Option<Json>,
    /// The numbers, or their summary.
    pub table: Option<Table>,
    /// Whether the reader can zoom along x.
    pub zoom: bool,
}

impl Drawing {
    /// Nothing to draw, and why.
    pub fn empty(skipped: usize) -> Self {
        Drawing { notes: skipped_note(skipped), ..Drawing::default() }
    }
}

/// Says how many values had no place in the chart.
pub(crate) fn skipped_note(skipped: usize) -> Vec<String> {
    match skipped {
        0 => Vec::new(),
        1 => vec![
            "1 value that cannot be drawn (not a number, infinite, or not positive on a \
                   logarithmic axis) is left out."
                .to_string(),
        ],
        _ => vec![format!(
            "{skipped} values that cannot be drawn (not a number, infinite, or not positive on a \
             logarithmic axis) are left out."
        )],
    }
}

/// Returns the chart with all that belongs to it.
pub(crate) fn figure(chart: &Chart) -> String {
    let drawings = SIZES.map(|(width, class)| (draw(chart, width), class));
    let title = title(chart);
    let (drawing, _) = &drawings[0];
    let notes: String = drawing
        .notes
        .iter()
        .map(|note| format!("<p class=\"note\">{}</p>", escape(note)))
        .collect();
    let caption = format!("<figcaption>{}</figcaption>", escape(title));
    if drawing.svg.is_empty() {
        return format!(
            "<figure class=\"chart\">{caption}<p class=\"empty\">Nothing to draw: no values.</p>\
             {notes}</figure>\n"
        );
    }
    let data = drawing.data.clone().map_or(String::new(), |mut data| {
        // All but the place of the marks is the same in every size.
        let plots = drawings.iter().filter_map(|(it, _)| it.data.as_ref()?.get("plot").cloned());
        data["plot"] = plots.collect();
        format!("<script type=\"application/json\">{}</script>", script_json(&data))
    });
    let sizes: String = drawings
        .iter()
        .map(|(it, class)| format!("<div class=\"{class}\">{}</div>", it.svg))
        .collect();
    format!(
        "<figure class=\"chart\"><div class=\"head\">{caption}{}</div>{}\
         {sizes}{notes}{}{data}</figure>\n",
        if drawing.zoom { ZOOM } else { "" },
        legend(drawing),
        numbers(drawing.table.as_ref()),
    )
}

fn title(chart: &Chart) -> &str {
    match chart {
        Chart::Bars(chart) => &chart.title,
        Chart::Stacked(chart) => &chart.title,
        Chart::Lines(chart) => &chart.title,
        Chart::Scatter(chart) => &chart.title,
        Chart::HeatMap(chart) => &chart.title,
        Chart::Gantt(chart) => &chart.title,
        Chart::BoxPlots(chart) => &chart.title,
        Chart::RatioMap(chart) => &chart.title,
    }
}

fn draw(chart: &Chart, width: f64) -> Drawing {
    match chart {
        Chart::Bars(chart) => chart.draw(width),
        Chart::Stacked(chart) => chart.draw(width),
        Chart::Lines(chart) => chart.draw(width),
        Chart::Scatter(chart) => chart.draw(width),
        Chart::HeatMap(chart) => chart.draw(width),
        Chart::Gantt(chart) => chart.draw(width),
        Chart::BoxPlots(chart) => chart.draw(width),
        Chart::RatioMap(chart) => chart.draw(width),
    }
}

const ZOOM: &str = "<div class=\"zoom\" role=\"group\" aria-label=\"Zoom\">\
    <button type=\"button\" data-zoom=\"2\" title=\"Zoom in. Also: click the chart, then turn the \
    wheel; drag or use the arrow keys to move\">+</button>\
    <button type=\"button\" data-zoom=\"0.5\" title=\"Zoom out\">\u{2212}</button>\
    <button type=\"button\" data-zoom=\"0\" title=\"Show all. Also: double-click\">All</button></div>";

fn legend(drawing: &Drawing) -> String {
    // A single series is named by the title and the axis.
    if drawing.legend.len() < 2 {
        return String::new();
    }
    let item = |(index, (name, mark)): (usize, &(String, Mark))| {
        let (colour, swatch, name) = (drawing.palette.class(index), swatch(*mark), escape(name));
        if drawing.filter {
            format!(
                "<li><button type=\"button\" class=\"{colour}\" data-series=\"{index}\" \
                 aria-pressed=\"true\">{swatch}{name}</button></li>"
            )
        } else {
            format!("<li class=\"{colour}\">{swatch}{name}</li>")
        }
    };
    let items: String = drawing.legend.iter().enumerate().map(item).collect();
    format!("<ul class=\"legend\">{items}</ul>")
}

fn swatch(mark: Mark) -> String {
    let shape = match mark {
        Mark::Block => "<rect x=\"2\" y=\"1\" width=\"12\" height=\"10\" class=\"f\"/>".to_string(),
        Mark::Line(dash) => format!("<path d=\"M0 6h24\" class=\"s d{dash}\"/>"),
        Mark::Cell(is_gain, level) => {
            let class = cell_class(is_gain, level);
            format!("<rect x=\"2\" y=\"1\" width=\"12\" height=\"10\" class=\"{class}\"/>")
        }
        Mark::Shape(path) => format!("<path d=\"M8 6{path}\" class=\"p\"/>"),
    };
    let width = if matches!(mark, Mark::Line(_)) { 24 } else { 16 };
    format!(
        "<svg class=\"swatch\" width=\"{width}\" height=\"12\" viewBox=\"0 0 {width} 12\" \
         aria-hidden=\"true\">{shape}</svg>"
    )
}

fn numbers(table: Option<&Table>) -> String {
    table.map_or(String::new(), |table| {
        format!(
            "<details class=\"numbers\"><summary>Numbers</summary>{}</details>",
            table.to_html()
        )
    })
}
