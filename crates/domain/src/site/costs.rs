//! Writing measured costs into a site file, with everything else in it kept.

use super::update::{entries, part, replace, target};
use super::{Costs, SiteError, SiteFile};

impl SiteFile {
    /// Sets what a transaction costs a target. A direction that was not measured keeps what
    /// the file says; comments and order stay.
    ///
    /// # Errors
    /// [`SiteError::Contradiction`] when there is no such target, when a cost is not possible,
    /// or when the targets are not written as `[[target]]` tables.
    pub fn set_cost(&mut self, name: &str, costs: &Costs) -> Result<(), SiteError> {
        self.change(|document| {
            let cost = part(target(document, name)?, "cost", name)?;
            for (key, new) in [("read", &costs.read), ("write", &costs.write)] {
                if let Some(new) = new {
                    replace(part(cost, key, name)?, &entries(new)?);
                }
            }
            Ok(())
        })
    }
}
