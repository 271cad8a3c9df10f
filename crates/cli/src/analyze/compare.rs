//! Two histories side by side.

use std::path::PathBuf;

use anyhow::{Result, bail};
use plimsoll_analyze::{Analysis, Frame, Options, Zone, summarize};
use plimsoll_figures::analyzed::{Named, comparison, comparison_page};
use plimsoll_history::Store;

use super::{Arguments, frame, options, threads};
use crate::output::Output;

/// Compares two histories, or two months or file systems of one.
pub fn run(arguments: &Arguments, names: [&String; 2], output: Output) -> Result<()> {
    let [first, second] = names.map(|name| Side::of(arguments, name));
    let (first, second) = (first?, second?);
    let html = arguments.shown.page(|| Ok(first.store.readers()?.and(second.store.readers()?)))?;
    let ((one, said_of_one), (two, said_of_two)) = (first.analysed()?, second.analysed()?);
    let first = Named { name: &first.name, frame: &one, analysis: &said_of_one };
    let second = Named { name: &second.name, frame: &two, analysis: &said_of_two };
    if let Some(file) = html {
        file.write(comparison_page(&first, &second).as_bytes())?;
    }
    let title = format!("{} and {}", first.name, second.name);
    output.print("analyze-compare", &title, &comparison(&first, &second))
}

/// One of two that are compared.
struct Side {
    name: String,
    path: PathBuf,
    /// Opened once: who may read the page depends on the very files that are analysed.
    store: Store,
    options: Options,
}

impl Side {
    fn of(arguments: &Arguments, name: &str) -> Result<Self> {
        let mut options = options(arguments);
        let Some(path) = &arguments.store else {
            return Side::at(name, PathBuf::from(name), options);
        };
        if let Some((since, until)) = month(name, &options.zone) {
            if options.since.is_some() || options.until.is_some() {
                bail!("--compare with months takes neither --since nor --until");
            }
            (options.since, options.until) = (Some(since), Some(until));
        } else if options.file_system.is_some() {
            bail!("--compare with file systems does not take --file-system");
        } else {
            options.file_system = Some(name.to_string());
        }
        Side::at(name, path.clone(), options)
    }

    fn at(name: &str, path: PathBuf, options: Options) -> Result<Self> {
        let store = Store::open(&path)?;
        Ok(Side { name: name.to_string(), path, store, options })
    }

    fn analysed(&self) -> Result<(Frame, Analysis)> {
        let frame = frame(&self.store, &self.path, &self.options)?;
        if frame.targets.is_empty() {
            bail!(
                "{} has no samples of targets of {}; hint: --compare takes two months like 2026-01, two file systems of --store, or without --store two histories",
                self.path.display(),
                self.name
            );
        }
        let whole = summarize(&self.store, &frame, &frame.days, threads())?.whole(&frame);
        let analysis = Analysis::of(&frame, &whole);
        Ok((frame, analysis))
    }
}

/// Returns where a month (2026-01) begins and ends on clocks of a zone, in milliseconds since 1970.
fn month(text: &str, zone: &Zone) -> Option<(u64, u64)> {
    let (year, month) = text.split_once('-')?;
    let is_number = |text: &str, digits: usize| {
        text.len() == digits && text.bytes().all(|it| it.is_ascii_digit())
    };
    if !is_number(year, 4) || !is_number(month, 2) {
        return None;
    }
    let (year, month): (i16, i8) = (year.parse().ok()?, month.parse().ok()?);
    let next = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
    Some((zone.begin_of_month(year, month)?, zone.begin_of_month(next.0, next.1)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn months_begin_at_midnight_on_the_wall() {
        let utc = month("2026-12", &Zone::utc()).unwrap();
        assert_eq!(utc, (1_796_083_200_000, 1_798_761_600_000));
        let berlin = month("2024-02", &Zone::named("Europe/Berlin").unwrap()).unwrap();
        assert_eq!(berlin.1 - berlin.0, 29 * 86_400_000);
        assert_eq!(berlin.0 % 86_400_000, 23 * 3_600_000);
        for no_month in ["scratch", "2026-13", "26-01", "2026-1", "lustre-01", ""] {
            assert_eq!(month(no_month, &Zone::utc()), None, "{no_month}");
        }
    }
}
