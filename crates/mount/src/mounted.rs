//! Mounts a directory, and serves it.

use std::io;
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use fuser::{BackgroundSession, Config, MountOption, Session, SessionACL};
use plimsoll_guarded::{Directory, Untrusted, VIEW, enter_no_view};
use plimsoll_stow::{Container, Target};
use rustix::system::sysinfo;
use thiserror::Error;

use crate::containers::Containers;
use crate::file_system::FileSystem;
use crate::habits::{Caching, Habits};
use crate::helpers::AllHelpers;
use crate::point::{open_point, require_free};
use crate::unmounting::unmount;
use crate::view::View;

/// How many requests are answered at once: one that waits for a slow target holds up no other. Fewer where their memory would be more than a part of all.
const THREADS: usize = 16;
const THREADS_MIN: usize = 2;
const THREADS_PART: usize = 4;

/// Of so many of these threads, one helps them with what is asked of other users' containers.
const THREADS_PER_HELPER: usize = 2;

/// What fuser keeps for the requests of one of them, and what a helper takes for one: the kernel asks for no more at once, unless root has it do so.
const THREAD_BYTES: usize = 16 << 20;
const HELPER_BYTES: usize = 1 << 20;

/// What is read ahead where root can say so. The kernel's own 128 KiB (mm/readahead.c) are less than one request.
const READ_AHEAD_KIB: u32 = 4096;

const PAUSE: Duration = Duration::from_millis(20);

/// Why a directory cannot be mounted.
#[derive(Debug, Error)]
pub enum MountError {
    /// What is to be shown cannot be opened.
    #[error("cannot open {}: {cause}", path.display())]
    Source {
        /// The directory.
        path: PathBuf,
        /// Why not.
        cause: io::Error,
    },
    /// It is a container itself.
    #[error("{} is a container; hint: mount the directory that it is in", path.display())]
    IsContainer {
        /// The container.
        path: PathBuf,
    },
    /// The mount would show itself.
    #[error("{} and {} are inside of each other; hint: another mount point", path.display(), point.display())]
    Inside {
        /// The directory.
        path: PathBuf,
        /// The mount point.
        point: PathBuf,
    },
    /// Somebody else could exchange the mount point.
    #[error("cannot mount on {}: {cause}", point.display())]
    Untrusted {
        /// The mount point.
        point: PathBuf,
        /// Who.
        cause: Untrusted,
    },
    /// The system refused.
    #[error("cannot mount on {}: {cause}", point.display())]
    Refused {
        /// The mount point.
        point: PathBuf,
        /// Why.
        cause: io::Error,
    },
}

/// A directory that is mounted and served.
pub struct Mounted {
    /// Never dropped: it would unmount whatever is at the place by then.
    session: ManuallyDrop<BackgroundSession>,
    containers: Arc<Containers>,
    shown: PathBuf,
    point: PathBuf,
    number: u64,
}

/// Shows a directory at a mount point to this user alone, read-only, until it is unmounted. Logs are looked for on these targets, and where they were. No container takes more than a part
/// of the memory that this process may have.
///
/// # Errors
/// If it cannot be mounted there.
pub fn mount(
    path: &Path,
    point: &Path,
    targets: Vec<Target>,
    caching: Caching,
    memory: Option<usize>,
) -> Result<Mounted, MountError> {
    let source = |cause| MountError::Source { path: path.into(), cause };
    // Another user's link would have this user show what only this user can reach.
    let root = Directory::open_by_own_links(path).and_then(Directory::with_whole_path);
    let root = root.map_err(source)?;
    root.names().map_err(source)?;
    if Container::is_in(&root).map_err(source)? {
        return Err(MountError::IsContainer { path: path.into() });
    }
    let refused = |cause| MountError::Refused { point: point.into(), cause };
    let free = open_point(point)?;
    let point = free.path().to_path_buf();
    if point.starts_with(root.path()) || root.path().starts_with(&point) {
        return Err(MountError::Inside { path: root.path().into(), point });
    }
    require_free(&free).map_err(refused)?;
    let threads =
        memory.map_or(THREADS, |it| (it / THREADS_PART / THREAD_BYTES).clamp(THREADS_MIN, THREADS));
    let helpers = threads / THREADS_PER_HELPER;
    let of_threads = threads * THREAD_BYTES + AllHelpers::count(helpers) * HELPER_BYTES;
    let memory = memory.map(|it| it.saturating_sub(of_threads));
    let containers = Arc::new(Containers::new(targets, memory));
    let memory = sysinfo();
    let memory = (memory.totalram as u64).saturating_mul(memory.mem_unit.into());
    let habits = Arc::new(Habits::new(caching, memory));
    let shown = root.path().to_path_buf();
    let view = View::of(root, containers.clone(), habits).map_err(source)?;
    let before = free.mount_number();
    enter_no_view();
    let system = FileSystem::new(view, AllHelpers::start(helpers).map_err(refused)?);
    let session = Session::new(system, &point, &config(threads)).map_err(refused)?;
    let session = ManuallyDrop::new(session.spawn().map_err(refused)?);
    let mounted = Directory::open(&point).map_err(refused)?;
    match mounted.mount_number() {
        Some(number) if Some(number) != before => {
            read_ahead_further(&mounted);
            Ok(Mounted { session, containers, shown, point, number })
        }
        _ => Err(refused(io::Error::other(
            "it was unmounted at once, or the kernel has no numbers for mounts",
        ))),
    }
}

impl Mounted {
    /// Returns the whole path of the directory that is shown, without links.
    pub fn shown(&self) -> &Path {
        &self.shown
    }

    /// Returns where it is mounted.
    pub fn point(&self) -> &Path {
        &self.point
    }

    /// Returns the number of the mount.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Returns whether it was unmounted, or its server failed.
    pub fn has_ended(&self) -> bool {
        self.session.guard.is_finished()
    }

    /// Closes containers that nobody has looked at for a while. To be called now and then: as long as one is open here, no room of
    /// it can be given back.
    pub fn close_unused(&self) {
        self.containers.close_unused();
    }

    /// Unmounts it, and waits a little for programs that have files of it open.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn end(self, patience: Duration) -> io::Result<()> {
        if self.has_ended() {
            return Ok(());
        }
        unmount(&self.point, self.number)?;
        let deadline = Instant::now() + patience;
        while !self.has_ended() && Instant::now() < deadline {
            std::thread::sleep(PAUSE);
        }
        Ok(())
    }
}

fn config(threads: usize) -> Config {
    let mut config = Config::default();
    config.mount_options = vec![
        MountOption::RO,
        MountOption::NoSuid,
        MountOption::NoDev,
        MountOption::NoAtime,
        MountOption::DefaultPermissions,
        MountOption::FSName(VIEW.into()),
    ];
    // Whoever else could enter would hold up whom they like, and share one cache with all.
    config.acl = SessionACL::Owner;
    config.n_threads = Some(threads);
    config
}

/// Only root may. Without it, reading is slower and as right.
fn read_ahead_further(mounted: &Directory) {
    let Ok(facts) = mounted.facts() else { return };
    let (major, minor) = (rustix::fs::major(facts.st_dev), rustix::fs::minor(facts.st_dev));
    let path = format!("/sys/class/bdi/{major}:{minor}/read_ahead_kb");
    let _ = std::fs::write(path, READ_AHEAD_KIB.to_string());
}
