//! How many clients and how large bursts fit the machine.

use plimsoll_domain::Bytes;

use super::build::{Builder, CLIENTS_OF_TARGET, MIB, TO_TELL_A_PEAK, TRANSFER};
use crate::plan::{ClientsPlan, PlanError, TransferSize};

/// What an instance takes of the free space: a tenth, as others may need it; on targets that are too small for
/// that half.
const USUAL_PART: u64 = 10;
const LARGEST_PART: u64 = 2;

impl Builder<'_> {
    /// Returns the clients that were named, or as many as the template would like and memory allows.
    pub fn clients(&self, wanted: u32) -> ClientsPlan {
        if let Some(clients) = &self.options.clients {
            return clients.clone();
        }
        let each = 4 * self.transfer().get().max(TRANSFER);
        let fit = match self.facts.memory.get() {
            0 => u64::from(wanted),
            memory => (memory / each).clamp(2, u64::from(wanted.max(2))),
        };
        ClientsPlan::of(wanted.min(fit as u32))
    }

    /// Returns the size that all sizes are multiples of.
    pub fn transfer(&self) -> Bytes {
        self.options.transfer.unwrap_or_default().of_burst(Bytes::new(TRANSFER))
    }

    /// Returns the most that a process can have in memory at once, where it writes a burst in one call.
    fn call_most(&self) -> u64 {
        let clients = self.options.clients.as_ref().map_or(CLIENTS_OF_TARGET, |it| it.count);
        match (self.options.transfer, self.facts.memory.get()) {
            (Some(TransferSize::Burst), memory) if memory > 0 => memory / 4 / u64::from(clients),
            _ => u64::MAX,
        }
    }

    /// As [`clients`](Self::clients), but not more than can have this many transfers each on one target.
    pub fn clients_that_fit(&mut self, wanted: u32, transfers: u64) -> ClientsPlan {
        let mut clients = self.clients(wanted);
        let fit = self.room(LARGEST_PART) / transfers / self.transfer().get().max(1);
        if self.options.clients.is_none()
            && self.options.sizes.is_none()
            && (1..u64::from(clients.count)).contains(&fit)
        {
            let each =
                if transfers == 1 { "a transfer".into() } else { format!("{transfers} transfers") };
            let why = format!("for {each} of {} each", self.transfer());
            self.notes.push(self.smaller(&format!("{fit} clients"), &format!("{wanted}"), &why));
            clients = ClientsPlan::of(fit as u32);
        }
        clients
    }

    /// Returns the number of processes of a client; a job has only so many.
    pub fn processes_for(&mut self, wanted: u32) -> u32 {
        match self.options.processes_most {
            Some(most) if most < wanted => {
                self.notes.push(format!(
                    "{}: at most {most} of {wanted} targets at once, for a client has {most} processes in this job; \
                     hint: more ranks",
                    self.template
                ));
                most
            }
            _ => wanted,
        }
    }

    /// Up to `count` burst sizes in steps of four, the largest of this many MiB or what fits when
    /// `at_once` of them lie on one target.
    pub fn sizes(
        &mut self,
        largest_mib: u64,
        count: usize,
        at_once: u64,
    ) -> Result<Vec<Bytes>, PlanError> {
        self.fitted(largest_mib * MIB, count, at_once.max(1), self.transfer().get().max(1))
    }

    /// As [`sizes`](Self::sizes), for what all of an instance's processes move together: it may
    /// all lie on one target, and each process needs at least one transfer.
    pub fn totals(&mut self, largest_mib: u64, processes: u64) -> Result<Vec<Bytes>, PlanError> {
        let least = self.transfer().get().max(1).saturating_mul(processes);
        let largest = (largest_mib * MIB).max(least.saturating_mul(4).next_power_of_two());
        self.fitted(largest, 3, 1, least)
    }

    /// Returns what all of an instance's processes move together, and a quarter of it: that tells whether the
    /// rate has stopped changing.
    pub fn whole_and_quarter(
        &mut self,
        largest_mib: u64,
        processes: u64,
    ) -> Result<Vec<Bytes>, PlanError> {
        if let Some(sizes) = &self.options.sizes {
            return Ok(sizes.clone());
        }
        let least = self.transfer().get().max(1).saturating_mul(processes);
        let whole = least.saturating_mul(TO_TELL_A_PEAK);
        let largest = (largest_mib * MIB).max(whole.next_power_of_two());
        let rooms = [USUAL_PART, LARGEST_PART].map(|part| self.room(part));
        let Some(room) = rooms.into_iter().find(|room| whole <= *room) else {
            let sizes = self.fitted(least, 1, 1, least)?;
            self.notes.push(self.smaller(
                &format!("bursts of {} alone", Bytes::new(least)),
                &format!("{} and a quarter of it", Bytes::new(whole)),
                "so that no peak will be known",
            ));
            return Ok(sizes);
        };
        let quarter = largest.min(room) / TO_TELL_A_PEAK / least * least;
        Ok([quarter, quarter * TO_TELL_A_PEAK].map(Bytes::new).into())
    }

    /// Whole transfers, from `least` on, that fit a tenth of the fullest target; where not even the least
    /// does, half of it.
    fn fitted(
        &mut self,
        largest: u64,
        count: usize,
        at_once: u64,
        least: u64,
    ) -> Result<Vec<Bytes>, PlanError> {
        if let Some(sizes) = &self.options.sizes {
            return Ok(sizes.clone());
        }
        let unit = self.transfer().get().max(1);
        let rooms = [USUAL_PART, LARGEST_PART].map(|part| self.room(part) / at_once);
        let Some(room) = rooms.into_iter().find(|room| least <= *room) else {
            return Err(self.no_room(Bytes::new(least), at_once));
        };
        let largest = (largest / unit * unit).max(least);
        let (room_on_target, room) = (room, room.min(self.call_most()));
        let steps = std::iter::successors(Some(largest), |size| Some(size / 4 / unit * unit));
        let steps = steps.take_while(|size| *size >= least).filter(|size| *size <= room);
        let mut sizes: Vec<Bytes> = steps.take(count).map(Bytes::new).collect();
        if sizes.is_empty() {
            sizes.push(Bytes::new(least));
        }
        sizes.reverse();
        if let Some(fit) = sizes.last().filter(|size| size.get() < largest) {
            let wanted = Bytes::new(largest);
            self.notes.push(if room < room_on_target {
                let template = self.template;
                format!("{template}: bursts of {fit} instead of {wanted}, for a call's data lies in memory")
            } else {
                let why = format!("with {at_once} at once on a target");
                self.smaller(&format!("bursts of {fit}"), &wanted.to_string(), &why)
            });
        }
        Ok(sizes)
    }

    /// That part of what the fullest target has free.
    fn room(&self, part: u64) -> u64 {
        self.facts.free_bytes_least.get() / part
    }

    /// Says that something is smaller than the template has it.
    fn smaller(&self, fit: &str, wanted: &str, why: &str) -> String {
        let (template, free) = (self.template, self.free());
        format!("{template}: {fit} instead of {wanted}, {why}: the fullest has {free} free")
    }

    /// Returns what the fullest target has free, in whole MiB.
    fn free(&self) -> Bytes {
        Bytes::new(self.facts.free_bytes_least.get() / MIB * MIB)
    }

    fn no_room(&self, burst: Bytes, at_once: u64) -> PlanError {
        let (template, free) = (self.template, self.free());
        let bursts = match at_once {
            1 => format!("a burst of {burst} on one target is"),
            several => format!("{several} bursts of {burst} on one target are"),
        };
        let problem = format!(
            "{template}: {bursts} more than half of the {free} that the fullest has free; \
             hint: a smaller --transfer, or fewer clients"
        );
        PlanError::value("template", problem)
    }
}
