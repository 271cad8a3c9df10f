//! Writing what `score` found into a site file, with everything else in it kept.

use serde::Serialize;
use toml_edit::{ArrayOfTables, DocumentMut, Item, Table};

use super::update::{entries, has, overwrite, part, target};
use super::{Peak, SiteError, SiteFile, Slowness, Straggler};

impl SiteFile {
    /// Sets the peak rates of a target; a direction that is `None` keeps what the file says.
    ///
    /// # Errors
    /// [`SiteError::Contradiction`] when no `[[target]]` table has the name or a rate is zero.
    pub fn set_peak(&mut self, name: &str, peak: &Peak) -> Result<(), SiteError> {
        self.change(|document| {
            overwrite(part(target(document, name)?, "peak", name)?, &entries(peak)?);
            Ok(())
        })
    }

    /// Sets durations of slowness: those of the same quantile are replaced, others added.
    ///
    /// # Errors
    /// [`SiteError::Contradiction`] when a quantile is not between 0 and 1, or the entries are
    /// not written as `[[slowness]]` tables.
    pub fn set_slowness(&mut self, found: &[Slowness]) -> Result<(), SiteError> {
        self.change(|document| {
            let list = list(document, "slowness")?;
            for slowness in found {
                let same = |table: &Table| {
                    let quantile = table.get("quantile").and_then(Item::as_float);
                    quantile == Some(slowness.quantile)
                };
                put(list, slowness, same)?;
            }
            Ok(())
        })
    }

    /// Sets stragglers: an entry of the same component is replaced, others are added, and those
    /// that `is_normal` says are stragglers no more are removed.
    ///
    /// # Errors
    /// [`SiteError::Contradiction`] when a name or ratio is not possible, or the entries are not
    /// written as `[[straggler]]` tables.
    pub fn set_stragglers(
        &mut self,
        found: &[Straggler],
        is_normal: impl Fn(&Straggler) -> bool,
    ) -> Result<(), SiteError> {
        let normal: Vec<Straggler> =
            self.site().stragglers.iter().filter(|it| is_normal(it)).cloned().collect();
        self.change(|document| {
            let list = list(document, "straggler")?;
            let same = |table: &Table, it: &Straggler| {
                has(table, "name", &it.name) && has(table, "component", it.component.name())
            };
            list.retain(|table| !normal.iter().any(|it| same(table, it)));
            for straggler in found {
                put(list, straggler, |table| same(table, straggler))?;
            }
            Ok(())
        })
    }
}

fn list<'a>(document: &'a mut DocumentMut, key: &str) -> Result<&'a mut ArrayOfTables, String> {
    let item = document.entry(key).or_insert_with(|| Item::ArrayOfTables(ArrayOfTables::new()));
    item.as_array_of_tables_mut()
        .ok_or_else(|| format!("{key} is an inline array; hint: write it as [[{key}]] tables"))
}

/// Replaces the entry that is the same thing, or adds one.
fn put<T: Serialize>(
    list: &mut ArrayOfTables,
    entry: &T,
    same: impl Fn(&Table) -> bool,
) -> Result<(), String> {
    let new = entries(entry)?;
    let place = list.iter().position(same);
    match place.and_then(|place| list.get_mut(place)) {
        Some(table) => overwrite(table, &new),
        None => list.push(new),
    }
    Ok(())
}
