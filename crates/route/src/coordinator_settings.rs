//! Settings that a command has for all its coordinators, and the lists of policies that they are for.

use plimsoll_domain::Bytes;

use crate::{Policy, PolicyError, PolicyKind, Tf};

/// Settings of coordinators that are given once, beside the policies. What a policy says itself wins over them; what a
/// scenario says does not.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct CoordinatorSettings {
    /// Bound on what a target takes in over its own data.
    pub tf: Option<Tf>,
    /// Size of the parts into which blocks are cut.
    pub split: Option<Bytes>,
}

impl CoordinatorSettings {
    /// Reads policies with commas between them, none of them twice.
    ///
    /// # Errors
    /// Fails if one is not a policy.
    pub fn parse_list(self, text: &str) -> Result<Vec<Policy>, PolicyError> {
        let policies = text.split(',').map(|word| Policy::parse_with(word, self));
        policies.collect::<Result<_, _>>().map(without_repeats)
    }

    /// Returns policies that somebody else chose, with these settings; those that differed only in them are one.
    pub fn over(self, policies: &[Policy]) -> Vec<Policy> {
        let mut policies = policies.to_vec();
        policies.iter_mut().for_each(|policy| self.apply(policy));
        without_repeats(policies)
    }

    /// Returns false if something is set that is for none of these policies.
    pub fn is_for(self, policies: &[Policy]) -> bool {
        self == Self::default() || policies.iter().any(|it| it.kind == PolicyKind::Coordinator)
    }

    pub(crate) fn apply(self, policy: &mut Policy) {
        if policy.kind == PolicyKind::Coordinator {
            policy.tf = self.tf.unwrap_or(policy.tf);
            policy.split = self.split.or(policy.split);
        }
    }
}

fn without_repeats(policies: Vec<Policy>) -> Vec<Policy> {
    let mut kept: Vec<Policy> = Vec::new();
    for policy in policies {
        if !kept.contains(&policy) {
            kept.push(policy);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(policies: &[Policy]) -> Vec<String> {
        policies.iter().map(ToString::to_string).collect()
    }

    const SET: CoordinatorSettings =
        CoordinatorSettings { tf: Some(Tf::Optimal), split: Some(Bytes::new(1 << 20)) };

    #[test]
    fn what_a_policy_says_itself_wins() {
        let parsed = |text| shown(&SET.parse_list(text).unwrap());
        assert_eq!(parsed("coordinator"), ["coordinator:tf=optimal:split=1MiB"]);
        assert_eq!(parsed("coordinator:tf=0.3"), ["coordinator:tf=0.3:split=1MiB"]);
        assert_eq!(parsed("coordinator:split=2MiB"), ["coordinator:tf=optimal:split=2MiB"]);
        assert_eq!(parsed("paper-split:tf=none"), ["coordinator:tf=none:split=1MiB"]);
        assert_eq!(parsed("window, static,striped"), ["window", "static", "striped"]);
        assert_eq!(parsed("coordinator,coordinator:tf=optimal").len(), 1);
        assert!(SET.parse_list("static,fast").is_err());
        assert!(SET.parse_list("").is_err());
    }

    #[test]
    fn what_a_scenario_says_does_not() {
        let own = CoordinatorSettings::default()
            .parse_list("static,coordinator:tf=0.1,coordinator:tf=0.3:split=2MiB,window:tf=0.2")
            .unwrap();
        assert_eq!(
            shown(&SET.over(&own)),
            ["static", "coordinator:tf=optimal:split=1MiB", "window:tf=0.2"]
        );
        assert!(SET.is_for(&own) && !SET.is_for(&own[..1]), "static is no coordinator");
        let nothing = CoordinatorSettings::default();
        assert!(nothing.is_for(&own[..1]));
        assert_eq!(nothing.over(&own), own);
    }
}
