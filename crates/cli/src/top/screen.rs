//! The terminal that the live view takes, and gives back however it ends.

use std::io::stdout;
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use plimsoll_live::{Key, Pressed, Snapshot, View};
use plimsoll_process::TakenTerminal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyModifiers};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{EnterAlternateScreen, enable_raw_mode};
use ratatui::prelude::CrosstermBackend;
use ratatui::{DefaultTerminal, Terminal};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};

use super::followed::FollowedSource;
use crate::interruption::Interruption;

/// Signals that end the view. It has a terminal, so that somebody who ignores SIGHUP for it has no use of that.
const SIGNALS: [i32; 4] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT];

/// A signal or a new snapshot is noticed after this time at most.
const NOTICED: Duration = Duration::from_millis(100);

/// A look takes at most this share of the time: a large store is looked at less often.
const LOOKS_PER_TIME: u32 = 4;

/// Shows what is followed until the person leaves.
pub fn show(source: FollowedSource, interval: Duration, has_colours: bool) -> Result<ExitCode> {
    let interruption = Interruption::watch_for(&SIGNALS)?;
    let mut view = View::new(has_colours);
    view.take(source.snapshot());
    let snapshots = follow(source, interval)?;
    let mut screen = Screen::enter()?;
    let outcome = screen.run(&mut view, &snapshots, &interruption);
    drop(screen);
    match outcome? {
        Pressed::Quit if interruption.is_asked() => Ok(interruption.exit_code()),
        _ => Ok(ExitCode::SUCCESS),
    }
}

/// Looks again and again in a thread of its own, so that keys never wait for a store. It ends when nobody takes snapshots.
fn follow(mut source: FollowedSource, interval: Duration) -> Result<Receiver<Snapshot>> {
    let (sender, snapshots) = sync_channel(1);
    let work = move || {
        let mut next = Instant::now() + interval;
        loop {
            thread::sleep(next.saturating_duration_since(Instant::now()));
            let begun = Instant::now();
            source.look_again();
            if sender.send(source.snapshot()).is_err() {
                return;
            }
            let now = Instant::now();
            let least = now + (now - begun) * (LOOKS_PER_TIME - 1);
            next = (next + interval).max(least);
        }
    };
    let thread = thread::Builder::new().name("look".to_owned());
    thread.spawn(work).context("cannot start a thread")?;
    Ok(snapshots)
}

/// The terminal in its raw state, on its other screen.
struct Screen {
    terminal: DefaultTerminal,
    _taken: TakenTerminal,
}

impl Screen {
    fn enter() -> Result<Self> {
        let wrong = "cannot take over the terminal";
        let taken = TakenTerminal::take().context(wrong)?;
        enable_raw_mode().context(wrong)?;
        execute!(stdout(), EnterAlternateScreen).context(wrong)?;
        let terminal = Terminal::new(CrosstermBackend::new(stdout())).context(wrong)?;
        Ok(Screen { terminal, _taken: taken })
    }

    fn run(
        &mut self,
        view: &mut View,
        snapshots: &Receiver<Snapshot>,
        interruption: &Interruption,
    ) -> Result<Pressed> {
        let mut has_changed = true;
        while !interruption.is_asked() {
            match snapshots.try_recv() {
                Ok(snapshot) => {
                    view.take(snapshot);
                    has_changed = true;
                }
                Err(TryRecvError::Empty) => {}
                Err(TryRecvError::Disconnected) => bail!("nothing is looked at any more"),
            }
            if has_changed {
                let drawn = self.terminal.draw(|frame| view.draw(frame));
                drawn.context("cannot write to the terminal")?;
            }
            has_changed = event::poll(NOTICED).or_else(retry).context("cannot wait for keys")?;
            if has_changed {
                match event::read().context("cannot read keys")? {
                    Event::Key(key) if is_interrupt(&key) => interruption.note(SIGINT),
                    Event::Key(key) if key.is_press() => {
                        let pressed = key_of(&key).map(|key| view.press(key));
                        if pressed == Some(Pressed::Quit) {
                            return Ok(Pressed::Quit);
                        }
                    }
                    _ => {}
                }
            }
        }
        Ok(Pressed::Quit)
    }
}

/// A signal while waiting is no failure.
fn retry(error: std::io::Error) -> std::io::Result<bool> {
    if error.kind() == std::io::ErrorKind::Interrupted { Ok(false) } else { Err(error) }
}

/// In a raw terminal, Ctrl-C is a key.
fn is_interrupt(key: &KeyEvent) -> bool {
    key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL)
}

fn key_of(key: &KeyEvent) -> Option<Key> {
    Some(match key.code {
        KeyCode::Char(character) => Key::Character(character),
        KeyCode::Enter => Key::Enter,
        KeyCode::Esc => Key::Escape,
        KeyCode::Backspace => Key::Backspace,
        KeyCode::Tab => Key::Tab,
        KeyCode::BackTab => Key::BackTab,
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        _ => return None,
    })
}
