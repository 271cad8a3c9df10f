//! Every pair with its scores, as a table for other programs.

use anyhow::{Context, Result};
use plimsoll_score::locality::Trait;
use plimsoll_score::outlier::{Mark, Marks};
use plimsoll_score::relative::lebs;

use super::record::View;
use crate::new_file::NewFile;

const HEADINGS: [&str; 21] = [
    "results",
    "experiment",
    "run",
    "group",
    "round",
    "instance",
    "varied",
    "start_ns",
    "client",
    "target",
    "server",
    "bytes",
    "seconds",
    "bandwidth",
    "leb",
    "peb",
    "outlier",
    "modified_z",
    "run_changed",
    "distance",
    "routers",
];

pub fn write(file: NewFile, view: &View) -> Result<()> {
    let attempt = || format!("cannot write {}", file.path().display());
    let mut out = csv::Writer::from_writer(&file);
    out.write_record(HEADINGS).with_context(attempt)?;
    let columns = view.columns;
    let marks = Marks::new(columns);
    let changed: std::collections::HashSet<(u32, u32)> =
        view.scores.runs.iter().filter(|it| it.changed()).map(|it| (it.source, it.run)).collect();
    let text = |value: Option<f64>| value.map_or(String::new(), |it| it.to_string());
    for instance in columns.instances() {
        let pairs = columns.pairs(instance);
        let scored = columns.has_scores(instance);
        let lebs = if scored { lebs(pairs) } else { Vec::new() };
        let place = |of| text(view.places.of_instance(of, columns, instance));
        let (distance, routers) = (place(Trait::Distance), place(Trait::Routers));
        let source = &columns.sources[instance.source as usize];
        for (index, pair) in pairs.iter().enumerate() {
            let peb = view.scores.fastest.peb(instance, pair).filter(|_| scored);
            let outlier = match marks.mark(instance, pair).filter(|_| scored) {
                Some(Mark::Low) => "low",
                Some(Mark::High) => "high",
                None => "",
            };
            let z = marks.modified_z(instance, pair).filter(|_| scored);
            let row = [
                source.label.clone(),
                source.experiment.clone(),
                instance.run.to_string(),
                instance.group.to_string(),
                instance.round.to_string(),
                instance.instance.to_string(),
                columns.varied.name(instance.varied).to_string(),
                instance.start.to_string(),
                columns.clients.name(pair.client).to_string(),
                columns.targets.name(pair.target).to_string(),
                pair.server.map_or(String::new(), |it| columns.servers.name(it).to_string()),
                pair.bytes.to_string(),
                pair.seconds.to_string(),
                pair.bandwidth().to_string(),
                text(lebs.get(index).copied()),
                text(peb),
                outlier.to_string(),
                text(z),
                changed.contains(&(instance.source, instance.run)).to_string(),
                distance.clone(),
                routers.clone(),
            ];
            out.write_record(row).with_context(attempt)?;
        }
    }
    out.flush().with_context(attempt)?;
    drop(out);
    file.finish()
}
