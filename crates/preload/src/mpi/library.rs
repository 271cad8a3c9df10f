//! What the MPI libraries have in common and where they differ. There is no mpi.h here: the
//! three families of handles are told apart at run time.
//!
//! Every helper is called past other tools (`PMPI_` names), and only with handles that the MPI
//! library has just accepted, since a wrong handle would end the program.

use core::ffi::{CStr, c_char, c_int};
use core::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

use super::real::{self, RealMpi, Words};

/// A family of MPI libraries with the same handles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Family {
    /// Not one of the others: handles are only passed through.
    Unknown = 1,
    /// Open MPI and its descendants: predefined handles are addresses of variables.
    OpenMpi = 2,
    /// MPICH, Intel MPI, MVAPICH, Cray MPICH: predefined handles are integers of 32 bits.
    Mpich = 3,
    /// The ABI of MPI 5.0, section 20.3: predefined handles are small integers.
    Abi = 4,
}

static FAMILY: AtomicU8 = AtomicU8::new(0);

/// Returns the family of the MPI library that this program uses.
pub fn family() -> Family {
    match FAMILY.load(Ordering::Relaxed) {
        1 => Family::Unknown,
        2 => Family::OpenMpi,
        3 => Family::Mpich,
        4 => Family::Abi,
        _ => {
            let found = find_family();
            FAMILY.store(found as u8, Ordering::Relaxed);
            found
        }
    }
}

/// Finds the family. The ABI comes first: an Open MPI behind it brings its own symbols along.
fn find_family() -> Family {
    match COMM_RANK.known_address() {
        Some(address) if real::lies_in(address, b"libmpi_abi") => Family::Abi,
        Some(_) if real::find_variable(c"ompi_mpi_comm_world") != 0 => Family::OpenMpi,
        // MPI_DUP_FN of mpi.h stands for this function, which makes it part of MPICH's ABI.
        Some(_) if real::find(c"MPIR_Dup_fn") != 0 => Family::Mpich,
        _ => Family::Unknown,
    }
}

/// A handle that mpi.h defines.
struct Predefined {
    open_mpi: &'static CStr,
    mpich: usize,
    abi: usize,
    address: AtomicUsize,
}

impl Predefined {
    const fn new(open_mpi: &'static CStr, mpich: usize, abi: usize) -> Self {
        Predefined { open_mpi, mpich, abi, address: AtomicUsize::new(0) }
    }

    fn handle(&self) -> Option<usize> {
        match family() {
            Family::Unknown => None,
            Family::Mpich => Some(self.mpich),
            Family::Abi => Some(self.abi),
            Family::OpenMpi => {
                let mut address = self.address.load(Ordering::Relaxed);
                if address == 0 {
                    address = real::find_variable(self.open_mpi);
                    self.address.store(address, Ordering::Relaxed);
                }
                (address != 0).then_some(address)
            }
        }
    }
}

static COMM_WORLD: Predefined = Predefined::new(c"ompi_mpi_comm_world", 0x4400_0000, 0x101);
static INFO_NULL: Predefined = Predefined::new(c"ompi_mpi_info_null", 0x1c00_0000, 0x130);
static BYTE: Predefined = Predefined::new(c"ompi_mpi_byte", 0x4c00_010d, 0x247);

/// Returns MPI_COMM_WORLD.
pub fn comm_world() -> Option<usize> {
    COMM_WORLD.handle()
}

/// Returns true if hints can be asked of this handle.
pub fn is_info(info: usize) -> bool {
    INFO_NULL.handle().is_some_and(|null| shortened(info) != null && shortened(info) != 0)
}

/// Returns a handle as wide as it is: the upper half of an int in a register is anything.
fn shortened(handle: usize) -> usize {
    if family() == Family::Mpich { handle & 0xffff_ffff } else { handle }
}

/// Returns MPI_STATUS_IGNORE, if it is known.
pub fn status_ignore() -> Option<usize> {
    match family() {
        Family::Unknown => None,
        Family::Mpich => Some(1),
        Family::OpenMpi | Family::Abi => Some(0),
    }
}

/// Returns access modes as MPICH and Open MPI number them.
pub fn common_mode(mode: u32) -> u32 {
    /// The bits of the ABI from the lowest up, in the numbering of the others: append, create,
    /// delete on close, exclusive, read, read and write, sequential, unique, write.
    const COMMON: [u32; 9] = [128, 1, 16, 64, 2, 8, MODE_SEQUENTIAL, 32, 4];
    match family() {
        Family::Abi => {
            let given = COMMON.iter().enumerate().filter(|(bit, _)| mode >> bit & 1 == 1);
            given.fold(0, |sum, (_, common)| sum | common)
        }
        _ => mode,
    }
}

/// MPI_MODE_SEQUENTIAL in common numbering.
pub const MODE_SEQUENTIAL: u32 = 256;

/// Returns true for MPI_SEEK_SET.
pub fn is_seek_set(whence: usize) -> bool {
    whence as u32 == if family() == Family::Abi { 403 } else { 600 }
}

static COMM_RANK: RealMpi = RealMpi::helper(c"PMPI_Comm_rank", 2);
static COMM_SIZE: RealMpi = RealMpi::helper(c"PMPI_Comm_size", 2);
static BARRIER: RealMpi = RealMpi::helper(c"PMPI_Barrier", 1);
static LIBRARY_VERSION: RealMpi = RealMpi::helper(c"PMPI_Get_library_version", 2);
static ERROR_CLASS: RealMpi = RealMpi::helper(c"PMPI_Error_class", 2);
static TYPE_SIZE: [RealMpi; 2] =
    [RealMpi::helper(c"PMPI_Type_size_x", 2), RealMpi::helper(c"PMPI_Type_size_c", 2)];
static TYPE_SIZE_INT: RealMpi = RealMpi::helper(c"PMPI_Type_size", 2);
static TYPE_EXTENT: RealMpi = RealMpi::helper(c"PMPI_Type_get_extent", 3);
static POSITION: RealMpi = RealMpi::helper(c"PMPI_File_get_position", 2);
static ELEMENTS: [RealMpi; 2] =
    [RealMpi::helper(c"PMPI_Get_elements_x", 3), RealMpi::helper(c"PMPI_Get_elements_c", 3)];

const fn words<const N: usize>(given: [usize; N]) -> Words {
    let mut words = [0; 6];
    let mut index = 0;
    while index < N && index < 6 {
        words[index] = given[index];
        index += 1;
    }
    words
}

fn address_of<T>(variable: &mut T) -> usize {
    (&raw mut *variable) as usize
}

fn succeeded(result: Option<c_int>) -> Option<()> {
    (result? == 0).then_some(())
}

/// Returns the rank in MPI_COMM_WORLD and its size.
pub fn rank_and_size(comm: usize) -> Option<(i32, u32)> {
    let (mut rank, mut size): (c_int, c_int) = (-1, 0);
    succeeded(COMM_RANK.try_call(&words([comm, address_of(&mut rank)])))?;
    succeeded(COMM_SIZE.try_call(&words([comm, address_of(&mut size)])))?;
    Some((rank, u32::try_from(size).ok()?))
}

/// Waits for all ranks of a communicator.
pub fn barrier(comm: usize) -> Option<()> {
    succeeded(BARRIER.try_call(&words([comm])))
}

/// MPI_MAX_LIBRARY_VERSION_STRING of MPICH and of the ABI; Open MPI has less.
const VERSION_BYTES: usize = 8192;

/// Hands what the library says of itself to `take`.
pub fn version(take: impl FnOnce(&[u8])) {
    let mut text = [0u8; VERSION_BYTES];
    let mut length: c_int = 0;
    let asked = LIBRARY_VERSION.try_call(&words([address_of(&mut text), address_of(&mut length)]));
    if succeeded(asked).is_some()
        && let Some(text) = usize::try_from(length).ok().and_then(|length| text.get(..length))
    {
        take(text);
    }
}

/// Returns the class of an error code, which is what a reader can look up.
pub fn error_class(code: c_int) -> u32 {
    let mut class: c_int = code;
    let _ = ERROR_CLASS.try_call(&words([code as usize, address_of(&mut class)]));
    class as u32
}

/// Bytes of data that one item of a type has.
pub fn type_bytes(datatype: usize) -> Option<u64> {
    // The most common type needs no call.
    if BYTE.handle() == Some(shortened(datatype)) {
        return Some(1);
    }
    let mut size: i64 = -1;
    for function in &TYPE_SIZE {
        if function.try_call(&words([datatype, address_of(&mut size)])) == Some(0) {
            return u64::try_from(size).ok();
        }
    }
    let mut size: c_int = -1;
    succeeded(TYPE_SIZE_INT.try_call(&words([datatype, address_of(&mut size)])))?;
    u64::try_from(size).ok()
}

/// Returns true if a file seen through this type has no holes: what a view's type may look like
/// (MPI 5.0, 14.1.1: displacements never decrease) leaves no other way for size to be extent.
pub fn is_contiguous(filetype: usize) -> bool {
    let (mut lower_bound, mut extent): (isize, isize) = (-1, -1);
    let extents = [filetype, address_of(&mut lower_bound), address_of(&mut extent)];
    succeeded(TYPE_EXTENT.try_call(&words(extents))).is_some()
        && lower_bound == 0
        && type_bytes(filetype).is_some_and(|bytes| bytes as isize == extent)
}

/// Returns the individual file pointer, in items of the view.
pub fn position(file: usize) -> Option<i64> {
    let mut position: i64 = -1;
    succeeded(POSITION.try_call(&words([file, address_of(&mut position)])))?;
    (position >= 0).then_some(position)
}

/// Bytes that a finished call has moved.
pub fn moved_bytes(status: usize) -> Option<u64> {
    let byte = BYTE.handle()?;
    let mut count: i64 = -1;
    let asked = words([status, byte, address_of(&mut count)]);
    ELEMENTS.iter().find_map(|function| succeeded(function.try_call(&asked)))?;
    u64::try_from(count).ok()
}

static INFO_COUNT: RealMpi = RealMpi::helper(c"PMPI_Info_get_nkeys", 2);
static INFO_KEY: RealMpi = RealMpi::helper(c"PMPI_Info_get_nthkey", 3);
static INFO_VALUE: RealMpi = RealMpi::helper(c"PMPI_Info_get", 5);
static INFO_STRING: RealMpi = RealMpi::helper(c"PMPI_Info_get_string", 5);
static INFO_FREE: RealMpi = RealMpi::helper(c"PMPI_Info_free", 1);
static FILE_INFO: RealMpi = RealMpi::helper(c"PMPI_File_get_info", 2);

/// MPI_MAX_INFO_KEY of the ABI, the longest of all, and its zero.
pub const KEY_BYTES: usize = 257;
/// MPI_MAX_INFO_VAL of MPICH and of the ABI, the longest of all, and its zero.
pub const VALUE_BYTES: usize = 1025;

/// Returns how many hints an info object has.
pub fn info_count(info: usize) -> usize {
    let mut count: c_int = 0;
    let _ = INFO_COUNT.try_call(&words([info, address_of(&mut count)]));
    usize::try_from(count).unwrap_or(0)
}

/// Reads a hint by its place.
pub fn info_entry(
    info: usize,
    place: usize,
    key: &mut [u8; KEY_BYTES],
    value: &mut [u8; VALUE_BYTES],
) -> Option<()> {
    succeeded(INFO_KEY.try_call(&words([info, place, address_of(key)])))?;
    let mut is_set: c_int = 0;
    // Deprecated, but in every library so far; the other is new in MPI 4.0.
    let room = (VALUE_BYTES - 1) as c_int;
    let asked = [info, address_of(key), room as usize, address_of(value), address_of(&mut is_set)];
    if succeeded(INFO_VALUE.try_call(&words(asked))).is_none() {
        let mut room = VALUE_BYTES as c_int;
        let asked = [
            info,
            address_of(key),
            address_of(&mut room),
            address_of(value),
            address_of(&mut is_set),
        ];
        succeeded(INFO_STRING.try_call(&words(asked)))?;
    }
    (is_set != 0).then_some(())
}

/// Hands the hints that a file uses to `take`, as an info object.
pub fn file_info(file: usize, take: impl FnOnce(usize)) {
    let mut info: usize = 0;
    let asked = FILE_INFO.try_call(&words([file, address_of(&mut info)]));
    if succeeded(asked).is_some() && is_info(info) {
        take(info);
        let _ = INFO_FREE.try_call(&words([address_of(&mut info)]));
    }
}

/// Returns a text of C; nothing if there is none.
pub fn c_text<'a>(pointer: usize) -> &'a [u8] {
    if pointer == 0 {
        return b"";
    }
    // SAFETY: the program passed the pointer as a text that ends with a zero, and the MPI
    // library has read it or is about to.
    unsafe { CStr::from_ptr(pointer as *const c_char) }.to_bytes()
}
