//! From a plan and one value of each dimension to a shape, or why there is none.

use plimsoll_domain::Bytes;
use plimsoll_domain::burst::{Caching, Engine, Setting, Sharing};

use super::{Shape, key_of, pool};
use crate::plan::{
    Parameter, Plan, PlanError, SizeOf, Striping, TargetsUsed, TransferSize, Value, limits,
};

/// The plan's own values, on which those of the dimensions are put.
pub(super) struct ShapeValues {
    clients: u32,
    processes: u32,
    targets: TargetsUsed,
    paired: bool,
    size: Bytes,
    transfer: TransferSize,
    depth: u32,
    stripe_count: u32,
    stripe_size: Bytes,
    sharing: Sharing,
    server: Option<String>,
}

impl ShapeValues {
    pub fn of(plan: &Plan, size: Option<Bytes>) -> ShapeValues {
        ShapeValues {
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

    pub fn set(&mut self, parameter: Parameter, value: Option<&Value>) {
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
            (Parameter::Transfer, Some(Value::Size(size))) => {
                self.transfer = TransferSize::Of(*size);
            }
            (Parameter::Depth, Some(Value::Count(count))) => self.depth = *count,
            (Parameter::StripeCount, Some(Value::Count(count))) => self.stripe_count = *count,
            (Parameter::StripeSize, Some(Value::Size(size))) => self.stripe_size = *size,
            (Parameter::Sharing, Some(Value::Sharing(sharing))) => self.sharing = *sharing,
            (Parameter::Server, Some(Value::Server(name))) => self.server = Some(name.clone()),
            // Values of another kind than their parameter are refused before.
            _ => {}
        }
    }

    pub fn shape(self, plan: &Plan) -> Result<Shape, PlanError> {
        self.check_clients(plan)?;
        let laid_over = self.laid_over(plan)?;
        let processes = u64::from(self.clients) * u64::from(self.processes);
        let burst = self.burst(plan, processes)?;
        self.check_transfer(plan, burst)?;
        self.check_stripes(plan, burst)?;
        let mut shape = Shape {
            setting: Setting {
                operation: plan.burst.operation,
                clients: self.clients,
                processes: self.processes,
                targets: 0,
                burst,
                transfer: self.transfer.of_burst(burst),
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
            TargetsUsed::Count(count) if count == 0 || count > there_are => {
                if self.paired {
                    refuse(Parameter::Pairs, count, "pairs")
                } else {
                    refuse(Parameter::Targets, count, "targets")
                }
            }
            TargetsUsed::Count(count) => Ok(count.max(self.stripe_count)),
        }
    }

    /// Returns what each process moves.
    fn burst(&self, plan: &Plan, processes: u64) -> Result<Bytes, PlanError> {
        let key = key_of(plan, Parameter::Burst);
        let size = self.size;
        let transfer = match self.transfer {
            TransferSize::Of(transfer) => transfer,
            TransferSize::Burst => return self.burst_in_one_call(plan, processes),
        };
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
                        "{size} shared by {processes} processes is less than a transfer of {transfer} each; \
                         hint: a larger burst, a smaller transfer or fewer clients"
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

    /// Any size; a part of an instance's in whole pages, which no process shares with another.
    fn burst_in_one_call(&self, plan: &Plan, processes: u64) -> Result<Bytes, PlanError> {
        const PAGE: u64 = 4096;
        let key = key_of(plan, Parameter::Burst);
        let burst = match plan.burst.of {
            SizeOf::Process => self.size.get(),
            SizeOf::Instance => self.size.get() / processes / PAGE * PAGE,
        };
        match burst {
            0 => Err(PlanError::value(
                key,
                format!("{} for {processes} processes is less than 4KiB each", self.size),
            )),
            burst => Ok(Bytes::new(burst)),
        }
    }

    fn check_transfer(&self, plan: &Plan, burst: Bytes) -> Result<(), PlanError> {
        let direct = plan.burst.caching == Caching::Direct;
        let transfer = self.transfer.of_burst(burst);
        for (parameter, size) in [(Parameter::Transfer, transfer), (Parameter::Burst, burst)] {
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

    fn check_stripes(&self, plan: &Plan, burst: Bytes) -> Result<(), PlanError> {
        if self.stripe_count <= 1 {
            return Ok(());
        }
        if self.paired {
            let problem = "pairs have a target each, so files are not striped; allowed: 1";
            return Err(PlanError::value(key_of(plan, Parameter::StripeCount), problem));
        }
        let (unit, why) = match plan.burst.striping {
            Striping::Directories => {
                (self.transfer.of_burst(burst).get(), "as a transfer goes to one target")
            }
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
