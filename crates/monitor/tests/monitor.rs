//! A monitor of machines that are made up of files.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use plimsoll_history::{Component, ComponentKind, Differences, Measure, Reading};
use plimsoll_machine::Machine;
use plimsoll_monitor::{Format, Health, Monitor, Settings, Shown, TargetUtilization, metrics};

fn settings(root: &Path) -> Settings {
    Settings {
        machine: Machine::at(root, "/usr/bin"),
        server: "oss1".to_owned(),
        cluster: String::new(),
        names: BTreeMap::from([("sdb".to_owned(), "fast".to_owned())]),
        jobs_most: 0,
        lctl: None,
    }
}

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn value(reading: &Reading, measure: Measure, bin: u64) -> Option<u64> {
    let mut values = reading.values.iter().filter(|it| (it.measure, it.bin) == (measure, bin));
    let value = values.next().map(|it| it.value);
    assert!(values.next().is_none(), "{measure:?} twice in {:?}", reading.component);
    value
}

fn of<'a>(readings: &'a [Reading], kind: ComponentKind, name: &str) -> Option<&'a Reading> {
    let is_it = |it: &&Reading| it.component.kind == kind && it.component.name == name;
    readings.iter().find(|it| is_it(it) && it.component.job.is_empty())
}

const OST: &str = "proc/fs/lustre/obdfilter/scratch-OST0003";
const STATS: &str = "snapshot_time             100.000000000 secs.nsecs\n\
                     write_bytes               10 samples [bytes] 1 4096 40960\n";
const BRW_STATS: &str = "snapshot_time:  100.000000001 (secs.nsecs)\n\n                           read      |     write\n\
    disk I/O size          ios   % cum % |  ios         % cum %\n\
    4K:\t\t         0   0   0   |   10 100 100\n\n                           read      |     write\n\
    I/O time (1/1000s)     ios   % cum % |  ios         % cum %\n";

/// A server with an OST and two disks.
fn oss() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    let place = root.path();
    write(place, &format!("{OST}/stats"), STATS);
    write(place, "proc/fs/lustre/osd-ldiskfs/scratch-OST0003/brw_stats", BRW_STATS);
    write(place, "proc/fs/lustre/osd-ldiskfs/scratch-OST0003/kbytesfree", "7\n");
    write(place, "sys/fs/lustre/health_check", "healthy\n");
    write(place, "sys/kernel/debug/lnet/stats", "0 28 0 5 6 0 0 50 60 0 0\n");
    write(place, "proc/stat", "cpu  100 5 20 800 60 1 2 12 30 0\n");
    write(place, "proc/meminfo", "MemTotal: 10 kB\nMemAvailable: 4 kB\n");
    for (name, size) in [("sda", "8"), ("sdb", "8"), ("loop0", "0")] {
        write(place, &format!("sys/block/{name}/stat"), "1 0 8 2 3 0 16 4 5 6 7\n");
        write(place, &format!("sys/block/{name}/size"), size);
    }
    root
}

#[test]
fn everything_that_a_server_has_is_read() {
    let root = oss();
    let mut monitor = Monitor::open(settings(root.path()));
    let found = monitor.found();
    assert_eq!(found.components[&ComponentKind::BlockDevice], ["fast", "sda"]);
    assert_eq!(found.components[&ComponentKind::Ost], ["scratch-OST0003"]);
    assert!(!found.through_lctl);
    let readings = monitor.scrape(5).to_vec();
    let ost = of(&readings, ComponentKind::Ost, "scratch-OST0003").unwrap();
    assert_eq!(ost.component.file_system, "scratch");
    assert_eq!((ost.time, ost.server.as_str()), (100_000_000_000, "oss1"));
    for (measure, bin, expected) in [
        (Measure::WrittenBytes, 0, Some(40_960)),
        (Measure::WriteOperations, 0, Some(10)),
        (Measure::ReadBytes, 0, Some(0)),
        (Measure::WriteSizes, 4096, Some(10)),
        (Measure::ReadSizes, 4096, Some(0)),
        (Measure::WriteMilliseconds, 1, Some(0)),
        (Measure::FreeBytes, 0, Some(7 * 1024)),
        (Measure::CapacityBytes, 0, None),
        (Measure::IsPresent, 0, Some(1)),
    ] {
        assert_eq!(value(ost, measure, bin), expected, "{measure:?}");
    }
    let server = of(&readings, ComponentKind::Server, "oss1").unwrap();
    assert_eq!(value(server, Measure::IsHealthy, 0), Some(1));
    assert_eq!(value(server, Measure::CpuBusyTime, 0), Some(1400));
    assert_eq!(value(server, Measure::CpuTime, 0), Some(10_000));
    assert_eq!(value(server, Measure::IoPressureSome, 0), None, "this kernel has no pressure");
    let disk = of(&readings, ComponentKind::BlockDevice, "fast").unwrap();
    assert_eq!((disk.time, value(disk, Measure::ReadBytes, 0)), (5, Some(4096)));
    let lnet = of(&readings, ComponentKind::Router, "oss1").unwrap();
    assert_eq!(value(lnet, Measure::ReceivedBytes, 0), Some(60));
    assert_eq!(monitor.unknowns().total(), 0);
}

#[test]
fn a_target_that_goes_is_absent_and_comes_back() {
    let root = oss();
    let mut monitor = Monitor::open(settings(root.path()));
    let mut differences = Differences::default();
    let mut written = |monitor: &mut Monitor, now: u64| {
        let readings = monitor.scrape(now);
        let ost = of(readings, ComponentKind::Ost, "scratch-OST0003")?;
        let present = value(ost, Measure::IsPresent, 0);
        let since = differences.take(ost);
        let mut known = since.known.iter();
        Some((present?, known.find(|it| it.measure == Measure::WrittenBytes).map(|it| it.value)))
    };
    let stats = |second: u64, bytes: u64| {
        let text =
            STATS.replace("100.", &format!("{second}.")).replace("40960", &bytes.to_string());
        write(root.path(), &format!("{OST}/stats"), &text);
    };
    assert_eq!(written(&mut monitor, 1), Some((1, None)), "the first reading says nothing yet");
    stats(101, 50_000);
    assert_eq!(written(&mut monitor, 2), Some((1, Some(9040))));
    let away = root.path().join("away");
    for folder in [OST, "proc/fs/lustre/osd-ldiskfs/scratch-OST0003"] {
        fs::create_dir_all(&away).unwrap();
        fs::rename(root.path().join(folder), away.join(folder.replace('/', "-"))).unwrap();
    }
    monitor.look();
    assert_eq!(
        written(&mut monitor, 102_000_000_000),
        Some((0, None)),
        "absent, and nothing is made up"
    );
    for folder in [OST, "proc/fs/lustre/osd-ldiskfs/scratch-OST0003"] {
        fs::rename(away.join(folder.replace('/', "-")), root.path().join(folder)).unwrap();
    }
    monitor.look();
    // It counts from zero again.
    stats(103, 100);
    assert_eq!(written(&mut monitor, 3), Some((1, None)));
    stats(104, 300);
    assert_eq!(written(&mut monitor, 4), Some((1, Some(200))));
}

/// Users choose the ids of their jobs: one who changes his all the time filled the store and every reader's memory.
#[test]
fn jobs_that_are_new_all_the_time_are_bounded() {
    let root = oss();
    let mut settings = settings(root.path());
    settings.jobs_most = 10;
    let mut monitor = Monitor::open(settings);
    let mut jobs = std::collections::BTreeSet::new();
    for second in 0..100 {
        let job = |number: u64| {
            format!("- job_id:   {second}x{number}\n  punch: {{ samples: 1, unit: reqs }}\n")
        };
        let text = format!(
            "job_stats:\n- job_id:   steady\n  punch: {{ samples: {second}, unit: reqs }}\n{}",
            (0..9).map(job).collect::<String>()
        );
        write(root.path(), &format!("{OST}/job_stats"), &text);
        monitor.look();
        let readings = monitor.scrape(second * 1_000_000_000);
        let steady = readings.iter().find(|it| it.component.job == "steady").unwrap();
        assert_eq!(value(steady, Measure::Punches, 0), Some(second));
        jobs.extend(readings.iter().map(|it| it.component.job.clone()).filter(|it| !it.is_empty()));
    }
    assert_eq!((jobs.len(), monitor.jobs_left_out()), (40, 901 - 40));
}

/// Too few descriptors, an I/O error: here a link that leads nowhere but to itself.
#[test]
fn a_target_that_cannot_be_looked_at_is_not_gone() {
    let root = oss();
    let present = |monitor: &mut Monitor, now: u64| {
        let readings = monitor.scrape(now);
        let ost = of(readings, ComponentKind::Ost, "scratch-OST0003");
        let is_disk = |it: &Reading| it.component.kind == ComponentKind::BlockDevice;
        Some((value(ost?, Measure::IsPresent, 0), readings.iter().filter(|it| is_disk(it)).count()))
    };
    let mut monitor = Monitor::open(settings(root.path()));
    let before = present(&mut monitor, 1);
    let disks = before.unwrap().1;
    assert_eq!(before, Some((Some(1), disks)));
    assert!(disks > 0 && monitor.unseen().is_empty());
    let places = ["proc/fs/lustre", "sys/block"].map(|it| root.path().join(it));
    for place in &places {
        fs::rename(place, place.with_extension("away")).unwrap();
        std::os::unix::fs::symlink(place, place).unwrap();
    }
    for now in 2..4 {
        monitor.look();
        assert_eq!(present(&mut monitor, now), before, "what is open can be read");
        let told: Vec<String> = monitor.unseen().iter().map(ToString::to_string).collect();
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(told[0].starts_with("/proc/fs/lustre cannot be looked into: "), "{told:?}");
    }
    // What cannot even be read has no reading, and is not absent.
    for place in &places {
        fs::remove_dir_all(place.with_extension("away")).unwrap();
    }
    monitor.look();
    assert_eq!(present(&mut monitor, 4), None);
    for place in &places {
        fs::remove_file(place).unwrap();
        fs::create_dir(place).unwrap();
    }
    monitor.look();
    assert_eq!(present(&mut monitor, 5), Some((Some(0), 0)), "now it is gone");
    assert!(monitor.unseen().is_empty());
}

#[test]
fn a_file_that_cannot_be_read_is_missing_and_not_zero() {
    let root = oss();
    let mut settings = settings(root.path());
    settings.jobs_most = 10;
    write(
        root.path(),
        &format!("{OST}/job_stats"),
        "job_stats:\n- job_id:   7\n  punch: { samples: 1, unit: reqs }\n",
    );
    write(root.path(), &format!("{OST}/degraded"), "perhaps\n");
    let mut monitor = Monitor::open(settings);
    fs::remove_file(root.path().join(format!("{OST}/stats"))).unwrap();
    let readings = monitor.scrape(5).to_vec();
    let ost = of(&readings, ComponentKind::Ost, "scratch-OST0003").unwrap();
    assert_eq!(value(ost, Measure::WrittenBytes, 0), None);
    assert_eq!(value(ost, Measure::WriteSizes, 4096), Some(10));
    assert_eq!(monitor.missed(), 1);
    assert_eq!(Vec::from_iter(monitor.unknowns().patterns()), [("degraded: perhaps", 1)]);
    let job = readings.iter().find(|it| it.component.job == "7").unwrap();
    assert_eq!(value(job, Measure::Punches, 0), Some(1));
}

#[test]
fn lctl_is_asked_where_there_are_no_files() {
    let root = tempfile::tempdir().unwrap();
    let text = format!("health_check=healthy\nobdfilter.scratch-OST0003.stats=\n{STATS}");
    write(root.path(), "usr/bin/lctl", &format!("#!/bin/sh\ncat <<'END'\n{text}END\n"));
    let program = root.path().join("usr/bin/lctl");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let found = Monitor::open(settings(root.path())).found();
    assert!(!found.through_lctl, "programs of a captured tree are not run");
    let mut monitor = Monitor::open(Settings { lctl: Some(program), ..settings(root.path()) });
    assert!(monitor.found().through_lctl);
    let readings = monitor.scrape(5);
    let ost = of(readings, ComponentKind::Ost, "scratch-OST0003").unwrap();
    assert_eq!(value(ost, Measure::WrittenBytes, 0), Some(40_960));
}

#[test]
fn metrics_have_the_conventional_names_and_no_series_twice() {
    let root = oss();
    let mut monitor = Monitor::open(settings(root.path()));
    monitor.scrape(5);
    let health = Health { scrapes: 1, scrape_seconds: 0.25, ..Health::default() };
    let component = Component::new(ComponentKind::BlockDevice, "fast");
    let busy = TargetUtilization { component, ratio: 0.875, is_measured: true };
    let shown = Shown { health: &health, utilization: &[busy], jobs: false };
    let text = metrics(&monitor, &shown, Format::OpenMetrics);
    for line in [
        "# TYPE lustre_write_bytes counter",
        "lustre_write_bytes_total{component=\"ost\",target=\"scratch-OST0003\"} 40960",
        "lustre_disk_io_total{operation=\"write\",size=\"4096\",component=\"ost\",target=\"scratch-OST0003\"} 10",
        "lustre_stats_total{operation=\"punch\",component=\"ost\",target=\"scratch-OST0003\"} 0",
        "lustre_free_kilobytes{component=\"ost\",target=\"scratch-OST0003\"} 7",
        "lustre_health_healthy 1",
        "plimsoll_block_device_written_bytes_total{device=\"fast\"} 8192",
        "plimsoll_block_device_busy_seconds_total{device=\"sda\"} 0.006",
        "plimsoll_server_cpu_busy_seconds_total 1.4",
        "# TYPE plimsoll_utilization_ratio gauge",
        "plimsoll_utilization_ratio{device=\"fast\",costs=\"measured\"} 0.875",
        "plimsoll_monitor_scrapes_total 1",
        "plimsoll_monitor_scrape_seconds 0.25",
    ] {
        assert!(text.lines().any(|it| it == line), "no {line} in\n{text}");
    }
    assert!(text.ends_with("# EOF\n"));
    let old = metrics(&monitor, &shown, Format::Text);
    assert!(old.contains("# TYPE lustre_write_bytes_total counter\n") && !old.contains("# EOF"));
    for text in [text, old] {
        let mut seen = HashSet::new();
        for line in text.lines() {
            let series =
                if line.starts_with('#') { line } else { line.rsplit_once(' ').unwrap().0 };
            assert!(seen.insert(series), "{series} twice");
        }
    }
}

#[test]
fn captured_servers_are_read_whole() {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/samples");
    let folder = std::env::var_os("PLIMSOLL_SAMPLES").map_or(beside, Into::into);
    if !folder.is_dir() {
        eprintln!("SKIPPED: captured samples are not there (PLIMSOLL_SAMPLES names their folder)");
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let archive = folder.join("lustre/gsi_lustre_exporter_2.10.1_proc_sys.tar.gz");
    let tar = Command::new("tar").arg("-xzf").arg(archive).arg("-C").arg(root.path()).status();
    assert!(tar.unwrap().success());
    let mut settings = settings(root.path());
    settings.jobs_most = 100;
    let mut monitor = Monitor::open(settings);
    let readings = monitor.scrape(5).to_vec();
    assert_eq!(Vec::from_iter(monitor.unknowns().patterns()), []);
    assert_eq!(monitor.missed(), 0);
    let ost = of(&readings, ComponentKind::Ost, "lustrefs-OST0000").unwrap();
    assert_eq!(value(ost, Measure::WriteSizes, 4 << 20), Some(4_059_303));
    assert!(of(&readings, ComponentKind::Mdt, "lustrefs-MDT0000").is_some());
    let client = of(&readings, ComponentKind::Mount, "lustrefs").unwrap();
    assert_eq!(value(client, Measure::WrittenBytes, 0), Some(93_813_797_294_080));
    let seen = of(&readings, ComponentKind::SeenTarget, "lustrefs-OST0004").unwrap();
    assert_eq!(value(seen, Measure::IsConnected, 0), Some(1));
    assert!(readings.iter().any(|it| it.component.job == "24"));
    let shown = Shown { health: &Health::default(), utilization: &[], jobs: true };
    let text = metrics(&monitor, &shown, Format::Text);
    let mut seen = HashSet::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        assert!(seen.insert(line.rsplit_once(' ').unwrap().0), "{line}");
    }
}

/// An MDT has texts of its cache and its disk beside that of its operations, and each tells another time.
#[test]
fn the_time_of_a_target_is_that_of_its_operations() {
    let at = |second: u64, of: &str| of.replace("100.", &format!("{second}."));
    let md_stats = "snapshot_time             100.000000000 secs.nsecs\n\
                    open                      10 samples [usecs] 1 4096 40960\n";
    let cache = "snapshot_time             100.000000000 secs.nsecs\n\
                 get_page                  10 samples [usec] 1 2 15\n";
    let texts = [
        ("osd-ldiskfs", "stats", at(107, cache)),
        ("osd-ldiskfs", "brw_stats", at(108, BRW_STATS)),
        ("mdt", "md_stats", at(103, md_stats)),
    ];
    let root = tempfile::tempdir().unwrap();
    for (folder, leaf, text) in &texts {
        write(root.path(), &format!("proc/fs/lustre/{folder}/scratch-MDT0000/{leaf}"), text);
    }
    let mut monitor = Monitor::open(settings(root.path()));
    let time = |readings: &[Reading]| {
        let mdt = of(readings, ComponentKind::Mdt, "scratch-MDT0000").unwrap();
        assert_eq!(value(mdt, Measure::Opens, 0), Some(10));
        mdt.time
    };
    assert_eq!(time(monitor.scrape(5)), 103_000_000_000);
    // lctl prints them in the order in which they are asked for.
    let printed =
        texts.map(|(component, leaf, text)| format!("{component}.scratch-MDT0000.{leaf}=\n{text}"));
    let root = tempfile::tempdir().unwrap();
    let script = format!("#!/bin/sh\ncat <<'END'\n{}END\n", printed.concat());
    write(root.path(), "lctl", &script);
    let program = root.path().join("lctl");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o700)).unwrap();
    let mut monitor = Monitor::open(Settings { lctl: Some(program), ..settings(root.path()) });
    assert_eq!(time(monitor.scrape(5)), 103_000_000_000);
}
