//! Parts of large questions as tasks of a real Slurm: a controller and four nodes, all on this machine, that listen on 127.0.0.1 only.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::support::command::{Outcome, binary, json, plimsoll, text};
use crate::support::recording::{has, run_recorded};

const NODES: usize = 4;

/// A cluster, ended also when a test fails.
struct Slurm {
    folder: tempfile::TempDir,
    daemons: Vec<Child>,
}

impl Slurm {
    /// `None` with a word about what is missing.
    fn up() -> Option<Self> {
        let programs = ["slurmctld", "slurmd", "srun", "sbatch", "sinfo", "scancel", "munged"];
        if !rustix::process::geteuid().is_root() || !has(&programs) {
            eprintln!("SKIPPED: needs Slurm, MUNGE and root");
            return None;
        }
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let mut cluster = Slurm { folder, daemons: Vec::new() };
        cluster.configure();
        cluster.start_munge();
        cluster.start("slurmctld", &["-D", "-i", "-f"]);
        for node in 1..=NODES {
            cluster.start("slurmd", &["-D", "-N", &format!("n{node}"), "-f"]);
        }
        cluster.wait_for("nodes that are idle", |cluster| {
            let states = cluster.command("sinfo").args(["-h", "-N", "-o", "%t"]).output().unwrap();
            let states = String::from_utf8_lossy(&states.stdout).into_owned();
            states.lines().filter(|it| *it == "idle").count() == NODES
        });
        Some(cluster)
    }

    fn place(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn configure(&self) {
        let at = |name: &str| self.place(name).display().to_string();
        let ports: Vec<TcpListener> =
            (0..=NODES).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
        let ports: Vec<u16> = ports.iter().map(|it| it.local_addr().unwrap().port()).collect();
        let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
        let host = host.trim().split('.').next().unwrap();
        let mut text = format!(
            "ClusterName=plimsoll\nSlurmctldHost={host}(127.0.0.1)\nSlurmctldPort={}\n\
             AuthType=auth/munge\nAuthInfo=socket={}\nCredType=cred/munge\nSlurmUser=root\nSlurmdUser=root\n\
             StateSaveLocation={}\nSlurmdSpoolDir={}\nTmpFS={}\nSlurmctldPidFile={}\nSlurmdPidFile={}\n\
             SlurmctldLogFile={}\nSlurmdLogFile={}\nProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\n\
             JobAcctGatherType=jobacct_gather/none\nMpiDefault=none\nReturnToService=2\n\
             SlurmdParameters=config_overrides\nCommunicationParameters=NoCtldInAddrAny,NoInAddrAny\n",
            ports[0],
            at("munge.socket"),
            at("state"),
            at("spool-%n"),
            at("tmp-%n"),
            at("slurmctld.pid"),
            at("slurmd-%n.pid"),
            at("slurmctld.log"),
            at("slurmd-%n.log"),
        );
        for (node, port) in (1..=NODES).zip(&ports[1..]) {
            text += &format!(
                "NodeName=n{node} NodeHostname=localhost NodeAddr=127.0.0.1 Port={port} CPUs=2 RealMemory=1000 State=UNKNOWN\n"
            );
            fs::create_dir(self.place(&format!("tmp-n{node}"))).unwrap();
            fs::create_dir(self.place(&format!("spool-n{node}"))).unwrap();
        }
        text += "PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n";
        fs::create_dir(self.place("state")).unwrap();
        fs::write(self.place("slurm.conf"), text).unwrap();
    }

    fn start_munge(&mut self) {
        let key: Vec<u8> = (0..=255).collect();
        fs::write(self.place("munge.key"), key).unwrap();
        let mut command = Command::new("munged");
        command.args(["--foreground", "--force"]);
        for (option, name) in [
            ("--key-file", "munge.key"),
            ("--socket", "munge.socket"),
            ("--pid-file", "munge.pid"),
            ("--log-file", "munge.log"),
            ("--seed-file", "munge.seed"),
        ] {
            command.arg(format!("{option}={}", self.place(name).display()));
        }
        self.spawn(command, "munged");
        self.wait_for("MUNGE", |cluster| cluster.place("munge.socket").exists());
    }

    fn start(&mut self, program: &str, arguments: &[&str]) {
        let mut command = self.command(program);
        command.args(arguments).arg(self.place("slurm.conf"));
        self.spawn(command, program);
    }

    fn spawn(&mut self, mut command: Command, program: &str) {
        let mut options = fs::File::options();
        let log = options.append(true).create(true);
        let log = log.open(self.place(&format!("{program}.out"))).unwrap();
        command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        self.daemons.push(command.spawn().unwrap());
    }

    /// A program of Slurm's, for this cluster.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("SLURM_CONF", self.place("slurm.conf")).env("NO_COLOR", "1");
        command.current_dir(self.folder.path());
        command
    }

    /// Runs a program of Slurm's to its end, which comes.
    fn run(&self, program: &str, arguments: &[&str]) -> Outcome {
        let mut command = self.command("timeout");
        command.arg("300").arg(program).args(arguments);
        let outcome: Outcome = command.output().unwrap().into();
        let logs = || fs::read_to_string(self.place("slurmctld.log")).unwrap_or_default();
        assert_eq!(outcome.status, Some(0), "{arguments:?}: {}\n{}", outcome.stderr, logs());
        outcome
    }

    fn wait_for(&self, what: &str, is_there: impl Fn(&Self) -> bool) {
        let started = Instant::now();
        while !is_there(self) {
            let logs: String = ["munged.out", "slurmctld.log", "slurmd-n1.log", "slurmd.out"]
                .iter()
                .map(|name| fs::read_to_string(self.place(name)).unwrap_or_default())
                .collect();
            assert!(started.elapsed() < Duration::from_secs(120), "no {what}: {logs}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

impl Drop for Slurm {
    fn drop(&mut self) {
        // What a failed test left running; without jobs it ends at once.
        let cancel = ["20", "scancel", "--quiet", "--user=root"];
        let _ = self.command("timeout").args(cancel).output();
        for daemon in self.daemons.iter_mut().rev() {
            let pid = Pid::from_child(daemon);
            let _ = kill_process(pid, Signal::TERM);
            let started = Instant::now();
            while daemon.try_wait().is_ok_and(|it| it.is_none()) {
                if started.elapsed() > Duration::from_secs(20) {
                    let _ = daemon.kill();
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        }
    }
}

fn program() -> String {
    binary().get_program().to_str().unwrap().to_string()
}

#[test]
fn steps_and_arrays_make_parts_that_give_the_whole() {
    let Some(cluster) = Slurm::up() else { return };
    let place = |name: &str| cluster.place(name).display().to_string();
    let (store, parts) = (place("history"), place("parts"));
    json(&format!("synth --store {store} --days 4 --targets 3"));
    let whole = text(&format!("analyze --store {store} --json"));
    let program = program();

    // Four tasks on four nodes.
    let task = [&program, "analyze", "--store", &store, "--into", &parts];
    cluster.run("srun", &[&["-N4", "-n4"], &task[..]].concat());
    let mut names: Vec<String> = fs::read_dir(&parts)
        .unwrap()
        .map(|it| it.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["part-0-of-4", "part-1-of-4", "part-2-of-4", "part-3-of-4"]);
    assert_eq!(text(&format!("analyze --merge {parts} --json")), whole);

    // An array of seven jobs whose indices are 1, 3, ... 13.
    let parts = place("array");
    let script = format!("{program} analyze --store {store} --into {parts}");
    let submit = |array: &str, script: &str| {
        let output = place("job-%a.out");
        cluster.run("sbatch", &["--wait", array, "-o", &output, "--wrap", script]);
    };
    submit("--array=1-13:2", &script);
    assert_eq!(text(&format!("analyze --merge {parts} --json")), whole);

    // A task that was lost is run again.
    fs::remove_file(Path::new(&parts).join("part-5-of-7")).unwrap();
    let refused = plimsoll(&format!("analyze --merge {parts}"));
    assert_eq!(refused.status, Some(2));
    assert!(refused.stderr.contains("1 of 7 parts in"), "{}", refused.stderr);
    assert!(refused.stderr.contains("is absent: 5;"), "{}", refused.stderr);
    submit("--array=11", &format!("{script} --part 5/7"));
    assert_eq!(text(&format!("analyze --merge {parts} --json")), whole);

    // The processes of a recording are divided in the same way.
    let recording = cluster.place("recording");
    let write = "for i in 1 2 3; do dd if=/dev/zero of=out$i bs=64k count=$i 2>/dev/null; done";
    let script = format!("cd {} && {write}", cluster.folder.path().display());
    assert_eq!(run_recorded(&recording, &["sh", "-c", &script]).status, Some(0));
    let (recording, parts) = (recording.display().to_string(), place("recorded"));
    let whole = text(&format!("report {recording} --json"));
    cluster.run("srun", &["-N2", "-n2", &program, "report", &recording, "--into", &parts]);
    assert_eq!(text(&format!("report --merge {parts} --json")), whole);
}
