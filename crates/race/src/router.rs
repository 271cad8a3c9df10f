//! The machines of one router, all in the coordinator: one node, or the paper's three roles.

use plimsoll_route::paper::{ByQueue, Client, Coordinator, Layout, PaperSettings, Sub};
use plimsoll_route::{
    ActorId, Factor, Input, Machine, Node, NodeSettings, Outputs, Static, Striped, TargetId,
    Window, WindowSettings,
};

use crate::stamp::PAGE_BYTES;

/// Who decides where a write goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// Every writer to its own target.
    Static,
    /// Every block over all targets.
    Striped,
    /// Huang's coordinator.
    Paper {
        /// The throttling factor.
        factor: Factor,
        /// Blocks are granted in parts of so many bytes; 0 is whole blocks.
        part_bytes: u64,
    },
    /// The delay window.
    Window {
        /// Bound on what a target takes beyond its share.
        factor: Factor,
        /// The law's constants.
        settings: WindowSettings,
    },
}

pub(crate) enum Router {
    Static(Node<Static>),
    Striped(Node<Striped>),
    Window(Node<Window>),
    Paper(Box<Paper>),
}

pub(crate) struct Paper {
    layout: Layout,
    coordinator: Coordinator<ByQueue>,
    subs: Vec<Sub>,
    clients: Vec<Client>,
}

const NODE: ActorId = ActorId(0);

impl Router {
    pub fn new(policy: Policy, targets: u16, writers: u32) -> Self {
        let settings = |factor| NodeSettings {
            first_writer: 0,
            writers,
            targets: (0..targets).map(TargetId).collect(),
            factor,
        };
        match policy {
            Policy::Static => {
                Router::Static(Node::new(settings(Factor::NONE), Static::new(0, writers)))
            }
            Policy::Striped => {
                let striped = Striped::new(0, u32::from(targets));
                let striped = striped.in_parts_of_at_least(PAGE_BYTES as u64);
                Router::Striped(Node::new(settings(Factor::NONE), striped))
            }
            Policy::Window { factor, settings: law } => {
                let window = Window::new(law, usize::from(targets), writers);
                Router::Window(Node::new(settings(factor), window))
            }
            Policy::Paper { factor, part_bytes } => {
                let layout = Layout { targets, writers };
                let settings = PaperSettings { factor, part_bytes, ..PaperSettings::new(layout) };
                Router::Paper(Box::new(Paper {
                    layout,
                    coordinator: Coordinator::new(settings, ByQueue),
                    subs: (0..targets).map(|it| Sub::new(settings, TargetId(it))).collect(),
                    clients: (0..writers).map(|it| Client::new(settings, it)).collect(),
                }))
            }
        }
    }

    pub fn actors(&self) -> u32 {
        match self {
            Router::Paper(paper) => paper.layout.actors(),
            _ => 1,
        }
    }

    /// Who is told what a writer does.
    pub fn actor_of(&self, writer: u32) -> ActorId {
        match self {
            Router::Paper(paper) => paper.layout.client(writer),
            _ => NODE,
        }
    }

    /// The paper's coordinator, whose messages are what does not scale.
    pub fn coordinator(&self) -> Option<ActorId> {
        match self {
            Router::Paper(paper) => Some(paper.layout.coordinator()),
            _ => None,
        }
    }

    pub fn step<O: Outputs>(&mut self, actor: ActorId, now_ns: u64, input: Input, out: &mut O) {
        match self {
            Router::Static(node) => node.step(now_ns, input, out),
            Router::Striped(node) => node.step(now_ns, input, out),
            Router::Window(node) => node.step(now_ns, input, out),
            Router::Paper(paper) => paper.step(actor, now_ns, input, out),
        }
    }

    /// The window of each target in bytes, where there are windows.
    pub fn windows(&self, targets: u16) -> Option<Vec<u64>> {
        let Router::Window(node) = self else { return None };
        let window = |lane: u16| node.policy().window_bytes(usize::from(lane));
        Some((0..targets).map(window).collect())
    }
}

impl Paper {
    fn step<O: Outputs>(&mut self, actor: ActorId, now_ns: u64, input: Input, out: &mut O) {
        let targets = u32::from(self.layout.targets);
        match actor.0 {
            0 => self.coordinator.step(now_ns, input, out),
            sub if sub <= targets => self.subs[sub as usize - 1].step(now_ns, input, out),
            client => self.clients[(client - targets - 1) as usize].step(now_ns, input, out),
        }
    }
}

/// The target to which a writer's data belongs, for every policy.
pub fn home(writer: u32, targets: u16, writers: u32) -> TargetId {
    Layout { targets, writers }.home(writer)
}
