//! More than can be drawn: what is left out is said, with its number.

mod drawn;

use std::collections::BTreeSet;

use drawn::{count, draw, names};
use plimsoll_report::Record;
use plimsoll_report::html::{
    Bars, BoxPlots, BoxSummary, Chart, Gantt, HeatMap, Lines, Page, Section, Span, Theme,
};

fn page(chart: impl Into<Chart>) -> String {
    Page::new("p", "").section(Section::new("s").chart(chart.into())).to_html()
}

#[track_caller]
fn says(page: &str, words: &str) {
    let body = page.split_once("<body>").unwrap().1.split_once("<script>").unwrap().0;
    assert!(body.contains(words), "no {words:?}");
}

#[test]
fn categories_and_boxes_that_are_too_many_are_counted() {
    let rows =
        |count| Bars::rows("t", "c", drawn::count("v"), names(count)).series("s", vec![1.0; count]);
    says(&page(rows(107)), "The first 100 categories; 7 more are not drawn.");
    assert!(!page(rows(100)).contains("more are not drawn"));
    assert_eq!(draw(rows(107)).all("rect", "f k0").len(), 100);
    let boxes = |count: usize| {
        let boxed = |name: &String| BoxSummary {
            name: name.clone(),
            count: 9,
            low: 1.0,
            first_quartile: 2.0,
            median: 3.0,
            third_quartile: 4.0,
            high: 5.0,
            median_interval: None,
            outliers: Vec::new(),
        };
        names(count)
            .iter()
            .map(boxed)
            .fold(BoxPlots::new("t", "c", drawn::count("v")), BoxPlots::summary)
    };
    says(&page(boxes(70)), "The first 64 boxes; 6 more are not drawn.");
    assert!(!page(boxes(64)).contains("more are not drawn"));
}

#[test]
fn the_longest_spans_are_drawn_where_there_are_too_many() {
    let drawn = |spans: usize| -> BTreeSet<usize> {
        let mut gantt = Gantt::new("t", count("x"), names(1), vec!["a".into()]);
        for nth in 0..spans {
            // Every tenth is long.
            let (start, long) = (nth as f64, nth % 10 == 0);
            let end = start + if long { 0.9 } else { 0.1 };
            gantt.push(Span { row: 0, kind: 0, start, end, detail: format!("span {nth}.") });
        }
        let page = page(gantt);
        assert_eq!(page.contains("The 5000 longest of 6000 spans are drawn."), spans == 6000);
        page.split("span ").filter_map(|it| it.split_once('.')?.0.parse().ok()).collect()
    };
    assert_eq!(drawn(5000).len(), 5000);
    let most = drawn(6000);
    assert_eq!(most.len(), 5000);
    assert!((0..6000).step_by(10).all(|nth| most.contains(&nth)), "the long ones");
}

#[test]
fn rows_of_spans_that_are_too_many_are_counted() {
    let gantt = |rows: usize| {
        let mut gantt = Gantt::new("t", count("x"), names(rows), vec!["a".into()]);
        gantt.push(Span { row: 0, kind: 0, start: 0.0, end: 1.0, detail: String::new() });
        page(gantt)
    };
    says(&gantt(70), "The first 64 rows; 6 more are not drawn.");
    assert!(!gantt(64).contains("more are not drawn"));
}

#[test]
fn a_page_begins_with_the_colours_that_were_asked_for() {
    let page = |theme| Page::new("p", "").section(Section::new("s")).theme(theme).to_html();
    for (theme, said) in
        [(Theme::Light, " data-theme=\"light\""), (Theme::Dark, " data-theme=\"dark\"")]
    {
        let page = page(theme);
        assert!(page.contains(&format!("<html lang=\"en\"{said}>")) && page.contains("<h1>p</h1>"));
    }
    assert!(page(Theme::System).contains("<html lang=\"en\">"));
}

#[test]
fn cells_that_stand_for_many_say_so() {
    let heat = |rows: usize, columns: usize| {
        let map = HeatMap::new("t", count("x"), (0.0, 1.0), columns, "r", names(rows), count("v"));
        page(map.class("c", vec![1.0; rows * columns]))
    };
    says(&heat(300, 10), "A cell stands for 2 x 1 cells and shows the greatest of them.");
    says(&heat(2, 1300), "A cell stands for 1 x 3 cells and shows the greatest of them.");
    assert!(!heat(256, 10).contains("stands for"));
}

#[test]
fn points_of_a_line_that_are_too_many_are_counted() {
    let line = |points: usize| {
        let points = (0..points).map(|k| (k as f64, (k as f64 / 50.0).sin())).collect();
        page(Lines::new("t", count("x"), count("y")).line("l", points))
    };
    assert!(!line(8000).contains("points are drawn"));
    says(&line(50_000), "of 50,000 points are drawn");
}

#[test]
fn one_text_stands_beside_its_label_and_several_below_each_other() {
    let texts = |count| Record::new().texts("hosts", "hosts", names(count));
    let shown =
        |count| Page::new("p", "").section(Section::new("s").record(&texts(count))).to_html();
    assert!(!shown(0).contains("<ul>"), "none is missing, not an empty list");
    says(&shown(1), "<dt>hosts</dt><dd>n0</dd>");
    says(&shown(2), "<li>n0</li><li>n1</li>");
}
