//! What others call metadata operations.

use plimsoll_history::Measure;

/// Returns what counts an operation of Lustre, by its name in `md_stats` and in LMT's table of operations.
pub(crate) fn operation(name: &str) -> Option<Measure> {
    Some(match name {
        "open" => Measure::Opens,
        "close" => Measure::Closes,
        "create" => Measure::Creates,
        "mknod" => Measure::Mknods,
        "link" => Measure::Links,
        "unlink" => Measure::Unlinks,
        "mkdir" => Measure::Mkdirs,
        "rmdir" => Measure::Rmdirs,
        "rename" => Measure::Renames,
        "getattr" => Measure::GetAttributes,
        "setattr" => Measure::SetAttributes,
        "getxattr" => Measure::GetExtendedAttributes,
        "setxattr" => Measure::SetExtendedAttributes,
        "statfs" => Measure::StatFileSystems,
        "sync" => Measure::Syncs,
        "destroy" => Measure::Destroys,
        "punch" => Measure::Punches,
        "ping" => Measure::Pings,
        _ => return None,
    })
}
