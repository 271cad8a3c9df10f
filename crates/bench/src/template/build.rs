//! From a question and a machine to a plan.

use plimsoll_domain::burst::{Caching, Engine, Operation, Sharing};
use plimsoll_domain::{Bytes, Nanos};
use plimsoll_stats::plateau;

use super::repeat::Usual;
use super::{Facts, Planned, Template, TemplateOptions};
use crate::plan::{
    Budget, BurstPlan, ClientsPlan, PLAN_VERSION, Parameter, Placement, Plan, PlanError, SizeOf,
    Striping, TargetOrder, TargetsUsed, Value, Vary,
};

/// Returns the plan of a template for this machine, checked, and what had to be made smaller to fit.
///
/// # Errors
/// If the machine lacks what the template is about, or the options cannot be run.
pub fn plan_of(
    template: Template,
    facts: &Facts,
    options: &TemplateOptions,
) -> Result<Planned, PlanError> {
    if facts.targets.is_empty() {
        let problem = "no targets; hint: name directories, a site or a test bed";
        return Err(PlanError::value("template", format!("{template}: {problem}")));
    }
    let mut builder = Builder { template, facts, options, notes: Vec::new() };
    let mut plan = builder.plan()?;
    if let Some(values) = &options.values {
        plan.vary.values.clone_from(values);
    }
    plan.check()?;
    Ok(Planned { plan, notes: builder.notes })
}

/// The largest burst over the smallest that it must be held against.
pub(super) const TO_TELL_A_PEAK: u64 = plateau::SPAN as u64;

pub(super) const MIB: u64 = 1 << 20;

/// Tasks on one target in Wright's table F.2; Xie's targets are saturated by 4 to 16 clients.
pub(super) const CLIENTS_OF_TARGET: u32 = 16;
/// Clients of Xie's sequences (5.4).
const CLIENTS_OF_SEQUENCES: u32 = 4;
/// Xie's stripes are of 1 MiB, and so is the largest transfer of a Lustre RPC on most sites.
pub(super) const TRANSFER: u64 = MIB;
/// A sequence lasts minutes (Xie, figure 25), a series of them longer.
const TIME_OF_SEQUENCES: Nanos = Nanos::new(600 * 1_000_000_000);
/// More instances than fit the time; time is what ends them.
const ROUNDS_MAX_OF_SEQUENCES: u32 = 1_000_000;

pub(super) struct Builder<'a> {
    pub template: Template,
    pub facts: &'a Facts,
    pub options: &'a TemplateOptions,
    pub notes: Vec<String>,
}

impl Builder<'_> {
    fn plan(&mut self) -> Result<Plan, PlanError> {
        match self.template {
            Template::Pipeline => self.pipeline(),
            Template::Target => self.target(),
            Template::Server => self.server(),
            Template::Fanout { striped: false } => self.fanout(),
            Template::Fanout { striped: true } => self.fanout_striped(),
            Template::ManyPairs => self.many_pairs(),
            Template::Sharing => self.sharing(),
            Template::Sequences => self.sequences(),
            Template::Sweep => self.sweep(),
        }
    }

    fn pipeline(&mut self) -> Result<Plan, PlanError> {
        let readers_and_writers = if self.options.operation == Operation::Read { 2 } else { 1 };
        let mut plan = self.base(ClientsPlan { used: 1, ..self.clients(readers_and_writers) });
        let sizes = self.sizes(256, 5, 1)?;
        (plan.placement.targets, plan.burst.sizes) = (TargetsUsed::Count(1), Vec::new());
        plan.vary = Vary::sizes(Parameter::Burst, sizes);
        Ok(plan)
    }

    fn target(&mut self) -> Result<Plan, PlanError> {
        let clients = self.clients_that_fit(CLIENTS_OF_TARGET, TO_TELL_A_PEAK);
        let mut plan = self.base(clients);
        let most = plan.clients.count;
        // Xie's clients have bursts of one size each, so that more clients move more. The same
        // for all of an instance tells what clients do from what caches do.
        plan.burst.of = SizeOf::Instance;
        let processes = u64::from(most) * u64::from(plan.clients.processes);
        plan.burst.sizes = self.whole_and_quarter(64, processes)?;
        plan.placement.targets = TargetsUsed::Count(1);
        // Every number of tasks up to 16, as in table F.2, and then in doublings.
        let counts = (1..=most.min(CLIENTS_OF_TARGET))
            .chain(doublings(most).skip_while(|n| *n <= CLIENTS_OF_TARGET));
        plan.vary = Vary::counts(Parameter::Clients, counts);
        Ok(plan)
    }

    fn server(&mut self) -> Result<Plan, PlanError> {
        let mut names: Vec<&String> =
            self.facts.targets.iter().filter_map(|target| target.server.as_ref()).collect();
        let on_largest =
            names.iter().map(|name| names.iter().filter(|it| *it == name).count()).max();
        names.sort();
        names.dedup();
        let Some(on_largest) = on_largest else {
            let problem = "no target has a server; hint: name servers in the site file";
            return Err(PlanError::value("template", format!("server: {problem}")));
        };
        // Xie goes on to 4 clients a target, where the server is the bottleneck.
        let mut plan = self.base(self.clients((4 * on_largest as u32).max(4)));
        plan.burst.of = SizeOf::Instance;
        plan.burst.sizes = self.totals(256, u64::from(plan.clients.count))?;
        plan.vary = Vary::counts(Parameter::Clients, doublings(plan.clients.count));
        let values = names.into_iter().cloned().map(Value::Server).collect();
        plan.groups = Vary { parameter: Parameter::Server, values };
        Ok(plan)
    }

    fn fanout(&mut self) -> Result<Plan, PlanError> {
        let count = self.processes_for(self.count_of_targets());
        let mut plan = self.base(ClientsPlan { used: 1, ..self.clients(1) });
        plan.burst.of = SizeOf::Instance;
        plan.burst.sizes = self.totals(256, u64::from(count))?;
        plan.vary = Vary::counts(Parameter::Processes, doublings(count));
        Ok(plan)
    }

    fn fanout_striped(&mut self) -> Result<Plan, PlanError> {
        let mut clients = ClientsPlan { used: 1, ..self.clients(1) };
        if self.options.clients.is_none() {
            // All cores write in Xie, where a node has 16.
            clients.processes = self.facts.cores.clamp(2, 16);
        }
        let mut plan = self.base(clients);
        plan.burst.of = SizeOf::Instance;
        plan.burst.sizes = self.totals(256, u64::from(plan.clients.processes))?;
        plan.placement.targets = TargetsUsed::Count(1);
        plan.vary = Vary::counts(Parameter::StripeCount, doublings(self.count_of_targets()));
        Ok(plan)
    }

    fn many_pairs(&mut self) -> Result<Plan, PlanError> {
        let count = self.count_of_targets();
        let mut plan = self.base(self.clients(count));
        plan.burst.sizes = self.sizes(64, 1, u64::from(plan.clients.processes))?;
        plan.vary = Vary::counts(Parameter::Pairs, doublings(count.min(plan.clients.count)));
        Ok(plan)
    }

    fn sharing(&mut self) -> Result<Plan, PlanError> {
        let clients = self.clients_that_fit(CLIENTS_OF_TARGET, 1);
        let mut plan = self.base(clients);
        plan.burst.sizes = self.sizes(16, 2, u64::from(plan.clients.count))?;
        plan.placement.targets = TargetsUsed::Count(1);
        // Shared and independent in one round: neighbours in time are compared best.
        let values = vec![Value::Sharing(Sharing::Shared), Value::Sharing(Sharing::Independent)];
        plan.vary = Vary { parameter: Parameter::Sharing, values };
        plan.groups = Vary::counts(Parameter::Clients, doublings(plan.clients.count));
        Ok(plan)
    }

    fn sequences(&mut self) -> Result<Plan, PlanError> {
        let mut plan = self.base(self.clients(CLIENTS_OF_SEQUENCES));
        plan.clients.used = plan.clients.used.min(CLIENTS_OF_SEQUENCES);
        plan.burst.sizes = self.sizes(16, 1, u64::from(plan.clients.used))?;
        plan.placement =
            Placement { targets: TargetsUsed::Count(1), order: TargetOrder::RoundRobin };
        let most = |least: u32| ROUNDS_MAX_OF_SEQUENCES.max(least);
        let usual = Usual { rounds: self.count_of_targets(), most, precision: None };
        plan.repeat = usual.with(self.options);
        if self.options.budget == Budget::default() {
            plan.budget.time = Some(TIME_OF_SEQUENCES);
        }
        Ok(plan)
    }

    fn sweep(&mut self) -> Result<Plan, PlanError> {
        let count = self.count_of_targets();
        let mut plan = self.base(self.clients(count.min(4)));
        plan.burst.sizes = self.sizes(64, 1, u64::from(plan.clients.count))?;
        plan.placement.targets = TargetsUsed::Count(1);
        plan.vary = Vary::counts(Parameter::StripeCount, doublings(count));
        let burst = plan.burst.sizes.iter().max().map_or(0, |size| size.get());
        let unit = self.transfer().get().max(TRANSFER);
        let sizes = [1, 4, 16, 64, 256].map(|factor| Bytes::new(factor * unit));
        // A stripe as large as the burst is no striping at all.
        let smaller = sizes.into_iter().enumerate();
        let smaller = smaller.filter(|(index, size)| *index == 0 || size.get() < burst);
        plan.groups = Vary::sizes(Parameter::StripeSize, smaller.map(|(_, size)| size));
        Ok(plan)
    }

    fn count_of_targets(&self) -> u32 {
        u32::try_from(self.facts.targets.len()).unwrap_or(u32::MAX)
    }

    fn base(&self, clients: ClientsPlan) -> Plan {
        let (facts, options) = (self.facts, self.options);
        let direct = if facts.direct_io { Caching::Direct } else { Caching::Synced };
        let depth = if options.engine == Engine::Uring { 8 } else { 1 };
        Plan {
            version: PLAN_VERSION,
            name: options.name.clone().unwrap_or_else(|| self.template.name().into()),
            seed: options.seed,
            targets: facts.targets.clone(),
            clients,
            placement: Placement::default(),
            burst: BurstPlan {
                sizes: Vec::new(),
                of: SizeOf::Process,
                transfer: options.transfer.unwrap_or_default(),
                operation: options.operation,
                pattern: options.pattern,
                sharing: options.sharing,
                caching: options.caching.unwrap_or(direct),
                engine: options.engine,
                depth: options.depth.unwrap_or(depth),
                striping: if facts.lustre { Striping::Lustre } else { Striping::Directories },
                stripe_count: 1,
                stripe_size: options.stripe_size.unwrap_or(self.transfer()),
                verify: options.verify,
            },
            vary: Vary::default(),
            groups: Vary::default(),
            repeat: Usual::BANDWIDTH.with(options),
            budget: options.budget,
            pause: options.pause,
        }
    }
}

/// 1, 2, 4, … and the last.
fn doublings(last: u32) -> impl Iterator<Item = u32> + Clone {
    let powers = (0..32).map(|power| 1u32 << power).take_while(move |value| *value < last);
    powers.chain(std::iter::once(last))
}
