//! What to call settings: by what differs between them, and nothing else.

use plimsoll_domain::Bytes;
use plimsoll_domain::burst::Setting;
use plimsoll_report::Unit;
use plimsoll_score::Columns;
use plimsoll_score::bandwidth::Point;
use serde::Serialize;

/// A field of a setting in words.
struct Field {
    name: &'static str,
    value: String,
    /// For fields that are sizes, which plans may write in several ways.
    size: Option<Bytes>,
}

/// Fields that make a figure of their own rather than a box in one.
const PANEL: [&str; 2] = ["operation", "burst"];

/// Fields that a plan varies as plain numbers.
const COUNTS: [&str; 4] = ["clients", "processes", "targets", "stripe_count"];

/// Names of settings and of what was varied.
pub struct Labels {
    /// What was varied, for titles.
    pub varied: String,
    /// The field that was varied, where it is one.
    varied_field: Option<&'static str>,
    /// Fields in which settings differ.
    differing: Vec<&'static str>,
}

impl Labels {
    pub fn new(columns: &Columns) -> Self {
        let mut settings = columns.settings.iter().map(fields);
        let Some(first) = settings.next() else {
            return Labels { varied: "all".into(), varied_field: None, differing: Vec::new() };
        };
        let others: Vec<Vec<Field>> = settings.collect();
        let differs = |at: &usize| others.iter().any(|other| other[*at].value != first[*at].value);
        let differing: Vec<usize> = (0..first.len()).filter(differs).collect();
        let is_varied = |at: &&usize| {
            columns.instances().iter().all(|it| {
                let varied = columns.varied.name(it.varied);
                says(&fields(columns.setting(it))[**at], varied)
            })
        };
        // Where all settings are alike, it is the field that has the value which the plan would have varied.
        let counts: Vec<usize> =
            (0..first.len()).filter(|at| COUNTS.contains(&first[*at].name)).collect();
        let candidates = if others.is_empty() { &counts } else { &differing };
        let varied_field = candidates.iter().find(is_varied).map(|at| first[*at].name);
        Labels {
            varied: varied_field.unwrap_or("varied value").replace('_', " "),
            varied_field,
            differing: differing.into_iter().map(|at| first[at].name).collect(),
        }
    }

    /// The figure that a setting belongs to: direction and size of the burst.
    pub fn panel(&self, setting: &Setting) -> String {
        let shown = |field: &Field| Some(field.name) != self.varied_field;
        let parts = fields(setting).into_iter().filter(|field| PANEL.contains(&field.name));
        let words = parts.filter(shown).map(|field| match field.size {
            Some(size) => format!("bursts of {}", Unit::Bytes.show(size.get() as f64)),
            None => field.value,
        });
        words.collect::<Vec<_>>().join(", ")
    }

    /// A point by the name of what was varied and its value, for legends.
    pub fn long(&self, columns: &Columns, point: &Point) -> String {
        let short = self.point(columns, point);
        match self.varied_field {
            Some(field) => format!("{} {short}", field.replace('_', " ")),
            None => short,
        }
    }

    /// A point within its figure: the varied value, and what else differs.
    pub fn point(&self, columns: &Columns, point: &Point) -> String {
        let varied = columns.varied.name(point.varied);
        let others = fields(&columns.settings[point.setting as usize]).into_iter().filter(|it| {
            let told = PANEL.contains(&it.name) || Some(it.name) == self.varied_field;
            // A striped file needs as many targets: one of the two tells enough.
            self.differing.contains(&it.name) && !told && it.value != varied
        });
        let others =
            others.map(|field| format!("{} {}", field.name.replace('_', " "), field.value));
        let varied = Some(varied.to_string()).filter(|it| !it.is_empty());
        let words: Vec<String> = varied.into_iter().chain(others).collect();
        if words.is_empty() { "all".into() } else { words.join(", ") }
    }
}

/// Whether the text is a way to write the field's value.
fn says(field: &Field, text: &str) -> bool {
    match field.size {
        Some(size) => text.parse::<Bytes>() == Ok(size),
        None => field.value == text,
    }
}

fn fields(setting: &Setting) -> Vec<Field> {
    let word = |name, value: String| Field { name, value, size: None };
    let count = |name, value: u32| word(name, value.to_string());
    let size = |name, value: Bytes| Field { name, value: value.to_string(), size: Some(value) };
    vec![
        word("operation", name(&setting.operation)),
        count("clients", setting.clients),
        count("processes", setting.processes),
        count("targets", setting.targets),
        size("burst", setting.burst),
        size("transfer", setting.transfer),
        word("pattern", name(&setting.pattern)),
        word("sharing", name(&setting.sharing)),
        count("stripe_count", setting.stripe_count),
        size("stripe_size", setting.stripe_size),
        word("caching", name(&setting.caching)),
        word("engine", name(&setting.engine)),
        count("depth", setting.depth),
    ]
}

/// The word of an enumeration, as plans write it.
fn name(value: &impl Serialize) -> String {
    serde_json::to_value(value)
        .ok()
        .and_then(|it| it.as_str().map(str::to_owned))
        .unwrap_or_default()
}
