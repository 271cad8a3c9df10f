//! `plimsoll site show`: a site file as tables.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use plimsoll_domain::site::{
    Cost, Origin, Server, ServerRole, Site, SiteFile, Slowness, Straggler, Target,
};
use plimsoll_domain::{Bytes, BytesPerSec};
use plimsoll_report::{Record, numbers};

use crate::found_site;
use crate::output::Output;
use crate::settings::{self, Setting};

numbers! {
    CAPACITY = "capacity", "capacity", Bytes, "Bytes that a target holds.", "site file";
    PEAK_READ = "peak_read", "peak read", BytesPerSec, "Best rate at which a target is read.", "site file: given, or the 97.3rd percentile of single-target bursts (Xie, section 4.2)";
    PEAK_WRITE = "peak_write", "peak write", BytesPerSec, "Best rate at which a target is written.", "site file: given, or the 97.3rd percentile of single-target bursts (Xie, section 4.2)";
    LUSTRE_INDEX = "lustre_index", "OST", Count, "Index of a Lustre target in its file system.", "site file";
    PER_OPERATION = "seconds_per_operation", "per operation", Seconds, "Fixed cost of a transaction, a_0.", "site file: Uselton and Wright, eq. 1";
    PER_BYTE = "seconds_per_byte", "per byte", SecondsPerByte, "Cost of a transaction's bytes, a_1.", "site file: Uselton and Wright, eq. 1";
    RELATIVE_ERROR = "relative_error", "error", Ratio, "Root mean square of the relative residuals of the cost fit.", "site file: Uselton and Wright, eq. 4";
    MEDIAN_RELATIVE_ERROR = "median_relative_error", "median error", Ratio, "Median magnitude of the relative residuals of the cost fit.", "site file: plimsoll calibrate";
    MAX_RELATIVE_ERROR = "max_relative_error", "largest error", Ratio, "Largest magnitude of a relative residual of the cost fit.", "site file: plimsoll calibrate";
    QUEUE_DEPTH = "queue_depth", "queue depth", Count, "Transactions in flight while the cost was measured.", "site file";
    FILL = "fill", "fill", Ratio, "How full the target was while the cost was measured, from 0 to 1.", "site file";
    QUANTILE = "quantile", "low below quantile", Ratio, "A measure is low below this quantile of all measures.", "site file: Xie, section 5.4";
    LOW_MEDIAN = "low_median", "slow for", Seconds, "Median duration of a sequence of low measures.", "site file: Xie, section 5.4";
    NORMAL_MEDIAN = "normal_median", "normal for", Seconds, "Median duration of a sequence of normal measures.", "site file: Xie, section 5.4";
    SEQUENCES = "sequences", "sequences", Count, "Number of sequences that the medians rest on.", "site file: Xie, section 5.4";
    LIMIT = "limit", "at most", BytesPerSec, "Physical limit of one part of the way between client and target.", "site file";
    RATIO = "ratio", "of the others", Ratio, "Median of a straggler's bandwidth over that of the others of the same instance.", "site file: plimsoll score";
    MEASURES = "measures", "measures", Count, "Measures that a verdict rests on.", "site file: plimsoll score";
}

pub fn run(file: Option<PathBuf>, output: Output) -> Result<ExitCode> {
    let settings: Vec<Record> = settings::read()?.iter().map(setting).collect();
    let (path, origin) = match found_site::named_or_found(file) {
        // Settings are shown also where there is no site file.
        Err(_) if !settings.is_empty() => {
            let record = Record::new().rows("settings", SETTINGS, settings);
            output.print("site", "no site file", &record)?;
            return Ok(ExitCode::SUCCESS);
        }
        found => found?,
    };
    let origin = origin.map(|it| it.words().to_string());
    let begin = Record::new().optional_text("origin", "found as", origin);
    let mut record = record(begin, SiteFile::load(&path)?.site());
    if !settings.is_empty() {
        record = record.rows("settings", SETTINGS, settings);
    }
    output.print("site", &title(&path), &record)?;
    Ok(ExitCode::SUCCESS)
}

const SETTINGS: &str = "settings";

fn setting(setting: &Setting) -> Record {
    let values = setting.values.iter().map(|it| it.as_deref().unwrap_or("true"));
    let value = values.collect::<Vec<_>>().join(", ");
    let origin = setting.origin.map_or("named by PLIMSOLL_SETTINGS", Origin::words);
    Record::new()
        .text("command", "command", &setting.command)
        .text("option", "option", &setting.option)
        .text("value", "value", if value.is_empty() { "false" } else { &value })
        .text("file", "file", setting.path.display().to_string())
        .text("origin", "found as", origin)
}

pub fn print(site: &Site, file: &Path, output: Output) -> Result<()> {
    output.print("site", &title(file), &record(Record::new(), site))
}

fn title(file: &Path) -> String {
    format!("site {}", file.display())
}

fn record(begin: Record, site: &Site) -> Record {
    let file_systems = site.file_systems.iter().map(|it| {
        Record::new().text("name", "name", &it.name).text("kind", "kind", &it.kind).text(
            "mount",
            "mounted on",
            it.mount.display().to_string(),
        )
    });
    let clients = site.clients.iter().map(|it| {
        let coordinates: Vec<String> = it.coordinates.iter().map(ToString::to_string).collect();
        Record::new()
            .text("name", "name", &it.name)
            .optional_text("coordinates", "coordinates", some(coordinates.join(",")))
            .optional_text("router", "router", it.router.clone())
    });
    let torus: Vec<String> = site.topology.torus.iter().map(ToString::to_string).collect();
    begin
        .optional_text("name", "name", site.name.clone())
        .optional_text("torus", "torus", some(torus.join(" x ")))
        .rows("file_systems", "file systems", file_systems.collect())
        .rows("targets", "targets", site.targets.iter().map(target).collect())
        .rows("costs", "transaction costs", site.targets.iter().flat_map(costs).collect())
        .rows("servers", "servers", site.servers.iter().map(server).collect())
        .rows("clients", "clients", clients.collect())
        .rows("limits", "physical limits", limits(site))
        .rows("slowness", "durations of slowness", site.slowness.iter().map(slowness).collect())
        .rows("stragglers", "stragglers", site.stragglers.iter().map(straggler).collect())
}

fn target(target: &Target) -> Record {
    let place = [&target.path, &target.device];
    let [path, device] = place.map(|it| it.as_ref().map(|path| path.display().to_string()));
    Record::new()
        .text("name", "name", &target.name)
        .optional_text("file_system", "file system", target.file_system.clone())
        .optional_text("server", "server", target.server.clone())
        .number(&LUSTRE_INDEX, target.lustre_index.map(u64::from))
        .optional_text("path", "path", path)
        .optional_text("device", "device", device)
        .number(&CAPACITY, target.capacity.map(Bytes::get))
        .number(&PEAK_READ, target.peak.read.map(BytesPerSec::get))
        .number(&PEAK_WRITE, target.peak.write.map(BytesPerSec::get))
}

fn costs(target: &Target) -> Vec<Record> {
    let cost = |kind: &str, cost: &Cost| {
        Record::new()
            .text("target", "target", &target.name)
            .text("kind", "kind", kind)
            .number(&PER_OPERATION, cost.seconds_per_operation)
            .number(&PER_BYTE, cost.seconds_per_byte)
            .number(&RELATIVE_ERROR, cost.relative_error)
            .number(&MEDIAN_RELATIVE_ERROR, cost.median_relative_error)
            .number(&MAX_RELATIVE_ERROR, cost.max_relative_error)
            .optional_text(
                "transactions",
                "counted by",
                cost.transactions.map(|it| it.name().into()),
            )
            .number(&QUEUE_DEPTH, cost.queue_depth.map(u64::from))
            .number(&FILL, cost.fill)
            .optional_text("measured", "measured", cost.measured.clone())
    };
    let reads = target.cost.read.iter().map(|it| cost("read", it));
    reads.chain(target.cost.write.iter().map(|it| cost("write", it))).collect()
}

fn server(server: &Server) -> Record {
    let role = match server.role {
        ServerRole::Storage => "storage",
        ServerRole::Metadata => "metadata",
        ServerRole::Combined => "combined",
    };
    Record::new().text("name", "name", &server.name).text("role", "role", role).optional_text(
        "group",
        "group",
        server.group.clone(),
    )
}

fn limits(site: &Site) -> Vec<Record> {
    let limits = &site.limits;
    let parts = [
        ("client", limits.client),
        ("router", limits.router),
        ("server", limits.server),
        ("network", limits.network),
    ];
    let known = parts.into_iter().filter_map(|(part, limit)| limit.map(|limit| (part, limit)));
    known
        .map(|(part, limit)| Record::new().text("part", "part", part).number(&LIMIT, limit.get()))
        .collect()
}

fn slowness(slowness: &Slowness) -> Record {
    Record::new()
        .number(&QUANTILE, slowness.quantile)
        .number(&LOW_MEDIAN, slowness.low_median.as_seconds())
        .number(&NORMAL_MEDIAN, slowness.normal_median.as_seconds())
        .number(&SEQUENCES, slowness.sequences)
        .optional_text("measured", "measured", slowness.measured.clone())
}

fn straggler(straggler: &Straggler) -> Record {
    Record::new()
        .text("component", "component", straggler.component.name())
        .text("name", "name", &straggler.name)
        .text("verdict", "verdict", straggler.verdict.name())
        .number(&RATIO, straggler.ratio)
        .number(&MEASURES, straggler.measures)
        .optional_text("measured", "measured", straggler.measured.clone())
}

fn some(text: String) -> Option<String> {
    (!text.is_empty()).then_some(text)
}
