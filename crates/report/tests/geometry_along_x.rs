//! Charts along an axis: every mark lies where both axes say.

mod drawn;

use drawn::{Element, count, draw, names, near};
use plimsoll_report::html::{Gantt, HeatMap, Lines, Scatter, Span};

#[test]
fn spans_lie_in_their_row_from_start_to_end() {
    let mut gantt = Gantt::new("t", count("x"), names(3), vec!["a".into(), "b".into()]);
    let span = |row, kind, start, end| Span { row, kind, start, end, detail: String::new() };
    let (good, wrong) = (
        [span(0, 0, 0.0, 10.0), span(2, 1, 30.0, 100.0)],
        [
            span(3, 0, 1.0, 2.0),
            span(0, 2, 1.0, 2.0),
            span(0, 0, 2.0, 1.0),
            span(0, 0, f64::NAN, 1.0),
            span(0, 0, 0.0, f64::NAN),
        ],
    );
    good.iter().chain(&wrong).for_each(|span| gantt.push(span.clone()));
    let drawn = draw(gantt);
    let (place, area) = (drawn.scale('v'), drawn.all("svg", "area")[0]);
    let found = drawn.all("rect", "f span");
    assert_eq!(found.len(), good.len(), "what cannot be is left out");
    for (rect, span) in found.iter().zip(&good) {
        assert!(near(area.left() + rect.left(), place(span.start)), "{span:?}");
        assert!(near(area.left() + rect.right(), place(span.end)), "{span:?}");
        let name = drawn.label("name", &format!("n{}", span.row));
        let middle = area.top() + (rect.top() + rect.bottom()) / 2.0;
        assert!(near(name.top() - 4.0, middle), "{span:?}");
    }
    assert!(found[0].attribute("data-tip").contains("n0: a"));
}

#[test]
fn lines_go_through_their_points() {
    let points = vec![(0.0, 5.0), (50.0, 20.0), (100.0, 0.0)];
    let lines = || Lines::new("t", count("x"), count("y")).line("l", points.clone());
    let drawn = draw(lines());
    let (across, upwards) = (drawn.scale('v'), drawn.scale('h'));
    let area = drawn.all("svg", "area")[0];
    let expected = |(x, y): &(f64, f64)| [across(*x) - area.left(), upwards(*y) - area.top()];
    let expected: Vec<f64> = points.iter().flat_map(expected).collect();
    let path = drawn.all("path", "s d0")[0].path();
    assert!(path.iter().zip(&expected).all(|(one, other)| near(*one, *other)), "{path:?}");
    assert_eq!(path.len(), expected.len());
    // A tinted area ends at zero, below its first point.
    let drawn = draw(lines().area());
    let tinted = drawn.all("path", "a")[0].path();
    assert!(near(tinted[6], upwards(0.0) - area.top()) && near(tinted[7], expected[0]));
    // A value holds until the next one.
    let steps = draw(lines().steps());
    assert_eq!(steps.all("path", "s d0")[0].attribute("d").matches('H').count(), 2);
}

#[test]
fn the_colour_bar_of_a_heat_map_goes_from_least_to_greatest() {
    let map = HeatMap::new("t", count("x"), (0.0, 4.0), 2, "r", names(2), count("jobs"));
    let drawn = draw(map.class("c", vec![1.0, 2.0, 3.0, 70.0]));
    let shades = drawn.all("rect", "k0 in-own-colour");
    assert!(shades.windows(2).all(|pair| near(pair[0].right(), pair[1].left())));
    let opacity = |it: &Element| -> f64 { it.attribute("fill-opacity").parse().unwrap() };
    assert!(shades.windows(2).all(|pair| opacity(pair[0]) < opacity(pair[1])));
    assert_eq!(opacity(shades[shades.len() - 1]), 1.0);
    let (least, greatest) = (drawn.label("tick", "0"), drawn.label("tick", "70"));
    assert!((0.0..10.0).contains(&(shades[0].left() - least.left())));
    let end = shades[shades.len() - 1].right();
    assert!((0.0..10.0).contains(&(greatest.left() - end)) && (700.0..752.0).contains(&end));
    assert!(drawn.label("axis", "jobs").left() < least.left());
    let (area, told) = (drawn.all("svg", "area")[0], drawn.all("text", "axis no-script")[0]);
    assert!(
        near(told.left(), area.middle()) && near(told.top(), (area.top() + area.bottom()) / 2.0)
    );
}

/// Rows are as high as is comfortable for few of them, and together no higher than a screen.
#[test]
fn a_heat_map_is_as_high_as_its_rows_need() {
    let height = |rows: usize| {
        let map = HeatMap::new("t", count("x"), (0.0, 4.0), 2, "r", names(rows), count("v"));
        let drawn = draw(map.class("c", vec![1.0; 2 * rows]));
        let area = drawn.all("svg", "area")[0];
        area.bottom() - area.top()
    };
    assert_eq!([2, 13, 100, 240, 256].map(height), [36.0, 234.0, 240.0, 360.0, 384.0]);
}

#[test]
fn points_lie_at_their_values_with_the_shape_of_their_series() {
    let (one, other) = (vec![(10.0, 1.0), (40.0, 3.0)], vec![(20.0, 2.0)]);
    let scatter = Scatter::new("t", count("x"), count("y")).points("a", one.clone());
    let drawn = draw(scatter.points("b", other.clone()));
    let (across, upwards, area) = (drawn.scale('v'), drawn.scale('h'), drawn.all("svg", "area")[0]);
    let shape = |class: &str, points: &[(f64, f64)]| -> String {
        let path = drawn.all("path", class)[0];
        let marks: Vec<&str> = path.attribute("d").split('M').skip(1).collect();
        assert_eq!(marks.len(), points.len());
        let ends = marks.iter().zip(points).map(|(mark, (x, y))| {
            let (left, rest) = mark.split_once(' ').unwrap();
            let end = rest.find(char::is_alphabetic).expect("a shape");
            assert!(near(area.left() + left.parse::<f64>().unwrap(), across(*x)), "{mark}");
            assert!(near(area.top() + rest[..end].parse::<f64>().unwrap(), upwards(*y)), "{mark}");
            rest[end..].to_string()
        });
        let shapes: Vec<String> = ends.collect();
        assert!(shapes.iter().all(|shape| *shape == shapes[0]));
        shapes[0].clone()
    };
    assert_ne!(shape("p k0 round", &one), shape("p k1", &other));
}
