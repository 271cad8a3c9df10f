//! Names of policies, as people write them.

use std::fmt;
use std::str::FromStr;

use anyhow::{Result, bail};
use plimsoll_race::Policy;
use plimsoll_route::{Factor, WindowSettings};

use crate::value;

/// A throttling factor as it is asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum WantedFactor {
    /// This.
    Fixed(f64),
    /// The least that lets all targets end together, from their rates.
    Optimal,
    /// No bound.
    None,
}

impl FromStr for WantedFactor {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "optimal" => Ok(Self::Optimal),
            "none" => Ok(Self::None),
            number => value::share(number)
                .map(Self::Fixed)
                .map_err(|why| format!("{why}; or say optimal, or none")),
        }
    }
}

impl fmt::Display for WantedFactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(factor) => write!(f, "{factor}"),
            Self::Optimal => f.pad("optimal"),
            Self::None => f.pad("none"),
        }
    }
}

impl WantedFactor {
    fn factor(self, optimal: f64) -> Factor {
        match self {
            Self::Fixed(factor) => millionths(factor),
            Self::Optimal => millionths(optimal),
            Self::None => Factor::NONE,
        }
    }
}

fn millionths(factor: f64) -> Factor {
    Factor::from_millionths((factor * 1e6).round() as u64)
}

/// Which kind of policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Static,
    Striped,
    Paper,
    PaperSplit,
    Window,
}

const KINDS: [(&str, Kind); 5] = [
    ("static", Kind::Static),
    ("striped", Kind::Striped),
    ("paper", Kind::Paper),
    ("paper-split", Kind::PaperSplit),
    ("window", Kind::Window),
];

/// A policy with its name.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Wanted {
    kind: Kind,
    factor: WantedFactor,
}

impl Wanted {
    /// What a table calls it.
    pub fn name(&self) -> String {
        let name = KINDS.iter().find(|(_, kind)| *kind == self.kind).map_or("", |(name, _)| *name);
        match self.kind {
            Kind::Static | Kind::Striped => name.to_string(),
            Kind::Window if self.factor == WantedFactor::None => name.to_string(),
            _ => format!("{name}:{}", self.factor),
        }
    }

    /// The policy, when it is known what the best factor is.
    pub fn policy(&self, optimal: f64, part_bytes: u64) -> Policy {
        let factor = self.factor.factor(optimal);
        match self.kind {
            Kind::Static => Policy::Static,
            Kind::Striped => Policy::Striped,
            Kind::Paper => Policy::Paper { factor, part_bytes: 0 },
            Kind::PaperSplit => Policy::Paper { factor, part_bytes },
            Kind::Window => Policy::Window { factor, settings: WindowSettings::default() },
        }
    }
}

/// Reads "all", or names with commas between them, each perhaps with its own factor: "paper:0.2".
pub fn parse(text: &str, factor: Option<WantedFactor>) -> Result<Vec<Wanted>> {
    let text = match (text, factor) {
        ("all", None) => "static,striped,paper:0.1,paper:optimal,paper-split:optimal,window",
        ("all", Some(_)) => "static,striped,paper,paper-split,window",
        (other, _) => other,
    };
    let mut policies = Vec::new();
    for name in text.split(',') {
        let wanted = one(name.trim(), factor)?;
        if !policies.contains(&wanted) {
            policies.push(wanted);
        }
    }
    Ok(policies)
}

fn one(text: &str, default: Option<WantedFactor>) -> Result<Wanted> {
    let (name, own) = match text.split_once(':') {
        Some((name, factor)) => (name, Some(factor)),
        None => (text, None),
    };
    let Some((_, kind)) = KINDS.iter().find(|(known, _)| *known == name) else {
        let known: Vec<&str> = KINDS.iter().map(|(name, _)| *name).collect();
        bail!("there is no policy {name:?}; hint: all, or some of {}", known.join(", "));
    };
    let own = own.map(str::parse::<WantedFactor>).transpose();
    let own = own.map_err(|why| anyhow::anyhow!("the throttling factor of {text:?} {why}"))?;
    let factor = match (kind, own) {
        (Kind::Static | Kind::Striped, Some(_)) => {
            bail!("policy {name} moves nothing and has no throttling factor; hint: {name}")
        }
        (Kind::Static | Kind::Striped, None) => WantedFactor::None,
        // A window needs no bound: its targets' delays are one.
        (Kind::Window, None) => WantedFactor::None,
        (Kind::Paper | Kind::PaperSplit, None) => default.unwrap_or(WantedFactor::Fixed(0.1)),
        (_, Some(own)) => own,
    };
    Ok(Wanted { kind: *kind, factor })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str, factor: Option<&str>) -> Vec<String> {
        let factor = factor.map(|it| it.parse().unwrap());
        parse(text, factor).unwrap().iter().map(Wanted::name).collect()
    }

    #[test]
    fn names_are_read_and_shown() {
        let all = "static striped paper:0.1 paper:optimal paper-split:optimal window";
        assert_eq!(names("all", None).join(" "), all);
        let with = "static striped paper:0.2 paper-split:0.2 window";
        assert_eq!(names("all", Some("20%")).join(" "), with);
        assert_eq!(names("window, paper:none,window", None), ["window", "paper:none"]);
        for bad in ["", "windows", "paper:fast", "static:0.1", "paper:-1"] {
            assert!(parse(bad, None).is_err(), "{bad}");
        }
    }
}
