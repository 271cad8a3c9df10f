//! Who races: a policy, with the throttling factor that it gets in this race.

use std::fmt;

use plimsoll_route::{AnyRouter, Factor, Homes, Policy, PolicyKind, RouterSettings};

use crate::stamp::PAGE_BYTES;

/// A policy, and who runs it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Racer {
    /// The policy.
    pub policy: Policy,
    /// Whether writers run it themselves, on a table of leases that they share, instead of one process for all.
    pub is_shared: bool,
}

impl Racer {
    /// The window that writers run themselves.
    pub const SHARED: Racer = Racer { policy: Policy::new(PolicyKind::Window), is_shared: true };

    /// Returns policies that one process runs for all writers.
    pub fn hosted(policies: Vec<Policy>) -> Vec<Self> {
        policies.into_iter().map(|policy| Racer { policy, is_shared: false }).collect()
    }
}

impl fmt::Display for Racer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shared = if self.is_shared { " (shared)" } else { "" };
        write!(f, "{}{shared}", self.policy)
    }
}

/// A policy and its factor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Contender {
    policy: Policy,
    factor: Factor,
    is_shared: bool,
}

impl Contender {
    /// Every writer to its own target.
    pub const STATIC: Contender = Contender {
        policy: Policy::new(PolicyKind::Static),
        factor: Factor::NONE,
        is_shared: false,
    };

    /// A policy, where this is the best throttling factor.
    pub fn new(policy: Policy, optimal_factor: f64) -> Self {
        let Ok(factor) = policy.tf.factor(|| Ok::<f64, std::convert::Infallible>(optimal_factor));
        Contender { policy, factor, is_shared: false }
    }

    /// A racer, where this is the best throttling factor.
    pub fn of(racer: Racer, optimal_factor: f64) -> Self {
        Contender { is_shared: racer.is_shared, ..Contender::new(racer.policy, optimal_factor) }
    }

    /// Returns whether writers run it themselves.
    pub(crate) fn is_shared(&self) -> bool {
        self.is_shared
    }

    /// Makes its machines: one node for all writers, or all roles, in one process.
    pub(crate) fn router(&self, targets: u16, writers: u32) -> AnyRouter {
        let settings = RouterSettings {
            targets,
            writers,
            writers_per_node: writers,
            factor: self.factor,
            homes: Homes::Grouped,
            part_bytes_min: PAGE_BYTES as u64,
            request_bytes: 0,
            retry_ns: 0,
        };
        AnyRouter::new(&self.policy, &settings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_route::Router;

    #[test]
    fn the_best_factor_is_for_who_asks_for_it() {
        let factor = |text: &str| Contender::new(text.parse().unwrap(), 0.25).factor;
        assert_eq!(factor("coordinator:tf=optimal"), Factor::from_millionths(250_000));
        assert_eq!(factor("coordinator:tf=0.1"), Factor::from_millionths(100_000));
        assert_eq!(factor("window"), Factor::NONE);
        assert_eq!(Contender::new("static".parse().unwrap(), 0.25), Contender::STATIC);
    }

    #[test]
    fn all_writers_share_one_node_or_have_a_client_each() {
        let router = |text: &str| Contender::new(text.parse().unwrap(), 0.0).router(3, 5);
        for text in ["static", "striped", "window"] {
            assert_eq!(router(text).actors(), 1, "{text}");
        }
        assert_eq!(router("coordinator").actors(), 1 + 3 + 5);
        assert_eq!(router("window").windows(3), Some(vec![1 << 20; 3]), "one usual lease each");
        assert_eq!(router("static").windows(3), None);
    }
}
