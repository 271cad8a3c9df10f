//! Reading a site file, and updating one without losing what a person wrote in it.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use plimsoll_guarded::{Directory, Draft, Readers, open_input, random_hex, read_at_most};
use rustix::fs::OFlags;
use serde::Serialize;
use toml_edit::{ArrayOfTables, DocumentMut, Item, Table};

use super::{SITE_VERSION, Site, SiteError};

/// More than this is something else than a site file. Two thousand targets with all that is measured of each, 900
/// bytes, and twenty thousand clients with their places in the network, 75 bytes, are 3.3 MB; ten thousand targets
/// with their names, servers and peaks are 2 MB. Reading takes some fifty times as much memory.
pub const FILE_BYTES_MAX: u64 = 4 << 20;

/// A site file: what it says, and its text with comments and order kept.
#[derive(Debug, Clone)]
pub struct SiteFile {
    pub(super) path: PathBuf,
    pub(super) document: DocumentMut,
    site: Site,
    /// Device and number of the file that was read; `None` for a new one.
    read_from: Option<(u64, u64)>,
    readers: Readers,
}

impl SiteFile {
    /// Reads and checks the file.
    pub fn load(path: &Path) -> Result<Self, SiteError> {
        let read_error = |cause| SiteError::Read { path: path.to_path_buf(), cause };
        let file = open_input(path).map_err(read_error)?;
        let facts = file.metadata().map_err(read_error)?;
        let read_from = Some((facts.dev(), facts.ino()));
        let readers = Readers::of(&file);
        let bytes = read_at_most(FILE_BYTES_MAX, file).map_err(read_error)?.ok_or_else(|| {
            SiteError::TooLarge { path: path.to_path_buf(), limit: FILE_BYTES_MAX }
        })?;
        let text = String::from_utf8(bytes).map_err(|error| SiteError::Syntax {
            path: path.to_path_buf(),
            line: line_at(error.as_bytes(), error.utf8_error().valid_up_to()),
            message: "not UTF-8 text".into(),
        })?;
        Ok(SiteFile { read_from, readers, ..Self::parse(path, &text)? })
    }

    /// Reads and checks a text; `path` is for messages and for [`save`](Self::save).
    pub fn parse(path: &Path, text: &str) -> Result<Self, SiteError> {
        let syntax = |span: Option<std::ops::Range<usize>>, message: &str| SiteError::Syntax {
            path: path.to_path_buf(),
            line: line_at(text.as_bytes(), span.map_or(0, |span| span.start)),
            message: message.split_whitespace().collect::<Vec<_>>().join(" "),
        };
        let document: DocumentMut = text
            .parse()
            .map_err(|error: toml_edit::TomlError| syntax(error.span(), error.message()))?;
        check_version(path, &document)?;
        let site: Site =
            toml_edit::de::from_str(text).map_err(|error| syntax(error.span(), error.message()))?;
        site.check()
            .map_err(|problem| SiteError::Contradiction { path: path.to_path_buf(), problem })?;
        let (read_from, readers) = (None, Readers::Everyone);
        Ok(SiteFile { path: path.to_path_buf(), document, site, read_from, readers })
    }

    /// Returns a new file with the contents of `site`; nothing is written yet.
    pub fn create(path: &Path, site: &Site) -> Result<Self, SiteError> {
        let text = toml_edit::ser::to_string_pretty(site).map_err(|error| {
            SiteError::Contradiction { path: path.to_path_buf(), problem: error.to_string() }
        })?;
        Self::parse(path, &format!("{HEADER}{text}"))
    }

    /// Returns who may read the file that was read.
    pub fn readers(&self) -> Readers {
        self.readers
    }

    /// Returns what the file says.
    pub fn site(&self) -> &Site {
        &self.site
    }

    /// Returns where it is saved.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the text as it would be saved.
    pub fn text(&self) -> String {
        self.document.to_string()
    }

    /// Adds the file systems, servers, targets and clients of `found` whose names are
    /// new, and leaves every line that is there as it is. Returns how many were added.
    pub fn add_new(&mut self, found: &Site) -> Result<usize, SiteError> {
        let known = &self.site;
        let file_systems = new(&found.file_systems, &known.file_systems, |it| &it.name);
        let servers = new(&found.servers, &known.servers, |it| &it.name);
        let targets = new(&found.targets, &known.targets, |it| &it.name);
        let clients = new(&found.clients, &known.clients, |it| &it.name);
        let added = file_systems.len() + servers.len() + targets.len() + clients.len();
        let mut document = self.document.clone();
        let path = &self.path;
        append(&mut document, "file_system", &file_systems, path)?;
        append(&mut document, "server", &servers, path)?;
        append(&mut document, "target", &targets, path)?;
        append(&mut document, "client", &clients, path)?;
        // The result must be a site again before it replaces the one that was.
        self.replace_text(&document.to_string())?;
        Ok(added)
    }

    /// Says something else from now on; still the same file.
    pub(super) fn replace_text(&mut self, text: &str) -> Result<(), SiteError> {
        let (read_from, readers) = (self.read_from, self.readers);
        *self = SiteFile { read_from, readers, ..Self::parse(&self.path, text)? };
        Ok(())
    }

    /// Writes the text to a temporary file beside the old one and renames it, so that
    /// a crash or a full disk leaves the old file whole. A symbolic link of this user's stays one, and
    /// the file keeps its permissions and its group; those of a group that it cannot keep are given to nobody.
    ///
    /// # Errors
    /// If the system refuses, or if the file is not the one that was read: where others may write, they
    /// could have put a link to any file of this user's in its place.
    pub fn save(&self) -> Result<(), SiteError> {
        self.replace().map_err(|cause| SiteError::Write { path: self.path.clone(), cause })
    }

    fn replace(&self) -> io::Result<()> {
        let (directory, name) = place_of(&self.path)?;
        // Opened once: whoever may write there could exchange it between two looks.
        let old = match directory.open_file(&name, OFlags::RDONLY) {
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            opened => Some(opened?),
        };
        let facts = old.as_ref().map(File::metadata).transpose()?;
        let found = facts.as_ref().map(|old| (old.dev(), old.ino()));
        if self.read_from.is_some() && found != self.read_from {
            return Err(io::Error::other("it is not the file that was read; hint: read it again"));
        }
        // Where others may write, they could take a name that is known.
        let temporary = format!(".{name}.{}.tmp", random_hex(8)?);
        let mode = if old.is_some() { 0o600 } else { 0o644 };
        let mut draft = Draft::create_as(&directory, temporary, &name, mode)?;
        if let (Some(old), Some(facts)) = (&old, &facts) {
            // Rights that somebody else gave to a file of theirs would be given to one of ours.
            if facts.uid() != draft.file().metadata()?.uid() {
                let problem = format!("it belongs to user {}; hint: copy it first", facts.uid());
                return Err(io::Error::other(problem));
            }
            draft.take_rights_of(old)?;
        }
        draft.write_all(self.text().as_bytes())?;
        draft.sync()?;
        draft.publish()?;
        directory.sync()
    }
}

/// The directory and the name that a path leads to, by links of this user's only.
fn place_of(path: &Path) -> io::Result<(Directory, String)> {
    let mut path = path.to_path_buf();
    for _ in 0..LINKS_MAX {
        let name =
            path.file_name().and_then(|name| name.to_str()).ok_or(ErrorKind::InvalidInput)?;
        let above = path.parent().filter(|it| !it.as_os_str().is_empty());
        let directory = Directory::open_by_own_links(above.unwrap_or(Path::new(".")))?;
        match directory.own_link(name)? {
            None => return Ok((directory, name.to_string())),
            Some(target) => path = directory.path().join(target),
        }
    }
    Err(ErrorKind::InvalidInput.into())
}

/// Links from one to the next that are followed.
const LINKS_MAX: usize = 10;

const HEADER: &str = "\
# The storage of this site, as Plimsoll knows it. Commands read it and add what they
# measure; edit it freely, comments are kept. `plimsoll site check` finds mistakes.

";

fn check_version(path: &Path, document: &DocumentMut) -> Result<(), SiteError> {
    match document.get("version").and_then(Item::as_integer) {
        Some(version) if (1..=i64::from(SITE_VERSION)).contains(&version) => Ok(()),
        Some(found) => {
            Err(SiteError::Version { path: path.to_path_buf(), found, known: SITE_VERSION })
        }
        None => Err(SiteError::Syntax {
            path: path.to_path_buf(),
            line: 1,
            message: if document.contains_key("version") {
                "the version is not a whole number".into()
            } else {
                format!("no `version = {SITE_VERSION}` at the top; is it a site file?")
            },
        }),
    }
}

/// Returns those of `found` whose name is not among the `known`.
fn new<'a, T>(found: &'a [T], known: &[T], name: fn(&T) -> &String) -> Vec<&'a T> {
    let names: HashSet<&String> = known.iter().map(name).collect();
    found.iter().filter(|it| !names.contains(name(it))).collect()
}

fn append<T: Serialize>(
    document: &mut DocumentMut,
    key: &str,
    entries: &[T],
    path: &Path,
) -> Result<(), SiteError> {
    if entries.is_empty() {
        return Ok(());
    }
    let contradiction =
        |problem: String| SiteError::Contradiction { path: path.to_path_buf(), problem };
    let list = document.entry(key).or_insert_with(|| Item::ArrayOfTables(ArrayOfTables::new()));
    let list = list.as_array_of_tables_mut().ok_or_else(|| {
        contradiction(format!("{key} is an inline array; hint: write it as [[{key}]] tables"))
    })?;
    for entry in entries {
        let table =
            toml_edit::ser::to_document(entry).map_err(|error| contradiction(error.to_string()))?;
        list.push(Table::from_iter(table.as_table().clone()));
    }
    Ok(())
}

fn line_at(text: &[u8], offset: usize) -> usize {
    1 + text[..offset.min(text.len())].iter().filter(|&&byte| byte == b'\n').count()
}
