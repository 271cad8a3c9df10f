//! Counters as they were read, in the order of time for each component.

use std::collections::HashMap;

use plimsoll_history::{
    Component, Differences, Form, Import, Measure, Reading, Row, Series, Since, Value,
};

use crate::ImportError;
use crate::notes::Notes;

/// Turns readings into samples of an import.
pub(crate) struct Readings<'a> {
    import: &'a mut Import,
    compared: Compared,
}

impl<'a> Readings<'a> {
    pub fn new(import: &'a mut Import) -> Self {
        Readings { import, compared: Compared::default() }
    }

    /// Takes what was read of a component at a moment, in milliseconds since 1970.
    pub fn take(
        &mut self,
        component: &Component,
        server: &str,
        millis: u64,
        values: Vec<Value>,
    ) -> Result<(), ImportError> {
        self.compared.take(self.import, component, server, millis, values)
    }

    /// Says what happened.
    pub fn finish(self, notes: &mut Notes) {
        self.compared.finish(notes);
    }
}

/// The latest readings, to which the next ones are compared.
#[derive(Default)]
pub(crate) struct Compared {
    differences: Differences,
    numbers: HashMap<Component, Numbers>,
    /// Counters that began anew or were new, and readings of a moment that was read before.
    resets: u64,
    firsts: u64,
    repeated: u64,
}

#[derive(Default)]
struct Numbers {
    server: String,
    of: HashMap<(Measure, u64), u32>,
    has_reading: bool,
}

impl Compared {
    /// Takes what was read of a component at a moment, in milliseconds since 1970, for this import.
    pub fn take(
        &mut self,
        import: &mut Import,
        component: &Component,
        server: &str,
        millis: u64,
        values: Vec<Value>,
    ) -> Result<(), ImportError> {
        let reading = Reading {
            component: component.clone(),
            server: server.to_owned(),
            time: millis.saturating_mul(1_000_000),
            epoch: 0,
            values,
        };
        let since = self.differences.take(&reading);
        let numbers = self.numbers.entry(component.clone()).or_default();
        if numbers.server != server {
            numbers.server.clear();
            numbers.server.push_str(server);
            numbers.of.clear();
        }
        if since.is_not_later {
            self.repeated += since.unknown as u64;
            return Ok(());
        }
        let unknown = if numbers.has_reading { &mut self.resets } else { &mut self.firsts };
        *unknown += since.unknown as u64;
        numbers.has_reading = true;
        give(import, numbers, component, &since)
    }

    /// Says what happened.
    pub fn finish(self, notes: &mut Notes) {
        notes.left_out(
            self.firsts,
            "counters at their first reading: nothing before to compare with",
        );
        notes.left_out(
            self.resets,
            "counters that were reset, or that another server reported before",
        );
        notes.left_out(self.repeated, "readings of a moment that was read before");
    }
}

fn give(
    import: &mut Import,
    numbers: &mut Numbers,
    component: &Component,
    since: &Since,
) -> Result<(), ImportError> {
    for known in &since.known {
        let length = match known.measure.form() {
            Form::Level => 0,
            Form::Increment => match u32::try_from(since.length_millis) {
                Ok(length) if length > 0 => length,
                // Seven weeks without a reading are no sample.
                _ => continue,
            },
        };
        let series = *numbers.of.entry((known.measure, known.bin)).or_insert_with(|| {
            let (component, server) = (component.clone(), numbers.server.clone());
            import.series(&Series { measure: known.measure, bin: known.bin, component, server })
        });
        import.row(Row { series, end: since.end_millis, length, value: known.value })?;
    }
    Ok(())
}
