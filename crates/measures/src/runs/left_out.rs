//! What a table of runs has that cannot be counted.

/// Rows whose value is of no use, counted by reason.
#[derive(Debug, Default)]
pub struct LeftOut {
    empty: u64,
    no_number: u64,
    not_finite: u64,
}

impl LeftOut {
    /// Returns the value of a cell, or nothing and the reason counted.
    pub(super) fn value(&mut self, cell: &str) -> Option<f64> {
        let reason = match cell.trim().parse::<f64>() {
            Ok(value) if value.is_finite() => return Some(value),
            Ok(_) => &mut self.not_finite,
            Err(_) if cell.trim().is_empty() => &mut self.empty,
            Err(_) => &mut self.no_number,
        };
        *reason += 1;
        None
    }

    /// Returns how many rows were left out.
    pub fn total(&self) -> u64 {
        self.empty + self.no_number + self.not_finite
    }

    /// Says how many for which reason.
    pub fn sentence(&self, column: &str) -> String {
        let reasons = [
            (self.empty, "nothing"),
            (self.no_number, "no number"),
            (self.not_finite, "no finite number"),
        ];
        let told = reasons.iter().filter(|(count, _)| *count > 0);
        let told: Vec<String> = told.map(|(count, what)| format!("{count} with {what}")).collect();
        format!("{} rows left out: {} in {column:?}", self.total(), told.join(", "))
    }
}
