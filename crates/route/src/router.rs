//! All machines of a router, made from a [`Policy`]. The one place that puts them together.

use std::sync::Arc;

use crate::coordinated::{ByInquiry, Layout, RoleSettings, Roles};
use crate::{
    ActorId, AttemptId, Factor, Input, Nodes, Outputs, Policy, PolicyKind, Static, Striped,
    TargetId, Window, WindowSettings,
};

/// All machines of one router, whatever its policy. Actors are numbered from 0.
///
/// A host gives every actor [`Input::Begin`], a writer's submissions to
/// [`actor_of`](Router::actor_of) it, a message to the actor that it names, and failures to all.
pub trait Router {
    /// Returns how many actors there are.
    fn actors(&self) -> u32;

    /// Returns the actor that takes a writer's submissions.
    fn actor_of(&self, writer: u32) -> ActorId;

    /// Lets something happen to an actor.
    fn step<O: Outputs>(&mut self, actor: ActorId, now_ns: u64, input: Input, out: &mut O);

    /// Returns the writer that an actor lives and dies with, if it is one writer's alone.
    fn writer_of(&self, _actor: ActorId) -> Option<u32> {
        None
    }

    /// Returns the actor that all others depend on, if there is one.
    fn coordinator(&self) -> Option<ActorId> {
        None
    }

    /// Asks for the memory that the end of an attempt will need, one depth of it, and returns
    /// whose data it is where that is known by now: see [`Node::prefetch`](crate::Node::prefetch).
    fn prefetch(&self, _actor: ActorId, _attempt: AttemptId, _depth: usize) -> Option<u32> {
        None
    }
}

/// What the machines are made for.
#[derive(Debug, Clone, Copy)]
pub struct RouterSettings<'a> {
    /// Targets, numbered from 0.
    pub targets: u16,
    /// Writers on all nodes, numbered from 0.
    pub writers: u32,
    /// Neighbouring writers that share a node, where nodes decide.
    pub writers_per_node: u32,
    /// TF, from [`Tf::factor`](crate::Tf::factor); `static` and `striped` move nothing.
    pub factor: Factor,
    /// Where data lies under `static`.
    pub homes: Homes<'a>,
    /// Parts of `striped` have at least this many bytes: what a device writes in any case.
    pub part_bytes_min: u64,
    /// What a request costs a target beside its bytes, in bytes that it writes in that time; 0 if nobody knows.
    pub request_bytes: u64,
    /// See [`RoleSettings::retry_ns`].
    pub retry_ns: u64,
}

/// Where data lies when nobody routes.
#[derive(Debug, Clone, Copy)]
pub enum Homes<'a> {
    /// Each writer has one target; neighbours share one (Huang, section 3.1).
    Grouped,
    /// So many targets of writer 0, then of writer 1, ….
    Given {
        /// All of them.
        targets: &'a [TargetId],
        /// How many each writer has.
        each: usize,
    },
}

/// A router of any policy.
#[derive(Debug)]
pub enum AnyRouter {
    /// `static`.
    Static(Nodes<Static>),
    /// `striped`.
    Striped(Nodes<Striped>),
    /// `window`.
    Window(Nodes<Window>),
    /// `coordinator`.
    Coordinator(Box<Roles<ByInquiry>>),
}

impl AnyRouter {
    /// Makes the machines of a policy.
    pub fn new(policy: &Policy, settings: &RouterSettings<'_>) -> Self {
        match policy.kind {
            PolicyKind::Static => AnyRouter::Static(static_nodes(settings)),
            PolicyKind::Striped => AnyRouter::Striped(striped_nodes(settings)),
            PolicyKind::Window => AnyRouter::Window(window_nodes(policy, settings)),
            PolicyKind::Coordinator => AnyRouter::Coordinator(Box::new(roles(policy, settings))),
        }
    }

    /// Returns the window of each target in bytes as the first node has it, where there are
    /// windows; 0 for a target that the node does not use.
    pub fn windows(&self, targets: u16) -> Option<Vec<u64>> {
        let AnyRouter::Window(nodes) = self else { return None };
        let mut windows = vec![0; usize::from(targets)];
        nodes.windows_of_first().for_each(|(target, bytes)| windows[target.index()] = bytes);
        Some(windows)
    }
}

fn static_nodes(settings: &RouterSettings<'_>) -> Nodes<Static> {
    let RouterSettings { targets, writers, writers_per_node, .. } = *settings;
    Nodes::new(writers, writers_per_node, Factor::NONE, |_, own| match settings.homes {
        Homes::Grouped => (all(targets), Static::grouped(own, writers, usize::from(targets))),
        Homes::Given { targets, each } => {
            Static::pinned(&targets[own.start as usize * each..own.end as usize * each], each)
        }
    })
}

fn striped_nodes(settings: &RouterSettings<'_>) -> Nodes<Striped> {
    let RouterSettings { targets, writers, writers_per_node, part_bytes_min, .. } = *settings;
    Nodes::new(writers, writers_per_node, Factor::NONE, |_, own| {
        let striped = Striped::new(own.start, u32::from(targets));
        (all(targets), striped.in_parts_of_at_least(part_bytes_min))
    })
}

fn window_nodes(policy: &Policy, settings: &RouterSettings<'_>) -> Nodes<Window> {
    let RouterSettings { targets, writers, writers_per_node, factor, request_bytes, .. } =
        *settings;
    let mut law = WindowSettings::default().where_requests_cost(request_bytes);
    if let Some(tau) = policy.tau {
        law.tau_ns = tau.get();
    }
    let nodes = writers.div_ceil(writers_per_node.max(1));
    let lanes =
        policy.lanes.unwrap_or_else(|| u32::from(Window::lanes(nodes, writers_per_node, targets)));
    let lanes = lanes.min(u32::from(targets)) as u16;
    let uses = u64::from(nodes) * u64::from(lanes);
    law.nodes_per_target = uses.div_ceil(u64::from(targets.max(1))) as u32;
    let law = Arc::new(law);
    Nodes::new(writers, writers_per_node, factor, |node, own| {
        let targets = Window::spread(node, targets, lanes);
        let window = Window::new(law.clone(), targets.len(), own.len() as u32);
        (targets, window)
    })
}

fn roles(policy: &Policy, settings: &RouterSettings<'_>) -> Roles<ByInquiry> {
    let layout = Layout { targets: settings.targets, writers: settings.writers };
    let settings = RoleSettings {
        layout,
        factor: settings.factor,
        status_inquiry: policy.inquiry,
        remembers_rejects: policy.remembers_rejects(),
        part_bytes: policy.split.map_or(0, |split| split.get()),
        retry_ns: settings.retry_ns,
    };
    Roles::new(settings, ByInquiry::new(policy.inquiry))
}

fn all(targets: u16) -> Vec<TargetId> {
    (0..targets).map(TargetId).collect()
}

/// Does the same with whichever router it is.
macro_rules! each {
    ($self:ident, $router:ident => $what:expr) => {
        match $self {
            AnyRouter::Static($router) => $what,
            AnyRouter::Striped($router) => $what,
            AnyRouter::Window($router) => $what,
            AnyRouter::Coordinator($router) => $what,
        }
    };
}

impl Router for AnyRouter {
    fn actors(&self) -> u32 {
        each!(self, router => router.actors())
    }

    fn actor_of(&self, writer: u32) -> ActorId {
        each!(self, router => router.actor_of(writer))
    }

    fn step<O: Outputs>(&mut self, actor: ActorId, now_ns: u64, input: Input, out: &mut O) {
        each!(self, router => router.step(actor, now_ns, input, out));
    }

    fn writer_of(&self, actor: ActorId) -> Option<u32> {
        each!(self, router => router.writer_of(actor))
    }

    fn coordinator(&self) -> Option<ActorId> {
        each!(self, router => router.coordinator())
    }

    fn prefetch(&self, actor: ActorId, attempt: AttemptId, depth: usize) -> Option<u32> {
        each!(self, router => router.prefetch(actor, attempt, depth))
    }
}
