//! How a new writer spreads its segments.

use std::sync::Arc;

use plimsoll_pilot::Crew;
use plimsoll_stow::{Container, Placement};

use super::settings::{self, Policy};

/// Returns how a new writer of a container spreads its segments.
pub fn placement(crew: &Arc<Crew>, container: &Container) -> Placement {
    match settings::get().map(|it| it.policy) {
        Some(Policy::Static) => Placement::Static,
        Some(Policy::Window) => match crew.pilot(container) {
            Ok(pilot) => Placement::Routed(Box::new(pilot)),
            Err(_) => Placement::Striped,
        },
        _ => Placement::Striped,
    }
}
