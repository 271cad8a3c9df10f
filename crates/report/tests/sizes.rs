//! Every chart is drawn in three widths, and in each of them it is whole.

mod drawn;

use drawn::{count, names};
use plimsoll_report::html::{
    Axis, Bars, BoxPlots, BoxSummary, Chart, Gantt, HeatMap, Hue, Lines, Page, Scatter, Section,
    Span, StackedBars,
};
use plimsoll_report::{RatioMap, Unit};

fn charts() -> Vec<Chart> {
    let time = || Axis::new("time since the beginning", Unit::Seconds);
    let long = || vec!["/scratch/project/run-17/checkpoint.000042.h5".to_string(), "b".to_string()];
    let line = vec![(0.0, 1.0), (5.0, 3.0), (1000.0, 2.0)];
    let span = Span { row: 0, kind: 0, start: 0.0, end: 900.0, detail: String::new() };
    let summary = BoxSummary {
        name: "a".into(),
        count: 9,
        low: 1.0,
        first_quartile: 2.0,
        median: 3.0,
        third_quartile: 4.0,
        high: 5.0,
        median_interval: None,
        outliers: vec![99.0],
    };
    let map = (count("rows"), vec![1.0, 2.0]);
    vec![
        Bars::columns("t", "c", count("v"), names(40)).series("s", vec![1.0; 40]).into(),
        Bars::rows("t", "c", time(), long()).series("s", vec![1e3, 2e3]).into(),
        StackedBars::new("t", "c", time(), names(2)).row("r", vec![1.0, 2.0]).into(),
        Lines::new("t", time(), count("v")).line("l", line.clone()).into(),
        Scatter::new("t", time(), count("v")).points("p", line).into(),
        HeatMap::new(
            "t",
            time(),
            (0.0, 1e3),
            3,
            "process",
            long(),
            Axis::new("bytes in a cell", Unit::Bytes),
        )
        .logarithmic()
        .class("written", vec![1.0, 2e9, 3.0, 4.0, 5.0, 6.0])
        .into(),
        Gantt::new("t", time(), long(), names(1)).span(span).into(),
        BoxPlots::new("t", "c", time()).summary(summary).into(),
        RatioMap::new("t", map.clone(), map).cells(vec![1.0, 2.0, 0.5, 9.0]).into(),
    ]
}

/// The drawings of a chart: the width of each, and what is in it.
fn drawings(chart: Chart) -> Vec<(f64, String)> {
    let html = Page::new("p", "").section(Section::new("s").chart(chart)).to_html();
    let figure = html.split_once("<figure").unwrap().1.split_once("</figure>").unwrap().0;
    let drawn = figure.split("<div class=\"drawn").skip(1);
    let width = |it: &str| {
        let view = it.split_once("viewBox=\"0 0 ").unwrap().1;
        view.split(' ').next().unwrap().parse::<f64>().unwrap()
    };
    drawn.map(|it| (width(it), it.split_once("</div>").unwrap().0.to_string())).collect()
}

/// Marks and letters of all charts lie within the drawing, on a phone as on a wide screen.
#[test]
fn charts_are_whole_in_every_width() {
    for chart in charts() {
        let drawings = drawings(chart.clone());
        let widths: Vec<f64> = drawings.iter().map(|it| it.0).collect();
        assert_eq!(widths, [760.0, 360.0, 1240.0], "{chart:?}");
        for (width, drawing) in drawings {
            let mut marks = 0;
            for element in drawing.split('<').skip(2) {
                let (tag, words) = element.split_once('>').unwrap();
                let number = |name: &str| {
                    let at = tag.split_once(&format!(" {name}=\"")).map(|it| it.1)?;
                    at.split('"').next()?.parse::<f64>().ok()
                };
                // What is inside the area has its coordinates.
                let Some(x) = number("x").filter(|_| !tag.starts_with("image")) else { continue };
                marks += 1;
                let right = x + number("width").unwrap_or(0.0);
                assert!(x >= -2.0 && right <= width + 2.0, "{width}: <{element}");
                if tag.starts_with("text") {
                    let wide = words.chars().count() as f64 * 6.4;
                    let (from, to) = match () {
                        () if tag.contains("\"middle\"") => (x - wide / 2.0, x + wide / 2.0),
                        () if tag.contains("\"end\"") => (x - wide, x),
                        () => (x, x + wide),
                    };
                    assert!(
                        from > -8.0 && to < width + 8.0,
                        "{width}: {words} from {from} to {to}"
                    );
                }
            }
            assert!(marks > 3, "{width}: {drawing}");
        }
    }
}

/// The script finds a place for each of the drawings.
#[test]
fn the_script_is_told_where_each_drawing_has_its_marks() {
    let [.., lines] = &charts()[..4] else { panic!("lines are the fourth") };
    let html = Page::new("p", "").section(Section::new("s").chart(lines.clone())).to_html();
    let data = html.split_once("type=\"application/json\">").unwrap().1;
    let data: serde_json::Value =
        serde_json::from_str(data.split_once("</script>").unwrap().0).unwrap();
    let plots = data["plot"].as_array().unwrap();
    let right = |plot: &serde_json::Value| plot[0].as_f64().unwrap() + plot[2].as_f64().unwrap();
    assert_eq!(plots.iter().map(right).collect::<Vec<_>>(), [752.0, 352.0, 1232.0]);
}

/// A kind of call has its colour in the legend, in the marks and in what the script paints.
#[test]
fn a_kind_of_call_has_one_colour_in_every_chart() {
    let page = |chart: Chart| Page::new("p", "").section(Section::new("s").chart(chart)).to_html();
    let hues = || vec![Hue::Sync, Hue::Write];
    let lines = Lines::new("t", count("x"), count("y"));
    let lines = lines.line("a", vec![(0.0, 1.0), (1.0, 2.0)]).line("b", vec![(0.0, 1.0)]);
    let html = page(lines.hues(hues()).into());
    assert!(
        html.contains("<g class=\"k3\" data-s=\"0\">")
            && html.contains("<g class=\"k1\" data-s=\"1\">")
    );
    assert!(html.contains("class=\"k3\" data-series=\"0\""), "the legend");
    let map = HeatMap::new("t", count("x"), (0.0, 1.0), 1, "r", names(1), count("v"));
    let html = page(map.class("a", vec![1.0]).class("b", vec![2.0]).hues(hues()).into());
    assert!(html.contains("\"colours\":[3,1]"));
    let bars = StackedBars::new("t", "c", count("v"), names(2)).row("r", vec![1.0, 2.0]);
    assert!(page(bars.hues(hues()).into()).contains("class=\"f k3\""));
}
