//! Answers of Prometheus, saved and asked for, and what others may have put in their place.

mod support;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use plimsoll_import::{Mapping, NoteKind, Options, TimeRange, import, import_from_prometheus};
use support::*;

const START: u64 = 1_577_923_200;

const MAPPING: &str = "[columns]\ntarget = '{instance}:{device}'\nread_bytes = 'node_disk_read_bytes_total'\nin_flight = 'node_disk_io_now'\nbusy_time = 'node_disk_io_time_seconds_total{mode=\"all\"}'\n[factors]\nbusy_time = 1000\n";

fn mapped(text: &str) -> Options {
    Options { mapping: Mapping::parse(text).unwrap(), ..Options::default() }
}

/// One series of an answer.
fn series(labels: &str, values: &[(u64, &str)]) -> String {
    let values: Vec<String> =
        values.iter().map(|(second, value)| format!("[{},\"{value}\"]", START + second)).collect();
    format!("{{\"metric\":{{{labels}}},\"values\":[{}]}}", values.join(","))
}

fn answer(all: &[String]) -> String {
    let result = all.join(",");
    format!(
        "{{\"status\":\"success\",\"data\":{{\"resultType\":\"matrix\",\"result\":[{result}]}}}}\n"
    )
}

fn of_sda(metric: &str) -> String {
    format!(
        "\"__name__\":\"{metric}\",\"instance\":\"oss1:9100\",\"device\":\"sda\",\"job\":\"node\""
    )
}

fn saved() -> String {
    let read = of_sda("node_disk_read_bytes_total");
    let totals =
        [(0, "100"), (15, "130"), (30, "NaN"), (45, "1.9e2"), (60, "7"), (75, "+Inf"), (90, "9")];
    let busy = of_sda("node_disk_io_time_seconds_total");
    let first = answer(&[
        series(&read, &totals),
        series(&format!("{read},\"cpu\":\"1\""), &[(0, "1"), (15, "2")]),
        series(&format!("{busy},\"mode\":\"all\""), &[(0, "1.5"), (15, "1.75")]),
        series(&format!("{busy},\"mode\":\"some\""), &[(0, "1.5")]),
    ]);
    let levels = series(&of_sda("node_disk_io_now"), &[(0, "3"), (15, "-1"), (30, "4")]);
    let levels = levels.replace("\"values\"", "\"histograms\":[[1,{\"count\":\"1\"}]],\"values\"");
    // Answers follow each other, as after `curl … >> file`.
    first + &answer(&[levels])
}

#[test]
fn resets_gaps_and_what_is_no_number_are_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let (path, store) = (folder.path().join("saved"), folder.path().join("store"));
    fs::write(&path, saved()).unwrap();
    let told = import(&path, &store, &mapped(MAPPING)).unwrap();
    assert_eq!(told.format, "Prometheus");
    let has = read(&store);
    let at = |measure, second: u64| {
        let end = (START + second) * 1000;
        has.get(&("block_device", "oss1:sda".to_string(), measure, end)).copied()
    };
    assert_eq!(at("read_bytes", 15), Some((15_000, 30)));
    assert_eq!(at("read_bytes", 30), None, "it is no number");
    assert_eq!(at("read_bytes", 45), Some((30_000, 60)), "since the last that is known");
    assert_eq!(at("read_bytes", 60), None, "it was reset");
    assert_eq!(at("read_bytes", 90), Some((30_000, 2)));
    assert_eq!(at("busy_time", 15), Some((15_000, 250)));
    assert_eq!((at("in_flight", 0), at("in_flight", 15)), (Some((0, 3)), None));
    assert_eq!(has.len(), 6);
    assert_eq!(told.imported.samples, 6);
    for (what, count) in [
        ("reset", 1),
        ("differ only in labels", 1),
        ("no measure", 1),
        ("histograms", 1),
        ("negative", 2),
        ("without a value", 1),
    ] {
        assert_eq!(noted(&told, NoteKind::LeftOut, what), count, "{what}");
    }
    let again = import(&path, &store, &mapped(MAPPING)).unwrap();
    assert_eq!((again.imported.samples, again.imported.already_there), (0, 6));
}

/// Every answer that was cut off or has bits exchanged is an error of one line or a history; the store is there as it was.
#[test]
fn damaged_answers_leave_the_store_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let (path, store) = (folder.path().join("saved"), folder.path().join("store"));
    let bytes = saved().into_bytes();
    fs::write(&path, &bytes).unwrap();
    import(&path, &store, &mapped(MAPPING)).unwrap();
    let before = content(&store);
    let whole = saved().find('\n').unwrap();
    for cut in (0..bytes.len() - 2).filter(|it| it % 7 == 0 && it.abs_diff(whole) > 1) {
        fs::write(&path, &bytes[..cut]).unwrap();
        let error = import(&path, &store, &mapped(MAPPING)).unwrap_err().to_string();
        assert!(!error.contains('\n'), "{error}");
    }
    assert!(content(&store) == before);
    exchange_bits(&bytes, &path, |other| import(&path, other, &mapped(MAPPING)).map(drop));
}

#[test]
fn what_is_no_answer_is_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("saved");
    let result = |text: &str| {
        format!(
            "{{\"status\":\"success\",\"data\":{{\"resultType\":\"vector\",\"result\":{text}}}}}"
        )
    };
    let deep = "[".repeat(10_000);
    for (text, expected) in [
        ("{}".into(), "no answer of Prometheus"),
        ("{\"a\": 1}".into(), "no answer of Prometheus"),
        ("{\"status\":\"success\"}".into(), "no result"),
        ("{\"status\":\"error\",\"error\":\"too\\nmuch\"}".into(), "could not answer: too much"),
        (result("[]"), "no matrix"),
        (result("[1, \"2\"]"), "no answer of Prometheus"),
        (result(&deep), "no answer of Prometheus"),
        (result("[{\"values\":[]}]"), "before their labels"),
        (result("[{\"metric\":{},\"values\":[[1]]}]"), "no pair"),
        (format!("{{\"x\":\"{}\"}}", "\\\"".repeat(100_000)), "64 KiB"),
        (format!("{{\"x\":{}}}", "1".repeat(100_000)), "64 KiB"),
    ] {
        fs::write(&path, &text).unwrap();
        let error = import(&path, &folder.path().join("store"), &mapped(MAPPING));
        let error = error.unwrap_err().to_string();
        assert!(error.contains(expected) && !error.contains('\n'), "{error}\n{text:.100}");
    }
}

/// Answers requests with what `respond` makes of the first line of each, and keeps those lines.
fn server(respond: impl Fn(&str) -> String + Send + 'static) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let asked = Arc::new(Mutex::new(Vec::new()));
    let kept = asked.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let Some(Ok(first)) = lines.next() else { continue };
            while lines.next().is_some_and(|it| it.is_ok_and(|it| !it.is_empty())) {}
            kept.lock().unwrap().push(first.clone());
            let _ = stream.write_all(respond(&first).as_bytes());
        }
    });
    (url, asked)
}

fn http(status: &str, headers: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\n{headers}Connection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Returns a number that was asked for: `start=15`.
fn asked_for(line: &str, name: &str) -> f64 {
    let value = line.split(['?', '&', ' ']).find_map(|it| it.strip_prefix(&format!("{name}=")));
    value.unwrap().parse().unwrap()
}

const HOUR: TimeRange =
    TimeRange { since: START * 1000 - 7, until: (START + 3600) * 1000 + 7, step: 15_000 };

#[test]
fn what_is_too_much_at_once_is_asked_for_in_parts() {
    let too_much = "{\"status\":\"error\",\"errorType\":\"bad_data\",\"error\":\"exceeded maximum resolution of 11,000 points per timeseries. Try decreasing the query resolution (?step=XX)\"}";
    let (url, asked) = server(move |line| {
        let (start, end) = (asked_for(line, "start"), asked_for(line, "end"));
        let steps = ((end - start) / 15.0) as u64;
        if steps > 50 {
            return http("400 Bad Request", "", too_much);
        }
        let second = |step: u64| start as u64 - START + step * 15;
        let texts: Vec<(u64, String)> =
            (0..=steps).map(|it| (second(it), (second(it) * 2).to_string())).collect();
        let values: Vec<(u64, &str)> = texts.iter().map(|it| (it.0, it.1.as_str())).collect();
        http("200 OK", "", &answer(&[series(&of_sda("any"), &values)]))
    });
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let options = mapped("[columns]\nread_bytes = 'sum by (device) (x{a=\"b&c\"})'\n");
    let told = import_from_prometheus(&url, &HOUR, &store, &options).unwrap();
    // 241 moments, compared over the borders of parts, too.
    let has = read(&store);
    assert_eq!((told.imported.samples, has.len()), (240, 240));
    assert!(has.values().all(|it| *it == (15_000, 30)));
    let asked = asked.lock().unwrap().clone();
    assert!(asked[0].contains("query=sum") && asked[0].contains("%26c"), "{}", asked[0]);
    assert!(asked.len() > 5 && asked.len() < 20, "{asked:?}");
    let again = import_from_prometheus(&url, &HOUR, &store, &options);
    assert_eq!(again.unwrap().imported.already_there, 240);
}

/// Whoever answers in the place of several that did not says so by a warning; samples of another year were nobody's question.
#[test]
fn answers_that_are_not_whole_or_of_other_times_are_told() {
    let values = [(0, "1"), (15, "3"), (86_400, "5")];
    let body = answer(&[series(&of_sda("any"), &values)]);
    let body = body.replacen('{', "{\"warnings\":[\"store 9 did\\nnot answer\"],\"infos\":[],", 1);
    let (url, _) = server(move |_| http("200 OK", "", &body));
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let options = mapped("[columns]\nread_bytes = 'x'\n");
    let told = import_from_prometheus(&url, &HOUR, &store, &options).unwrap();
    assert_eq!((told.imported.samples, read(&store).len()), (1, 1));
    let left_out: Vec<(&str, u64)> = told
        .notes
        .iter()
        .filter(|it| it.kind == NoteKind::LeftOut)
        .map(|it| (it.what.as_str(), it.count))
        .collect();
    assert!(left_out.contains(&("values of times that were not asked for", 1)), "{left_out:?}");
    let warning = "what this warning of Prometheus is about: store 9 did not answer";
    assert!(left_out.contains(&(warning, 1)), "{left_out:?}");
    for warnings in ["null", "[]"] {
        let body = answer(&[]).replacen('{', &format!("{{\"warnings\":{warnings},"), 1);
        let (url, _) = server(move |_| http("200 OK", "", &body));
        assert_eq!(
            import_from_prometheus(&url, &HOUR, &store, &options).unwrap().imported.samples,
            0
        );
    }
}

#[test]
fn servers_that_refuse_lead_elsewhere_or_lie_are_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let error = |url: &str| {
        let error = import_from_prometheus(url, &HOUR, &store, &mapped(MAPPING)).unwrap_err();
        assert!(!error.to_string().contains('\n'), "{error}");
        error.to_string()
    };
    let (elsewhere, asked_elsewhere) = server(|_| http("200 OK", "", "{}"));
    let location = format!("Location: {elsewhere}/api\r\n");
    let always = "{\"status\":\"error\",\"error\":\"query processing would load too many samples into memory\"}";
    for (response, expected) in [
        (http("302 Found", &location, ""), "leads elsewhere"),
        (http("404 Not Found", "", "no\nsuch\x1b page"), "status 404: no such"),
        (http("422 Unprocessable Entity", "", always), "too many samples"),
        (http("200 OK", "", "{\"status\":"), "cut off"),
        (http("200 OK", "Content-Length: 99999\r\n", "{\"status\":"), ""),
        ("no HTTP\r\n\r\n".into(), "cannot be asked"),
        (String::new(), "cannot be asked"),
    ] {
        let (url, _) = server(move |_| response.clone());
        let error = error(&url);
        assert!(error.contains(expected), "{error}");
    }
    assert_eq!(asked_elsewhere.lock().unwrap().len(), 0);
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    assert!(error(&format!("http://{closed}")).contains("cannot be asked"));
    assert!(error("https://localhost").contains("only http://"));
    assert!(error("http://me:secret@localhost").contains("password"));
    let none = import_from_prometheus("http://localhost", &HOUR, &store, &Options::default());
    assert!(none.unwrap_err().to_string().contains("no metric is named"));
}

/// A real Prometheus, with samples that promtool brought into it.
struct Prometheus {
    _folder: tempfile::TempDir,
    server: Child,
    address: String,
}

impl Prometheus {
    fn start(metrics: &str) -> Option<Self> {
        let has = |it: &str| Command::new(it).arg("--version").output().is_ok();
        if !has("prometheus") || !has("promtool") {
            eprintln!("SKIPPED: needs prometheus");
            return None;
        }
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("metrics"), metrics).unwrap();
        fs::write(path("prometheus.yml"), "scrape_configs: []\n").unwrap();
        let output = Command::new("promtool")
            .args(["tsdb", "create-blocks-from", "openmetrics"])
            .args([path("metrics"), path("tsdb")])
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let address = format!("127.0.0.1:{port}");
        let server = Command::new("prometheus")
            .arg(format!("--config.file={}", path("prometheus.yml").display()))
            .arg(format!("--storage.tsdb.path={}", path("tsdb").display()))
            .arg(format!("--web.listen-address={address}"))
            .args(["--storage.tsdb.retention.time=100y", "--query.max-samples=500"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut started = Prometheus { _folder: folder, server, address };
        let deadline = Instant::now() + Duration::from_secs(300);
        while !started.is_ready() {
            let ended = started.server.try_wait().unwrap();
            assert!(ended.is_none() && Instant::now() < deadline, "{ended:?}");
            std::thread::sleep(Duration::from_millis(50));
        }
        Some(started)
    }

    fn is_ready(&self) -> bool {
        let ask = || -> std::io::Result<String> {
            let mut stream = TcpStream::connect(&self.address)?;
            stream.write_all(b"GET /-/ready HTTP/1.0\r\n\r\n")?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer)?;
            Ok(answer)
        };
        ask().is_ok_and(|it| it.contains(" 200 "))
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// Two devices of two hosts, an hour at 15 s: a gap of ten minutes, a reset after it. Prometheus may load 500 samples for a query, and refuses an hour.
#[test]
fn a_real_prometheus_is_asked() {
    let mut metrics = String::from("# TYPE node_disk_read_bytes counter\n");
    for host in ["oss1", "oss2"] {
        for step in (0..=240u64).filter(|it| !(100..140).contains(it)) {
            let total = if step < 140 { step * 1000 } else { (step - 140) * 500 };
            let at = START + step * 15;
            metrics += &format!(
                "node_disk_read_bytes_total{{instance=\"{host}:9100\",device=\"sda\"}} {total} {at}\n"
            );
        }
    }
    metrics += "# TYPE node_disk_io_now gauge\n";
    for step in (0..=240u64).step_by(4) {
        let at = START + step * 15;
        metrics +=
            &format!("node_disk_io_now{{instance=\"oss1:9100\",device=\"sda\"}} {step} {at}\n");
    }
    metrics += "# EOF\n";
    let Some(prometheus) = Prometheus::start(&metrics) else { return };
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let url = format!("http://{}/", prometheus.address);
    let mapping = mapped(
        "[columns]\ntarget = '{instance}:{device}'\nread_bytes = 'node_disk_read_bytes_total'\nin_flight = 'node_disk_io_now'\n",
    );
    let told = import_from_prometheus(&url, &HOUR, &store, &mapping).unwrap();
    let has = read(&store);
    let of = |host: &str, measure: &str| -> Vec<(u64, (u64, u64))> {
        let name = format!("{host}:sda");
        let of_it = has.iter().filter(|it| it.0.1 == name && it.0.2 == measure);
        of_it.map(|(key, value)| (key.3 / 1000 - START, *value)).collect()
    };
    for host in ["oss1", "oss2"] {
        let bytes = of(host, "read_bytes");
        // Steps 1 to 99, and those after the first one behind the gap, at which the counter was less than before.
        let expected: Vec<(u64, (u64, u64))> = (1..100)
            .map(|it| (it * 15, (15_000, 1000)))
            .chain((141..=240).map(|it| (it * 15, (15_000, 500))))
            .collect();
        assert_eq!(bytes, expected, "{host}");
    }
    let levels = of("oss1", "in_flight");
    assert_eq!(levels.len(), 61, "nothing is repeated where nothing was sampled");
    assert!(levels.iter().all(|(second, (_, value))| second / 15 == *value));
    assert!(noted(&told, NoteKind::Recognised, "answers to queries") > 2, "{told:?}");
    let again = import_from_prometheus(&url, &HOUR, &store, &mapping).unwrap().imported;
    assert_eq!((again.samples, again.already_there), (0, told.imported.samples));
    // What it says of a query that it does not understand is told.
    let wrong = mapped("[columns]\nread_bytes = 'sum('\n");
    let error = import_from_prometheus(&url, &HOUR, &store, &wrong).unwrap_err().to_string();
    assert!(error.contains("status 400") && error.contains("parse error"), "{error}");
}
