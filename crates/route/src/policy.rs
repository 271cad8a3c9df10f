//! Which router, with which settings, as people write it: `window`,
//! `coordinator:tf=optimal:split=4MiB`. The one grammar of every command and every scenario.

use std::fmt;
use std::str::FromStr;

use plimsoll_domain::{Bytes, Nanos};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{CoordinatorSettings, Tf};

/// A kind of router and its settings.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Policy {
    /// Which kind.
    pub kind: PolicyKind,
    /// Bound on what a target takes in over its own data.
    pub tf: Tf,
    /// `coordinator`: blocks are cut into parts of at most this size, so that a part of a block
    /// can move.
    pub split: Option<Bytes>,
    /// `coordinator`: the one-time question for the length of queues (Huang 3.5).
    pub inquiry: bool,
    /// `coordinator`: whether a group that rejected is asked by others before it says that it is
    /// busy again. If not said, only a coordinator that inquired knows more than busy or idle.
    pub rejects: Option<Rejects>,
    /// `window`: the delay that it aims at.
    pub tau: Option<Nanos>,
    /// `window`: targets that a node uses.
    pub lanes: Option<u32>,
}

/// A kind of router.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PolicyKind {
    /// Every writer to its own targets.
    Static,
    /// Every block over all targets.
    Striped,
    /// Huang's coordinator, sub-coordinators and clients.
    Coordinator,
    /// Delay-controlled windows, no coordinator.
    Window,
}

/// What a coordinator makes of a rejection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rejects {
    /// It strikes the group off its list.
    Remember,
    /// It asks that group again for the next idle one.
    Forget,
}

/// Why a text is not a policy, or a policy makes no sense. One line with a hint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PolicyError(pub(crate) String);

const KINDS: [(&str, PolicyKind); 4] = [
    ("static", PolicyKind::Static),
    ("striped", PolicyKind::Striped),
    ("coordinator", PolicyKind::Coordinator),
    ("window", PolicyKind::Window),
];

/// Which kinds have a setting.
const SETTINGS: [(&str, &[PolicyKind]); 6] = [
    ("tf", &[PolicyKind::Coordinator, PolicyKind::Window]),
    ("split", &[PolicyKind::Coordinator]),
    ("inquiry", &[PolicyKind::Coordinator]),
    ("rejects", &[PolicyKind::Coordinator]),
    ("tau", &[PolicyKind::Window]),
    ("lanes", &[PolicyKind::Window]),
];

/// Earlier names, which stay readable: the name, what it is now, and whether it splits blocks.
const ALIASES: [(&str, PolicyKind, bool); 2] =
    [("paper", PolicyKind::Coordinator, false), ("paper-split", PolicyKind::Coordinator, true)];

/// Parts of a block where `paper-split` does not say more.
const SPLIT: Bytes = Bytes::new(256 << 10);

impl Policy {
    /// Returns a policy as it comes.
    pub const fn new(kind: PolicyKind) -> Self {
        let tf = match kind {
            // The paper's runs use this unless they say otherwise (Huang 5).
            PolicyKind::Coordinator => Tf::Given(0.1),
            _ => Tf::Unbounded,
        };
        Policy { kind, tf, split: None, inquiry: true, rejects: None, tau: None, lanes: None }
    }

    /// Reads a policy that has these settings where it does not say others.
    ///
    /// # Errors
    /// Fails if it is not a policy.
    pub(crate) fn parse_with(text: &str, unsaid: CoordinatorSettings) -> Result<Self, PolicyError> {
        let mut words = text.trim().split(':');
        let mut policy = Policy::of_name(words.next().unwrap_or(""))?;
        unsaid.apply(&mut policy);
        let mut known = Vec::new();
        for word in words {
            // A factor may stand alone, as it once had to: paper:0.2.
            let (key, value) = word.split_once('=').unwrap_or(("tf", word));
            if known.contains(&key) {
                return Err(PolicyError(format!(
                    "{key} is set twice; hint: leave one of them out"
                )));
            }
            known.push(key);
            policy.set(key, value)?;
        }
        policy.check()?;
        Ok(policy)
    }

    fn of_name(name: &str) -> Result<Self, PolicyError> {
        if let Some((_, kind)) = KINDS.iter().find(|(known, _)| *known == name) {
            return Ok(Policy::new(*kind));
        }
        if let Some((_, kind, splits)) = ALIASES.iter().find(|(known, ..)| *known == name) {
            return Ok(Policy { split: splits.then_some(SPLIT), ..Policy::new(*kind) });
        }
        let hint = "static, striped, coordinator or window";
        Err(PolicyError(format!("unknown policy {name:?}; hint: {hint}")))
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), PolicyError> {
        let bad = |reason: &dyn fmt::Display| PolicyError(format!("{key}={value}: {reason}"));
        let Some((_, kinds)) = SETTINGS.iter().find(|(known, _)| *known == key) else {
            let known = SETTINGS.map(|(known, _)| known).join(", ");
            return Err(PolicyError(format!("unknown setting {key:?}; hint: {known}")));
        };
        if !kinds.contains(&self.kind) {
            let name = self.kind.name();
            return Err(PolicyError(format!(
                "policy {name} has no setting {key}; hint: leave it out"
            )));
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

    /// Refuses values that make no sense.
    ///
    /// # Errors
    /// Fails if a size, a delay or a count is zero.
    pub fn check(&self) -> Result<(), PolicyError> {
        let problem = match self {
            Policy { split: Some(split), .. } if split.get() == 0 => {
                "split is zero; hint: split=4MiB"
            }
            Policy { tau: Some(tau), .. } if tau.get() == 0 => "tau is zero; hint: tau=50ms",
            Policy { lanes: Some(0), .. } => "lanes is zero; hint: at least one target a node",
            _ => return Ok(()),
        };
        Err(PolicyError(problem.to_string()))
    }

    /// Returns whether a rejection counts for all that come later (see [`Policy::rejects`]).
    pub fn remembers_rejects(&self) -> bool {
        match self.rejects {
            Some(rejects) => rejects == Rejects::Remember,
            None => self.inquiry,
        }
    }
}

impl PolicyKind {
    /// Returns its name.
    pub fn name(self) -> &'static str {
        KINDS.iter().find(|(_, kind)| *kind == self).map_or("", |(name, _)| name)
    }
}

impl FromStr for Policy {
    type Err = PolicyError;

    fn from_str(text: &str) -> Result<Self, PolicyError> {
        Policy::parse_with(text, CoordinatorSettings::default())
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.name())?;
        if self.kind == PolicyKind::Coordinator || self.tf != Tf::Unbounded {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        text.parse::<Policy>().unwrap().to_string()
    }

    #[test]
    fn what_is_printed_reads_back() {
        for text in [
            "static",
            "striped",
            "window",
            "coordinator:tf=0.1",
            "coordinator:tf=optimal:split=4MiB:inquiry=off",
            "coordinator:tf=0.1:inquiry=off:rejects=remember",
            "coordinator:tf=0.1:rejects=forget",
            "window:tau=50ms:lanes=32",
            "window:tf=0.3",
            "coordinator:tf=none",
        ] {
            assert_eq!(shown(text), text);
        }
        assert_eq!(shown("coordinator"), "coordinator:tf=0.1");
        assert_eq!(shown("coordinator:tf=-0"), "coordinator:tf=0");
        assert_eq!(shown("coordinator:tf=20%"), "coordinator:tf=0.2");
    }

    #[test]
    fn earlier_spellings_stay_readable() {
        for (text, now) in [
            ("paper", "coordinator:tf=0.1"),
            ("paper:0.2", "coordinator:tf=0.2"),
            ("paper:optimal:split=4MiB", "coordinator:tf=optimal:split=4MiB"),
            ("paper:tf=0.1:inquiry=off", "coordinator:tf=0.1:inquiry=off"),
            ("paper-split", "coordinator:tf=0.1:split=256KiB"),
            ("paper-split:none", "coordinator:tf=none:split=256KiB"),
            ("window:0.3", "window:tf=0.3"),
        ] {
            assert_eq!(shown(text), now);
        }
    }

    #[test]
    fn nonsense_is_refused_with_a_hint() {
        for text in [
            "",
            "pape",
            "coordinator:tf=-1",
            "coordinator:tf=nan",
            "coordinator:fast",
            "coordinator:split",
            "coordinator:x=1",
            "coordinator:inquiry=maybe",
            "coordinator:rejects=never",
            "coordinator:split=0B",
            "window:tau=fast",
            "window:tau=0s",
            "window:lanes=0",
            "static:split=4MiB",
            "static:tf=0.1",
            "static:0.1",
            "striped:tf=7",
            "static:tf=none",
            "window:inquiry=on",
            "coordinator:tau=50ms",
            "coordinator:tf=0.1:tf=0.2",
            "coordinator:0.1:0.2",
        ] {
            assert!(text.parse::<Policy>().is_err(), "{text}");
        }
        assert_eq!(
            "striped:split=7B".parse::<Policy>().unwrap_err().to_string(),
            "policy striped has no setting split; hint: leave it out"
        );
    }
}
