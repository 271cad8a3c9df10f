//! Processor sharing where nodes have limits: the writes of a node get the same rate, those of another node another one.

use super::Job;
use super::sharing::SharingJobs;

/// Jobs that share a target, by the node that they come from.
#[derive(Debug, Default)]
pub struct NodeJobs {
    /// In the order of nodes; a node that has no job here stays.
    nodes: Vec<OfNode>,
    jobs: u32,
}

#[derive(Debug)]
struct OfNode {
    node: u32,
    sharing: SharingJobs,
    /// Bytes over work, of all its jobs together.
    data: f64,
    /// Work of each of its jobs that gets done in a nanosecond.
    rate: f64,
}

/// The jobs of a node here.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NodeShare {
    /// Which node.
    pub node: u32,
    /// How many.
    pub jobs: u32,
    /// Bytes over work, of all of them together.
    pub data: f64,
}

impl NodeJobs {
    pub fn len(&self) -> u32 {
        self.jobs
    }

    pub fn push(&mut self, job: Job, work: f64) {
        let place = self.nodes.partition_point(|of| of.node < job.node);
        if self.nodes.get(place).is_none_or(|of| of.node != job.node) {
            let new =
                OfNode { node: job.node, sharing: SharingJobs::default(), data: 0.0, rate: 0.0 };
            self.nodes.insert(place, new);
        }
        self.nodes[place].data += job.length_bytes as f64 / work;
        self.nodes[place].sharing.push(job, work);
        self.jobs += 1;
    }

    /// Returns who has jobs here, in the order of nodes.
    pub fn shares(&self) -> impl Iterator<Item = NodeShare> + '_ {
        let share = |of: &OfNode| {
            let jobs = of.sharing.len() as u32;
            NodeShare { node: of.node, jobs, data: of.data }
        };
        self.nodes.iter().map(share).filter(|share| share.jobs > 0)
    }

    /// Sets the rates of those that have jobs here, in the order of `shares`. Tells whether any is new.
    pub fn set_rates(&mut self, mut rates: impl Iterator<Item = f64>) -> bool {
        let mut is_new = false;
        for of in self.nodes.iter_mut().filter(|of| of.sharing.len() > 0) {
            let rate = rates.next().unwrap_or(0.0);
            is_new |= std::mem::replace(&mut of.rate, rate) != rate;
        }
        is_new
    }

    /// Nanoseconds until the first job is done at these rates; infinite if none will be.
    pub fn first_left_ns(&self) -> f64 {
        let left = |of: &OfNode| match (of.sharing.first_left(), of.rate > 0.0) {
            (Some(left), true) => left / of.rate,
            _ => f64::INFINITY,
        };
        self.nodes.iter().map(left).fold(f64::INFINITY, f64::min)
    }

    /// Goes on for so many nanoseconds; tells how many bytes were served.
    pub fn serve(&mut self, elapsed_ns: f64) -> f64 {
        let mut bytes = 0.0;
        for of in self.nodes.iter_mut().filter(|of| of.sharing.len() > 0) {
            of.sharing.clock += of.rate * elapsed_ns;
            bytes += of.rate * elapsed_ns * of.data;
        }
        bytes
    }

    pub fn take_done(&mut self, request_bytes: f64, done: &mut Vec<Job>) {
        self.take(request_bytes, done, SharingJobs::take_done);
    }

    pub fn take_all(&mut self, taken: &mut Vec<Job>) {
        self.take(0.0, taken, SharingJobs::take_all);
    }

    fn take(
        &mut self,
        request_bytes: f64,
        into: &mut Vec<Job>,
        of_one: impl Fn(&mut SharingJobs, &mut Vec<Job>),
    ) {
        for of in &mut self.nodes {
            let before = into.len();
            of_one(&mut of.sharing, into);
            let share = |job: &Job| {
                let bytes = job.length_bytes as f64;
                bytes / (bytes + request_bytes)
            };
            of.data -= into[before..].iter().map(share).sum::<f64>();
            if of.sharing.len() == 0 {
                of.data = 0.0;
            }
            self.jobs -= (into.len() - before) as u32;
        }
    }
}
