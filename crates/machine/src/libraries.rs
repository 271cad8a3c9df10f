//! Shared libraries that the dynamic linker knows, from `/etc/ld.so.cache`, and
//! those in the usual directories.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::Machine;

const CACHE: &str = "/etc/ld.so.cache";

/// The linker's own directories, and where distributions and sites put MPI.
const USUAL_DIRECTORIES: [&str; 10] = [
    "/lib",
    "/lib64",
    "/usr/lib",
    "/usr/lib64",
    "/usr/local/lib",
    "/usr/local/lib64",
    "/usr/lib64/openmpi/lib",
    "/usr/lib64/mpich/lib",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
];

/// `struct cache_file_new` of glibc (sysdeps/generic/dl-cache.h): magic and version,
/// then the number of libraries, further fields up to byte 48, and the entries.
const MAGIC: &[u8] = b"glibc-ld.so.cache1.1";
const COUNT_OFFSET: usize = 20;
const HEADER: usize = 48;
/// `struct file_entry_new`: flags, key (name), value (path), osversion, hwcap.
const ENTRY: usize = 24;
const VALUE_OFFSET: usize = 8;

impl Machine {
    /// Libraries whose file name satisfies `wanted`, each once, ordered by path.
    pub(crate) fn find_libraries(&self, wanted: impl Fn(&str) -> bool) -> Vec<PathBuf> {
        let cached = self.bytes(CACHE).map(|bytes| parse_ld_cache(&bytes));
        let mut found: BTreeSet<PathBuf> = cached
            .unwrap_or_default()
            .into_iter()
            .filter(|path| has_wanted_name(path, &wanted) && self.locate(path).exists())
            .collect();
        for directory in USUAL_DIRECTORIES.map(Path::new) {
            let Ok(entries) = fs::read_dir(self.locate(directory)) else { continue };
            let paths = entries.flatten().map(|entry| directory.join(entry.file_name()));
            found.extend(paths.filter(|path| has_wanted_name(path, &wanted)));
        }
        found.into_iter().collect()
    }
}

fn has_wanted_name(path: &Path, wanted: impl Fn(&str) -> bool) -> bool {
    path.file_name().and_then(OsStr::to_str).is_some_and(wanted)
}

/// Returns the paths of all libraries in the dynamic linker's cache; empty when the bytes are
/// not such a cache. The new format may follow an old one in the same file.
pub fn parse_ld_cache(bytes: &[u8]) -> Vec<PathBuf> {
    let Some(start) = bytes.windows(MAGIC.len()).position(|window| window == MAGIC) else {
        return Vec::new();
    };
    let cache = &bytes[start..];
    let count = number(cache, COUNT_OFFSET).unwrap_or(0);
    let entries = cache.get(HEADER..).unwrap_or_default().chunks_exact(ENTRY).take(count);
    entries.filter_map(|entry| text(cache, number(entry, VALUE_OFFSET)?)).collect()
}

fn number(bytes: &[u8], offset: usize) -> Option<usize> {
    let four = bytes.get(offset..)?.first_chunk::<4>()?;
    usize::try_from(u32::from_ne_bytes(*four)).ok()
}

/// Returns the path that begins at `offset` and ends at a NUL.
fn text(cache: &[u8], offset: usize) -> Option<PathBuf> {
    let rest = cache.get(offset..)?;
    let length = rest.iter().position(|&byte| byte == 0)?;
    let path = Path::new(OsStr::from_bytes(&rest[..length]));
    path.is_absolute().then(|| path.to_path_buf())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns a cache with the paths, as ldconfig would write it.
    fn cache(paths: &[&str]) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend((paths.len() as u32).to_ne_bytes());
        bytes.resize(HEADER, 0);
        let mut offset = HEADER + ENTRY * paths.len();
        for path in paths {
            let mut entry = vec![0; ENTRY];
            entry[VALUE_OFFSET..VALUE_OFFSET + 4].copy_from_slice(&(offset as u32).to_ne_bytes());
            bytes.extend(entry);
            offset += path.len() + 1;
        }
        for path in paths {
            bytes.extend(path.as_bytes());
            bytes.push(0);
        }
        bytes
    }

    #[test]
    fn reads_a_cache_also_behind_an_old_one() {
        let paths = ["/opt/mpi/lib/libmpi.so.40", "/lib/libc.so.6"];
        assert_eq!(parse_ld_cache(&cache(&paths)), paths.map(PathBuf::from));
        let mut old = b"ld.so-1.7.0\0".to_vec();
        old.extend(cache(&paths));
        assert_eq!(parse_ld_cache(&old), paths.map(PathBuf::from));
        assert!(parse_ld_cache(b"junk").is_empty());
    }

    #[test]
    fn finds_cached_and_usual_libraries_once() {
        let root = tempfile::tempdir().unwrap();
        for path in ["opt/mpi/libmpi.so.40", "usr/lib/libmpi.so.12", "usr/lib/libz.so"] {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        fs::create_dir_all(root.path().join("etc")).unwrap();
        let listed = ["/opt/mpi/libmpi.so.40", "/usr/lib/libmpi.so.12", "/gone/libmpi.so"];
        fs::write(root.path().join("etc/ld.so.cache"), cache(&listed)).unwrap();
        let found = Machine::at(root.path(), "").find_libraries(|name| name.contains("libmpi"));
        assert_eq!(found, ["/opt/mpi/libmpi.so.40", "/usr/lib/libmpi.so.12"].map(PathBuf::from));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(count: u32, rest in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut bytes = MAGIC.to_vec();
            bytes.extend(count.to_ne_bytes());
            bytes.extend(rest);
            parse_ld_cache(&bytes);
        }
    }
}
