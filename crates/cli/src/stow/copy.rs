//! `plimsoll stow cp`: plain files to containers, containers to plain files, and containers to others.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use anyhow::{Context, Result, ensure};
use plimsoll_guarded::{Directory, open_input, random_hex};
use plimsoll_report::Record;
use plimsoll_stow::{Container, Reader, Target, Writer, renew};
use rustix::io::Errno;

use super::cat::{BLOCK_BYTES, FilePart, each_part};
use super::info::{COPIED, TARGETS};
use super::policy::PolicyArguments;
use super::targets::LogTargets;
use super::with_hint;
use crate::interruption::Interruption;
use crate::new_file::NewFile;
use crate::output::{self, Output};
use crate::progress::Progress;

/// Copy a plain file to a container, or a container to a plain file or to another container
///
/// The copy is a container if targets are named, or if the source is a plain file (then the targets of the site are used); it
/// is durable when the command ends, and has its name only then. Every record that is read is compared with its checksum.
#[derive(clap::Args)]
#[command(before_help = "Examples:\n  \
    plimsoll stow cp big.dat big --targets /mnt/ost0,/mnt/ost1\n  \
    plimsoll stow cp big.dat big --testbed default --policy static\n  \
    plimsoll stow cp big copy.dat\n  \
    tar c dir | plimsoll stow cp /dev/stdin archive --site site.toml")]
pub struct Arguments {
    /// A plain file, a pipe or a container
    source: PathBuf,

    /// What to make
    destination: PathBuf,

    #[command(flatten)]
    targets: LogTargets,

    #[command(flatten)]
    policy: PolicyArguments,

    /// Replace a plain file that exists
    #[arg(long)]
    force: bool,
}

/// What is copied.
enum Copied {
    Plain(File),
    Container(Box<Reader>),
}

pub fn run(arguments: &Arguments, output: Output) -> Result<ExitCode> {
    let (source, destination) = (&arguments.source, &arguments.destination);
    arguments.policy.check()?;
    let named = arguments.targets.are_named();
    let unread = || format!("cannot read {}", source.display());
    let from = if Container::is_at(source).with_context(unread)? {
        Copied::Container(Box::new(super::open_scanned(source, &arguments.targets.if_named()?)?))
    } else {
        Copied::Plain(open_input(source).with_context(unread)?)
    };
    let interruption = Interruption::watch()?;
    match from {
        Copied::Container(reader) if !named => {
            match to_file(&reader, destination, arguments.force, &interruption)? {
                Some(copied) => print(output, destination, copied, 0),
                None => Ok(interrupted(&interruption)),
            }
        }
        from => {
            let targets = arguments.targets.find()?;
            match to_container(from, destination, &targets, &arguments.policy, &interruption)? {
                Some(copied) => print(output, destination, copied, targets.len()),
                None => Ok(interrupted(&interruption)),
            }
        }
    }
}

fn interrupted(interruption: &Interruption) -> ExitCode {
    output::message("interrupted: nothing was made");
    interruption.exit_code()
}

fn print(output: Output, made: &Path, copied: u64, targets: usize) -> Result<ExitCode> {
    let record = Record::new()
        .text("destination", "destination", made.display().to_string())
        .number(&COPIED, copied)
        .number(&TARGETS, (targets > 0).then_some(targets as u64));
    output.print("stow.cp", "copied", &record)?;
    Ok(ExitCode::SUCCESS)
}

/// Makes a plain file, with the holes that the container has; `None` if a signal came.
fn to_file(
    reader: &Reader,
    path: &Path,
    force: bool,
    interruption: &Interruption,
) -> Result<Option<u64>> {
    let above = path.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // What another user serves is not asked.
    let held = Directory::open_by_own_links(above);
    let is_file = held.is_ok_and(|it| Container::is_in(&it).unwrap_or(false));
    ensure!(
        !is_file,
        "{} is a container, which is a file; hint: give another name",
        above.display()
    );
    let mut file = NewFile::create(path, force, reader.readers())?;
    let progress = Progress::new("copying", reader.size());
    let copied = each_part(reader, |part| {
        ensure!(!interruption.is_asked(), "interrupted");
        match part {
            FilePart::Data(bytes, offset) => {
                file.write_all(bytes)?;
                progress.done.store(offset + bytes.len() as u64, Ordering::Relaxed);
            }
            FilePart::Hole(range) => file.leave_hole(range.end - range.start)?,
        }
        Ok(())
    });
    if interruption.is_asked() {
        return Ok(None);
    }
    let size = copied?;
    file.finish()?;
    Ok(Some(size))
}

/// Makes a container under another name, and renames it once it is whole; `None` if a signal came.
fn to_container(
    from: Copied,
    path: &Path,
    targets: &[Target],
    policy: &PolicyArguments,
    interruption: &Interruption,
) -> Result<Option<u64>> {
    let name = path.file_name();
    let name = name.with_context(|| format!("{} has no name", path.display()))?;
    let above = path.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let parent = Directory::open_by_own_links(above);
    let parent = parent.with_context(|| format!("cannot make {}", path.display()))?;
    // Before anything is copied.
    ensure!(parent.kind_of(name).is_err(), "{} exists; hint: give another name", path.display());
    drop(parent);
    let mut draft = std::ffi::OsString::from(".");
    draft.push(name);
    draft.push(format!(".{}.part", random_hex(8)?));
    let draft = path.with_file_name(draft);
    let container = Arc::new(Container::create(&draft, targets).map_err(with_hint)?);
    let filled = fill(from, &container, policy, interruption);
    let mut container = Arc::into_inner(container).context("the container is still in use")?;
    let published = match &filled {
        // The logs know their container by its path as well.
        Ok(Some(_)) => container.rename(name).and_then(|()| renew(&container)).map_err(with_hint),
        _ => Ok(()),
    };
    // Once it has its name, others may write to it and rename it.
    if container.path().file_name() == draft.file_name() {
        // Its own failure would hide why it has to go.
        let _ = container.hold_alone().and_then(|alone| container.discard(&alone));
    }
    published.and(filled)
}

fn fill(
    from: Copied,
    container: &Arc<Container>,
    policy: &PolicyArguments,
    interruption: &Interruption,
) -> Result<Option<u64>> {
    let placement = policy.placement(container)?;
    let mut writer = Writer::open(container.clone(), placement).map_err(with_hint)?;
    let total = match &from {
        Copied::Plain(file) => file.metadata().map_or(0, |it| it.len()),
        Copied::Container(reader) => reader.size(),
    };
    let progress = Progress::new("copying", total);
    let mut copied = 0;
    let mut take = |bytes: &[u8], offset: u64| -> Result<()> {
        ensure!(!interruption.is_asked(), "interrupted");
        writer.write_at(bytes, offset).map_err(with_hint)?;
        copied = offset + bytes.len() as u64;
        progress.done.store(copied, Ordering::Relaxed);
        Ok(())
    };
    let taken = match from {
        Copied::Plain(file) => each_block_of(file, &mut take),
        Copied::Container(reader) => each_part(&reader, |part| match part {
            FilePart::Data(bytes, offset) => take(bytes, offset),
            FilePart::Hole(_) => Ok(()),
        }),
    };
    if interruption.is_asked() {
        return Ok(None);
    }
    let size = taken?;
    if size > copied {
        // It ends with a hole.
        writer.truncate(size).map_err(with_hint)?;
        copied = size;
    }
    writer.sync().map_err(with_hint)?;
    for (target, why) in writer.refusals() {
        output::message(&format!("warning: target {target} took no more, others did: {why}"));
    }
    writer.close().map_err(with_hint)?;
    Ok(Some(copied))
}

/// Hands over all bytes that are not in holes; returns the size.
fn each_block_of(mut file: File, take: &mut dyn FnMut(&[u8], u64) -> Result<()>) -> Result<u64> {
    let mut bytes = vec![0; BLOCK_BYTES];
    let (mut offset, mut filled, mut most) = (0, 0, BLOCK_BYTES);
    loop {
        if filled == 0
            && let Some(data) = data_from(&file, offset)
        {
            offset = data.start;
            most = (data.end - data.start).clamp(1, BLOCK_BYTES as u64) as usize;
            file.seek(SeekFrom::Start(offset)).context("cannot read")?;
        }
        let count = file.read(&mut bytes[filled..most]).context("cannot read")?;
        filled += count;
        if filled == most || (count == 0 && filled > 0) {
            take(&bytes[..filled], offset)?;
            offset += filled as u64;
            filled = 0;
        } else if count == 0 {
            return Ok(offset);
        }
    }
}

/// Returns the next bytes of a plain file that are not in a hole; `None` if that cannot be told.
fn data_from(file: &File, offset: u64) -> Option<Range<u64>> {
    use rustix::fs::{SeekFrom, seek};
    let size = file.metadata().ok().filter(|it| it.is_file() && it.len() > offset)?.len();
    match seek(file, SeekFrom::Data(offset)) {
        Ok(start) => Some(start..seek(file, SeekFrom::Hole(start)).ok()?),
        Err(Errno::NXIO) => Some(size..size),
        Err(_) => None,
    }
}
