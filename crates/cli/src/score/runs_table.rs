//! `plimsoll score --from-csv`: runs that other programs measured.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow, bail};
use plimsoll_figures::names;
use plimsoll_figures::runs::RunsTable;
use plimsoll_measures::runs::Layout;

use crate::output::Output;

#[derive(clap::Args)]
pub struct TableArguments {
    /// Summarize runs in these CSV files instead (also .gz); the first line names the columns
    #[arg(long, value_name = "FILE", num_args = 1.., help_heading = "Tables of runs")]
    from_csv: Vec<PathBuf>,

    /// The column to summarize
    #[arg(long, value_name = "COLUMN", requires = "from_csv", help_heading = "Tables of runs")]
    value: Option<String>,

    /// The columns to group by; `file` is the name of the file
    #[arg(
        long,
        value_name = "COLUMN",
        value_delimiter = ',',
        requires = "from_csv",
        help_heading = "Tables of runs"
    )]
    by: Vec<String>,

    /// The column with the time of a run: seconds since 1970, or a time such as 2018-01-28T12:00:00Z
    #[arg(long, value_name = "COLUMN", requires = "from_csv", help_heading = "Tables of runs")]
    time: Option<String>,

    /// The program that wrote the files; sets the columns
    #[arg(
        long = "as",
        value_enum,
        value_name = "FORMAT",
        requires = "from_csv",
        conflicts_with_all = ["value", "by", "time"],
        help_heading = "Tables of runs"
    )]
    format: Option<TableFormat>,
}

#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
enum TableFormat {
    /// Summaries of TOKIO-ABC: POSIX bandwidth in MiB/s by file system, program, direction,
    /// processes and interface
    TokioAbc,
}

impl TableArguments {
    pub fn is_given(&self) -> bool {
        !self.from_csv.is_empty()
    }

    fn layout(&self) -> Result<Layout> {
        if self.format == Some(TableFormat::TokioAbc) {
            return Ok(Layout::tokio_abc());
        }
        let value = self.value.clone().ok_or_else(|| {
            anyhow!("cannot summarise a table: no --value COLUMN; hint: --as names known formats")
        })?;
        Ok(Layout::new(&self.by, value, self.time.clone()))
    }
}

pub fn run(arguments: &TableArguments, utc_offset: i32, output: Output) -> Result<ExitCode> {
    let mut table = RunsTable::new(arguments.layout()?);
    for path in &arguments.from_csv {
        table.read(path).with_context(|| format!("cannot summarise {}", path.display()))?;
    }
    let names = names(&arguments.from_csv);
    if let Some(why) = table.why_empty() {
        bail!("cannot summarise {names}: {why}");
    }
    output.print(
        "score.runs",
        &format!("runs of {names}"),
        &table.record(utc_offset, output.json),
    )?;
    Ok(ExitCode::SUCCESS)
}
