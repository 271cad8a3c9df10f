//! From sums to an [`Analysis`].

use std::cmp::Reverse;
use std::collections::BTreeMap;

use plimsoll_trace::layout::Loss;
use plimsoll_trace::{Class, Layer, Op};

use crate::activity::is_direct;
use crate::agreed::Agreed;
use crate::analysis::{
    Analysis, DurationSample, FileAnalysis, FileDetails, MetadataSummary, NodeAnalysis,
    ProcessAnalysis, RequestSizes,
};
use crate::bandwidth::{bandwidths, headlines};
use crate::circumstances::Processors;
use crate::common_sizes::SizeCounts;
use crate::coverages::layer_index;
use crate::file_table::FileId;
use crate::file_totals::{ByLayer, FileDetail, FileTotals};
use crate::histogram::{SizeHistogram, Volume};
use crate::io_share::io_share;
use crate::logs::logs_of_targets;
use crate::mpi_waiting::mpi_waiting;
use crate::nesting::MpiTime;
use crate::placement::Placement;
use crate::process::{Process, ProcessState};
use crate::process_totals::{OwnCalls, ProcessTotals};
use crate::room::OF_DEEDS;
use crate::runtime_summary::{runtime_files, runtime_summaries};
use crate::sample::HashSample;
use crate::serialisation::serialisation;
use crate::sieving::Sieving;
use crate::stragglers::stragglers;
use crate::sums::Sums;
use crate::system_error;
use crate::timing::{Rates, in_flight, phases, rates};
use crate::totals::{Direction, seconds};
use plimsoll_report::words::{count, count_is};

/// Turns the sums of all processes into an [`Analysis`].
pub(crate) fn finish(agreed: &Agreed, sums: Sums) -> Analysis {
    Finish(agreed).analysis(sums)
}

const _: () = assert!(size_of::<ProcessTotals>() + size_of::<ProcessAnalysis>() <= OF_DEEDS);

struct Finish<'a>(&'a Agreed);

impl Finish<'_> {
    fn analysis(&self, mut sums: Sums) -> Analysis {
        let totals = sums.totals();
        sums.processes.sort_by_key(|process| process.process);
        let mut own = OwnCalls::default();
        let mut sieving = Sieving::default();
        for process in &sums.processes {
            own.merge(&process.own);
            sieving.merge(&process.sieving);
        }
        let gap_ns = (self.0.span_ns as f64 * self.0.options.phase_gap_share) as u64;
        let series_rates = rates(&sums.series, self.0.grid);
        let mpi_time_by_op = mpi_time_by_op(&sums.mpi);
        let mut mpi_time = MpiTime::default();
        mpi_time_by_op.iter().for_each(|(_, time)| mpi_time.merge(time));
        let coverages = &sums.coverages;
        let bandwidths = bandwidths(&totals, Some(coverages));
        let own_data = sums.files.iter().flatten().filter_map(|file| file.data.as_ref());
        let own_data = own_data.map(|data| &data.own);
        let headlines = headlines(own_data, &bandwidths, Some(coverages));
        let (files, jumps) = (self.files(&mut sums), sums.jumps.clone());
        let runtime_files = runtime_files(self.0, &mut sums);
        let logs = logs_of_targets(self.0, &mut sums);
        let users_of_mpi_io = users_of_mpi_io(&sums.processes);
        let mut processes = self.processes(&mut sums.processes);
        let coverages = &sums.coverages;
        let mut analysis = Analysis {
            span_seconds: seconds(self.0.span_ns),
            start_realtime_ns: self.0.start_realtime_ns,
            clock_error_seconds: self.0.error_seconds,
            resolution_seconds: seconds(self.0.grid.width_ns()),
            events: sums.events,
            lost_events: self.0.recording.lost_events(),
            events_outside_span: sums.outside_span,
            io_share: io_share(&mut processes),
            headlines,
            bandwidths,
            own,
            folded_files: self.0.recording.files().folded(),
            detailed_files: files.iter().filter(|file| file.detail.is_some()).count(),
            processes,
            nodes: Vec::new(),
            request_sizes: request_sizes(&sums.sizes, sums.common_sizes),
            runtime: runtime_summaries(&runtime_files),
            runtime_files,
            logs,
            jumps,
            access: Default::default(),
            repeated: Default::default(),
            read_and_written_bytes: 0,
            phases: phases(coverages, &sums.series, gap_ns),
            mpi_time,
            mpi_time_by_op,
            mpi_waiting: mpi_waiting(coverages, users_of_mpi_io),
            slow_calls: sums.slow.into_calls(),
            sieving,
            in_flight: in_flight(coverages),
            timeline: sums.timeline.finish(),
            stragglers: None,
            metadata: MetadataSummary::default(),
            durations: durations(sums.durations),
            placement: Placement::default(),
            missing: self.0.recording.missing().clone(),
            warnings: self.warnings(&sums.processes, sums.warnings),
            rates: series_rates,
            totals,
            files,
        };
        add_up_files(&mut analysis);
        analysis.nodes = nodes(&analysis.processes);
        analysis.stragglers = stragglers(&io_times(&analysis.processes));
        analysis.metadata = metadata(&analysis);
        analysis
    }

    fn files(&self, sums: &mut Sums) -> Vec<FileAnalysis> {
        let mut details: BTreeMap<FileId, FileDetail> = BTreeMap::new();
        for detail in sums.details.iter_mut().filter_map(Option::take) {
            details.insert(detail.file, *detail);
        }
        let totals = sums.files.iter_mut().map(Option::take).enumerate();
        let mut files: Vec<FileAnalysis> = totals
            .filter_map(|(id, totals)| Some((FileId(id as u32), totals?)))
            .map(|(id, totals)| self.file(id, *totals, details.remove(&id)))
            .collect();
        for file in &mut files {
            file.forced_writes = sums.forced_writes.get(&file.id).copied().unwrap_or_default();
        }
        files.sort_by_key(|file| (Reverse(file.own.total_nanos()), file.id));
        files
    }

    fn file(&self, id: FileId, mut totals: FileTotals, detail: Option<FileDetail>) -> FileAnalysis {
        totals.ops.sort();
        let data = totals.data.unwrap_or_default();
        let coverages = detail.as_ref().map(|detail| &detail.coverages);
        let bandwidths = bandwidths(&totals.ops, coverages);
        let headlines = headlines(std::iter::once(&data.own), &bandwidths, coverages);
        let is_written_by_several = totals.direct_writers > 1 && id > FileId::FOLDED;
        let detail = detail.map(|detail| FileDetails {
            repeated: data.repeated,
            read_and_written_bytes: data.read_and_written_bytes,
            serialisation: is_written_by_several.then(|| serialisation(&detail)),
            request_sizes: request_sizes(&detail.sizes, detail.common_sizes),
            jumps: detail.jumps,
            sampled_from: detail.samples.seen(),
            samples: detail.samples.into_values(),
        });
        FileAnalysis {
            id,
            path: self.0.recording.files().path(id).to_string(),
            hints: self.0.recording.hints(id).map(str::to_string).collect(),
            own: totals.own,
            processes: totals.processes,
            readers: totals.readers,
            writers: totals.writers,
            users: totals.users,
            direct_writers: totals.direct_writers,
            headlines,
            bandwidths,
            access: data.access,
            independent_writes: data.independent_writes,
            forced_writes: Volume::default(),
            collective: data.collective,
            sieving: data.sieving,
            detail,
            ops: totals.ops,
        }
    }

    /// Takes what they did by operation along: it is most of what is held of a process.
    fn processes(&self, totals: &mut [ProcessTotals]) -> Vec<ProcessAnalysis> {
        let describe = |totals: &mut ProcessTotals| {
            let process = &self.0.recording.processes()[totals.process];
            let (began, ended) = self.0.lives[totals.process];
            ProcessAnalysis {
                process: totals.process,
                pid: process.pid,
                rank: process.rank,
                host: process.host.clone(),
                program: process.program.clone(),
                circumstances: process.circumstances.clone(),
                state: process.state,
                wall_seconds: seconds(ended - began),
                busy_seconds: seconds(totals.busy_nanos),
                takes_part: false,
                lost_events: process.lost_events(),
                is_damaged: damage(process, totals.undecodable_bytes).is_some(),
                events: totals.events,
                ops: std::mem::take(&mut totals.ops),
                own: totals.own,
                runtime: totals.runtime,
                files: totals.files,
                lock_seconds: seconds(totals.lock_nanos),
            }
        };
        totals.iter_mut().map(describe).collect()
    }

    fn warnings(&self, totals: &[ProcessTotals], mut unread: Vec<(usize, String)>) -> Vec<String> {
        unread.sort();
        let mut warnings: Vec<String> = self.0.recording.warnings().to_vec();
        warnings.extend(unread.into_iter().map(|(_, warning)| warning));
        for (process, totals) in self.0.recording.processes().iter().zip(totals) {
            warnings.extend(damage(process, totals.undecodable_bytes));
            warnings.extend(losses(process));
        }
        let more = warnings.len().saturating_sub(WARNINGS_MAX);
        warnings.truncate(WARNINGS_MAX);
        if more > 0 {
            warnings.push(format!("and {} like these", count(more as u64, "more warning")));
        }
        warnings
    }
}

/// More warnings than this are not read anyway.
const WARNINGS_MAX: usize = 20;

fn damage(process: &Process, undecodable_bytes: u64) -> Option<String> {
    let damage = &process.damage;
    let bytes = damage.bytes.saturating_add(undecodable_bytes);
    (bytes > 0 || damage.chunks > 0 || damage.missing_blocks > 0).then(|| {
        format!(
            "{} is damaged: {} in {} cannot be read and {} missing; the rest is in this report",
            process.path.display(),
            count(bytes, "byte"),
            count(damage.chunks, "chunk"),
            count_is(damage.missing_blocks, "block")
        )
    })
}

fn losses(process: &Process) -> Option<String> {
    let (label, lost) = (process.label(), process.lost_events());
    match (process.state, lost) {
        (ProcessState::Stopped, _) => Some(format!(
            "recording of {label} stopped before it ended: {}; {} missing",
            system_error::describe(process.stop_errno),
            count_is(lost, "event")
        )),
        (_, 0) => None,
        (_, _) => Some(format!(
            "{} of {label} {} missing: {} in signal handlers, {} because there was no space, {} because \
             there was no file",
            count(lost, "event"),
            if lost == 1 { "is" } else { "are" },
            process.lost_by(Loss::Reentered),
            process.lost_by(Loss::NoSpace),
            process.lost_by(Loss::NoFile)
        )),
    }
}

fn request_sizes(
    sizes: &ByLayer<SizeHistogram>,
    mut common: ByLayer<SizeCounts>,
) -> Vec<RequestSizes> {
    let pairs =
        Layer::OF_PROGRAMS.into_iter().flat_map(|layer| Direction::ALL.map(|way| (layer, way)));
    pairs
        .map(|(layer, direction)| {
            let histogram = sizes[layer_index(layer)][direction as usize].clone();
            let common = &mut common[layer_index(layer)][direction as usize];
            let common = std::mem::take(common).finish();
            RequestSizes { layer, direction, histogram, common }
        })
        .filter(|sizes| sizes.histogram.total().calls > 0)
        .collect()
}

fn users_of_mpi_io(processes: &[ProcessTotals]) -> usize {
    let uses = |it: &&ProcessTotals| it.ops.sum(|op| op.layer() == Layer::Mpi).calls > 0;
    processes.iter().filter(uses).count()
}

fn mpi_time_by_op(times: &[MpiTime]) -> Vec<(Op, MpiTime)> {
    let used = times.iter().enumerate().filter(|(_, time)| time.calls > 0);
    used.filter_map(|(number, time)| Some((Op::from_number(number as u8)?, *time))).collect()
}

fn durations(samples: Vec<Option<HashSample<u64>>>) -> Vec<DurationSample> {
    let numbered = samples.into_iter().enumerate();
    numbered
        .filter_map(|(number, sample)| {
            let (op, sample) = (Op::from_number(number as u8)?, sample?);
            let calls = sample.seen();
            let seconds = sample.into_values().into_iter().map(seconds).collect();
            Some(DurationSample { op, calls, seconds })
        })
        .collect()
}

fn add_up_files(analysis: &mut Analysis) {
    for file in &analysis.files {
        for way in 0..2 {
            analysis.access[way].merge(&file.access[way]);
            if let Some(detail) = &file.detail {
                analysis.repeated[way].merge(&detail.repeated[way]);
            }
        }
        if let Some(detail) = &file.detail {
            analysis.read_and_written_bytes =
                analysis.read_and_written_bytes.saturating_add(detail.read_and_written_bytes);
        }
    }
}

fn nodes(processes: &[ProcessAnalysis]) -> Vec<NodeAnalysis> {
    let has_ranks = processes.iter().any(|process| process.rank.is_some());
    let mut processors: BTreeMap<&str, Processors> = BTreeMap::new();
    let mut nodes: BTreeMap<&str, NodeAnalysis> = BTreeMap::new();
    for process in processes {
        let node = nodes.entry(&process.host).or_insert_with(|| NodeAnalysis {
            host: process.host.clone(),
            processes: 0,
            ranks: 0,
            processors: 0,
            ops: Default::default(),
            own: OwnCalls::default(),
        });
        node.processes += 1;
        node.ranks += usize::from(process.rank.is_some());
        if process.rank.is_some() || !has_ranks {
            let all = processors.entry(&process.host).or_default();
            all.add(&process.circumstances.processors);
            node.processors = all.count();
        }
        node.ops.merge(&process.ops);
        node.own.merge(&process.own);
    }
    nodes
        .into_values()
        .map(|mut node| {
            node.ops.sort();
            node
        })
        .collect()
}

fn io_times(processes: &[ProcessAnalysis]) -> Vec<(usize, f64)> {
    let ranks = processes.iter().filter(|process| process.rank.is_some());
    ranks.map(|process| (process.process, process.own.total_seconds())).collect()
}

fn metadata(analysis: &Analysis) -> MetadataSummary {
    let direct = |classes: &'static [Class]| {
        move |op: Op| is_direct(op.layer()) && classes.contains(&op.class())
    };
    let is_metadata = direct(&[Class::Open, Class::Close, Class::Metadata]);
    // fflush makes nothing durable.
    let is_sync = |op: Op| op.layer() == Layer::Posix && op.class() == Class::Sync;
    let calls = analysis.totals.sum(is_metadata);
    let syncs = analysis.totals.sum(is_sync);
    let written = analysis.totals.sum(direct(&[Class::Write])).bytes;
    let synced_files =
        analysis.files.iter().filter(|file| file.ops.sum(is_sync).calls > 0).count() as u64;
    MetadataSummary {
        calls: calls.calls,
        seconds: calls.seconds(),
        calls_per_second: per(calls.calls as f64, analysis.span_seconds).unwrap_or(0.0),
        peak_calls_per_second: peak(&analysis.rates),
        syncs: syncs.calls,
        sync_seconds: syncs.seconds(),
        synced_files,
        syncs_per_file: per(syncs.calls as f64, synced_files as f64),
        syncs_per_mib: per(syncs.calls as f64, written as f64 / f64::from(1 << 20)),
    }
}

fn peak(rates: &Rates) -> f64 {
    let most = rates.metadata_calls.iter().max().copied().unwrap_or(0);
    per(most as f64, rates.bin_seconds).unwrap_or(0.0)
}

fn per(value: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| value / whole)
}
