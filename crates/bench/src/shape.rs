//! What an instance is, before its clients and targets are drawn.

use plimsoll_domain::Bytes;
use plimsoll_domain::burst::{Caching, Engine, Operation, Setting, Sharing};

use crate::plan::{Parameter, Plan, PlanError, SizeOf, Striping, TargetsUsed, Value, limits};

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
    /// The shape for one value of each of the dimensions, or why it cannot be.
    pub fn of(
        plan: &Plan,
        group: Option<&Value>,
        size: Option<Bytes>,
        value: Option<&Value>,
    ) -> Result<Shape, PlanError> {
        let mut draft = Draft::of(plan, size);
        draft.set(plan.groups.parameter, group);
        draft.set(plan.vary.parameter, value);
        draft.shape(plan)
    }

    /// Every shape of a plan: groups, then burst sizes, then values, in the plan's order.
    pub fn all(plan: &Plan) -> impl Iterator<Item = Result<Shape, PlanError>> + '_ {
        let groups = choices(&plan.groups.values);
        groups.flat_map(move |group| {
            sizes(plan).flat_map(move |size| {
                choices(&plan.vary.values).map(move |value| Shape::of(plan, group, size, value))
            })
        })
    }

    /// Processes that take part.
    pub fn processes(&self) -> u64 {
        u64::from(self.setting.clients) * u64::from(self.setting.processes)
    }

    /// Bytes of all processes.
    pub fn bytes(&self) -> u64 {
        self.processes().saturating_mul(self.setting.burst.get())
    }

    /// Bytes that move in all, those written before a read included.
    pub fn bytes_moved(&self) -> u64 {
        match self.setting.operation {
            Operation::Write => self.bytes(),
            Operation::Read => self.bytes().saturating_mul(2),
        }
    }

    /// The most bytes that one target holds during the instance.
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

    /// What one process has on one of its targets, at most.
    pub fn bytes_in_one_stripe(&self) -> u64 {
        let burst = self.setting.burst.get();
        match self.setting.striped() {
            false => burst,
            true => {
                let size = self.setting.stripe_size.get().max(1);
                let turns = burst.div_ceil(size).div_ceil(u64::from(self.setting.stripe_count));
                turns.saturating_mul(size).min(burst)
            }
        }
    }

    /// Files of an instance whose processes share: one for each set of targets.
    pub fn shared_files(&self) -> u32 {
        (self.laid_over / self.setting.stripe_count.max(1)).max(1)
    }
}

/// Each value, or one time none.
fn choices(values: &[Value]) -> impl Iterator<Item = Option<&Value>> {
    let nothing = values.is_empty().then_some(None);
    values.iter().map(Some).chain(nothing)
}

fn sizes(plan: &Plan) -> impl Iterator<Item = Option<Bytes>> + '_ {
    let nothing = plan.burst.sizes.is_empty().then_some(None);
    plan.burst.sizes.iter().copied().map(Some).chain(nothing)
}

/// The key that decides about a parameter, for messages.
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

/// The plan's own values, on which those of the dimensions are put.
struct Draft {
    clients: u32,
    processes: u32,
    targets: TargetsUsed,
    paired: bool,
    size: Bytes,
    transfer: Bytes,
    depth: u32,
    stripe_count: u32,
    stripe_size: Bytes,
    sharing: Sharing,
    server: Option<String>,
}

impl Draft {
    fn of(plan: &Plan, size: Option<Bytes>) -> Draft {
        Draft {
            clients: plan.clients.used,
            processes: plan.clients.processes,
            targets: plan.placement.targets,
            paired: false,
            size: size.unwrap_or_default(),
            transfer: plan.burst.transfer,
            depth: plan.burst.depth,
            stripe_count: plan.burst.stripe_count,
            stripe_size: plan.burst.stripe_size,
            sharing: plan.burst.sharing,
            server: None,
        }
    }

    fn set(&mut self, parameter: Parameter, value: Option<&Value>) {
        match (parameter, value) {
            (Parameter::Clients, Some(Value::Count(count))) => self.clients = *count,
            (Parameter::Processes, Some(Value::Count(count))) => self.processes = *count,
            (Parameter::Targets, Some(Value::Count(count))) => {
                self.targets = TargetsUsed::Count(*count);
            }
            (Parameter::Pairs, Some(Value::Count(count))) => {
                (self.clients, self.targets) = (*count, TargetsUsed::Count(*count));
                self.paired = true;
            }
            (Parameter::Burst, Some(Value::Size(size))) => self.size = *size,
            (Parameter::Transfer, Some(Value::Size(size))) => self.transfer = *size,
            (Parameter::Depth, Some(Value::Count(count))) => self.depth = *count,
            (Parameter::StripeCount, Some(Value::Count(count))) => self.stripe_count = *count,
            (Parameter::StripeSize, Some(Value::Size(size))) => self.stripe_size = *size,
            (Parameter::Sharing, Some(Value::Sharing(sharing))) => self.sharing = *sharing,
            (Parameter::Server, Some(Value::Server(name))) => self.server = Some(name.clone()),
            // Values of another kind than their parameter are refused before.
            _ => {}
        }
    }

    fn shape(self, plan: &Plan) -> Result<Shape, PlanError> {
        self.check_clients(plan)?;
        let laid_over = self.laid_over(plan)?;
        let processes = u64::from(self.clients) * u64::from(self.processes);
        let burst = self.burst(plan, processes)?;
        self.check_transfer(plan, burst)?;
        self.check_stripes(plan)?;
        let mut shape = Shape {
            setting: Setting {
                operation: plan.burst.operation,
                clients: self.clients,
                processes: self.processes,
                targets: 0,
                burst,
                transfer: self.transfer,
                pattern: plan.burst.pattern,
                sharing: self.sharing,
                stripe_count: self.stripe_count,
                stripe_size: self.stripe_size,
                caching: plan.burst.caching,
                engine: plan.burst.engine,
                depth: self.depth,
            },
            server: self.server,
            laid_over,
            target_of_client: self.paired,
            striping: plan.burst.striping,
        };
        shape.setting.targets = targets_written(&shape);
        check_bytes(plan, &shape)?;
        Ok(shape)
    }

    fn check_clients(&self, plan: &Plan) -> Result<(), PlanError> {
        let parameter = if self.paired { Parameter::Pairs } else { Parameter::Clients };
        let (what, key) = (parameter.as_str(), key_of(plan, parameter));
        if self.clients == 0 || self.clients > plan.clients.count {
            let most = plan.clients.count;
            let problem = format!("{} {what}, but there are {most} clients", self.clients);
            return Err(PlanError::value(key, format!("{problem}; allowed: 1 to {most}")));
        }
        let processes = u64::from(self.clients) * u64::from(self.processes);
        if self.processes == 0 || processes > limits::PROCESSES_MAX {
            let (key, most) = (key_of(plan, Parameter::Processes), limits::PROCESSES_MAX);
            let problem = format!("{processes} processes in an instance; allowed: 1 to {most}");
            return Err(PlanError::value(key, problem));
        }
        Ok(())
    }

    fn laid_over(&self, plan: &Plan) -> Result<u32, PlanError> {
        let there_are = pool(plan, self.server.as_deref()).count() as u32;
        let place = self.server.as_ref().map_or(String::new(), |name| format!(" of {name}"));
        if there_are == 0 {
            let key = key_of(plan, Parameter::Server);
            return Err(PlanError::value(key, format!("no target{place}")));
        }
        let refuse = |parameter, count: u32, what: &str| {
            let range = format!("allowed: 1 to {there_are}");
            let problem =
                format!("{count} {what}, but there are {there_are} targets{place}; {range}");
            Err(PlanError::value(key_of(plan, parameter), problem))
        };
        if self.stripe_count == 0 || self.stripe_count > there_are {
            return refuse(Parameter::StripeCount, self.stripe_count, "targets under a file");
        }
        let stripes =
            u64::from(self.clients) * u64::from(self.processes) * u64::from(self.stripe_count);
        if stripes > limits::PROCESSES_MAX {
            let problem = format!(
                "{stripes} stripes in an instance; allowed: 1 to {}",
                limits::PROCESSES_MAX
            );
            return Err(PlanError::value(key_of(plan, Parameter::StripeCount), problem));
        }
        match self.targets {
            TargetsUsed::All => Ok(there_are),
            TargetsUsed::Count(count) if count == 0 || count > there_are => match self.paired {
                true => refuse(Parameter::Pairs, count, "pairs"),
                false => refuse(Parameter::Targets, count, "targets"),
            },
            TargetsUsed::Count(count) => Ok(count.max(self.stripe_count)),
        }
    }

    /// What each process moves.
    fn burst(&self, plan: &Plan, processes: u64) -> Result<Bytes, PlanError> {
        let key = key_of(plan, Parameter::Burst);
        let (size, transfer) = (self.size, self.transfer);
        if transfer.get() == 0 || transfer.get() > limits::TRANSFER_MAX {
            let range = format!("allowed: 1B to {}", Bytes::new(limits::TRANSFER_MAX));
            let key = key_of(plan, Parameter::Transfer);
            return Err(PlanError::value(key, format!("a transfer of {transfer}; {range}")));
        }
        if size.get() == 0 {
            return Err(PlanError::value(key, "a burst of no bytes; allowed: 1B and more"));
        }
        if plan.burst.of == SizeOf::Instance {
            let part = size.get() / processes / transfer.get() * transfer.get();
            return match part {
                0 => Err(PlanError::value(
                    key,
                    format!(
                        "{size} shared by {processes} processes is less than a transfer of {transfer} each"
                    ),
                )),
                part => Ok(Bytes::new(part)),
            };
        }
        if transfer > size {
            let problem = format!("a transfer of {transfer} is larger than the burst of {size}");
            return Err(PlanError::value(key_of(plan, Parameter::Transfer), problem));
        }
        match size.get() % transfer.get() {
            0 => Ok(size),
            rest => Err(PlanError::value(
                key,
                format!(
                    "{size} is not a whole number of transfers of {transfer}; hint: {}",
                    Bytes::new(size.get() - rest)
                ),
            )),
        }
    }

    fn check_transfer(&self, plan: &Plan, burst: Bytes) -> Result<(), PlanError> {
        let direct = plan.burst.caching == Caching::Direct;
        for (parameter, size) in [(Parameter::Transfer, self.transfer), (Parameter::Burst, burst)] {
            if direct && size.get() % limits::DIRECT_ALIGNMENT != 0 {
                return Err(PlanError::value(
                    key_of(plan, parameter),
                    format!(
                        "{size} is not a multiple of {} bytes, as direct I/O needs; \
                     hint: caching = \"synced\" has no such rule",
                        limits::DIRECT_ALIGNMENT
                    ),
                ));
            }
        }
        let key = key_of(plan, Parameter::Depth);
        if self.depth == 0 || self.depth > limits::DEPTH_MAX {
            let range = format!("allowed: 1 to {}", limits::DEPTH_MAX);
            return Err(PlanError::value(key, format!("a depth of {}; {range}", self.depth)));
        }
        if self.depth > 1 && plan.burst.engine == Engine::Synchronous {
            let problem =
                format!("the synchronous engine has one transfer in flight, not {}", self.depth);
            return Err(PlanError::value(key, format!("{problem}; hint: engine = \"uring\"")));
        }
        Ok(())
    }

    fn check_stripes(&self, plan: &Plan) -> Result<(), PlanError> {
        if self.stripe_count <= 1 {
            return Ok(());
        }
        if self.paired {
            let problem = "pairs have a target each, so files are not striped; allowed: 1";
            return Err(PlanError::value(key_of(plan, Parameter::StripeCount), problem));
        }
        let (unit, why) = match plan.burst.striping {
            Striping::Directories => (self.transfer.get(), "as a transfer goes to one target"),
            Striping::Lustre => (limits::LUSTRE_STRIPE_UNIT, "as Lustre needs"),
        };
        match self.stripe_size.get() {
            size if size > 0 && size % unit == 0 => Ok(()),
            _ => Err(PlanError::value(
                key_of(plan, Parameter::StripeSize),
                format!("{} is not a multiple of {}, {why}", self.stripe_size, Bytes::new(unit)),
            )),
        }
    }
}

fn targets_written(shape: &Shape) -> u32 {
    let (processes, stripes) = (shape.processes(), u64::from(shape.setting.stripe_count));
    let most = match shape.setting.sharing {
        Sharing::Shared => u64::from(shape.shared_files()) * stripes,
        Sharing::Independent => u64::from(shape.laid_over),
    };
    // Not more than there are targets, of which there are no more than u32::MAX.
    (processes * stripes).min(most) as u32
}

fn check_bytes(plan: &Plan, shape: &Shape) -> Result<(), PlanError> {
    let bytes = u128::from(shape.processes()) * u128::from(shape.setting.burst.get());
    if bytes <= u128::from(limits::INSTANCE_BYTES_MAX) {
        return Ok(());
    }
    let most = Bytes::new(limits::INSTANCE_BYTES_MAX);
    let problem = format!(
        "{} processes with {} each are more than {most} in one instance",
        shape.processes(),
        shape.setting.burst
    );
    Err(PlanError::value(key_of(plan, Parameter::Burst), problem))
}

/// Targets that an instance may use.
pub(crate) fn pool<'a>(plan: &'a Plan, server: Option<&'a str>) -> impl Iterator<Item = u32> + 'a {
    let numbered = (0u32..).zip(&plan.targets);
    let ours = numbered.filter(move |(_, target)| {
        server.is_none_or(|server| target.server.as_deref() == Some(server))
    });
    ours.map(|(index, _)| index)
}
