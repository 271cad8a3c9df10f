//! Buffers on the way to storage: they take blocks in one after the other, hold them, and hand them to their streams.
//!
//! A process sends one block at a time. A block needs room in its buffer from the moment at which it begins to enter until all
//! of it is durable. A burst is over for the program when every block of it has been taken in.

use std::collections::{BTreeSet, VecDeque};

use crate::bursts::Bursts;
use crate::scenario::{Application, Buffer, Choice, Drain};

/// The buffers, and the processes that send to them.
#[derive(Debug)]
pub struct Staging {
    nodes: Vec<Node>,
    /// Blocks of the burst that each process has not sent, with the one that it waits for.
    left: Vec<u32>,
    block_bytes: u64,
    blocks: u32,
    choice: Choice,
    drain: Drain,
    streams: u32,
    /// Nodes by what [`Choice::Soonest`] goes by, the best first.
    order: BTreeSet<(Wait, u32)>,
    /// Nodes that began to take a block in, with the moment at which they have it.
    began: Vec<(u64, u32)>,
    /// Streams that a block was handed to.
    handed: Vec<u32>,
    /// The bursts of the program.
    pub bursts: Bursts,
}

/// How long a block would wait: with no room first of all, then the nanoseconds until it is in.
type Wait = (bool, u64);

#[derive(Debug)]
struct Node {
    bytes_per_ns: f64,
    free_bytes: u64,
    /// The process whose block is being taken in.
    entering: Option<u32>,
    /// Processes that wait for it, in the order in which they came.
    queue: VecDeque<u32>,
    /// Blocks that it has and that no stream has.
    held: u32,
    next_stream: u32,
}

impl Staging {
    /// Empty buffers.
    pub fn new(application: &Application, buffer: &Buffer) -> Self {
        let node = |nth: usize| Node {
            bytes_per_ns: buffer.bytes_per_ns(nth),
            free_bytes: buffer.capacity.get(),
            entering: None,
            queue: VecDeque::new(),
            held: 0,
            next_stream: 0,
        };
        let nodes: Vec<Node> = (0..buffer.nodes as usize).map(node).collect();
        let mut staging = Staging {
            nodes,
            left: vec![0; application.processes as usize],
            block_bytes: application.block.get(),
            blocks: application.blocks,
            choice: buffer.choice,
            drain: buffer.drain,
            streams: buffer.streams,
            order: BTreeSet::new(),
            began: Vec::new(),
            handed: Vec::new(),
            bursts: Bursts::default(),
        };
        if buffer.choice == Choice::Soonest {
            staging.order = (0..buffer.nodes).map(|node| (staging.wait_at(node), node)).collect();
        }
        staging
    }

    /// All processes have a burst to send.
    pub fn begin_burst(&mut self, now_ns: u64) {
        let processes = self.left.len() as u32;
        self.left.fill(self.blocks);
        self.bursts.begin(now_ns, processes);
        (0..processes).for_each(|process| self.send(now_ns, process));
    }

    /// A buffer has taken in the block that was entering.
    pub fn entered(&mut self, now_ns: u64, node: u32) {
        let mut entered = None;
        self.change(node, |it| entered = it.entering.take());
        let Some(process) = entered else { return };
        self.nodes[node as usize].held += 1;
        if self.drain == Drain::AtOnce {
            self.hand(node);
        }
        self.take_in(now_ns, node);
        let left = &mut self.left[process as usize];
        *left -= 1;
        if *left > 0 {
            self.send(now_ns, process);
            return;
        }
        self.bursts.go_on(now_ns);
        if !self.bursts.are_waited_for() {
            (0..self.nodes.len() as u32).for_each(|node| self.hand(node));
        }
    }

    /// Some bytes of a stream are durable: its buffer has room for as many.
    pub fn freed(&mut self, now_ns: u64, stream: u32, bytes: u64) {
        let node = stream / self.streams;
        self.change(node, |it| it.free_bytes += bytes);
        self.take_in(now_ns, node);
    }

    /// True while processes wait for room, and no buffer takes anything in.
    pub fn is_waiting(&self) -> bool {
        self.bursts.are_waited_for() && self.nodes.iter().all(|node| node.entering.is_none())
    }

    /// Takes the list of buffers that began to take a block in, with the moment at which they have it.
    pub fn take_begun(&mut self) -> impl Iterator<Item = (u64, u32)> + '_ {
        self.began.drain(..)
    }

    /// Takes the list of streams that a block was handed to.
    pub fn take_handed(&mut self) -> impl Iterator<Item = u32> + '_ {
        self.handed.drain(..)
    }

    /// A process sends its next block to a buffer.
    fn send(&mut self, now_ns: u64, process: u32) {
        let own = u64::from(process) * self.nodes.len() as u64 / self.left.len() as u64;
        let node = match (self.choice, self.order.first()) {
            (Choice::Soonest, Some((_, node))) => *node,
            _ => own as u32,
        };
        self.change(node, |it| it.queue.push_back(process));
        self.take_in(now_ns, node);
    }

    /// Begins to take in the first block that waits, if a buffer takes none in and has room.
    fn take_in(&mut self, now_ns: u64, node: u32) {
        let block_bytes = self.block_bytes;
        let it = &self.nodes[node as usize];
        if it.entering.is_some() || it.queue.is_empty() {
            return;
        }
        if it.free_bytes < block_bytes {
            // What it holds must go first, whatever the burst does.
            return self.hand(node);
        }
        let takes_ns = (block_bytes as f64 / it.bytes_per_ns).ceil() as u64;
        self.began.push((now_ns + takes_ns.max(1), node));
        self.change(node, |it| {
            it.free_bytes -= block_bytes;
            it.entering = it.queue.pop_front();
        });
    }

    /// Hands all blocks that a buffer holds to its streams, in turn.
    fn hand(&mut self, node: u32) {
        let it = &mut self.nodes[node as usize];
        for _ in 0..std::mem::take(&mut it.held) {
            self.handed.push(node * self.streams + it.next_stream);
            it.next_stream = (it.next_stream + 1) % self.streams;
        }
    }

    /// Changes a node, and its place in the order.
    fn change(&mut self, node: u32, change: impl FnOnce(&mut Node)) {
        let is_ordered = self.choice == Choice::Soonest;
        if is_ordered {
            let wait = self.wait_at(node);
            self.order.remove(&(wait, node));
        }
        change(&mut self.nodes[node as usize]);
        if is_ordered {
            let wait = self.wait_at(node);
            self.order.insert((wait, node));
        }
    }

    fn wait_at(&self, node: u32) -> Wait {
        let it = &self.nodes[node as usize];
        let before = it.queue.len() as u64;
        let has_room = it.free_bytes / self.block_bytes > before;
        let blocks = before + 1 + u64::from(it.entering.is_some());
        (!has_room, (blocks as f64 * self.block_bytes as f64 / it.bytes_per_ns) as u64)
    }
}
