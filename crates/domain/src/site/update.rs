//! Changing the text of a site file: values are replaced in their place, so that a person's comments
//! and order stay, and the result must be a site again.

use serde::Serialize;
use toml_edit::{ArrayOfTables, DocumentMut, Item, Table, TableLike};

use super::{SiteError, SiteFile};

impl SiteFile {
    /// Changes the text; the result must be a valid site before it replaces the old one.
    pub(super) fn change(
        &mut self,
        change: impl FnOnce(&mut DocumentMut) -> Result<(), String>,
    ) -> Result<(), SiteError> {
        let mut document = self.document.clone();
        change(&mut document)
            .map_err(|problem| SiteError::Contradiction { path: self.path.clone(), problem })?;
        self.replace_text(&document.to_string())?;
        Ok(())
    }
}

/// Returns the `[[target]]` table of that name.
pub(super) fn target<'a>(
    document: &'a mut DocumentMut,
    name: &str,
) -> Result<&'a mut Table, String> {
    let targets = document.get_mut("target").and_then(Item::as_array_of_tables_mut);
    let mut targets = targets.into_iter().flat_map(ArrayOfTables::iter_mut);
    targets
        .find(|table| has(table, "name", name))
        .ok_or_else(|| format!("no [[target]] table has the name {name:?}"))
}

/// Returns whether a table has this value.
pub(super) fn has(table: &Table, key: &str, value: &str) -> bool {
    table.get(key).and_then(Item::as_str) == Some(value)
}

/// Returns the table of a target below a key, which may be written inline; made when it is not there.
pub(super) fn part<'a>(
    table: &'a mut dyn TableLike,
    key: &str,
    target: &str,
) -> Result<&'a mut dyn TableLike, String> {
    // No heading of its own for a table that only holds tables.
    let new = || {
        let mut new = Table::new();
        new.set_implicit(true);
        Item::Table(new)
    };
    let item = table.entry(key).or_insert_with(new);
    item.as_table_like_mut().ok_or_else(|| format!("target {target:?}: {key} is not a table"))
}

/// Returns a value as the table that represents it.
pub(super) fn entries<T: Serialize>(entry: &T) -> Result<Table, String> {
    let document = toml_edit::ser::to_document(entry).map_err(|error| error.to_string())?;
    Ok(Table::from_iter(document.as_table().clone()))
}

/// Gives a table these entries; others stay, and so do comments behind values.
pub(super) fn overwrite(table: &mut dyn TableLike, new: &Table) {
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

/// Gives a table these entries and no others.
pub(super) fn replace(table: &mut dyn TableLike, new: &Table) {
    let stale: Vec<String> =
        table.iter().map(|(key, _)| key.to_owned()).filter(|key| !new.contains_key(key)).collect();
    for key in stale {
        table.remove(&key);
    }
    overwrite(table, new);
}
