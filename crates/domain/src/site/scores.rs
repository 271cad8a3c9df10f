//! Writing what `score` found into a site file, with everything else in it kept.

use serde::Serialize;
use toml_edit::{ArrayOfTables, DocumentMut, Item, Table, TableLike};

use super::{Peak, SiteError, SiteFile, Slowness, Straggler};

impl SiteFile {
    /// Sets the peak rates of a target; a direction that is `None` keeps what the file says.
    ///
    /// # Errors
    /// [`SiteError::Contradiction`] when no `[[target]]` table has the name or a rate is zero.
    pub fn set_peak(&mut self, target: &str, peak: &Peak) -> Result<(), SiteError> {
        self.change(|document| {
            let targets = document.get_mut("target").and_then(Item::as_array_of_tables_mut);
            let mut targets = targets.into_iter().flat_map(ArrayOfTables::iter_mut);
            let table = targets
                .find(|table| has(table, "name", target))
                .ok_or_else(|| format!("no [[target]] table has the name {target:?}"))?;
            let peaks = table.entry("peak").or_insert_with(|| Item::Table(Table::new()));
            let peaks = peaks
                .as_table_like_mut()
                .ok_or_else(|| format!("target {target:?}: peak is not a table"))?;
            overwrite(peaks, &entries(peak)?);
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

    /// Changes the text; the result must be a site again before it replaces the one that was.
    fn change(
        &mut self,
        change: impl FnOnce(&mut DocumentMut) -> Result<(), String>,
    ) -> Result<(), SiteError> {
        let mut document = self.document.clone();
        change(&mut document)
            .map_err(|problem| SiteError::Contradiction { path: self.path.clone(), problem })?;
        *self = Self::parse(&self.path, &document.to_string())?;
        Ok(())
    }
}

fn has(table: &Table, key: &str, value: &str) -> bool {
    table.get(key).and_then(Item::as_str) == Some(value)
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

fn entries<T: Serialize>(entry: &T) -> Result<Table, String> {
    let document = toml_edit::ser::to_document(entry).map_err(|error| error.to_string())?;
    Ok(Table::from_iter(document.as_table().clone()))
}

/// Values are replaced in their place, so that a comment behind one stays.
fn overwrite(table: &mut dyn TableLike, new: &Table) {
    for (key, item) in new.iter() {
        let Some(value) = item.as_value() else { continue };
        match table.get_mut(key).and_then(Item::as_value_mut) {
            Some(old) => {
                let mut value = value.clone();
                *value.decor_mut() = old.decor().clone();
                *old = value;
            }
            None => {
                table.insert(key, Item::Value(value.clone()));
            }
        }
    }
}
