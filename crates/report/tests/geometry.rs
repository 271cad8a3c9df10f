//! Charts by category: every mark lies where its axis says, and every label at its mark.

mod drawn;

use drawn::{Element, count, draw, names, near};
use plimsoll_report::html::{Bars, BoxPlots, BoxSummary, StackedBars};
use plimsoll_report::{RatioMap, Unit};

#[test]
fn columns_reach_from_zero_to_their_value_above_their_label() {
    let values = [1.0, -2.0, 4.0];
    let drawn = draw(Bars::columns("t", "c", count("v"), names(3)).series("s", values.to_vec()));
    let (columns, place) = (drawn.all("rect", "f k0"), drawn.scale('h'));
    assert_eq!(columns.len(), 3);
    for ((column, value), name) in columns.iter().zip(values).zip(names(3)) {
        assert!(near(column.top(), place(value.max(0.0))), "{value}");
        assert!(near(column.bottom(), place(value.min(0.0))), "{value}");
        let below = drawn.label("tick", &name);
        assert!((column.middle() - below.left()).abs() < 0.5, "{name}");
        let lowest = drawn.grid('h').iter().map(|(_, y)| *y).fold(0.0, f64::max);
        assert!((10.0..20.0).contains(&(below.top() - lowest)), "{name}");
        let label = drawn.label("value", &Unit::Count.show(value));
        assert!((label.left() - column.middle()).abs() < 0.5 && label.top() < column.top());
        assert!(
            column.left() > 0.0
                && column.right() < 760.0
                && near(column.right() - column.left(), 71.5)
        );
    }
}

#[test]
fn columns_of_several_series_stand_side_by_side_around_their_label() {
    let bars = Bars::columns("t", "c", count("v"), names(40));
    let bars = bars.series("a", vec![1.0; 40]).series("b", vec![2.0; 40]);
    let drawn = draw(bars);
    let (first, second) = (drawn.all("rect", "f k0"), drawn.all("rect", "f k1"));
    assert_eq!((first.len(), second.len()), (40, 40));
    for (one, other) in first.iter().zip(&second) {
        assert!((0.0..1.0).contains(&(other.left() - one.right())), "next to each other");
    }
    for (one, next) in second.iter().zip(&first[1..]) {
        assert!(one.right() + 1.0 < next.left(), "a gap between categories");
    }
    assert!(first[0].left() > 0.0 && second[39].right() <= 752.0);
    assert!(drawn.all("text", "value").is_empty(), "no room for values");
    // Labels are left out where they would touch, and those that are there are in their place.
    let labels: Vec<&Element> =
        drawn.all("text", "tick").into_iter().filter(|it| it.text.starts_with('n')).collect();
    assert!(labels.len() > 5 && labels.len() < 40, "{}", labels.len());
    for label in &labels {
        let nth: usize = label.text[1..].parse().unwrap();
        assert!((label.left() - (first[nth].left() + second[nth].right()) / 2.0).abs() < 0.6);
    }
    assert!(labels.windows(2).all(|pair| pair[1].left() - pair[0].left() > 25.0));
}

#[test]
fn rows_reach_from_zero_to_their_value_beside_their_name() {
    let drawn = draw(Bars::rows("t", "c", count("v"), names(2)).series("s", vec![10.0, 25.0]));
    let (rows, place) = (drawn.all("rect", "f k0"), drawn.scale('v'));
    for ((row, value), name) in rows.iter().zip([10.0, 25.0]).zip(names(2)) {
        assert!(near(row.left(), place(0.0)) && near(row.right(), place(value)), "{value}");
        let name = drawn.label("name", &name);
        assert!((name.top() - 4.0 - (row.top() + row.bottom()) / 2.0).abs() < 1.0);
        assert!(name.left() < row.left());
        let label = drawn.label("value", &Unit::Count.show(value));
        assert!(label.left() > row.right() && label.left() < row.right() + 10.0);
        assert!(label.top() > row.top() && label.top() < row.bottom());
    }
    assert!(rows[0].bottom() < rows[1].top());
}

#[test]
fn parts_follow_each_other_and_shares_fill_the_row() {
    let stacked = StackedBars::new("t", "c", count("v"), vec!["a".into(), "b".into()]);
    let stacked = stacked.row("n0", vec![10.0, 30.0]).row("n1", vec![20.0, 0.0]);
    let absolute = draw(stacked.clone());
    let place = absolute.scale('v');
    let (first, second) = (absolute.all("rect", "f k0"), absolute.all("rect", "f k1"));
    assert_eq!((first.len(), second.len()), (2, 1), "nothing is not drawn");
    let hair = 1.8;
    for (part, from, to) in [(first[0], 0.0, 10.0), (second[0], 10.0, 40.0), (first[1], 0.0, 20.0)]
    {
        assert!(near(part.left(), place(from)) && near(part.right() + hair, place(to)), "{to}");
        assert!(part.bottom() > part.top());
    }
    assert!(first[0].bottom() < first[1].top());
    for (name, part) in names(2).iter().zip([first[0], first[1]]) {
        let middle = (part.top() + part.bottom()) / 2.0;
        assert!(near(absolute.label("name", name).top() - 4.0, middle));
    }
    let label = absolute.label("on k1", "b 75 %");
    assert!(near(label.left(), second[0].middle()));
    let shares = draw(stacked.as_shares());
    let place = shares.scale('v');
    let (first, second) = (shares.all("rect", "f k0"), shares.all("rect", "f k1"));
    for (part, to) in [(first[0], 25.0), (second[0], 100.0), (first[1], 100.0)] {
        assert!(near(part.right() + hair, place(to)), "{to}");
    }
    assert!(first[0].attribute("data-tip").contains("25.0 % of the row"));
}

#[test]
fn cells_of_a_ratio_map_lie_in_their_row_and_column() {
    let columns = vec![1.0, 10.0, 100.0];
    let map = RatioMap::new("t", (count("r"), vec![7.0, 8.0]), (count("c"), columns));
    let map = map.cells(vec![2.0, 3.0, 4.0, 0.2, 0.6, 1.0]).mark(31.622_776_6, "m");
    let drawn = draw(map.outline(10.0, "o"));
    let cells: Vec<&Element> = drawn
        .elements
        .iter()
        .filter(|it| {
            it.tag.starts_with("rect")
                && ["gain", "loss"].iter().any(|side| it.attribute("class").starts_with(side))
        })
        .collect();
    assert_eq!(cells.len(), 6);
    for (nth, (cell, ratio)) in
        cells.iter().zip(["2.00", "3.00", "4.00", "0.20", "0.60", "1.00"]).enumerate()
    {
        let label = drawn
            .elements
            .iter()
            .find(|it| it.attribute("class").starts_with("inside") && it.text == ratio);
        let label = label.unwrap_or_else(|| panic!("{ratio}"));
        assert!((label.left() - cell.middle()).abs() < 1.0, "{ratio}");
        assert!(label.top() > cell.top() && label.top() < cell.bottom(), "{ratio}");
        // What is written on full colour has a colour that shows there.
        let is_full = cell.attribute("class").ends_with('4');
        assert_eq!(label.attribute("class").starts_with("inside full"), is_full, "{ratio}");
        let is_full_loss = cell.attribute("class") == "loss4";
        assert_eq!(label.attribute("class").ends_with("lost"), is_full_loss, "{ratio}");
        let column = drawn.label("tick", ["1", "10", "100"][nth % 3]);
        assert!((column.left() - cell.middle()).abs() < 1.0 && column.top() > cells[5].bottom());
        let row = drawn.label("name", ["7", "8"][nth / 3]);
        assert!(
            row.top() > cell.top() && row.top() < cell.bottom() && row.left() < cells[0].left()
        );
        let (wide, high) = (cell.right() - cell.left(), cell.bottom() - cell.top());
        assert!(near(wide, cells[0].right() - cells[0].left()) && near(high, 32.5));
    }
    assert!(
        cells
            .windows(2)
            .all(|pair| pair[0].right() < pair[1].left() || pair[0].bottom() < pair[1].top())
    );
    let outline = drawn.all("rect", "here")[0];
    assert!(outline.left() < cells[1].left() && outline.left() > cells[0].right() - 1.5);
    assert!(outline.right() > cells[1].right() && outline.right() < cells[2].left() + 1.5);
    assert!(outline.top() < cells[1].top() && outline.bottom() > cells[4].bottom());
    // Between the second and the third, in the middle by logarithms.
    let mark = drawn.label("tick", "a");
    assert!((mark.left() - (cells[1].middle() + cells[2].middle()) / 2.0).abs() < 1.0);
    assert!(mark.top() < cells[0].top());
}

#[test]
fn a_box_lies_between_its_quartiles() {
    let summary = BoxSummary {
        name: "n0".into(),
        count: 9,
        low: 10.0,
        first_quartile: 20.0,
        median: 25.0,
        third_quartile: 40.0,
        high: 70.0,
        median_interval: Some((22.0, 31.0)),
        outliers: vec![90.0],
    };
    let broken = BoxSummary { low: 99.0, ..summary.clone() };
    let drawn = draw(BoxPlots::new("t", "c", count("v")).summary(summary).summary(broken));
    let place = drawn.scale('v');
    let only = |class: &str| {
        let found = drawn.all("path", class);
        assert_eq!(found.len(), 1, "{class}");
        found[0].path()
    };
    let across = |class: &str, at: &[usize]| -> Vec<f64> {
        let path = only(class);
        at.iter().map(|nth| path[*nth]).collect()
    };
    for (class, at, values) in [
        ("quartiles", vec![0, 2, 4], vec![20.0, 40.0, 20.0]),
        ("median", vec![0], vec![25.0]),
        ("interval", vec![0, 2], vec![22.0, 31.0]),
        ("whisker", vec![0, 2, 3, 5, 6, 9], vec![10.0, 20.0, 40.0, 70.0, 10.0, 70.0]),
    ] {
        let found = across(class, &at);
        assert!(
            found.iter().zip(&values).all(|(x, value)| near(*x, place(*value))),
            "{class} {found:?}"
        );
    }
    let outlier = drawn.all("circle", "outlier")[0];
    let middle = drawn.label("name", "n0").top() - 4.0;
    assert!(near(outlier.number("cx"), place(90.0)) && near(outlier.number("cy"), middle));
    let (quartiles, whisker) = (only("quartiles"), only("whisker"));
    assert!(near((quartiles[1] + quartiles[3]) / 2.0, middle) && quartiles[1] < quartiles[3]);
    assert!(near(whisker[1], middle) && near((whisker[7] + whisker[8]) / 2.0, middle));
}
