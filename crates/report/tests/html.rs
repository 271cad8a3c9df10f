//! Whatever is put on a page: nothing panics, tags balance, embedded JSON parses, and no
//! text from outside becomes markup.

use plimsoll_report::html::{
    Axis, Bars, BoxPlots, BoxSummary, Cell, Chart, Column, Finding, Gantt, HeatMap, Lines, Page,
    Scale, Scatter, Section, Severity, Span, StackedBars, Table, Tile,
};
use plimsoll_report::{Number, RatioMap, Record, Unit};
use proptest::collection::vec;
use proptest::prelude::*;

const RATE: Number =
    Number::new("rate", "rate <b>", Unit::BytesPerSec, "What \"rate\" means & more.", "eq. 1 <i>");

/// Elements that have no end tag.
const VOID: [&str; 3] = ["meta", "br", "!doctype"];

/// Complains about the first tag that does not match, text that looks like a tag, or JSON
/// that does not parse. Text in `style` and in our script is skipped.
fn check(html: &str) -> Result<(), String> {
    let mut open: Vec<String> = Vec::new();
    let mut rest = html;
    while let Some(start) = rest.find('<') {
        let end = tag_end(&rest[start..]).ok_or("a tag that does not end")? + start;
        let tag = &rest[start + 1..end];
        rest = &rest[end + 1..];
        let name: String = tag.chars().take_while(|c| !c.is_whitespace() && *c != '/').collect();
        if let Some(closing) = tag.strip_prefix('/') {
            let expected = open.pop();
            if expected.as_deref() != Some(closing) {
                return Err(format!("</{closing}> closes {expected:?}"));
            }
        } else if name == "script" || name == "style" {
            let end = rest.find(&format!("</{name}>")).ok_or("raw text that does not end")?;
            if tag.contains("application/json") {
                serde_json::from_str::<serde_json::Value>(&rest[..end])
                    .map_err(|e| e.to_string())?;
            }
            rest = &rest[end + name.len() + 3..];
        } else if !tag.ends_with('/') && !VOID.contains(&name.as_str()) {
            open.push(name);
        }
    }
    if open.is_empty() { Ok(()) } else { Err(format!("left open: {open:?}")) }
}

/// The end of a tag, not fooled by `>` in attributes.
fn tag_end(text: &str) -> Option<usize> {
    let mut quoted = false;
    text.char_indices().find_map(|(index, character)| {
        quoted ^= character == '"';
        (character == '>' && !quoted).then_some(index)
    })
}

fn whole(section: Section) -> String {
    Page::new("a & b", "<sub>").section(section).footer("<end>").to_html()
}

const HOSTILE: [&str; 6] = [
    "</script><script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "' onmouseover='alert(1)",
    "\u{202e}gpj.exe\u{2066}\u{200f}",
    "\0\u{1b}[2J\r\n\u{7f}\u{85}",
    "<!--<![CDATA[&lt;",
];

fn everything(text: &str, values: &[f64]) -> Section {
    let name = || text.to_string();
    let axis = || Axis::new(name(), Unit::Bytes);
    let points: Vec<(f64, f64)> =
        values.iter().copied().zip(values.iter().rev().copied()).collect();
    let names = vec![name(); 3];
    let mut gantt = Gantt::new(name(), axis(), names.clone(), names.clone());
    for (index, pair) in points.iter().enumerate() {
        let (row, kind) = (index % 4, index % 3);
        gantt.push(Span { row, kind, start: pair.0, end: pair.1, detail: name() });
    }
    let mut five = values.to_vec();
    five.resize(5, 1.0);
    five.sort_by(f64::total_cmp);
    let summary = BoxSummary {
        name: name(),
        count: 5,
        low: five[0],
        first_quartile: five[1],
        median: five[2],
        third_quartile: five[3],
        high: five[4],
        median_interval: Some((five[1], five[3])),
        outliers: values.to_vec(),
    };
    let charts: Vec<Chart> = vec![
        Bars::columns(name(), name(), axis(), names.clone()).series(name(), values.to_vec()).into(),
        Bars::rows(name(), name(), axis(), names.clone()).series(name(), values.to_vec()).into(),
        StackedBars::new(name(), name(), axis(), names.clone()).row(name(), values.to_vec()).into(),
        StackedBars::new(name(), name(), axis(), names.clone())
            .row(name(), values.to_vec())
            .as_shares()
            .into(),
        Lines::new(name(), axis(), axis())
            .line(name(), points.clone())
            .line(name(), vec![])
            .area()
            .into(),
        Lines::cdf(name(), axis().scale(Scale::Log10)).distribution(name(), values.to_vec()).into(),
        Scatter::new(name(), axis(), axis()).points(name(), points.clone()).into(),
        Scatter::new(name(), Axis::named(name(), names.clone()), axis())
            .points(name(), points.clone())
            .into(),
        Scatter::new(name(), axis().scale(Scale::Log2), axis())
            .points(name(), points)
            .diagonal()
            .into(),
        HeatMap::new(name(), axis(), (values[0], 1.0), 2, name(), names.clone(), axis())
            .class(name(), values.to_vec())
            .into(),
        gantt.into(),
        RatioMap::new(name(), (axis(), values.to_vec()), (axis(), values.to_vec()))
            .cells(values.to_vec())
            .outline(values[0], name())
            .mark(values[0], name())
            .into(),
        BoxPlots::new(name(), name(), axis()).summary(summary).into(),
    ];
    let record = Record::new()
        .number(&RATE, values[0])
        .text("k", "l", name())
        .texts("t", "l", names.clone())
        .section("s", name(), Record::new().number(&RATE, 1u64))
        .rows("r", name(), vec![Record::new().text("k", "l", name()).number(&RATE, values[0])])
        .spectrum(&RATE, name(), vec![(1, values[0]), (2, 3.0)])
        .picture(name())
        .note(name());
    let table = Table::new(vec![Column::text(name()), Column::number(&RATE)])
        .caption(name())
        .row(vec![Cell::Text(name()), Cell::value(values[0], Unit::Percent)]);
    let finding = Finding {
        id: name(),
        title: name(),
        severity: Severity::High,
        cost_seconds: Some(values[0]),
        evidence: vec![name()],
        advice: vec![name()],
        change: name(),
    };
    let section =
        Section::new(name()).text(text).note(text).code(text).record(&record).table(&table);
    let section = section
        .tiles(&[Tile::new(&RATE, values[0]).note(text)])
        .findings(&[finding])
        .folded(Section::new(text).text(text));
    charts.into_iter().fold(section, Section::chart)
}

#[test]
fn hostile_text_stays_text() {
    for text in HOSTILE {
        let html = whole(everything(text, &[1.0, 2.0, 3.0, 4.0, 5.0]));
        assert_eq!(check(&html), Ok(()), "{text:?}");
        for markup in ["<img", "<!--", "<![CDATA", "<script>alert", "\0", "\u{202e}", "\u{1b}"] {
            assert!(!html.contains(markup), "{markup:?} in the page of {text:?}");
        }
    }
}

/// A browser applies no style and runs no script but those whose hashes the page names.
#[test]
fn only_the_pages_own_style_and_script_count() {
    use base64::Engine;
    use sha2::{Digest, Sha256};
    let html = whole(everything("x", &[1.0, 2.0]));
    assert!(!html.contains("unsafe-"));
    for (tag, rule) in [("style", "style-src"), ("script", "script-src")] {
        let (open, close) = (format!("<{tag}>"), format!("</{tag}>"));
        let inside: Vec<&str> =
            html.split(&open).skip(1).map(|it| it.split(&close).next().unwrap()).collect();
        let [text] = inside[..] else { panic!("{} of {tag}", inside.len()) };
        let hash = base64::engine::general_purpose::STANDARD.encode(Sha256::digest(text));
        assert!(html.contains(&format!("{rule} 'sha256-{hash}'")), "{tag}");
    }
    assert!(!html.contains(" style=") && !html.contains(" onclick="), "they would be ignored");
}

#[test]
fn nothing_is_loaded_from_anywhere() {
    let html = whole(everything("x", &[1.0, 2.0]));
    let namespace = "http://www.w3.org/2000/svg";
    assert!(!html.replace(namespace, "").contains("://"), "an address in the page");
    assert!(!html.contains(" src=") && !html.contains("@import") && !html.contains("url("));
}

#[test]
fn the_script_sets_text_and_never_markup() {
    let scripts = [include_str!("../src/html/page.js"), include_str!("../src/html/charts.js")];
    for script in scripts {
        assert!(script.lines().count() < 150, "the script should stay small");
        for word in ["innerHTML", "insertAdjacent", "document.write", "eval(", "fetch(", "</"] {
            assert!(!script.contains(word), "{word} in the script");
        }
    }
}

/// Names that stand side by side do not cover each other, however many and however long they are.
#[test]
fn an_axis_of_names_shows_as_many_as_fit() {
    for (count, shown) in [(3, 3), (336, 7), (5000, 10)] {
        let names = (0..count).map(|it| format!("OST{it:04}")).collect();
        let points = (0..count).map(|it| (f64::from(it), 0.5)).collect();
        let x = Axis::named("targets", names);
        let chart = Scatter::new("a", x, Axis::new("y", Unit::Ratio)).points("median", points);
        let html = whole(Section::new("").chart(chart));
        let axis = html.split("<g class=\"xaxis\">").nth(1).unwrap().split("</g>").next().unwrap();
        assert_eq!(axis.matches(">OST").count(), shown, "of {count}");
        assert!(html.contains("targets from OST0000 to OST"), "in words");
    }
}

#[test]
fn sentences_stand_below_each_other() {
    let texts = vec!["one is slow".to_string(), "all others are normal".to_string()];
    let html = whole(Section::new("").record(&Record::new().texts("k", "verdicts", texts)));
    assert!(html.contains("<li>one is slow</li><li>all others are normal</li>"));
}

#[test]
fn empty_data_gives_a_sentence() {
    let axis = || Axis::new("x", Unit::Seconds);
    let html = whole(
        Section::new("")
            .chart(Bars::columns("a", "b", axis(), vec![]))
            .chart(Lines::new("a", axis(), axis()).line("l", vec![(f64::NAN, 1.0)]))
            .chart(HeatMap::new("a", axis(), (0.0, 1.0), 5, "r", vec!["0".into()], axis()))
            .chart(RatioMap::new("a", (axis(), vec![1.0]), (axis(), vec![])))
            .table(&Table::new(vec![]))
            .findings(&[]),
    );
    assert_eq!(html.matches("Nothing to draw: no values.").count(), 4);
    assert!(html.contains("1 value that cannot be drawn") && html.contains("No findings."));
    assert_eq!(check(&html), Ok(()));
}

/// Charts in which this many values have no place, and some have.
fn charts_with(wrong: usize) -> Vec<Chart> {
    let axis = || Axis::new("x", Unit::Seconds);
    let values = || [vec![f64::NAN; wrong], vec![1.0, 2.0]].concat();
    let names = || vec!["n".to_string(); wrong + 2];
    let points = || values().into_iter().map(|value| (1.0, value)).collect::<Vec<_>>();
    let negative = || values().into_iter().map(|value| if value > 0.0 { value } else { -1.0 });
    let mut gantt = Gantt::new("t", axis(), names(), names());
    for start in values() {
        gantt.push(Span { row: 0, kind: 0, start, end: 3.0, detail: String::new() });
    }
    let summary = BoxSummary { outliers: values(), ..BoxSummary::default() };
    let not_sorted = BoxSummary { low: 9.0, ..BoxSummary::default() };
    let broken = vec![not_sorted; wrong].into_iter();
    let boxes = || BoxPlots::new("t", "c", axis()).summary(BoxSummary::default());
    vec![
        Bars::columns("t", "c", axis(), names()).series("s", values()).into(),
        Bars::rows("t", "c", axis(), names()).series("s", values()).into(),
        StackedBars::new("t", "c", axis(), names()).row("r", negative().collect()).into(),
        Lines::new("t", axis(), axis()).line("l", points()).into(),
        Scatter::new("t", axis(), axis().scale(Scale::Log10)).points("p", points()).into(),
        HeatMap::new("t", axis(), (0.0, 1.0), wrong + 2, "r", vec!["0".into()], axis())
            .class("c", negative().collect())
            .into(),
        gantt.into(),
        BoxPlots::new("t", "c", axis()).summary(summary).into(),
        broken.fold(boxes(), BoxPlots::summary).into(),
    ]
}

#[test]
fn what_has_no_place_is_counted() {
    for (wrong, note) in [(0, None), (1, Some("1 value that")), (2, Some("2 values that"))] {
        for (nth, chart) in charts_with(wrong).into_iter().enumerate() {
            let html = whole(Section::new("").chart(chart));
            assert_eq!(html.contains("cannot be drawn"), note.is_some(), "{wrong} in chart {nth}");
            assert!(note.is_none_or(|note| html.contains(note)), "{wrong} in chart {nth}");
            assert!(!html.contains("Nothing to draw"), "chart {nth}");
        }
    }
}

#[test]
fn thinning_is_said() {
    let points = (0..100_000).map(|x| (f64::from(x), f64::from(x % 100))).collect();
    let axis = || Axis::new("x", Unit::Count);
    let html = whole(Section::new("").chart(Scatter::new("a", axis(), axis()).points("p", points)));
    assert!(html.contains("of 100,000 points are drawn"));
    assert!(html.len() < 2_000_000, "{} bytes", html.len());
}

#[test]
fn a_picture_is_for_terminals() {
    let record = Record::new().number(&RATE, 1.0).picture("  /\\  <\n").note("n");
    assert!(record.to_text().contains("\n\n  /\\  <\n"), "{}", record.to_text());
    assert!(record.to_text().contains("rate"));
    assert_eq!(record.to_json(), serde_json::json!({ "rate": 1.0, "notes": ["n"] }));
    let html = whole(Section::new("a").record(&record));
    assert!(
        !html.contains("  /\\  ") && !html.contains("<pre"),
        "a page has charts instead: {html}"
    );
}

#[test]
fn definitions_are_listed_once() {
    let record = Record::new().number(&RATE, 1.0);
    let html = whole(Section::new("a").record(&record).record(&record));
    assert_eq!(html.matches("<dt>rate &lt;b&gt;</dt>").count(), 1);
    assert!(html.contains("What &quot;rate&quot; means &amp; more."));
}

fn any_value() -> impl Strategy<Value = f64> {
    prop_oneof![any::<f64>(), -1e3..1e3f64, Just(f64::NAN), Just(f64::INFINITY), Just(0.0)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_input_breaks_the_page(text in any::<String>(), values in vec(any_value(), 1..12)) {
        let html = whole(everything(&text, &values));
        prop_assert_eq!(check(&html), Ok(()));
        prop_assert!(!html.contains("NaN\"") && !html.contains("inf\""));
    }
}
