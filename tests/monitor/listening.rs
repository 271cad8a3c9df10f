//! Trouble with those who ask for metrics is not trouble with sampling.

use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;

/// More than are answered at once.
const SILENT: usize = 100;

/// A captured server with more files than it may have open, each with a number.
fn many_targets(root: &Path, count: usize) {
    for target in 0..count {
        let folder = root.join(format!("proc/fs/lustre/obdfilter/scratch-OST{target:04x}"));
        fs::create_dir_all(&folder).unwrap();
        for name in
            ["kbytestotal", "kbytesfree", "kbytesavail", "filestotal", "filesfree", "num_exports"]
        {
            fs::write(folder.join(name), "100\n").unwrap();
        }
    }
}

fn counter(page: &str, name: &str) -> u64 {
    let value = page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    value.unwrap().parse().unwrap()
}

/// Keeps connections open that say nothing, and opens those again that were closed, until it is told to stop.
fn keep_silent(address: &str, is_over: &AtomicBool) {
    let mut silent: Vec<TcpStream> = Vec::new();
    while !is_over.load(Ordering::Relaxed) {
        silent.retain(|it| matches!(it.peek(&mut [0]), Err(error) if error.kind() == std::io::ErrorKind::WouldBlock));
        while silent.len() < SILENT {
            let Ok(stream) = TcpStream::connect(address) else { break };
            stream.set_nonblocking(true).unwrap();
            silent.push(stream);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// They took the descriptors with which it looks for targets, and all targets were recorded as gone.
#[test]
fn silent_connections_make_no_target_absent() {
    let root = tempfile::tempdir().unwrap();
    many_targets(root.path(), 60);
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -n 256 && exec \"$0\" \"$@\""]).arg(binary().get_program());
    command.args(["monitor", "--interval", "100ms", "--listen", "127.0.0.1:0", "--root"]);
    let service = Service::start(command.arg(root.path()));
    let address = address_in(&service.line("metrics are at http://"));
    page_with(&address, "lustre_target_present{");
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| keep_silent(&address, &is_over));
        let asked = std::panic::catch_unwind(|| {
            let scrapes = |page: &str| counter(page, "plimsoll_monitor_scrapes_total");
            let mut first = None;
            let begin = Instant::now();
            loop {
                assert!(begin.elapsed() < PATIENCE, "nobody is answered");
                // Among so many, it may be this one that has to go.
                let Some(page) = try_get(&address, "/metrics") else { continue };
                let present: Vec<&str> =
                    page.lines().filter(|it| it.starts_with("lustre_target_present{")).collect();
                assert_eq!(present.len(), 60, "{page}");
                assert!(present.iter().all(|it| it.ends_with("} 1")), "{present:#?}");
                assert_eq!(counter(&page, "plimsoll_monitor_unreadable_files_total"), 0);
                if scrapes(&page) > *first.get_or_insert(scrapes(&page)) + 20 {
                    break;
                }
            }
        });
        is_over.store(true, Ordering::Relaxed);
        if let Err(cause) = asked {
            std::panic::resume_unwind(cause);
        }
    });
    assert_eq!(service.end(), Some(143));
}

#[test]
fn a_port_that_somebody_else_has_keeps_no_sample_from_being_stored() {
    let folder = tempfile::tempdir().unwrap();
    let (root, store) = (folder.path().join("root"), folder.path().join("store"));
    oss(&root);
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let run = |with_store: bool| {
        let mut command = binary();
        command.args(["monitor", "--interval", "100ms", "--listen", &address, "--root"]).arg(&root);
        if with_store {
            command.arg("--store").arg(&store);
        }
        Service::start(&mut command)
    };
    let mut alone = run(false);
    alone.line(&format!("cannot listen at {address}; hint: choose another with --listen"));
    assert_eq!(
        alone.child.wait().unwrap().code(),
        Some(2),
        "without a store there is nothing to do"
    );
    let service = run(true);
    service.line(&format!("warning: cannot listen at {address}: Address already in use"));
    let bytes = || {
        let entries = fs::read_dir(&store).into_iter().flatten();
        entries.map(|it| it.unwrap().metadata().map_or(0, |it| it.len())).sum::<u64>()
    };
    let (first, deadline) = (bytes(), Instant::now() + PATIENCE);
    while bytes() < first + 1000 {
        assert!(Instant::now() < deadline, "nothing is stored");
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(taken);
    service.line(&format!("metrics are at http://{address}/metrics"));
    let page = page_with(&address, "lustre_write_bytes_total{");
    assert!(counter(&page, "plimsoll_monitor_stored_samples_total") > 0, "{page}");
    assert_eq!(service.end(), Some(143));
}
