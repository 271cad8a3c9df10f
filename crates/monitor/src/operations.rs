//! Which measure an operation of Lustre's is.

use plimsoll_history::Measure;

/// Whose operations they are; each kind has its own list, so that what has not happened yet is zero and not missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operations {
    /// Of an OST.
    Data,
    /// Of an MDT.
    Metadata,
    /// Of a client on a file system.
    Client,
    /// Of a client's requests to a target.
    Requests,
}

use Measure::{
    Closes, Creates, Destroys, GetAttributes, GetExtendedAttributes, Links, Migrations, Mkdirs,
    Mknods, Opens, OtherOperations, Pings, Prealloc, Punches, ReadBytes, ReadDirectories,
    ReadOperations, Renames, RenamesCrossDirectory, RenamesParallel, RenamesSameDirectory, Rmdirs,
    SetAttributes, SetExtendedAttributes, StatFileSystems, Syncs, Unlinks, WriteOperations,
    WrittenBytes,
};

const DATA: &[Measure] = &[
    ReadBytes,
    WrittenBytes,
    ReadOperations,
    WriteOperations,
    Creates,
    Destroys,
    Punches,
    Syncs,
    GetAttributes,
    SetAttributes,
    StatFileSystems,
    OtherOperations,
];

const METADATA: &[Measure] = &[
    Opens,
    Closes,
    Creates,
    Mknods,
    Links,
    Unlinks,
    Mkdirs,
    Rmdirs,
    Renames,
    RenamesSameDirectory,
    RenamesCrossDirectory,
    GetAttributes,
    SetAttributes,
    GetExtendedAttributes,
    SetExtendedAttributes,
    StatFileSystems,
    Syncs,
    OtherOperations,
];

const CLIENT: &[Measure] = &[
    ReadBytes,
    WrittenBytes,
    ReadOperations,
    WriteOperations,
    Opens,
    Closes,
    Creates,
    Unlinks,
    Mkdirs,
    Rmdirs,
    Renames,
    GetAttributes,
    SetAttributes,
    ReadDirectories,
    Syncs,
    StatFileSystems,
    OtherOperations,
];

const REQUESTS: &[Measure] = &[ReadBytes, WrittenBytes, ReadOperations, WriteOperations];

impl Operations {
    /// Returns the measures that are zero until they are counted: Lustre leaves out operations that never happened.
    pub fn measures(self) -> &'static [Measure] {
        match self {
            Operations::Data => DATA,
            Operations::Metadata => METADATA,
            Operations::Client => CLIENT,
            Operations::Requests => REQUESTS,
        }
    }

    /// Returns the measure of an operation's samples; `None` where it is counted elsewhere already.
    pub fn measure(self, name: &str) -> Option<Measure> {
        Some(match name {
            "read_bytes" => ReadOperations,
            "write_bytes" => WriteOperations,
            // The time that the same operations took, and their two halves on the server.
            "read" | "write" | "preprw" | "commitrw" => return None,
            "open" => Opens,
            "close" => Closes,
            "create" => Creates,
            "mknod" => Mknods,
            "link" => Links,
            "unlink" => Unlinks,
            "mkdir" => Mkdirs,
            "rmdir" => Rmdirs,
            "rename" => Renames,
            "samedir_rename" => RenamesSameDirectory,
            "crossdir_rename" => RenamesCrossDirectory,
            "parallel_rename_file" | "parallel_rename_dir" => RenamesParallel,
            "migrate" => Migrations,
            "getattr" => GetAttributes,
            "setattr" => SetAttributes,
            "getxattr" => GetExtendedAttributes,
            "setxattr" => SetExtendedAttributes,
            "statfs" => StatFileSystems,
            "sync" | "fsync" => Syncs,
            "destroy" => Destroys,
            "punch" | "truncate" => Punches,
            "prealloc" | "fallocate" => Prealloc,
            "readdir" => ReadDirectories,
            "ping" | "obd_ping" => Pings,
            // Of requests, only data counts: the rest is the target's own business.
            _ if self == Operations::Requests => return None,
            _ => OtherOperations,
        })
    }

    /// Returns the measure of an operation's bytes.
    pub fn bytes(name: &str) -> Option<Measure> {
        match name {
            "read_bytes" => Some(ReadBytes),
            "write_bytes" => Some(WrittenBytes),
            _ => None,
        }
    }
}

/// Returns what Lustre calls an operation, for metrics.
pub fn lustre_name(measure: Measure) -> Option<&'static str> {
    Some(match measure {
        Opens => "open",
        Closes => "close",
        Creates => "create",
        Mknods => "mknod",
        Links => "link",
        Unlinks => "unlink",
        Mkdirs => "mkdir",
        Rmdirs => "rmdir",
        Renames => "rename",
        RenamesSameDirectory => "samedir_rename",
        RenamesCrossDirectory => "crossdir_rename",
        RenamesParallel => "parallel_rename",
        Migrations => "migrate",
        GetAttributes => "getattr",
        SetAttributes => "setattr",
        GetExtendedAttributes => "getxattr",
        SetExtendedAttributes => "setxattr",
        StatFileSystems => "statfs",
        Syncs => "sync",
        Destroys => "destroy",
        Punches => "punch",
        Prealloc => "prealloc",
        ReadDirectories => "readdir",
        Pings => "ping",
        OtherOperations => "other",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_measures_agree() {
        for measure in Measure::ALL {
            let Some(name) = lustre_name(*measure) else { continue };
            let back = Operations::Metadata.measure(name);
            let is_gathered = matches!(measure, RenamesParallel | OtherOperations);
            assert!(is_gathered || back == Some(*measure), "{name}: {back:?}");
        }
    }

    #[test]
    fn what_is_counted_twice_is_taken_once() {
        assert_eq!(Operations::Data.measure("write"), None);
        assert_eq!(Operations::Data.measure("write_bytes"), Some(WriteOperations));
        assert_eq!(Operations::Data.measure("get_info"), Some(OtherOperations));
        assert_eq!(Operations::Requests.measure("req_waittime"), None);
    }
}
