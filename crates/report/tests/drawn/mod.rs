//! What is drawn on a page, to be looked at element by element.
#![allow(dead_code)] // every test file uses a part

use plimsoll_report::Unit;
use plimsoll_report::html::{Axis, Chart, Page, Section};

/// Coordinates are written with one decimal.
pub const NEAR: f64 = 0.3;

/// An element of a drawing.
pub struct Element {
    pub tag: String,
    pub text: String,
}

impl Element {
    pub fn attribute(&self, name: &str) -> &str {
        let after = self.tag.split_once(&format!(" {name}=\"")).map_or("", |(_, rest)| rest);
        after.split('"').next().unwrap_or("")
    }

    pub fn number(&self, name: &str) -> f64 {
        self.attribute(name).parse().unwrap_or(f64::NAN)
    }

    pub fn is(&self, name: &str, class: &str) -> bool {
        self.tag.starts_with(name) && self.attribute("class") == class
    }

    /// Numbers of a path.
    pub fn path(&self) -> Vec<f64> {
        let d = self.attribute("d");
        d.split(|c: char| c.is_alphabetic() || c == ' ').filter_map(|it| it.parse().ok()).collect()
    }

    pub fn left(&self) -> f64 {
        self.number("x")
    }

    pub fn right(&self) -> f64 {
        self.number("x") + self.number("width")
    }

    pub fn top(&self) -> f64 {
        self.number("y")
    }

    pub fn bottom(&self) -> f64 {
        self.number("y") + self.number("height")
    }

    pub fn middle(&self) -> f64 {
        (self.left() + self.right()) / 2.0
    }
}

/// A chart as it is drawn.
pub struct Drawn {
    pub elements: Vec<Element>,
}

pub fn draw(chart: impl Into<Chart>) -> Drawn {
    let html = Page::new("p", "").section(Section::new("s").chart(chart.into())).to_html();
    let chart = html.split_once("role=\"img\"").expect("a chart").1;
    let chart = &chart[..chart.find("</div>").unwrap_or(chart.len())];
    let element = |part: &str| {
        let (tag, text) = part.split_once('>').unwrap_or((part, ""));
        Element { tag: tag.to_string(), text: text.to_string() }
    };
    Drawn { elements: chart.split('<').skip(1).map(element).collect() }
}

impl Drawn {
    pub fn all(&self, name: &str, class: &str) -> Vec<&Element> {
        self.elements.iter().filter(|it| it.is(name, class)).collect()
    }

    /// A label by its words.
    #[track_caller]
    pub fn label(&self, class: &str, words: &str) -> &Element {
        let found = self.all("text", class).into_iter().find(|it| it.text == words);
        found.unwrap_or_else(|| panic!("no label {words}"))
    }

    /// Where the grid has which values: `v` across, `h` upwards.
    pub fn grid(&self, direction: char) -> Vec<(f64, f64)> {
        let pairs = self.elements.iter().filter(|it| !it.tag.starts_with('/')).collect::<Vec<_>>();
        let lines = pairs.windows(2).filter(|pair| pair[0].is("path", "grid"));
        let lines = lines.filter(|pair| pair[0].attribute("d").contains(direction));
        let place = if direction == 'v' { 0 } else { 1 };
        let value = |label: &str| label.trim_end_matches(" %").replace(',', "").parse().unwrap();
        let at = |pair: &[&Element]| {
            let (line, label) = (pair[0].path(), pair[1]);
            let (right, down) = (label.left() - line[0], label.top() - line[1]);
            match direction {
                'v' => assert!(right.abs() < 20.0 && (10.0..20.0).contains(&(down - line[2]))),
                _ => assert!((-20.0..0.0).contains(&right) && down.abs() < 6.0, "{}", label.text),
            }
            (value(&label.text), line[place])
        };
        lines.map(at).collect()
    }

    /// The place of a value on an axis, by the first and the last line of its grid; all others
    /// must agree.
    #[track_caller]
    pub fn scale(&self, direction: char) -> impl Fn(f64) -> f64 + use<> {
        let grid = self.grid(direction);
        let (first, last) = (grid[0], grid[grid.len() - 1]);
        assert!(grid.len() > 2 && first.0 < last.0, "{grid:?}");
        let slope = (last.1 - first.1) / (last.0 - first.0);
        let place = move |value: f64| first.1 + (value - first.0) * slope;
        assert!(grid.iter().all(|(value, at)| near(place(*value), *at)), "{grid:?}");
        assert_eq!(slope > 0.0, direction == 'v', "to the right and upwards");
        place
    }
}

pub fn near(one: f64, other: f64) -> bool {
    (one - other).abs() <= NEAR
}

pub fn count(title: &str) -> Axis {
    Axis::new(title, Unit::Count)
}

pub fn names(count: usize) -> Vec<String> {
    (0..count).map(|nth| format!("n{nth}")).collect()
}
