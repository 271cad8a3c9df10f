//! Writing measured costs into a site file, with everything else in it kept.

use toml_edit::{DocumentMut, Item, Table, TableLike};

use super::{Cost, Costs, SiteError, SiteFile};

impl SiteFile {
    /// Sets what a transaction costs a target. A direction that was not measured keeps what
    /// the file says; comments and order stay.
    ///
    /// # Errors
    /// [`SiteError::Contradiction`] when there is no such target, when a cost is not possible,
    /// or when the targets are not written as `[[target]]` tables.
    pub fn set_cost(&mut self, target: &str, costs: &Costs) -> Result<(), SiteError> {
        let mut document = self.document.clone();
        update(&mut document, target, costs)
            .map_err(|problem| SiteError::Contradiction { path: self.path.clone(), problem })?;
        // The result must be a site again before it replaces the one that was.
        *self = Self::parse(&self.path, &document.to_string())?;
        Ok(())
    }
}

fn update(document: &mut DocumentMut, target: &str, costs: &Costs) -> Result<(), String> {
    let targets = document.get_mut("target").and_then(Item::as_array_of_tables_mut);
    let mut targets = targets.into_iter().flat_map(|list| list.iter_mut());
    let table = targets
        .find(|table| table.get("name").and_then(Item::as_str) == Some(target))
        .ok_or_else(|| format!("no [[target]] table has the name {target:?}"))?;
    let cost = part(table, "cost", target)?;
    for (key, new) in [("read", &costs.read), ("write", &costs.write)] {
        if let Some(new) = new {
            replace(part(cost, key, target)?, new)?;
        }
    }
    Ok(())
}

/// The table below a key, which may be written inline; made when it is not there.
fn part<'a>(
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

/// Gives the table the entries of `cost` and no others. Values are replaced in their place,
/// so that a comment behind one stays.
fn replace(table: &mut dyn TableLike, cost: &Cost) -> Result<(), String> {
    let new = toml_edit::ser::to_document(cost).map_err(|error| error.to_string())?;
    let stale: Vec<String> =
        table.iter().map(|(key, _)| key.to_owned()).filter(|key| !new.contains_key(key)).collect();
    for key in stale {
        table.remove(&key);
    }
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
    Ok(())
}
