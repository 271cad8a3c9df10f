//! What an instance is, before its clients and targets are drawn.

mod values;

use plimsoll_domain::Bytes;
use plimsoll_domain::burst::{Operation, Setting, Sharing};

use crate::plan::{Parameter, Plan, PlanError, Striping, Value};
use values::ShapeValues;

/// One combination of the values that a plan varies.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Shape {
    pub setting: Setting,
    /// Only targets of this server.
    pub server: Option<String>,
    /// Length of the sequence of targets that files are laid over.
    pub laid_over: u32,
    /// Whether all processes of a client use the client's own target.
    pub target_of_client: bool,
    /// Who spreads a striped file.
    pub striping: Striping,
}

impl Shape {
    /// Returns the shape for one value of each of the dimensions, or why it cannot be.
    pub fn of(
        plan: &Plan,
        group: Option<&Value>,
        size: Option<Bytes>,
        value: Option<&Value>,
    ) -> Result<Shape, PlanError> {
        let mut values = ShapeValues::of(plan, size);
        values.set(plan.groups.parameter, group);
        values.set(plan.vary.parameter, value);
        values.shape(plan)
    }

    /// Returns every shape of a plan: groups, then burst sizes, then values, in the plan's order.
    pub fn all(plan: &Plan) -> impl Iterator<Item = Result<Shape, PlanError>> + '_ {
        let groups = choices(&plan.groups.values);
        groups.flat_map(move |group| {
            sizes(plan).flat_map(move |size| {
                choices(&plan.vary.values).map(move |value| Shape::of(plan, group, size, value))
            })
        })
    }

    /// Returns the number of processes that take part.
    pub fn processes(&self) -> u64 {
        u64::from(self.setting.clients) * u64::from(self.setting.processes)
    }

    /// Returns the bytes of all processes.
    pub fn bytes(&self) -> u64 {
        self.processes().saturating_mul(self.setting.burst.get())
    }

    /// Returns the bytes that move in all, those written before a read included.
    pub fn bytes_moved(&self) -> u64 {
        match self.setting.operation {
            Operation::Write => self.bytes(),
            Operation::Read => self.bytes().saturating_mul(2),
        }
    }

    /// Returns the most bytes that one target holds during the instance.
    pub fn bytes_on_one_target(&self) -> u64 {
        let (processes, stripes) = (self.processes(), u64::from(self.setting.stripe_count.max(1)));
        let here = if self.target_of_client {
            u64::from(self.setting.processes)
        } else if self.setting.sharing == Sharing::Shared {
            processes.div_ceil(u64::from(self.shared_files()))
        } else {
            let laps = (processes * stripes).div_ceil(u64::from(self.laid_over.max(1)));
            // Where a lap does not end with a file's last stripe, two laps overlap on a target.
            (laps + u64::from(stripes > 1)).min(processes)
        };
        here.saturating_mul(self.bytes_in_one_stripe())
    }

    /// Returns the most that one process has on one of its targets.
    pub fn bytes_in_one_stripe(&self) -> u64 {
        let burst = self.setting.burst.get();
        if self.setting.striped() {
            let size = self.setting.stripe_size.get().max(1);
            let turns = burst.div_ceil(size).div_ceil(u64::from(self.setting.stripe_count));
            turns.saturating_mul(size).min(burst)
        } else {
            burst
        }
    }

    /// Returns the memory that the transfers of one process take: those in flight, and one more to compare with.
    pub fn memory_of_process(&self) -> u64 {
        let (burst, transfer) = (self.setting.burst.get(), self.setting.transfer.get().max(1));
        let in_flight = u64::from(self.setting.depth.max(1)).min(burst.div_ceil(transfer));
        transfer.saturating_mul(in_flight + 1)
    }

    /// Files of an instance whose processes share: one for each set of targets.
    pub fn shared_files(&self) -> u32 {
        (self.laid_over / self.setting.stripe_count.max(1)).max(1)
    }
}

/// Returns each value; `None` once if there are none.
fn choices(values: &[Value]) -> impl Iterator<Item = Option<&Value>> {
    let nothing = values.is_empty().then_some(None);
    values.iter().map(Some).chain(nothing)
}

fn sizes(plan: &Plan) -> impl Iterator<Item = Option<Bytes>> + '_ {
    let nothing = plan.burst.sizes.is_empty().then_some(None);
    plan.burst.sizes.iter().copied().map(Some).chain(nothing)
}

/// Returns the key that decides about a parameter, for messages.
pub(crate) fn key_of(plan: &Plan, parameter: Parameter) -> &'static str {
    if plan.vary.parameter == parameter {
        return "vary.values";
    }
    if plan.groups.parameter == parameter {
        return "groups.values";
    }
    match parameter {
        Parameter::Clients | Parameter::Pairs => "clients.used",
        Parameter::Processes => "clients.processes",
        Parameter::Targets | Parameter::Server => "placement.targets",
        Parameter::Burst => "burst.sizes",
        Parameter::Transfer => "burst.transfer",
        Parameter::Depth => "burst.depth",
        Parameter::StripeCount => "burst.stripe_count",
        Parameter::StripeSize => "burst.stripe_size",
        Parameter::Sharing => "burst.sharing",
        Parameter::None => "vary",
    }
}

/// Returns the targets that an instance may use.
pub(crate) fn pool<'a>(plan: &'a Plan, server: Option<&'a str>) -> impl Iterator<Item = u32> + 'a {
    let numbered = (0u32..).zip(&plan.targets);
    let ours = numbered.filter(move |(_, target)| {
        server.is_none_or(|server| target.server.as_deref() == Some(server))
    });
    ours.map(|(index, _)| index)
}
