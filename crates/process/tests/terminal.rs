//! A terminal is as before after a panic, and the message of the panic is on its own screen.

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsRawFd, FromRawFd};
use std::process::{Command, Stdio};

use plimsoll_process::TakenTerminal;

/// Set where this program is to take its terminal and to panic.
const ROLE: &str = "PROCESS_TAKES_TERMINAL";

#[test]
fn a_panic_gives_the_terminal_back_before_it_is_told() {
    let (screen, terminal) = terminal();
    let before = modes(&terminal);
    let mut program = Command::new(std::env::current_exe().unwrap());
    program.args(["--exact", "take_the_terminal_and_panic_if_asked", "--nocapture"]);
    let side = || Stdio::from(terminal.try_clone().unwrap());
    program.env(ROLE, "1").env("RUST_BACKTRACE", "0").stdin(side()).stdout(side()).stderr(side());
    let status = program.status().unwrap();
    assert!(!status.success());
    assert_eq!(modes(&terminal).c_lflag, before.c_lflag);
    drop((terminal, program));
    let shown = all_of(screen);
    let place = |words: &str| shown.rfind(words).unwrap_or_else(|| panic!("{words:?}: {shown:?}"));
    assert!(place("\u{1b}[?1049h") < place("\u{1b}[?1049l"), "{shown:?}");
    assert!(place("\u{1b}[?25l") < place("\u{1b}[?25h"), "{shown:?}");
    assert!(place("\u{1b}[?1049l") < place("the view panics"), "{shown:?}");
    assert_eq!(shown.matches("\u{1b}[?1049l").count(), 1, "the cursor is put back once: {shown:?}");
}

#[test]
fn take_the_terminal_and_panic_if_asked() {
    if std::env::var_os(ROLE).is_none() {
        return;
    }
    let _taken = TakenTerminal::take().unwrap();
    let mut raw = modes(&std::io::stdout());
    raw.c_lflag &= !(libc::ICANON | libc::ECHO);
    // SAFETY: the pointer is to modes that live through the call.
    assert_eq!(unsafe { libc::tcsetattr(1, libc::TCSANOW, &raw) }, 0);
    print!("\u{1b}[?1049h\u{1b}[?25l");
    std::io::Write::flush(&mut std::io::stdout()).unwrap();
    panic!("the view panics");
}

#[test]
fn what_is_no_terminal_is_refused() {
    if std::env::var_os(ROLE).is_some() || std::io::IsTerminal::is_terminal(&std::io::stdout()) {
        return;
    }
    assert!(TakenTerminal::take().is_err());
}

/// Returns both ends of a new terminal: what shows it, and what programs have.
fn terminal() -> (File, File) {
    let (mut screen, mut terminal) = (-1, -1);
    let none = std::ptr::null_mut();
    // SAFETY: the pointers are to room for two numbers; nothing else is asked for.
    let made = unsafe { libc::openpty(&mut screen, &mut terminal, none, none.cast(), none.cast()) };
    assert_eq!(made, 0);
    // SAFETY: both were opened just now, and belong to nobody else.
    unsafe { (File::from_raw_fd(screen), File::from_raw_fd(terminal)) }
}

fn modes(of: &impl AsRawFd) -> libc::termios {
    let mut modes = std::mem::MaybeUninit::uninit();
    // SAFETY: the pointer is to room for what it writes, and it is read only if it was written.
    unsafe {
        assert_eq!(libc::tcgetattr(of.as_raw_fd(), modes.as_mut_ptr()), 0);
        modes.assume_init()
    }
}

/// Returns all that was shown. Once nobody has the terminal, reading it fails at the end.
fn all_of(mut screen: File) -> String {
    let (mut shown, mut piece) = (Vec::new(), [0; 4096]);
    while let Ok(length @ 1..) = screen.read(&mut piece) {
        shown.extend_from_slice(&piece[..length]);
    }
    String::from_utf8_lossy(&shown).into_owned()
}
