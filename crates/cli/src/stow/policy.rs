//! Which targets segments go to.

use anyhow::{Result, bail, ensure};
use plimsoll_pilot::Pilot;
use plimsoll_route::Tf;
use plimsoll_stow::{Container, Placement};

use crate::output;

/// How segments are spread over targets.
#[derive(clap::Args)]
pub struct PolicyArguments {
    /// How segments are spread: window takes them where the storage is fast now, striped goes round the targets, static keeps each
    /// writer on one
    #[arg(long, alias = "placement", value_enum, default_value = "window")]
    policy: PolicyName,

    /// What a target may hold beyond its fair share of the container, so that reading stays balanced: 0.1 is a tenth more (Huang 3.3; window only)
    #[arg(long, value_name = "TF")]
    throttle: Option<Tf>,
}

/// The policies that containers know.
#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
pub enum PolicyName {
    Window,
    Striped,
    Static,
}

impl PolicyName {
    /// Returns the word for it.
    pub fn name(self) -> &'static str {
        match self {
            PolicyName::Window => "window",
            PolicyName::Striped => "striped",
            PolicyName::Static => "static",
        }
    }
}

impl PolicyArguments {
    /// Says what cannot be meant.
    pub fn check(&self) -> Result<()> {
        let is_plain = self.policy != PolicyName::Window;
        ensure!(!is_plain || self.throttle.is_none(), "--throttle is for --policy window");
        let is_unknown = self.throttle == Some(Tf::Optimal);
        ensure!(!is_unknown, "the optimum needs rates that are known; hint: --throttle 0.1");
        Ok(())
    }

    /// Returns the placement of a new writer. Where processes cannot share memory, segments go round the targets, and a message says so.
    pub fn placement(&self, container: &Container) -> Result<Placement> {
        match self.policy {
            PolicyName::Striped => return Ok(Placement::Striped),
            PolicyName::Static => return Ok(Placement::Static),
            PolicyName::Window => {}
        }
        let throttle = self.throttle.unwrap_or(Tf::Unbounded);
        let factor = throttle.factor(|| bail!("the optimum needs rates that are known"))?;
        Ok(match Pilot::new(container, factor) {
            Ok(pilot) => Placement::Routed(Box::new(pilot)),
            Err(error) => {
                output::message(&format!("warning: segments go round the targets: {error}"));
                Placement::Striped
            }
        })
    }
}
