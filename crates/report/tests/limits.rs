//! More than can be drawn: what is left out is said, with its number.

mod drawn;

use std::collections::BTreeSet;

use drawn::{count, draw, names};
use plimsoll_report::html::{
    Bars, BoxPlots, BoxSummary, Cell, Chart, Column, Gantt, HeatMap, Lines, Page, Scatter, Section,
    Span, StackedBars, Table, Theme,
};
use plimsoll_report::{Number, Record, Unit};

fn page(chart: impl Into<Chart>) -> String {
    Page::new("p", "").section(Section::new("s").chart(chart.into())).to_html()
}

#[track_caller]
fn says(page: &str, words: &str) {
    let body = page.split_once("<body>").unwrap().1.split_once("<script>").unwrap().0;
    assert!(body.contains(words), "no {words:?}");
}

/// A box around 3, without outliers.
fn boxed(name: &str) -> BoxSummary {
    BoxSummary {
        name: name.into(),
        count: 9,
        low: 1.0,
        first_quartile: 2.0,
        median: 3.0,
        third_quartile: 4.0,
        high: 5.0,
        median_interval: None,
        outliers: Vec::new(),
    }
}

#[test]
fn categories_and_boxes_that_are_too_many_are_counted() {
    let rows =
        |count| Bars::rows("t", "c", drawn::count("v"), names(count)).series("s", vec![1.0; count]);
    says(&page(rows(107)), "The first 100 categories; 7 more are not drawn.");
    assert!(!page(rows(100)).contains("more are not drawn"));
    assert_eq!(draw(rows(107)).all("rect", "f k0").len(), 100);
    let boxes = |count: usize| {
        names(count)
            .iter()
            .map(|name| boxed(name))
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

/// Each stretch of a line, and each series of a cloud, has its share of the points that are drawn.
#[test]
fn points_that_are_too_many_are_shared_out() {
    let drawn = |page: &str| -> usize {
        let (before, _) = page.split_once(" of 60,000 points are drawn").expect("a note");
        let number = before.rsplit(|it: char| !it.is_ascii_digit() && it != ',').next().unwrap();
        number.replace(',', "").parse().unwrap()
    };
    let wave = |from: u32| -> Vec<(f64, f64)> {
        (from..from + 30_000).map(|k| (f64::from(k), (f64::from(k) / 50.0).sin())).collect()
    };
    let mut points = wave(0);
    points.push((30_000.0, f64::NAN));
    points.extend(wave(30_001));
    let line = drawn(&page(Lines::new("t", count("x"), count("y")).line("l", points)));
    assert!((4_000..=8_100).contains(&line), "{line}");
    // More gaps than can be drawn: a point in three is missing.
    let gaps = (0..60_000u32).map(|k| match k % 3 {
        0 => (f64::from(k), f64::NAN),
        _ => (f64::from(k), f64::from(k % 7)),
    });
    let line = page(Lines::new("t", count("x"), count("y")).line("l", gaps.collect()));
    let (before, _) = line.split_once(" of 40,000 points are drawn").expect("a note");
    let number = before.rsplit(|it: char| !it.is_ascii_digit() && it != ',').next().unwrap();
    let number: usize = number.replace(',', "").parse().unwrap();
    assert!((4_000..=8_100).contains(&number), "{number}");
    let cloud = Scatter::new("t", count("x"), count("y")).points("a", wave(0)).points("b", wave(7));
    let cloud = drawn(&page(cloud));
    assert!((15_000..=20_100).contains(&cloud), "{cloud}");
}

#[test]
fn rows_of_parts_outliers_and_rows_of_tables_that_are_too_many_are_counted() {
    let stacked = |rows: usize| {
        let stacked = StackedBars::new("t", "c", count("v"), vec!["a".into()]);
        page(names(rows).into_iter().fold(stacked, |it, name| it.row(name, vec![1.0])))
    };
    says(&stacked(70), "The first 64 rows; 6 more are not drawn.");
    assert!(!stacked(64).contains("more are not drawn"));
    let outliers = |count: usize, interval: (f64, f64)| {
        let summary = BoxSummary {
            median_interval: Some(interval),
            outliers: vec![9.0; count],
            ..boxed("n")
        };
        page(BoxPlots::new("t", "c", drawn::count("v")).summary(summary))
    };
    says(&outliers(502, (2.5, 3.5)), "At most 500 outliers of a box are drawn.");
    assert!(!outliers(500, (2.5, 3.5)).contains("outliers of a box are drawn"));
    assert!(outliers(0, (2.5, 3.5)).contains("class=\"interval\""));
    assert!(!outliers(0, (2.5, f64::NAN)).contains("class=\"interval\""), "it has no end");
    let table = |rows: usize| {
        let row = |_| vec![Cell::value(1.0, Unit::Count)];
        let table = (0..rows).map(row).fold(Table::new(vec![Column::figures("v")]), Table::row);
        Page::new("p", "").section(Section::new("s").table(&table)).to_html()
    };
    let none = |columns: Vec<Column>| {
        let table = Table::new(columns).caption("Scores");
        Page::new("p", "").section(Section::new("s").table(&table)).to_html()
    };
    says(&none(vec![Column::figures("v")]), "<p class=\"empty\">Scores: none.</p>");
    says(&none(vec![]), "<p class=\"empty\">Scores: none.</p>");
    says(&table(1003), "The first 1000 rows; 3 more are not shown.");
    assert!(!table(1000).contains("more are not shown"));
}

#[test]
fn three_sections_have_links_and_sections_within_have_smaller_headings() {
    let page = |sections: usize| {
        let section = |name: &String| {
            Section::new(name.as_str()).section(Section::new("inner").text("words"))
        };
        names(sections).iter().map(section).fold(Page::new("p", ""), Page::section).to_html()
    };
    assert!(!page(1).contains("<nav") && !page(2).contains("<nav"));
    says(&page(3), "<a href=\"#s2\">n2</a></nav>");
    says(&page(4), "<a href=\"#s3\">n3</a></nav>");
    says(&page(1), "<h3>inner</h3>");
    let folded = Section::new("outer").folded(Section::new("f").section(Section::new("inner")));
    says(&Page::new("p", "").section(folded).to_html(), "<h4>inner</h4>");
}

#[test]
fn long_texts_and_long_spectra_are_shown_in_another_way() {
    let shown =
        |record: &Record| Page::new("p", "").section(Section::new("s").record(record)).to_html();
    let text = |length: usize| shown(&Record::new().text("t", "t", "x".repeat(length)));
    assert!(!text(60).contains("class=\"long\"><dt>"), "sixty characters are short");
    assert!(text(61).contains("class=\"long\"><dt>"));
    const CALLS: Number = Number::new("calls", "calls", Unit::Count, "Calls.", "");
    let spectrum = |points: u64| {
        shown(&Record::new().spectrum(&CALLS, "By number", (0..points).map(|k| (k, 1.0)).collect()))
    };
    assert!(!spectrum(60).contains(">0-1<") && spectrum(61).contains(">0-1<"));
    assert!(spectrum(61).contains(">60<"), "the last stands for itself");
}

#[test]
fn cards_of_a_record_are_told_one_after_the_other() {
    let card = |name: &str| Record::new().text("name", "name", name);
    let text = |cards| Record::new().cards("cards", "Some cards", cards).to_text();
    assert_eq!(text(vec![]), "Some cards\n  (none)\n");
    let two = text(vec![card("a"), card("b")]);
    assert_eq!(two, "Some cards\n  name  a\n\n  name  b\n");
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
