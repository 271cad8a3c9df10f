//! Readings of one scrape after another, in the same memory.

use plimsoll_history::{Component, Reading};

/// Readings of a scrape. Components come in the same order each time, so that nothing is allocated.
#[derive(Debug, Default)]
pub struct Readings {
    all: Vec<Reading>,
    used: usize,
}

impl Readings {
    /// Begins a scrape.
    pub fn begin(&mut self) {
        self.used = 0;
    }

    /// Returns the empty reading of a component.
    pub fn next(
        &mut self,
        component: &Component,
        server: &str,
        time: u64,
        epoch: u64,
    ) -> &mut Reading {
        if self.used == self.all.len() {
            let (component, server) = (component.clone(), server.to_owned());
            self.all.push(Reading { component, server, time, epoch, values: Vec::new() });
        }
        let reading = &mut self.all[self.used];
        self.used += 1;
        if reading.component != *component {
            reading.component.clone_from(component);
        }
        if reading.server != server {
            server.clone_into(&mut reading.server);
        }
        (reading.time, reading.epoch) = (time, epoch);
        reading.values.clear();
        reading
    }

    /// Returns the last reading of this scrape.
    pub fn last(&mut self) -> Option<&mut Reading> {
        self.all[..self.used].last_mut()
    }

    /// Takes the last reading back.
    pub fn drop_last(&mut self) {
        self.used -= 1;
    }

    /// Returns the readings of this scrape.
    pub fn of_scrape(&self) -> &[Reading] {
        &self.all[..self.used]
    }
}
