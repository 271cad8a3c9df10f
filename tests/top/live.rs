//! The live view in a terminal of its own: it gives the terminal back however it ends.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, prlimit};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

use crate::support::command::binary;

/// Far more than anything here takes, also on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A terminal with the view in it.
struct Screen {
    child: Child,
    keys: File,
    terminal: OwnedFd,
    shown: Arc<Mutex<Vec<u8>>>,
    before: LocalModes,
}

impl Screen {
    fn open(arguments: &[&str]) -> Self {
        Self::open_in(&[], arguments)
    }

    /// In an environment with more in it.
    fn open_in(environment: &[(&str, &str)], arguments: &[&str]) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let terminal =
            rustix::fs::open(&name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
        let size = Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&terminal, size).unwrap();
        let before = tcgetattr(&terminal).unwrap().local_modes;
        // Its own session: it must not find the terminal that the tests are run in.
        let plimsoll = binary();
        let mut command = Command::new("setsid");
        command.arg(plimsoll.get_program()).args(arguments).env("TERM", "xterm");
        command.envs(environment.iter().copied());
        let side = || Stdio::from(terminal.try_clone().unwrap());
        let child = command.stdin(side()).stdout(side()).stderr(side()).spawn().unwrap();
        let keys = File::from(master);
        let (shown, mut from) = (Arc::new(Mutex::new(Vec::new())), keys.try_clone().unwrap());
        let into = shown.clone();
        std::thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(length @ 1..) = from.read(&mut piece) {
                into.lock().unwrap().extend_from_slice(&piece[..length]);
            }
        });
        Screen { child, keys, terminal, shown, before }
    }

    fn shown(&self) -> String {
        String::from_utf8_lossy(&self.shown.lock().unwrap()).into_owned()
    }

    fn wait_for(&self, words: &str) {
        let deadline = Instant::now() + PATIENCE;
        while !self.shown().contains(words) {
            assert!(Instant::now() < deadline, "no {words:?} in {:?}", self.shown());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    /// Makes it so large that a frame takes some hundred megabytes.
    fn make_huge(&self) {
        let size = Winsize { ws_row: 2000, ws_col: 2000, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&self.terminal, size).unwrap();
        kill_process(Pid::from_child(&self.child), Signal::WINCH).unwrap();
    }

    fn modes(&self) -> LocalModes {
        tcgetattr(&self.terminal).unwrap().local_modes
    }

    /// Waits for the end, and returns the status. The terminal must be as it was, on its own screen and with a cursor.
    #[track_caller]
    fn ended(&mut self) -> Option<i32> {
        let deadline = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(Instant::now() < deadline, "it does not end");
            std::thread::sleep(Duration::from_millis(20));
        };
        assert_eq!(self.modes(), self.before, "the terminal is as before");
        self.wait_for("\u{1b}[?1049l");
        self.wait_for("\u{1b}[?25h");
        let shown = self.shown();
        assert!(shown.rfind("\u{1b}[?1049l") > shown.rfind("\u{1b}[?1049h"), "{shown:?}");
        assert!(shown.rfind("\u{1b}[?25h") > shown.rfind("\u{1b}[?25l"), "{shown:?}");
        status.code()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn keys_work_and_the_terminal_is_given_back() {
    let mut screen = Screen::open(&["top", "--store", &super::history()]);
    screen.wait_for("scratch-OST0001");
    assert!(!screen.modes().contains(LocalModes::ICANON), "keys come at once");
    screen.wait_for("\u{1b}[?1049h");
    screen.press("/OST0001\r\r");
    screen.wait_for("scratch-OST0001, ost of scratch");
    screen.press("q");
    assert_eq!(screen.ended(), Some(0));
}

#[test]
fn every_way_to_end_it_gives_the_terminal_back() {
    for (signal, status) in
        [(Signal::TERM, 143), (Signal::HUP, 129), (Signal::QUIT, 131), (Signal::INT, 130)]
    {
        let mut screen = Screen::open(&["top"]);
        screen.wait_for("plimsoll top");
        // Two at once, as some who want it to end are impatient.
        for _ in 0..2 {
            kill_process(Pid::from_child(&screen.child), signal).unwrap();
        }
        assert_eq!(screen.ended(), Some(status), "{signal:?}");
    }
    let mut screen = Screen::open(&["top"]);
    screen.wait_for("plimsoll top");
    screen.press("\u{3}");
    assert_eq!(screen.ended(), Some(130), "Ctrl-C");
}

#[test]
fn an_abort_and_a_lack_of_memory_give_the_terminal_back() {
    let mut screen = Screen::open(&["top"]);
    screen.wait_for("plimsoll top");
    kill_process(Pid::from_child(&screen.child), Signal::ABORT).unwrap();
    assert_eq!(screen.ended(), None, "a signal ended it");

    // The program's own limit.
    let mut screen = Screen::open_in(&[("PLIMSOLL_MEMORY", "64MiB")], &["top"]);
    screen.wait_for("plimsoll top");
    screen.make_huge();
    assert_eq!(screen.ended(), Some(2));
    let shown = screen.shown();
    assert!(shown.rfind("of memory; hint") > shown.rfind("\u{1b}[?1049l"), "{shown:?}");

    // The system's.
    let mut screen = Screen::open(&["top"]);
    screen.wait_for("plimsoll top");
    let pid = Pid::from_child(&screen.child);
    let status = format!("/proc/{}/status", pid.as_raw_pid());
    let status = std::fs::read_to_string(status).unwrap();
    let kib = status.lines().find_map(|line| line.strip_prefix("VmSize:")).unwrap();
    let kib: u64 = kib.trim().trim_end_matches(" kB").parse().unwrap();
    let most = Some((kib << 10) + (16 << 20));
    let limit = Rlimit { current: most, maximum: most };
    prlimit(Some(pid), Resource::As, limit).unwrap();
    screen.make_huge();
    assert_eq!(screen.ended(), None, "a signal ended it");
}

#[test]
fn what_is_wrong_from_the_start_is_said_on_the_terminals_own_screen() {
    let mut screen = Screen::open(&["top", "--store", "/no/such/place"]);
    let status = screen.child.wait().unwrap();
    assert_eq!(status.code(), Some(2));
    screen.wait_for("/no/such/place");
    assert!(!screen.shown().contains("\u{1b}[?1049h"));
    assert_eq!(screen.modes(), screen.before);
}
