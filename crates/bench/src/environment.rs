//! What there is to know about where an experiment ran, beside its measures.

use plimsoll_domain::burst::{Caching, Operation};
use plimsoll_machine::{Machine, takes_direct_io};
use serde_json::{Value, json};

use crate::plan::{ClientsPlan, Plan, TargetPlan};

/// Returns the environment of an experiment whose processes are started by `launcher`. What cannot be found out is null.
pub fn describe(plan: &Plan, machine: &Machine, launcher: &str) -> Value {
    let targets: Vec<Value> =
        plan.targets.iter().map(|target| described(target, machine)).collect();
    let clients: Vec<String> =
        (0..plan.clients.count).map(|client| plan.clients.name(client)).collect();
    json!({
        "program": "plimsoll",
        "version": env!("CARGO_PKG_VERSION"),
        "command": std::env::args().collect::<Vec<_>>(),
        "host": machine.hostname().ok(),
        "kernel": machine.kernel_release().ok(),
        "cores": std::thread::available_parallelism().ok().map(std::num::NonZero::get),
        "memory_bytes": machine.memory().ok().map(|memory| memory.total.get()),
        "clock": machine.clock_source().ok().map(|clock| clock.current),
        "processes_started_by": launcher,
        "clients": clients,
        "page_cache": page_cache(plan),
        "targets": targets,
    })
}

/// Makes sure that an experiment goes on where it was begun, with the clients that a job has, if it is one: what is
/// measured elsewhere would be kept under the names of other clients.
///
/// # Errors
/// If it does not, in words.
pub fn require_same(
    begun: &Value,
    plan: &Plan,
    machine: &Machine,
    launcher: &str,
    clients: Option<&ClientsPlan>,
) -> Result<(), String> {
    let starter = begun["processes_started_by"].as_str().unwrap_or_default();
    if starter != launcher {
        return Err(format!(
            "its processes were started by {starter}, and these are by {launcher}"
        ));
    }
    let host = machine.hostname().unwrap_or_default();
    let there = begun["host"].as_str().unwrap_or_default();
    if there != host {
        return Err(format!("it was begun on {there}, and this is {host}"));
    }
    let Some(clients) = clients else { return Ok(()) };
    let wanted: Vec<String> = (0..plan.clients.count).map(|it| plan.clients.name(it)).collect();
    let processes = plan.processes_most();
    if clients.names.starts_with(&wanted) && processes <= clients.processes {
        return Ok(());
    }
    Err(format!(
        "it has the clients {} with {processes} process(es) each, and the job has {} with {}; \
         hint: a job like the first one",
        wanted.join(", "),
        clients.names.join(", "),
        clients.processes
    ))
}

fn described(target: &TargetPlan, machine: &Machine) -> Value {
    let space = machine.space(&target.path).ok();
    let mount = machine.mount_of(&target.path).ok().flatten();
    json!({
        "name": target.name,
        "path": target.path,
        "server": target.server,
        "lustre_index": target.lustre_index,
        "file_system": mount.as_ref().map(|mount| mount.fs_type.clone()),
        "mount_options": mount.as_ref().map(|mount| mount.options.clone()),
        "source": mount.map(|mount| mount.source.to_string_lossy().into_owned()),
        "total_bytes": space.as_ref().map(|space| space.total.get()),
        "available_bytes": space.map(|space| space.available.get()),
        "direct_io": takes_direct_io(&target.path),
    })
}

/// Returns how the page cache is kept out of the measure, in a sentence.
fn page_cache(plan: &Plan) -> &'static str {
    match (plan.burst.caching, plan.burst.operation) {
        (Caching::Direct, Operation::Write) => "not used (O_DIRECT); a write ends by fsync",
        (Caching::Direct, Operation::Read) => "not used (O_DIRECT); written by another process",
        (Caching::Synced, Operation::Write) => "written through; a write ends by fsync",
        (Caching::Synced, Operation::Read) => {
            "dropped before each read; written by another process"
        }
    }
}
