//! Just enough of MPI, from whichever library the launcher belongs to, without its header.
//!
//! Handles are passed as machine words: Open MPI's are addresses of its own symbols, MPICH's and those of
//! the MPI-5 ABI are numbers. A library that does not belong to the launcher would start every
//! process as the only one of its own job, so the size is compared with what the launcher says.

use std::env;
use std::ffi::{c_char, c_int, c_void};
use std::time::Duration;

use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW, Symbol};

use crate::launcher::Launcher;
use crate::team::TeamError;

/// Names the library to use, when several are installed.
pub const LIBRARY_VARIABLE: &str = "PLIMSOLL_MPI_LIBRARY";

/// MPI_COMM_WORLD and MPI_BYTE: mpi.h of MPICH; and of the MPI-5 ABI (appendix of the standard).
const MPICH_HANDLES: (usize, usize) = (0x4400_0000, 0x4c00_010d);
const ABI_HANDLES: (usize, usize) = (0x101, 0x247);

/// Larger than any MPI_Status, and than MPI_MAX_LIBRARY_VERSION_STRING.
const STATUS_BYTES: usize = 256;
const VERSION_BYTES: usize = 8192;

type Collective = unsafe extern "C" fn(usize, *mut c_int) -> c_int;

/// An initialised MPI.
pub struct Mpi {
    functions: Functions,
    world: usize,
    byte: usize,
    /// This process.
    pub rank: usize,
    /// All processes.
    pub size: usize,
    // Last: the functions are its own.
    _library: Library,
}

struct Functions {
    finalize: Symbol<unsafe extern "C" fn() -> c_int>,
    bcast: Symbol<unsafe extern "C" fn(*mut c_void, c_int, usize, c_int, usize) -> c_int>,
    gather: Symbol<
        unsafe extern "C" fn(
            *const c_void,
            c_int,
            usize,
            *mut c_void,
            c_int,
            usize,
            c_int,
            usize,
        ) -> c_int,
    >,
    barrier: Symbol<unsafe extern "C" fn(usize) -> c_int>,
    ibarrier: Symbol<unsafe extern "C" fn(usize, *mut usize) -> c_int>,
    test: Symbol<unsafe extern "C" fn(*mut usize, *mut c_int, *mut c_void) -> c_int>,
}

impl Mpi {
    /// Loads the launcher's library and joins the job.
    ///
    /// # Errors
    /// When no library fits, or the one that was found knows of another job than the launcher.
    pub fn join(launcher: &Launcher) -> Result<Self, TeamError> {
        let (library, name) = load(launcher)?;
        let (world, byte) = handles(&library, &name);
        let mpi = Self::initialise(library, world, byte)
            .map_err(|error| TeamError::Mpi(format!("cannot use {name}: {error}")))?;
        if mpi.size as u64 != u64::from(launcher.processes) {
            let (size, expected) = (mpi.size, launcher.processes);
            return Err(TeamError::Mpi(format!(
                "{name} sees {size} of the {expected} processes that {} started: it is not the \
                 launcher's library; hint: name the right one in {LIBRARY_VARIABLE}",
                launcher.name
            )));
        }
        Ok(mpi)
    }

    fn initialise(library: Library, world: usize, byte: usize) -> Result<Self, libloading::Error> {
        // SAFETY: the names are MPI's, and the types are those of the standard with every handle
        // as a machine word, in which all ABIs that we know pass them.
        unsafe {
            let functions = Functions {
                finalize: library.get(b"MPI_Finalize\0")?,
                bcast: library.get(b"MPI_Bcast\0")?,
                gather: library.get(b"MPI_Gather\0")?,
                barrier: library.get(b"MPI_Barrier\0")?,
                ibarrier: library.get(b"MPI_Ibarrier\0")?,
                test: library.get(b"MPI_Test\0")?,
            };
            let initialise: Symbol<unsafe extern "C" fn(*mut c_int, *mut c_void) -> c_int> =
                library.get(b"MPI_Init\0")?;
            let rank_of: Symbol<Collective> = library.get(b"MPI_Comm_rank\0")?;
            let size_of: Symbol<Collective> = library.get(b"MPI_Comm_size\0")?;
            initialise(std::ptr::null_mut(), std::ptr::null_mut());
            let (mut rank, mut size) = (0, 0);
            rank_of(world, &mut rank);
            size_of(world, &mut size);
            let (rank, size) = (rank.max(0) as usize, size.max(0) as usize);
            Ok(Self { functions, world, byte, rank, size, _library: library })
        }
    }

    /// Sends the root's text to everybody.
    pub fn broadcast(&self, text: &mut Vec<u8>) {
        self.wait_for_all();
        let mut length = (text.len() as u64).to_le_bytes();
        self.broadcast_bytes(&mut length);
        text.resize(u64::from_le_bytes(length) as usize, 0);
        self.broadcast_bytes(text);
    }

    fn broadcast_bytes(&self, bytes: &mut [u8]) {
        let count = c_int::try_from(bytes.len()).expect("messages are far below 2 GiB");
        // SAFETY: the buffer has `count` bytes. MPI's default is to abort the job on an error.
        unsafe {
            (self.functions.bcast)(bytes.as_mut_ptr().cast(), count, self.byte, 0, self.world)
        };
    }

    /// Brings everybody's text to the root, in the order of ranks; empty elsewhere.
    pub fn gather(&self, text: &[u8]) -> Vec<Vec<u8>> {
        self.wait_for_all();
        let lengths = self.gather_equal(&(text.len() as u64).to_le_bytes());
        let lengths: Vec<usize> = lengths
            .chunks_exact(8)
            .map(|bytes| u64::from_le_bytes(bytes.try_into().expect("eight bytes")) as usize)
            .collect();
        let mut most = (lengths.iter().max().copied().unwrap_or(0) as u64).to_le_bytes();
        self.broadcast_bytes(&mut most);
        let most = u64::from_le_bytes(most) as usize;
        // Open MPI takes two empty buffers for one and the same, and refuses.
        if most == 0 {
            return vec![Vec::new(); lengths.len()];
        }
        let mut padded = text.to_vec();
        padded.resize(most, 0);
        let all = self.gather_equal(&padded);
        let texts = all.chunks_exact(most).zip(&lengths);
        texts.map(|(padded, length)| padded[..*length].to_vec()).collect()
    }

    fn gather_equal(&self, bytes: &[u8]) -> Vec<u8> {
        let count = c_int::try_from(bytes.len()).expect("messages are far below 2 GiB");
        let room = if self.rank == 0 { bytes.len() * self.size } else { 0 };
        let mut all = vec![0u8; room];
        let (byte, world) = (self.byte, self.world);
        // SAFETY: the buffers have `count` bytes, and at the root `count` for every process.
        unsafe {
            (self.functions.gather)(
                bytes.as_ptr().cast(),
                count,
                byte,
                all.as_mut_ptr().cast(),
                count,
                byte,
                0,
                world,
            )
        };
        all
    }

    /// Waits until everybody is here, asleep most of the time: MPI's own barriers keep a core busy
    /// that others need for measuring.
    pub fn wait_for_all(&self) {
        const SLEEP_MOST: Duration = Duration::from_micros(200);
        let mut request = 0usize;
        let mut status = [0u64; STATUS_BYTES / 8];
        let mut arrived = 0;
        let mut sleep = Duration::from_micros(5);
        // SAFETY: one word holds any library's request, and the status is larger than any.
        unsafe { (self.functions.ibarrier)(self.world, &mut request) };
        loop {
            // SAFETY: as above; the request lives until it is complete.
            unsafe {
                (self.functions.test)(&mut request, &mut arrived, status.as_mut_ptr().cast())
            };
            if arrived != 0 {
                return;
            }
            std::thread::sleep(sleep);
            sleep = (sleep * 2).min(SLEEP_MOST);
        }
    }

    /// Lets everybody go at one moment. Those who sleep are gathered first, so that nobody burns a
    /// core for longer than the last one needs to wake up.
    pub fn release(&self) {
        self.wait_for_all();
        // SAFETY: a collective call of the world.
        unsafe { (self.functions.barrier)(self.world) };
    }
}

impl Drop for Mpi {
    fn drop(&mut self) {
        // SAFETY: initialised once, and nothing of MPI is used after this.
        unsafe { (self.functions.finalize)() };
    }
}

/// Returns the first library that loads and says that it belongs to the launcher.
fn load(launcher: &Launcher) -> Result<(Library, String), TeamError> {
    let named = env::var(LIBRARY_VARIABLE).ok();
    let names: Vec<String> = match named {
        Some(name) => vec![name],
        None => launcher.libraries.iter().map(ToString::to_string).collect(),
    };
    let mut tried = Vec::new();
    for name in names {
        // SAFETY: an MPI library's constructors are made to run in any process. Its plug-ins look
        // for its symbols globally.
        match unsafe { Library::open(Some(&name), RTLD_NOW | RTLD_GLOBAL) } {
            Ok(library) => match version(&library) {
                Some(text) if fits(launcher, &text) => return Ok((library, name)),
                Some(text) => tried.push(format!("{name} is {}", first_line(&text))),
                None => tried.push(format!("{name} is not MPI")),
            },
            Err(_) => tried.push(format!("{name} does not load")),
        }
    }
    Err(TeamError::Mpi(format!(
        "{} started {} processes, but there is no MPI library of its own: {}; hint: name it in \
         {LIBRARY_VARIABLE}",
        launcher.name,
        launcher.processes,
        tried.join(", ")
    )))
}

fn fits(launcher: &Launcher, version: &str) -> bool {
    launcher.says.is_empty() || launcher.says.iter().any(|word| version.contains(word))
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default().trim()
}

fn version(library: &Library) -> Option<String> {
    let mut text = vec![0u8; VERSION_BYTES];
    let mut length: c_int = 0;
    // SAFETY: may be called before MPI_Init, and writes at most the standard's maximum.
    unsafe {
        let ask: Symbol<unsafe extern "C" fn(*mut c_char, *mut c_int) -> c_int> =
            library.get(b"MPI_Get_library_version\0").ok()?;
        ask(text.as_mut_ptr().cast(), &mut length);
    }
    text.truncate(usize::try_from(length).ok()?);
    Some(String::from_utf8_lossy(&text).into_owned())
}

/// MPI_COMM_WORLD and MPI_BYTE of this library.
fn handles(library: &Library, name: &str) -> (usize, usize) {
    // SAFETY: only the addresses are taken.
    let address = |name: &[u8]| unsafe {
        library.get::<*const c_void>(name).ok().map(|symbol| symbol.into_raw() as usize)
    };
    match (address(b"ompi_mpi_comm_world\0"), address(b"ompi_mpi_byte\0")) {
        (Some(world), Some(byte)) => (world, byte),
        _ if name.contains("libmpi_abi") => ABI_HANDLES,
        _ => MPICH_HANDLES,
    }
}
