//! Reading a site file, and updating one without losing what a person wrote in it.

use std::collections::HashSet;
use std::fs::{self, File, Permissions};
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use plimsoll_guarded::open_input;
use serde::Serialize;
use toml_edit::{ArrayOfTables, DocumentMut, Item, Table};

use super::{SITE_VERSION, Site, SiteError};

/// A site of ten thousand targets is about 2 MiB; more than this is something else.
pub const FILE_BYTES_MAX: u64 = 16 << 20;

/// A site file: what it says, and its text with comments and order kept.
#[derive(Debug, Clone)]
pub struct SiteFile {
    pub(super) path: PathBuf,
    pub(super) document: DocumentMut,
    site: Site,
}

impl SiteFile {
    /// Reads and checks the file.
    pub fn load(path: &Path) -> Result<Self, SiteError> {
        let read_error = |cause| SiteError::Read { path: path.to_path_buf(), cause };
        let file = open_input(path).map_err(read_error)?;
        let mut bytes = Vec::new();
        // `take` also bounds devices and pipes, whose length says nothing.
        file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(read_error)?;
        if bytes.len() as u64 > FILE_BYTES_MAX {
            return Err(SiteError::TooLarge { path: path.to_path_buf(), limit: FILE_BYTES_MAX });
        }
        let text = String::from_utf8(bytes).map_err(|error| SiteError::Syntax {
            path: path.to_path_buf(),
            line: line_at(error.as_bytes(), error.utf8_error().valid_up_to()),
            message: "not UTF-8 text".into(),
        })?;
        Self::parse(path, &text)
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
        Ok(SiteFile { path: path.to_path_buf(), document, site })
    }

    /// Returns a new file with the contents of `site`; nothing is written yet.
    pub fn create(path: &Path, site: &Site) -> Result<Self, SiteError> {
        let text = toml_edit::ser::to_string_pretty(site).map_err(|error| {
            SiteError::Contradiction { path: path.to_path_buf(), problem: error.to_string() }
        })?;
        Self::parse(path, &format!("{HEADER}{text}"))
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
        *self = Self::parse(&self.path, &document.to_string())?;
        Ok(added)
    }

    /// Writes the text to a temporary file beside the old one and renames it, so that
    /// a crash or a full disk leaves the old file whole. A symbolic link stays one, and
    /// the file keeps its permissions.
    pub fn save(&self) -> Result<(), SiteError> {
        // A file that does not exist yet has no other name than the one given.
        let target = fs::canonicalize(&self.path).unwrap_or_else(|_| self.path.clone());
        let mut temporary = target.clone().into_os_string();
        temporary.push(format!(".{}.tmp", std::process::id()));
        let temporary = PathBuf::from(temporary);
        let written = self.write_through(&temporary, &target);
        if written.is_err() {
            // Best effort: the write error is what the user needs to see.
            let _ = fs::remove_file(&temporary);
        }
        written.map_err(|cause| SiteError::Write { path: self.path.clone(), cause })
    }

    fn write_through(&self, temporary: &Path, target: &Path) -> std::io::Result<()> {
        let mut file = File::create_new(temporary)?;
        if let Ok(old) = fs::metadata(target) {
            // Rights that somebody else gave to a file of theirs would be given to one of ours.
            if old.uid() != file.metadata()?.uid() {
                let problem = format!("it belongs to user {}; hint: copy it first", old.uid());
                return Err(std::io::Error::other(problem));
            }
            file.set_permissions(Permissions::from_mode(old.mode() & 0o666))?;
        }
        file.write_all(self.text().as_bytes())?;
        file.sync_all()?;
        fs::rename(temporary, target)?;
        let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
        File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
    }
}

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
