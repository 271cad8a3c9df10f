//! The scenarios that come with the program, by name.

use super::{Scenario, ScenarioError};

/// A scenario that comes with the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Embedded {
    /// What to ask for.
    pub name: &'static str,
    /// Its TOML.
    pub text: &'static str,
}

macro_rules! embed {
    ($($name:literal),+ $(,)?) => {
        &[$(Embedded { name: $name, text: include_str!(concat!("../../../../scenarios/", $name, ".toml")) }),+]
    };
}

/// All of them; the files are in `scenarios/`.
pub static EMBEDDED: &[Embedded] = embed![
    "heavy-noise",
    "light-noise",
    "quiet",
    "stochastic",
    "tf-sweep",
    "scale",
    "plfs-scale",
    "many-pairs",
    "absorb",
    "when-does-it-pay",
    "one-slow",
    "request-cost",
    "late-notice",
    "flood-queue",
    "flood-streams",
    "one-writer",
    "lone-writers",
    "fixed-phases",
    "throttled",
    "open-arrivals",
    "in-transit",
    "buffer-or-routing",
];

/// The scenario of that name.
pub fn embedded(name: &str) -> Result<Scenario, ScenarioError> {
    match EMBEDDED.iter().find(|embedded| embedded.name == name) {
        Some(embedded) => Scenario::parse(name, embedded.text),
        None => Err(ScenarioError::Unknown { name: name.into() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scenario_is_valid_and_says_where_it_comes_from() {
        for one in EMBEDDED {
            let scenario = embedded(one.name).unwrap_or_else(|error| panic!("{error}"));
            assert!(scenario.source.is_some(), "{}", one.name);
            let again = toml::to_string(&scenario).unwrap();
            assert_eq!(Scenario::parse(one.name, &again).unwrap(), scenario, "{again}");
        }
        assert!(matches!(embedded("heavy"), Err(ScenarioError::Unknown { .. })));
    }
}
