//! `stow run` on two nodes with caches of their own: each has a mount of the volume at the same path, a host name and shared memory to itself.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::Gluster;
use crate::support::command::{Outcome, binary};
use crate::support::recording::{has, library, python};

pub const NODES: usize = 2;

/// A volume with a mount for each node, and in it a directory whose files are containers, and two targets.
pub struct Cluster {
    volume: Gluster,
    second: PathBuf,
}

impl Cluster {
    pub fn up() -> Option<Self> {
        if !has(&["unshare"]) {
            eprintln!("SKIPPED: needs unshare");
            return None;
        }
        let mut volume = Gluster::up()?;
        let second = volume.mount_at("second");
        for name in ["run", "t0", "t1"] {
            fs::create_dir(volume.mount().join(name)).unwrap();
        }
        Some(Cluster { volume, second })
    }

    /// A command line of the shell that makes the process one of a node.
    pub fn entry(&self, node: usize) -> String {
        let (first, second) = (self.volume.mount(), &self.second);
        let mount = match node {
            0 => String::new(),
            _ => format!("mount --bind '{}' '{}' && ", second.display(), first.display()),
        };
        format!(
            "hostname node{node} && mount -t tmpfs none /dev/shm && {mount}cd '{}'",
            self.at("").display()
        )
    }

    pub fn at(&self, name: &str) -> PathBuf {
        self.volume.mount().join("run").join(name)
    }

    /// What makes the files of the program behind it containers.
    pub fn stow_run(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> = vec![binary().get_program().into()];
        words.extend(["stow", "run", "--quiet", "--mount"].map(OsString::from));
        words.extend([self.at("").into(), "--targets".into()]);
        words.extend(["t0", "t1"].map(|name| self.volume.mount().join(name).into()));
        words.push("--".into());
        words
    }

    /// A program below `stow run` on a node.
    fn command(&self, node: usize, program: &[&str]) -> Command {
        let mut command = Command::new("timeout");
        let prepare = format!("{} && exec \"$0\" \"$@\"", self.entry(node));
        command.args(["--kill-after=5", "300", "unshare", "-u", "-m", "sh", "-c", &prepare]);
        command.args(self.stow_run()).args(program).env("PLIMSOLL_LIBRARY", library());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs a script of Python on all nodes at once; it knows its node as `NODE`.
    fn everywhere(&self, script: &str) -> Vec<String> {
        let start = |node: usize| {
            let script = format!("NODE = {node}\n{script}");
            self.command(node, &[python(), "-c", &script]).spawn().unwrap()
        };
        let children: Vec<_> = (0..NODES).map(start).collect();
        let end = |child: std::process::Child| -> String {
            let outcome: Outcome = child.wait_with_output().unwrap().into();
            assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
            outcome.stdout
        };
        children.into_iter().map(end).collect()
    }
}

/// This file system cannot exchange names, nor give one only where nothing has it.
#[test]
fn files_are_removed_and_replaced() {
    let Some(cluster) = Cluster::up() else { return };
    let script = "
import os
for size in [10, 1000000]:
    for name in ['old', 'new', 'gone']:
        open(name, 'wb').write(name[0].encode() * size)
    os.remove('gone')
    os.replace('new', 'old')
    assert open('old', 'rb').read() == b'n' * size
    assert os.listdir('.') == ['old'], os.listdir('.')
    os.remove('old')
";
    let outcome: Outcome = cluster.command(0, &[python(), "-c", script]).output().unwrap().into();
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let left = fs::read_dir(cluster.at("")).unwrap().count();
    assert_eq!(left, 0, "nothing is hidden either");
}

/// As a program leaves it that is killed while it renames over a file. A rank is the process that its launcher started, and does nothing after the program.
#[test]
fn what_made_room_has_its_name_again_when_the_program_starts() {
    let Some(cluster) = Cluster::up() else { return };
    for rank in [None, Some("0")] {
        fs::write(cluster.at(".plimsoll-stow-old-0123456789abcdef-checkpoint"), "old").unwrap();
        let mut command = cluster.command(0, &["sh", "-c", "cat checkpoint; rm checkpoint"]);
        rank.map(|rank| command.env("PMI_RANK", rank));
        let outcome: Outcome = command.output().unwrap().into();
        assert_eq!(outcome.stdout, "old", "{}", outcome.stderr);
    }
}

#[test]
fn locks_order_what_two_nodes_change() {
    let Some(cluster) = Cluster::up() else { return };
    let script = "
import fcntl, os
for name, lock in [('range', fcntl.lockf), ('whole', fcntl.flock)]:
    f = os.open(name, os.O_CREAT | os.O_RDWR)
    for i in range(60):
        lock(f, fcntl.LOCK_EX)
        count = int(os.pread(f, 8, 0) or b'0')
        os.pwrite(f, b'%08d' % (count + 1), 0)
        lock(f, fcntl.LOCK_UN)
    os.close(f)";
    cluster.everywhere(script);
    for name in ["range", "whole"] {
        let script = format!("import os; print(os.pread(os.open('{name}', os.O_RDONLY), 8, 0))");
        assert_eq!(cluster.everywhere(&script), ["b'00000120'\n"; NODES], "{name}");
    }
}

/// Nothing but the lock says which of two writes is the later one, as neither reads what the other has written.
#[test]
fn the_last_one_to_have_a_lock_wrote_last() {
    let Some(cluster) = Cluster::up() else { return };
    let script = "
import fcntl, os, time
f = os.open('file', os.O_CREAT | os.O_RDWR)
turns = os.open('turns', os.O_CREAT | os.O_RDWR | os.O_APPEND)
for i in range(40):
    fcntl.lockf(f, fcntl.LOCK_EX)
    os.pwrite(f, b'%d %02d' % (NODE, i), 0)
    os.write(turns, b'%d %02d' % (NODE, i))
    fcntl.lockf(f, fcntl.LOCK_UN)
    # The other one's write, or this one's once more.
    fcntl.lockf(f, fcntl.LOCK_SH)
    last = os.pread(turns, 4, os.fstat(turns).st_size - 4)
    assert os.pread(f, 4, 0) == last, (NODE, i, os.pread(f, 4, 0), last)
    fcntl.lockf(f, fcntl.LOCK_UN)";
    cluster.everywhere(script);
}

#[test]
fn what_is_closed_on_one_node_is_read_on_the_other() {
    let Some(cluster) = Cluster::up() else { return };
    // Each writes a file in turns with the other, who waits for a name.
    let script = "
import os, time
def wait_for(name):
    while name not in os.listdir('.'): time.sleep(0.02)
kept = os.open('kept', os.O_CREAT | os.O_RDWR)
for turn in range(12):
    if turn % 2 == NODE:
        with open('file', 'r+' if turn else 'w') as f:
            f.seek(turn * 700); f.write(chr(97 + turn) * 1000)
        another = os.dup(kept); os.pwrite(another, b'%d' % turn * 10, turn * 10); os.close(another)
        open('turn-%d' % turn, 'w').close()
    else:
        wait_for('turn-%d' % turn)
    expected = ''.join(chr(97 + it) * 700 for it in range(turn)) + chr(97 + turn) * 1000
    with open('file') as f: assert f.read() == expected, (NODE, turn)
    assert os.stat('file').st_size == len(expected)
    again = os.open('kept', os.O_RDONLY)
    assert os.pread(again, 10, turn * 10) == (b'%d' % turn * 10)[:10], (NODE, turn)
    os.close(again)
    open('seen-%d-%d' % (turn, NODE), 'w').close(); wait_for('seen-%d-%d' % (turn, 1 - NODE))
for i in range(40):
    with open('log', 'a') as log: log.write('%d %d\\n' % (NODE, i))
print('done')";
    assert_eq!(cluster.everywhere(script), ["done\n"; NODES]);
    let script = "
lines = sorted(open('log').read().split('\\n'))
assert lines == sorted([''] + ['%d %d' % (node, i) for node in range(2) for i in range(40)]), lines";
    cluster.everywhere(script);
    // Nothing is left of what both have used.
    let outcome = check(&cluster.at("file"));
    assert_eq!(outcome.status, Some(0), "{}{}", outcome.stdout, outcome.stderr);
}

/// All nodes make the same files at the same time.
#[test]
fn a_file_that_both_make_is_one() {
    let Some(cluster) = Cluster::up() else { return };
    let script = "
import os
made = 0
for i in range(25):
    f = os.open('file-%d' % i, os.O_CREAT | os.O_RDWR)
    os.pwrite(f, b'%d' % NODE, NODE); os.close(f)
    try: os.close(os.open('own-%d' % i, os.O_CREAT | os.O_EXCL | os.O_RDWR)); made += 1
    except FileExistsError: pass
print(made)";
    let made = cluster.everywhere(script);
    let made: usize = made.iter().map(|it| it.trim().parse::<usize>().unwrap()).sum();
    assert_eq!(made, 25, "each of them by one");
    let script = "
for i in range(25): assert open('file-%d' % i).read() == '01', (i, open('file-%d' % i).read())";
    cluster.everywhere(script);
}

fn check(container: &Path) -> Outcome {
    binary().args(["stow", "check"]).arg(container).output().unwrap().into()
}
