//! Filling a store.

use std::path::Path;

use plimsoll_history::{
    Component, ComponentKind, Day, DayRows, HistoryError, Import, Imported, Measure, Row, Series,
};
use plimsoll_stats::Random;

use crate::Plan;
use crate::day::{Course, DAY_MINUTES, Minutes, SERVER_MILLIS, TARGETS_OF_SERVER};
use crate::truth::{Planted, Truth};

/// Minutes between outages, about; and the length of one.
const OUTAGE_EVERY_DAYS: u64 = 30;
const OUTAGE_MINUTES: u64 = 90;

/// What a lie says: more than any target moves in a minute.
const LIE: u64 = 1 << 53;

/// Makes a store. `each` is told of each day that is done.
///
/// # Errors
/// If the store cannot be written.
pub fn synthesize(
    path: &Path,
    plan: &Plan,
    mut each: impl FnMut(u32),
) -> Result<(Truth, Imported), HistoryError> {
    let mut truth = Truth::of(plan);
    let mut import = Import::begin(path, "synth")?;
    // What is made up is not mixed with what was measured.
    import.require_empty()?;
    let mut course = Course::new(plan);
    let mut random = Random::for_stream(plan.seed, 1);
    let mut start = plan.first_day.start();
    for number in 0..plan.days {
        let day = Day::ending_at(start + 1);
        let minutes = course.day(plan);
        let events = if plan.is_planted {
            Events::draw(plan, start / 60_000, number, &mut random)
        } else {
            Events::default()
        };
        let mut writer = DayWriter {
            plan,
            day,
            events: &events,
            random: Random::for_stream(plan.seed, u64::from(number) + 2),
            bytes: [0; 2],
        };
        let all = series(plan);
        import.day(day, &all, |rows| writer.write(&minutes, &all, rows))?;
        truth.bytes.iter_mut().zip(writer.bytes).for_each(|(sum, it)| *sum += it);
        truth.outages.extend(events.outages);
        truth.resets.extend(events.resets);
        truth.lies.extend(events.lies);
        start += Day::MILLIS;
        each(number + 1);
    }
    Ok((truth, import.finish()?))
}

/// What goes wrong on a day.
#[derive(Default)]
struct Events {
    outages: Vec<Planted>,
    resets: Vec<Planted>,
    lies: Vec<Planted>,
}

impl Events {
    fn draw(plan: &Plan, first_minute: u64, number: u32, random: &mut Random) -> Self {
        let mut events = Events::default();
        let target =
            |random: &mut Random| Plan::target_name(random.below(plan.targets.into()) as u32);
        // The first one early, so that short histories have one, too.
        if u64::from(number) % OUTAGE_EVERY_DAYS == 2 {
            let start = 300 + random.below(DAY_MINUTES as u64 - 400 - OUTAGE_MINUTES);
            let what = if random.below(2) == 0 { "missing" } else { "flat" };
            let (minute, minutes) = (first_minute + start, OUTAGE_MINUTES);
            events.outages.push(Planted { minute, minutes, what: what.into() });
        }
        let once = |every: u64, random: &mut Random| {
            (random.below(every) == 0).then(|| Planted {
                minute: first_minute + random.below(DAY_MINUTES as u64),
                minutes: 1,
                what: target(random),
            })
        };
        events.resets.extend(once(4, random));
        let during_outage = |it: &Planted| {
            events
                .outages
                .iter()
                .any(|out| (out.minute..out.minute + out.minutes).contains(&it.minute))
        };
        let lie = once(20, random).filter(|it| !during_outage(it));
        events.lies.extend(lie);
        events
    }

    fn outage(&self, minute: u64) -> Option<&str> {
        let is_in = |it: &&Planted| (it.minute..it.minute + it.minutes).contains(&minute);
        self.outages.iter().find(is_in).map(|it| it.what.as_str())
    }

    fn is_of(events: &[Planted], minute: u64, name: &str) -> bool {
        events.iter().any(|it| it.minute == minute && it.what == name)
    }
}

/// Returns the series of a plan, in their order.
fn series(plan: &Plan) -> Vec<Series> {
    let mut all = Vec::new();
    let mut add = |measure: Measure, kind: ComponentKind, name: String, server: String| {
        let component = Component::new(kind, name);
        let component = match kind {
            ComponentKind::Server => component,
            _ => component.of_file_system("synth"),
        };
        all.push(Series { measure, bin: 0, component, server });
    };
    let server = |target: u32| format!("oss{:03}", target / TARGETS_OF_SERVER);
    for measure in [Measure::ReadBytes, Measure::WrittenBytes] {
        for target in 0..plan.targets {
            add(measure, ComponentKind::Ost, Plan::target_name(target), server(target));
        }
    }
    for measure in [Measure::Opens, Measure::Closes] {
        add(measure, ComponentKind::Mdt, "synth-MDT0000".into(), "mds001".into());
    }
    for measure in [Measure::CpuBusyTime, Measure::CpuTime] {
        for target in (0..plan.targets).step_by(TARGETS_OF_SERVER as usize) {
            add(measure, ComponentKind::Server, server(target), server(target));
        }
    }
    all.sort();
    all
}

struct DayWriter<'a> {
    plan: &'a Plan,
    day: Day,
    events: &'a Events,
    random: Random,
    bytes: [u64; 2],
}

impl DayWriter<'_> {
    fn write(
        &mut self,
        minutes: &Minutes,
        all: &[Series],
        rows: &mut DayRows<'_>,
    ) -> Result<(), HistoryError> {
        let place = |name: &str, prefix: usize, radix: u32| {
            u32::from_str_radix(&name[prefix..], radix).unwrap_or(0) as usize
        };
        for (number, series) in all.iter().enumerate() {
            let name = &series.component.name;
            match series.measure {
                Measure::ReadBytes | Measure::WrittenBytes => {
                    let direction = usize::from(series.measure == Measure::WrittenBytes);
                    let target = place(name, "synth-OST".len(), 16);
                    let values = &minutes.targets[target][direction];
                    self.counter(number, name, values, Some(direction), rows)?;
                }
                Measure::Opens => self.counter(number, name, &minutes.metadata[0], None, rows)?,
                Measure::Closes => self.counter(number, name, &minutes.metadata[1], None, rows)?,
                Measure::CpuBusyTime => {
                    let values = &minutes.busy[place(name, "oss".len(), 10)];
                    self.counter(number, name, values, None, rows)?;
                }
                _ => self.counter(number, name, &[SERVER_MILLIS; DAY_MINUTES], None, rows)?,
            }
        }
        Ok(())
    }

    /// Writes the minutes of a counter as samples.
    fn counter(
        &mut self,
        number: usize,
        name: &str,
        values: &[u64],
        direction: Option<usize>,
        rows: &mut DayRows<'_>,
    ) -> Result<(), HistoryError> {
        let first = self.day.start() / 60_000;
        let is_server = name.starts_with("oss");
        for (minute, value) in (first..).zip(values) {
            let outage = if is_server { None } else { self.events.outage(minute) };
            if outage == Some("missing") {
                continue;
            }
            if direction.is_some() && Events::is_of(&self.events.resets, minute, name) {
                continue;
            }
            let mut value = if outage.is_some() { 0 } else { *value };
            if let Some(direction) = direction {
                let is_lie = direction == 0 && Events::is_of(&self.events.lies, minute, name);
                if is_lie {
                    value = LIE;
                } else {
                    self.bytes[direction] += value;
                }
            }
            self.minute(number, minute, value, rows)?;
        }
        Ok(())
    }

    /// Writes a minute as samples that add up to it; those of a minute are unlike.
    fn minute(
        &mut self,
        number: usize,
        minute: u64,
        value: u64,
        rows: &mut DayRows<'_>,
    ) -> Result<(), HistoryError> {
        let step = self.plan.step_seconds.clamp(1, 60);
        let samples = u64::from(60 / step);
        let mut left = value;
        for sample in 1..=samples {
            let now = if sample == samples {
                left
            } else {
                let even = left / (samples - sample + 1);
                // Whole MiB stay whole.
                (self.random.below(2 * even.max(1)) >> 20 << 20).min(left)
            };
            left -= now;
            let end = minute * 60_000 + sample * u64::from(step) * 1000;
            rows.row(Row { series: number as u32, end, length: step * 1000, value: now })?;
        }
        Ok(())
    }
}
