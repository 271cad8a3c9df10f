//! How a result is shown: tables of so many rows, and a page.

use std::path::PathBuf;

use anyhow::Result;
use plimsoll_guarded::Readers;

use crate::new_file::{NewFile, Replacing};
use crate::output::Output;
use crate::value;

/// How a result is shown.
#[derive(clap::Args)]
pub struct Shown {
    /// Also draw all of it into this page
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    #[command(flatten)]
    replacing: Replacing,

    /// Rows of long tables
    #[arg(long, value_name = "N", default_value = "20", value_parser = value::count)]
    top: u64,
}

impl Shown {
    /// Opens the page, if there is to be one. Who may read it is asked only then: that may mean to open many files.
    pub fn page(&self, readers: impl FnOnce() -> Result<Readers>) -> Result<Option<NewFile>> {
        let open = |path: &PathBuf| self.replacing.create_from(path, readers()?);
        self.html.as_ref().map(open).transpose()
    }

    /// Returns how many rows a table has. Programs get every row; people get those that matter.
    pub fn rows(&self, output: Output) -> Result<usize> {
        if output.json { Ok(usize::MAX) } else { Ok(usize::try_from(self.top)?) }
    }

    /// Returns whether files that exist are replaced.
    pub fn replacing(&self) -> &Replacing {
        &self.replacing
    }

    /// Returns whether a page is wanted.
    pub fn has_page(&self) -> bool {
        self.html.is_some()
    }
}
