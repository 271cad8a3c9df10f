//! `plimsoll monitor` as a service: a real Prometheus scrapes it, and what it kept is there afterwards.

mod counted;
mod kills;
mod listening;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use plimsoll_history::{
    Component, ComponentKind, Measure, Reading, Settings, Value as HistoryValue, Writer,
};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::support::bed::Bed;
use crate::support::command::{binary, plimsoll};
use crate::support::growing::{CapturedTarget, while_working};
use crate::support::recording::has;
use crate::support::served::Served;

/// Far more than anything here takes, also on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A process that is ended also when a test fails.
struct Service {
    child: Child,
    lines: Receiver<String>,
}

impl Service {
    fn start(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let (sender, lines) = channel();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        Self { child, lines }
    }

    /// Waits for a line that contains these words.
    fn line(&self, words: &str) -> String {
        let deadline = Instant::now() + PATIENCE;
        let mut seen = Vec::new();
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) if line.contains(words) => return line,
                Ok(line) => seen.push(line),
                Err(_) => panic!("no line with {words:?} among {seen:#?}"),
            }
        }
    }

    fn signal(&self, signal: Signal) {
        let _ = kill_process(Pid::from_child(&self.child), signal);
    }

    /// Asks it to end, and returns its status.
    fn end(mut self) -> Option<i32> {
        self.signal(Signal::TERM);
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("it does not end");
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A captured OSS with one target.
fn oss(root: &Path) {
    let write = |path: &str, text: &str| {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write(
        "proc/fs/lustre/obdfilter/scratch-OST0003/stats",
        "snapshot_time             1438693064.430544 secs.usecs\n\
         write_bytes               71893382 samples [bytes] 1 1048576 15201500833981\n",
    );
    write(
        "sys/kernel/debug/lustre/osd-ldiskfs/scratch-OST0003/brw_stats",
        "snapshot_time:         1589909588.327213269 (secs.nsecs)\n\n                           read      |     write\n\
         disk I/O size          ios   % cum % |  ios         % cum %\n\
         1M:                  43866371  99 100   | 850248  57 100\n",
    );
    write("sys/fs/lustre/health_check", "healthy\n");
    write("sys/block/sda/stat", "1 0 8 2 3 0 16 4 5 6 7\n");
    write("sys/block/sda/size", "8\n");
}

/// Starts a monitor of a captured tree, and returns the address that it listens at.
fn monitor(root: &Path, more: &[&str]) -> (Service, String) {
    let mut command = binary();
    command.args(["monitor", "--interval", "100ms", "--listen", "127.0.0.1:0", "--root"]).arg(root);
    let service = Service::start(command.args(more));
    let address = address_in(&service.line("metrics are at http://"));
    (service, address)
}

/// The address in the line that tells where metrics are.
fn address_in(line: &str) -> String {
    let (_, address) = line.split_once("http://").unwrap();
    address.strip_suffix("/metrics").unwrap().to_owned()
}

fn get(address: &str, page: &str) -> String {
    try_get(address, page).expect("it was answered")
}

/// Does the same; nothing if it was not answered, as it is where others have too many connections.
fn try_get(address: &str, page: &str) -> Option<String> {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let _ = write!(stream, "GET {page} HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n");
    let mut answer = String::new();
    let read = stream.read_to_string(&mut answer);
    if answer.is_empty() {
        return None;
    }
    read.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    Some(answer.split_once("\r\n\r\n").unwrap().1.to_owned())
}

/// Asks until the page has these words.
fn page_with(address: &str, words: &str) -> String {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let page = get(address, "/metrics");
        if page.contains(words) {
            return page;
        }
        assert!(Instant::now() < deadline, "no {words} in\n{page}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_captured_server_is_served_and_the_service_ends_in_order() {
    let root = tempfile::tempdir().unwrap();
    oss(root.path());
    let (service, address) = monitor(root.path(), &[]);
    let page = page_with(&address, "lustre_write_bytes_total{");
    assert!(
        page.contains("lustre_write_bytes_total{component=\"ost\",target=\"scratch-OST0003\"} 15201500833981\n"),
        "{page}"
    );
    assert!(page.contains("plimsoll_block_device_written_bytes_total{device=\"sda\"} 8192\n"));
    assert_eq!(service.end(), Some(143));
}

#[test]
fn utilization_is_shown_with_the_costs_of_the_site_file() {
    let root = tempfile::tempdir().unwrap();
    let target = CapturedTarget::new(root.path(), "scratch-OST0003");
    CapturedTarget::new(root.path(), "scratch-OST0004");
    let site = root.path().join("site.toml");
    let cost = "seconds_per_operation = 1e-4\nseconds_per_byte = 5e-9\n";
    let text = format!(
        "version = 1\n[[target]]\nname = \"scratch-OST0003\"\npath = \"/there\"\n\
         [target.cost.read]\n{cost}[target.cost.write]\n{cost}"
    );
    fs::write(&site, text).unwrap();
    let page = while_working(
        || target.grow(),
        || {
            let (service, address) = monitor(root.path(), &["--site", site.to_str().unwrap()]);
            let told = service.line("were assumed");
            assert!(told.contains("costs of scratch-OST0004 are"), "{told}");
            page_with(&address, "plimsoll_utilization_ratio{")
        },
    );
    let known = "plimsoll_utilization_ratio{component=\"ost\",target=\"scratch-OST0003\",costs=\"measured\"} ";
    let value = page.lines().find_map(|line| line.strip_prefix(known)).expect(&page);
    // 1000 writes of 100 kB a second: 0.1 ms and 0.5 ms each.
    let value: f64 = value.parse().unwrap();
    assert!((value / 0.6 - 1.0).abs() < 0.02, "{value}");
    assert!(!page.contains("OST0004\",costs"), "nothing is known of what stands still");
}

#[test]
fn this_machine_is_sampled_into_a_store() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("history");
    let mut command = binary();
    command
        .args(["monitor", "--interval", "100ms", "--listen", "127.0.0.1:0", "--store"])
        .arg(&store);
    let service = Service::start(&mut command);
    service.line("server");
    let address = address_in(&service.line("metrics are at http://"));
    let deadline = Instant::now() + PATIENCE;
    let stored = |page: &str| {
        let value =
            page.lines().find_map(|it| it.strip_prefix("plimsoll_monitor_stored_samples_total "));
        value.unwrap().parse::<u64>().unwrap()
    };
    while stored(&get(&address, "/metrics")) < 50 {
        assert!(Instant::now() < deadline, "nothing is stored");
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(service.end(), Some(143));
    let is_parquet = |path: &Path| path.extension().is_some_and(|it| it == "parquet");
    let mut folders = vec![store];
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if is_parquet(&path) {
                files += 1;
            }
        }
    }
    assert!(files > 0, "no file of a day");
}

/// The attack: a file system of another user above a disk that is mounted, whose server never answers.
#[test]
fn what_another_user_mounts_above_a_disk_is_not_asked() {
    let Some(bed) = Bed::up(1, "32MiB") else { return };
    let mut command = binary();
    command.args(["monitor", "--interval", "100ms", "--listen", "127.0.0.1:0"]).process_group(0);
    let service = Service::start(&mut command);
    let address = address_in(&service.line("metrics are at http://"));
    let point = bed.target("t0").to_string_lossy().into_owned();
    page_with(&address, &point);
    let Some(served) = Served::on(bed.target("t0").parent().unwrap()) else { return };
    let group = service.child.id().cast_signed();
    while get(&address, "/metrics").contains(&point) {
        std::thread::sleep(Duration::from_millis(100));
    }
    let asked = served.asked_by(group);
    assert!(asked.is_empty(), "{asked:?}");
    drop(served);
    page_with(&address, &point);
    assert_eq!(service.end(), Some(143));
}

/// Makes a store with samples of some days before today, one apart, and returns their names from the oldest on.
fn store_of_days(store: &Path, days: u64) -> Vec<String> {
    let today = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() / 86_400;
    let mut writer = Writer::open(store, Settings::default()).unwrap();
    for day in today - days..today {
        for second in 1..60 {
            let component = Component::new(ComponentKind::BlockDevice, "sda");
            let values = vec![HistoryValue::new(Measure::ReadBytes, day * 60 + second)];
            let time = (day * 86_400 + second) * 1_000_000_000;
            let server = "here".to_owned();
            writer.append(&[Reading { component, server, time, epoch: 0, values }]).unwrap();
        }
        writer.seal().unwrap();
    }
    drop(writer);
    let names = days_of(store);
    assert_eq!(names.len() as u64, days, "{names:?}");
    names
}

/// Names of the days that a store has, from the oldest on.
fn days_of(store: &Path) -> Vec<String> {
    let entries = fs::read_dir(store).unwrap();
    let names = entries.map(|it| it.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|it| it.starts_with("day=")).collect();
    names.sort();
    names
}

#[test]
fn days_go_when_they_are_too_many_or_take_too_much_room() {
    // Today counts as a day as soon as its samples are in a file of their own: until then one more stays.
    for (options, gone, kept) in
        [(&["--keep-days", "2"][..], 2, 2), (&["--budget", "1B"], 4, 0), (&[], 0, 5)]
    {
        let folder = tempfile::tempdir().unwrap();
        let (root, store) = (folder.path().join("root"), folder.path().join("store"));
        oss(&root);
        let before = store_of_days(&store, 5);
        let options = [options, &["--store", store.to_str().unwrap()]].concat();
        let (service, address) = monitor(&root, &options);
        page_with(&address, "plimsoll_monitor_stored_samples_total");
        let deadline = Instant::now() + PATIENCE;
        let is_there = |day: &String| store.join(day).exists();
        while before[..gone].iter().any(is_there) {
            assert!(Instant::now() < deadline, "{options:?} leaves {:?}", days_of(&store));
            std::thread::sleep(Duration::from_millis(50));
        }
        assert_eq!(service.end(), Some(143));
        assert!(before[before.len() - kept..].iter().all(is_there), "{:?}", days_of(&store));
    }
}

#[test]
fn wrong_use_is_one_line() {
    for (arguments, words) in [
        ("monitor --interval 1us", "too short"),
        ("monitor --listen nowhere", "is not an address"),
        ("monitor --job-metrics", "--jobs"),
        ("monitor --keep-days 3", "--store"),
        ("monitor --store x --keep-days 4294967296", "more days than there are"),
    ] {
        let outcome = plimsoll(arguments);
        assert_eq!(outcome.status, Some(2), "{arguments}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(words), "{arguments}: {}", outcome.stderr);
    }
}

#[test]
fn a_real_prometheus_scrapes_it() {
    if !has(&["prometheus", "promtool"]) {
        eprintln!("SKIPPED: needs prometheus");
        return;
    }
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    oss(folder.path());
    let (service, address) = monitor(folder.path(), &[]);
    let page = page_with(&address, "lustre_write_bytes_total{");
    check_with_promtool(&page);
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let configuration = folder.path().join("prometheus.yml");
    let text = format!(
        "scrape_configs:\n- job_name: plimsoll\n  scrape_interval: 1s\n  static_configs:\n  - targets: ['{address}']\n"
    );
    fs::write(&configuration, text).unwrap();
    let prometheus = Service::start(
        Command::new("prometheus")
            .arg(format!("--config.file={}", configuration.display()))
            .arg(format!("--storage.tsdb.path={}", folder.path().join("tsdb").display()))
            .arg(format!("--web.listen-address=127.0.0.1:{port}")),
    );
    prometheus.line("Server is ready to receive web requests");
    let here = format!("127.0.0.1:{port}");
    let value = |query: &str| {
        let answer: Value =
            serde_json::from_str(&get(&here, &format!("/api/v1/query?query={query}"))).ok()?;
        answer["data"]["result"][0]["value"][1].as_str().map(str::to_owned)
    };
    let deadline = Instant::now() + PATIENCE;
    while value("lustre_write_bytes_total").is_none() {
        assert!(Instant::now() < deadline, "Prometheus has nothing");
        std::thread::sleep(Duration::from_millis(200));
    }
    assert_eq!(value("up").as_deref(), Some("1"));
    assert_eq!(value("lustre_write_bytes_total").as_deref(), Some("15201500833981"));
    let of_size = "lustre_disk_io_total%7Boperation=%22read%22,size=%221048576%22%7D";
    assert_eq!(value(of_size).as_deref(), Some("43866371"));
    assert_eq!(value("plimsoll_block_device_read_bytes_total").as_deref(), Some("4096"));
    prometheus.end();
    service.end();
}

/// What the tool finds fault with must be names that are conventional, and nothing else.
fn check_with_promtool(page: &str) {
    let mut promtool = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    promtool.stdin.take().unwrap().write_all(page.as_bytes()).unwrap();
    let output = promtool.wait_with_output().unwrap();
    let complaints = String::from_utf8_lossy(&output.stderr).into_owned();
    let is_conventional = |line: &str| line.contains("kilobytes") || line.contains("milliseconds");
    let others: Vec<&str> = complaints.lines().filter(|line| !is_conventional(line)).collect();
    assert!(others.is_empty(), "{others:#?}");
}
