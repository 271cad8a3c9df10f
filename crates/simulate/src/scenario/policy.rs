//! Which router, with which settings: `window`, `paper:tf=optimal:split=4MiB`.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use plimsoll_domain::{Bytes, Nanos};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::ScenarioError;

/// A router and its settings.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Policy {
    /// Which router.
    pub router: Router,
    /// Bound on what a target takes in over its own data.
    pub tf: Tf,
    /// `paper`: blocks are cut into parts of at most this size, so that a part of a block can
    /// move.
    pub split: Option<Bytes>,
    /// `paper`: the one-time question for the length of queues (Huang 3.5).
    pub inquiry: bool,
    /// `paper`: whether a group that rejected is asked by others before it says that it is busy
    /// again. If not said, only a coordinator that inquired knows more than busy or idle.
    pub rejects: Option<Rejects>,
    /// `window`: the delay that it aims at.
    pub tau: Option<Nanos>,
    /// `window`: targets that a node uses.
    pub lanes: Option<u32>,
}

/// Which router.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Router {
    /// Every process to its own targets.
    Static,
    /// Every block over all targets.
    Striped,
    /// Huang's coordinators.
    Paper,
    /// Delay-controlled windows, no coordinator.
    Window,
}

/// What the paper's coordinator makes of a rejection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rejects {
    /// It strikes the group off its list.
    Remember,
    /// It asks that group again for the next idle one.
    Forget,
}

/// A throttling factor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Tf {
    /// This one.
    Given(f64),
    /// Equation 1, from what the scenario says about noise.
    Optimal,
    /// No bound.
    Unbounded,
}

impl Policy {
    /// A router as it comes.
    pub fn new(router: Router) -> Self {
        let tf = match router {
            // The paper's runs use this unless they say otherwise (Huang 5).
            Router::Paper => Tf::Given(0.1),
            _ => Tf::Unbounded,
        };
        Policy { router, tf, split: None, inquiry: true, rejects: None, tau: None, lanes: None }
    }

    /// Whether a rejection counts for all that come later (see [`Policy::rejects`]).
    pub fn remembers_rejects(&self) -> bool {
        match self.rejects {
            Some(rejects) => rejects == Rejects::Remember,
            None => self.inquiry,
        }
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        let bad = |reason: &dyn fmt::Display| format!("{key}={value}: {reason}");
        let Some((_, routers)) = SETTINGS.iter().find(|(known, _)| *known == key) else {
            let known = SETTINGS.map(|(known, _)| known).join(", ");
            return Err(format!("unknown setting {key:?}; hint: {known}"));
        };
        if !routers.contains(&self.router) {
            let name = self.router.name();
            return Err(format!("policy {name} has no setting {key}; hint: leave it out"));
        }
        match key {
            "tf" => self.tf = value.parse()?,
            "split" => self.split = Some(value.parse().map_err(|error| bad(&error))?),
            "tau" => self.tau = Some(value.parse().map_err(|error| bad(&error))?),
            "lanes" => self.lanes = Some(value.parse().map_err(|error| bad(&error))?),
            "inquiry" => {
                self.inquiry = match value {
                    "on" => true,
                    "off" => false,
                    _ => return Err(bad(&"write on or off")),
                };
            }
            _ => {
                self.rejects = match value {
                    "remember" => Some(Rejects::Remember),
                    "forget" => Some(Rejects::Forget),
                    _ => return Err(bad(&"write remember or forget")),
                };
            }
        }
        Ok(())
    }
}

/// Which routers have a setting.
const SETTINGS: [(&str, &[Router]); 6] = [
    ("tf", &[Router::Paper, Router::Window]),
    ("split", &[Router::Paper]),
    ("inquiry", &[Router::Paper]),
    ("rejects", &[Router::Paper]),
    ("tau", &[Router::Window]),
    ("lanes", &[Router::Window]),
];

const ROUTERS: [(&str, Router); 4] = [
    ("static", Router::Static),
    ("striped", Router::Striped),
    ("paper", Router::Paper),
    ("window", Router::Window),
];

impl Router {
    /// Its name.
    pub fn name(self) -> &'static str {
        ROUTERS.iter().find(|(_, router)| *router == self).map_or("", |(name, _)| name)
    }
}

impl FromStr for Policy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut words = text.trim().split(':');
        let name = words.next().unwrap_or("");
        let Some((_, router)) = ROUTERS.iter().find(|(known, _)| *known == name) else {
            return Err(format!("unknown policy {name:?}; hint: static, striped, paper or window"));
        };
        let mut policy = Policy::new(*router);
        let mut known = Vec::new();
        for word in words {
            let (key, value) = word.split_once('=').ok_or_else(|| {
                format!("{word:?} is not a setting; hint: paper:tf=0.2:split=4MiB")
            })?;
            if known.contains(&key) {
                return Err(format!("{key} is set twice; hint: leave one of them out"));
            }
            known.push(key);
            policy.set(key, value)?;
        }
        Ok(policy)
    }
}

impl Tf {
    /// Factors that make sense: with 1e6 a target may take in everything.
    pub const RANGE: RangeInclusive<f64> = 0.0..=1e6;
}

impl FromStr for Tf {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "optimal" => Ok(Tf::Optimal),
            "none" => Ok(Tf::Unbounded),
            _ => match text.parse::<f64>() {
                // The sum has no sign where the value is a negative zero.
                Ok(value) if Tf::RANGE.contains(&value) => Ok(Tf::Given(value + 0.0)),
                _ => Err(format!("tf={text} is not a factor; hint: tf=0.1, tf=optimal or tf=none")),
            },
        }
    }
}

impl fmt::Display for Tf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Tf::Given(value) => write!(f, "{value}"),
            Tf::Optimal => f.write_str("optimal"),
            Tf::Unbounded => f.write_str("none"),
        }
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.router.name())?;
        if self.router == Router::Paper || self.tf != Tf::Unbounded {
            write!(f, ":tf={}", self.tf)?;
        }
        if let Some(split) = self.split {
            write!(f, ":split={split}")?;
        }
        if !self.inquiry {
            f.write_str(":inquiry=off")?;
        }
        match self.rejects {
            Some(Rejects::Remember) => f.write_str(":rejects=remember")?,
            Some(Rejects::Forget) => f.write_str(":rejects=forget")?,
            None => {}
        }
        if let Some(tau) = self.tau {
            write!(f, ":tau={tau}")?;
        }
        if let Some(lanes) = self.lanes {
            write!(f, ":lanes={lanes}")?;
        }
        Ok(())
    }
}

impl Serialize for Policy {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Policy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl Policy {
    /// Refuses values that make no sense.
    pub(super) fn check(&self) -> Result<(), ScenarioError> {
        match self {
            Policy { split: Some(split), .. } if split.get() == 0 => {
                Err(ScenarioError::value("split", "is zero", "split=4MiB"))
            }
            Policy { tau: Some(tau), .. } if tau.get() == 0 => {
                Err(ScenarioError::value("tau", "is zero", "tau=50ms"))
            }
            Policy { lanes: Some(0), .. } => {
                Err(ScenarioError::value("lanes", "is zero", "at least one target a node"))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_reads_back() {
        for text in [
            "static",
            "striped",
            "window",
            "paper:tf=0.1",
            "paper:tf=optimal:split=4MiB:inquiry=off",
            "paper:tf=0.1:inquiry=off:rejects=remember",
            "paper:tf=0.1:rejects=forget",
            "window:tau=50ms:lanes=32",
            "window:tf=0.3",
            "paper:tf=none",
        ] {
            let policy: Policy = text.parse().unwrap();
            assert_eq!(policy.to_string(), text);
        }
        assert_eq!("paper".parse::<Policy>().unwrap().to_string(), "paper:tf=0.1");
        assert_eq!("paper:tf=-0".parse::<Policy>().unwrap().to_string(), "paper:tf=0");
    }

    #[test]
    fn nonsense_is_refused_with_a_hint() {
        for text in [
            "",
            "pape",
            "paper:tf=-1",
            "paper:tf=nan",
            "paper:split",
            "paper:x=1",
            "paper:inquiry=maybe",
            "paper:rejects=never",
            "window:tau=fast",
            "static:split=4MiB",
            "static:tf=0.1",
            "striped:tf=7",
            "static:tf=none",
            "window:inquiry=on",
            "paper:tau=50ms",
            "paper:tf=0.1:tf=0.2",
        ] {
            assert!(text.parse::<Policy>().is_err(), "{text}");
        }
        assert_eq!(
            "striped:tf=7".parse::<Policy>().unwrap_err(),
            "policy striped has no setting tf; hint: leave it out"
        );
        assert!("window:tau=0s".parse::<Policy>().unwrap().check().is_err());
    }
}
