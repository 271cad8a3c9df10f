//! What the user names for reading: usually a file, sometimes a pipe.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, Stat, fcntl_getfl, fcntl_setfl, fstat, statat,
};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, SpliceFlags, pipe_with, tee};

use crate::regular_file::{QUICKLY_READ_BYTES, require_stored};
use crate::{Refusal, acting_user};

/// The program at the other end of a pipe has two seconds to begin: a shell may have started it last.
const LOOKS: u32 = 200;
const BETWEEN_LOOKS: Timespec = Timespec { tv_sec: 0, tv_nsec: 10_000_000 };

/// Opens what the user named, to read from it. A file may be anywhere that links lead to.
///
/// Streams that this process was started with (`/dev/stdin`, `/dev/fd/N`, so also `<(command)`) are read
/// whatever they are, and waited for. Other pipes and devices are read only under their own name, and
/// pipes only if they belong to this user and somebody writes to them: anyone who may write to a directory can
/// plant links and pipes there, and waiting for them would never end.
///
/// # Errors
/// If it is not there, is anything else, or nobody writes to it.
pub fn open_input(path: &Path) -> io::Result<File> {
    if is_own_stream(path) {
        return open_own_stream(path, File::options().read(true));
    }
    // Looked at before it is opened: some devices do something when they are opened.
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let found = rustix::fs::open(path, flags, Mode::empty())?;
    let facts = fstat(&found)?;
    match FileType::from_raw_mode(facts.st_mode) {
        FileType::RegularFile => {
            let file = opened(&found)?;
            require_stored(&file, QUICKLY_READ_BYTES)?;
            Ok(file)
        }
        FileType::Directory => Err(Errno::ISDIR.into()),
        FileType::CharacterDevice => {
            require_own_name(path, &facts)?;
            opened(&found)
        }
        FileType::Fifo => {
            require_own_name(path, &facts)?;
            if facts.st_uid != acting_user() {
                return Err(Refusal::PipeOf { owner: facts.st_uid }.into());
            }
            let pipe = opened_at_once(&found)?;
            require_writer(&pipe)?;
            waiting(pipe)
        }
        _ => Err(Refusal::NotAFile.into()),
    }
}

/// Returns true for streams that a program is started with, which are links to whatever they are.
pub fn is_own_stream(path: &Path) -> bool {
    let text = path.to_string_lossy();
    let number = ["/dev/fd/", "/proc/self/fd/"].iter().find_map(|it| text.strip_prefix(it));
    ["/dev/stdin", "/dev/stdout", "/dev/stderr"].contains(&&*text)
        || number.is_some_and(|it| !it.is_empty() && it.bytes().all(|digit| digit.is_ascii_digit()))
}

/// Opens a stream that the program was started with. Standard input, output and error are the very same, with their position in a file
/// that the shell opened: what is written goes behind what is there.
///
/// # Errors
/// If it is not open.
pub fn open_own_stream(path: &Path, options: &OpenOptions) -> io::Result<File> {
    let text = path.to_string_lossy();
    let is = |names: [&str; 3]| names.contains(&&*text);
    let same = |stream: BorrowedFd<'_>| Ok(stream.try_clone_to_owned()?.into());
    if is(["/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"]) {
        same(io::stdin().as_fd())
    } else if is(["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"]) {
        same(io::stdout().as_fd())
    } else if is(["/dev/stderr", "/dev/fd/2", "/proc/self/fd/2"]) {
        same(io::stderr().as_fd())
    } else {
        options.open(path)
    }
}

/// No link leads to it.
fn require_own_name(path: &Path, facts: &Stat) -> io::Result<()> {
    let named = statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW)?;
    if (named.st_dev, named.st_ino) == (facts.st_dev, facts.st_ino) {
        Ok(())
    } else {
        Err(Refusal::LinkToNoFile.into())
    }
}

/// Returns the very file that was found (proc(5), /proc/self/fd).
fn opened_at_once(found: &OwnedFd) -> io::Result<File> {
    let path = format!("/proc/self/fd/{}", found.as_raw_fd());
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?.into())
}

fn opened(found: &OwnedFd) -> io::Result<File> {
    waiting(opened_at_once(found)?)
}

/// From now on, reading waits for what is to come.
fn waiting(file: File) -> io::Result<File> {
    fcntl_setfl(&file, fcntl_getfl(&file)? - OFlags::NONBLOCK)?;
    Ok(file)
}

/// Makes sure that there is a writer, or was one since the pipe was opened.
fn require_writer(pipe: &File) -> io::Result<()> {
    let (_kept, scratch) = pipe_with(PipeFlags::CLOEXEC)?;
    for _ in 0..LOOKS {
        let mut ready = [PollFd::new(pipe, PollFlags::IN)];
        // Something to read, or a writer that has left (pipe(7)).
        if poll(&mut ready, Some(&BETWEEN_LOOKS))? > 0 {
            return Ok(());
        }
        // A copy that takes nothing away (tee(2)). Without a writer it is at the end; with one that has
        // written nothing yet, it would have to wait.
        match tee(pipe, &scratch, 1, SpliceFlags::NONBLOCK) {
            Ok(0) => {}
            Ok(_) | Err(Errno::AGAIN) => return Ok(()),
            Err(errno) => return Err(errno.into()),
        }
    }
    Err(Refusal::NobodyWrites.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, OpenOptions};
    use std::io::{Read, Write};
    use std::os::unix::fs::{OpenOptionsExt, symlink};

    fn refused(path: &Path) -> Refusal {
        let error = open_input(path).unwrap_err();
        Refusal::of(&error).unwrap_or_else(|| panic!("{error}"))
    }

    fn text(path: &Path) -> String {
        let mut text = String::new();
        open_input(path).unwrap().read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn files_are_read_wherever_links_lead_and_devices_only_by_their_own_name() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("file"), "text").unwrap();
        symlink("file", at("link")).unwrap();
        symlink("/dev/null", at("to-null")).unwrap();
        assert_eq!((text(&at("file")), text(&at("link"))), ("text".into(), "text".into()));
        assert_eq!(text(Path::new("/dev/null")), "");
        assert_eq!(refused(&at("to-null")), Refusal::LinkToNoFile);
        let error = open_input(folder.path()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::IsADirectory);
        assert_eq!(open_input(&at("none")).unwrap_err().kind(), io::ErrorKind::NotFound);
        let socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        assert_eq!(refused(&at("socket")), Refusal::NotAFile);
        drop(socket);
        let stream = File::open(at("file")).unwrap();
        assert_eq!(text(Path::new(&format!("/dev/fd/{}", stream.as_raw_fd()))), "text");
    }

    #[test]
    fn a_pipe_is_read_if_it_is_ours_and_somebody_writes_to_it() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        rustix::fs::mkfifoat(CWD, &pipe, Mode::RUSR | Mode::WUSR).unwrap();
        assert_eq!(refused(&pipe), Refusal::NobodyWrites);
        let write = |words: &'static str| {
            let pipe = pipe.clone();
            std::thread::spawn(move || {
                // Waits for the reader.
                let mut pipe = OpenOptions::new().write(true).open(pipe).unwrap();
                pipe.write_all(words.as_bytes()).unwrap();
            })
        };
        let writer = write("some words");
        assert_eq!(text(&pipe), "some words");
        writer.join().unwrap();
        // One that has not written yet: not refused, and its words come whole.
        let options = OFlags::NONBLOCK.bits().cast_signed();
        let reader = OpenOptions::new().read(true).custom_flags(options).open(&pipe).unwrap();
        let mut silent = OpenOptions::new().write(true).open(&pipe).unwrap();
        let mut opened = open_input(&pipe).unwrap();
        drop(reader);
        silent.write_all(b"later").unwrap();
        drop(silent);
        let mut words = String::new();
        opened.read_to_string(&mut words).unwrap();
        assert_eq!(words, "later");
        // A reader that stays would let the next writer come and go before it is read.
        drop(opened);
        let link = folder.path().join("link");
        symlink("pipe", &link).unwrap();
        assert_eq!(refused(&link), Refusal::LinkToNoFile);
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(&pipe, Some(65_533), None).unwrap();
            let writer = write("theirs");
            assert_eq!(refused(&pipe), Refusal::PipeOf { owner: 65_533 });
            fs::read(&pipe).unwrap();
            writer.join().unwrap();
        }
    }
}
