//! A backend serves calls instead of the kernel: the one for tests stores every byte inverted, and each file under
//! another name, so that whatever goes past it shows.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use plimsoll_trace::Op;

use crate::support::command::Outcome;
use crate::support::recording::{build_library, calls, processes, program, python, record};

fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| build_library("inverted-backend", "inverted-backend"))
}

/// The program that makes calls in groups.
fn served() -> &'static str {
    static PROGRAM: OnceLock<String> = OnceLock::new();
    PROGRAM.get_or_init(|| program("served.c", "cc", &[]).to_str().unwrap().to_string())
}

/// A directory whose files are stored inverted.
struct InvertedDirectory {
    folder: tempfile::TempDir,
}

impl InvertedDirectory {
    fn new() -> Self {
        InvertedDirectory { folder: tempfile::tempdir_in("/var/tmp").unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn run<S: AsRef<OsStr>>(&self, command: &[S]) -> Outcome {
        let (program, arguments) = command.split_first().unwrap();
        let mut command = Command::new(program);
        command.args(arguments).current_dir(self.folder.path());
        command.env("LD_PRELOAD", library()).env("PLIMSOLL_INVERTED_DIR", self.folder.path());
        command.output().unwrap().into()
    }

    /// What a program printed that did its work.
    #[track_caller]
    fn output<S: AsRef<OsStr>>(&self, command: &[S]) -> String {
        let outcome = self.run(command);
        assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""));
        outcome.stdout
    }

    /// How often the backend noted this.
    fn noted(&self, what: &str) -> usize {
        let notes = fs::read_to_string(self.path("NOTES")).unwrap_or_default();
        notes.lines().filter(|line| *line == what).count()
    }

    /// Names in the directory that are not the backend's.
    fn strange_names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| !name.ends_with(".inverted") && name != "NOTES").collect()
    }

    /// Runs a group of calls of tests/programs/served.c, of which none may go past the backend.
    #[track_caller]
    fn serve(group: &str) -> Self {
        let inverted = InvertedDirectory::new();
        inverted.output(&[served(), group]);
        assert_eq!(inverted.strange_names(), [""; 0], "{group}");
        inverted
    }

    /// What is stored of a file, not inverted any more.
    fn stored(&self, name: &str) -> Vec<u8> {
        let stored = fs::read(self.path(&format!("{name}.inverted"))).unwrap();
        stored.into_iter().map(|byte| !byte).collect()
    }
}

#[test]
fn programs_see_their_files_where_something_else_is_stored() {
    let inverted = InvertedDirectory::new();
    let plain = tempfile::NamedTempFile::new().unwrap();
    let text: String = (1..=20_000).map(|line| format!("{line}\n")).collect();
    fs::write(&plain, &text).unwrap();
    inverted.output(&["cp", plain.path().to_str().unwrap(), "a"]);
    assert!(!inverted.path("a").exists());
    assert_eq!(inverted.stored("a"), text.as_bytes());
    assert_eq!(inverted.output(&["cat", "a"]), text);
    assert_eq!(inverted.output(&["tail", "-1", "a"]), "20000\n");
    assert_eq!(
        inverted.output(&["grep", "-c", "7", "a"]),
        format!("{}\n", text.lines().filter(|line| line.contains('7')).count())
    );
    assert_eq!(inverted.output(&["stat", "-c", "%s", "a"]), format!("{}\n", text.len()));
    inverted.output(&["dd", "if=a", "of=b", "bs=4k", "conv=fsync", "status=none"]);
    inverted.output(&["cp", "a", "c"]);
    inverted.output(&["cmp", "a", "c"]);
    inverted.output(&["mv", "c", "d"]);
    inverted.output(&["truncate", "-s", "5", "d"]);
    assert_eq!(inverted.stored("d"), b"1\n2\n3");
    // By a descriptor that another program opened.
    assert_eq!(inverted.output(&["bash", "-c", "cat < d"]), "1\n2\n3");
    inverted.output(&["rm", "a", "d"]);
    assert_eq!(inverted.stored("b"), text.as_bytes());
    // From the backend to elsewhere, as between file systems.
    inverted.output(&["mv", "b", plain.path().to_str().unwrap()]);
    assert_eq!(fs::read_to_string(plain.path()).unwrap(), text);
    let mut left: Vec<_> = fs::read_dir(inverted.folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    left.sort();
    assert_eq!(left, ["NOTES"]);
}

/// All kinds of requests, after everything that is open was closed twice.
const SCRIPT: &str = r#"
import errno, fcntl, mmap, os

def fails(expected, call):
    try:
        call()
    except OSError as error:
        assert error.errno == expected, error
    else:
        raise AssertionError("it should have failed")

os.write(os.open("warm", os.O_CREAT | os.O_WRONLY), b"the backend has its descriptor now")
os.closerange(3, 100000)
for number in range(3, 2000):
    try:
        os.close(number)
    except OSError:
        pass
f = os.open("f", os.O_CREAT | os.O_RDWR | os.O_EXCL)
fails(errno.EEXIST, lambda: os.open("f", os.O_CREAT | os.O_EXCL))
assert os.write(f, b"0123456789") == 10
assert os.writev(f, [b"ab", b"", b"cd"]) == 4
assert os.pwrite(f, b"Z", 3) == 1 and os.pwritev(f, [b"Y", b"X"], 4) == 2
assert os.lseek(f, 0, os.SEEK_SET) == 0 and os.read(f, 100) == b"012ZYX6789abcd"
parts = [bytearray(3), bytearray(100)]
assert os.preadv(f, parts, 9) == 5 and parts[0] == b"9ab" and parts[1][:2] == b"cd"
copy = os.dup(f)
os.dup2(f, 1000)
child = os.fork()
if child == 0:
    os.write(1000, b"child")
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
assert os.write(copy, b"parent") == 6
a = os.open("f", os.O_WRONLY | os.O_APPEND)
os.write(a, b"!")
assert os.pread(copy, 100, 14) == b"childparent!"
assert os.fstat(f).st_size == os.stat("f").st_size == os.stat(f).st_size == 26
os.ftruncate(f, 25); os.truncate("f", 24)
assert os.access("f", os.R_OK) and not os.access("g", os.F_OK)
fcntl.flock(f, fcntl.LOCK_EX); fcntl.lockf(f, fcntl.LOCK_UN); os.fsync(f); os.posix_fallocate(f, 0, 24)
fails(errno.ENODEV, lambda: mmap.mmap(f, 10))
out = os.open("/dev/null", os.O_WRONLY)
fails(errno.EINVAL, lambda: os.sendfile(out, f, 0, 5))
fails(errno.EXDEV, lambda: os.copy_file_range(f, os.open("/var/tmp", os.O_TMPFILE | os.O_RDWR), 5))
os.chmod("f", 0o600); os.rename("f", "g")
assert os.stat("g").st_mode & 0o777 == 0o600
fails(errno.ENOENT, lambda: os.unlink("f"))
os.close(1000); os.close(f)
assert os.pread(copy, 3, 0) == b"012"
"#;

#[test]
fn every_kind_of_request_reaches_a_backend() {
    let inverted = InvertedDirectory::new();
    inverted.output(&[python(), "-c", SCRIPT]);
    assert_eq!(inverted.stored("g"), b"012ZYX6789abcdchildparen");
    for request in ["seek", "status", "truncate", "allocate", "sync"] {
        assert_ne!(inverted.noted(request), 0, "{request}");
    }
    assert_eq!(inverted.noted("lock"), 2);
    assert_eq!(
        inverted.noted("write"),
        11,
        "its descriptor outlives everything that a program closes"
    );
}

/// Without this, expectations could be those of the backend for tests only.
#[test]
fn the_same_calls_do_the_same_without_a_backend() {
    for group in ["streams", "transfers", "directories", "names", "attributes"] {
        let plain = tempfile::tempdir_in("/var/tmp").unwrap();
        let run = Command::new(served()).arg(group).current_dir(plain.path()).output().unwrap();
        let outcome: Outcome = run.into();
        assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""), "{group}");
    }
}

#[test]
fn streams_of_a_backends_files_are_served() {
    let inverted = InvertedDirectory::serve("streams");
    let text = inverted.stored("text");
    assert!(text.starts_with(b"42 WORDs\na line\n!") && text.ends_with(b"end"));
    assert_eq!((text.len(), inverted.stored("second")), (17 + (1 << 20) + 3, b"first".to_vec()));
    assert_eq!((inverted.noted("sync"), inverted.noted("seek") > 2), (1, true));
}

#[test]
fn streams_that_cannot_get_a_backends_file_are_refused() {
    let inverted = InvertedDirectory::serve("refused_streams");
    assert_eq!(inverted.stored("old"), b"written");
}

#[test]
fn standard_streams_are_served_once_they_are_a_backends() {
    let inverted = InvertedDirectory::new();
    let script = format!("printf 'one\\ntwo\\n' | {} standard", served());
    assert_eq!(inverted.output(&["bash", "-c", &script]), "");
    assert_eq!(inverted.stored("out"), b"before & after\n");
    let error = String::from_utf8(inverted.stored("error")).unwrap();
    assert_eq!(error, "error: file: No such file or directory\n");
    assert_eq!(inverted.strange_names(), [""; 0]);
}

#[test]
fn shells_redirect_to_and_from_a_backends_files() {
    let inverted = InvertedDirectory::new();
    let script = "printf '%s\\n' b a c > one; sort < one > two; ls one two > list; echo more >> two; \
        ls none 2> error; mkdir -p d/e && cp one d/e && cp -r d f && rm -r f && tar cf d.tar d && tar tf d.tar > found; \
        (cd d/e && cat one > other); sed -i s/a/A/ one; ln -s one link; cat link";
    assert_eq!(inverted.output(&["bash", "-c", script]), "b\nA\nc\n");
    assert_eq!(inverted.stored("one"), b"b\nA\nc\n");
    assert_eq!(inverted.stored("two"), b"a\nb\nc\nmore\n");
    assert_eq!(inverted.stored("list"), b"one\ntwo\n");
    assert_eq!(inverted.stored("found"), b"d/\nd/e/\nd/e/one\n");
    assert_eq!(inverted.stored("d.inverted/e.inverted/other"), b"b\na\nc\n");
    assert!(inverted.stored("error").starts_with(b"ls: "));
    assert_eq!(inverted.strange_names(), [""; 0]);
}

#[test]
fn transfers_of_a_backends_files_are_done_at_once() {
    let inverted = InvertedDirectory::serve("transfers");
    assert_eq!(inverted.stored("aio"), b"oneone23456789");
    assert_eq!((inverted.noted("write"), inverted.noted("sync later")), (3, 1));
}

#[test]
fn transfers_that_cannot_be_served_are_refused() {
    let inverted = InvertedDirectory::serve("refused_transfers");
    assert_eq!(inverted.stored("aio"), b"");
    InvertedDirectory::serve("refused_blocks");
}

#[test]
fn names_and_directories_of_a_backend_are_served() {
    let inverted = InvertedDirectory::serve("directories");
    let mut left: Vec<_> = fs::read_dir(inverted.folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap().len())
        .collect();
    left.sort_unstable();
    let lengths = ["NOTES", "fileXXXXXX.inverted", "fileXXXXXX.inverted", "fileXXXXXX.c.inverted"];
    let lengths: Vec<_> =
        lengths.iter().chain(&["folderXXXXXX.inverted"]).map(|it| it.len()).collect();
    assert_eq!(left, lengths);
    let inverted = InvertedDirectory::serve("names");
    assert_eq!(fs::read_link(inverted.path("link.inverted")).unwrap(), Path::new("file.inverted"));
    assert_eq!((inverted.noted("change mode"), inverted.noted("sync all")), (1, 1));
}

#[test]
fn attributes_and_file_systems_are_asked_of_a_backend() {
    let inverted = InvertedDirectory::serve("attributes");
    let value = rustix::fs::getxattr(inverted.path("file.inverted"), "user.one", &mut [0; 16][..]);
    assert_eq!(value, Ok(5));
    assert_eq!((inverted.noted("list attributes"), inverted.noted("remove attribute")), (1, 1));
    InvertedDirectory::serve("file_systems");
}

#[test]
fn a_backend_hears_of_every_way_to_close() {
    assert_eq!(InvertedDirectory::serve("closes").noted("close"), 6);
}

/// Programs with many threads, forks, signal handlers that write, cancelled threads, and such that close everything
/// or are killed.
#[test]
fn hostile_programs_write_through_a_backend_as_without_it() {
    let traps = program("traps.c", "cc", &[]);
    for name in [
        "plain",
        "threads",
        "crowd",
        "forks",
        "vforks",
        "exec",
        "cancels",
        "close_all",
        "killed",
        "quick",
        "silent",
    ] {
        let inverted = InvertedDirectory::new();
        let plain = inverted.path("rec");
        let arguments = [traps.to_str().unwrap(), name, "out", "300"];
        let outcome = inverted.run(&arguments);
        assert_eq!(outcome.status, (name != "killed").then_some(0), "{name}: {}", outcome.stderr);
        fs::create_dir(&plain).unwrap();
        Command::new(arguments[0]).args(&arguments[1..]).current_dir(&plain).status().unwrap();
        let (stored, plain) = (inverted.stored("out"), fs::read(plain.join("out")).unwrap());
        assert_eq!(stored.len(), plain.len(), "{name}");
        for (at, (stored, plain)) in stored.chunks(16).zip(plain.chunks(16)).enumerate() {
            // A hole has zeros, whoever made it.
            let is_hole = plain.iter().all(|byte| *byte == 0);
            let expected = if is_hole { &[0xff; 16][..plain.len()] } else { plain };
            assert_eq!(stored, expected, "{name} at {}", at * 16);
        }
    }
}

#[test]
fn what_a_backend_serves_is_recorded_as_the_programs_call() {
    let inverted = InvertedDirectory::new();
    let traps = program("traps.c", "cc", &[]);
    let rec = inverted.path("rec");
    let outcome: Outcome = record(&rec)
        .args(["--", traps.to_str().unwrap(), "plain", "out", "500"])
        .env("PLIMSOLL_LIBRARY", library())
        .env("PLIMSOLL_INVERTED_DIR", inverted.folder.path())
        .current_dir(inverted.folder.path())
        .output()
        .unwrap()
        .into();
    assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""));
    let recorded = processes(&rec);
    assert_eq!(calls(&recorded, Op::Pwrite, "/out"), (500, 500 * 16));
    assert_eq!(calls(&recorded, Op::Fsync, "/out").0, 1);
    assert_eq!(inverted.stored("out").len(), 499 * 64 + 16);
}

/// Events of a group of calls, without times and numbers: file, operation, bytes.
fn events_of(group: &str, backend: bool) -> Vec<(String, &'static str, u64)> {
    let inverted = InvertedDirectory::new();
    let rec = tempfile::tempdir_in("/var/tmp").unwrap();
    let mut command = record(&rec.path().join("rec"));
    command.args(["--", served(), group]).current_dir(inverted.folder.path());
    command.env("PLIMSOLL_LIBRARY", library());
    if backend {
        command.env("PLIMSOLL_INVERTED_DIR", inverted.folder.path());
    }
    let outcome: Outcome = command.output().unwrap().into();
    assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""));
    let recorded = processes(&rec.path().join("rec"));
    let folder = inverted.folder.path().to_str().unwrap();
    recorded
        .iter()
        .flat_map(|process| process.events.iter().map(move |event| (process, event)))
        // How often a transfer is waited for depends on when it ends, and the C library's file has a name of its own.
        .filter(|(_, event)| event.op != Op::AioWait)
        .map(|(process, event)| {
            let file = process.files.get(&event.file).map_or("", String::as_str);
            (file.replace(folder, "").replace(".inverted", ""), event.op.name(), event.bytes())
        })
        .filter(|(file, ..)| !file.starts_with("/tmp"))
        .collect()
}

#[test]
fn served_calls_are_recorded_as_without_a_backend() {
    for group in ["streams", "transfers", "names", "attributes"] {
        let (with, without) = (events_of(group, true), events_of(group, false));
        assert!(without.len() > 15, "{group}");
        assert_eq!(with, without, "{group}");
    }
}
