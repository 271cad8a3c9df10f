//! Times that clocks on walls showed.

use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, Offset, TimeZone};

use crate::ImportError;

/// A time zone.
#[derive(Debug, Clone)]
pub struct Zone {
    zone: TimeZone,
}

impl Zone {
    /// Returns the zone of an IANA name such as `Europe/Berlin`, or an offset such as `+02:00`.
    ///
    /// # Errors
    /// If there is none.
    pub fn named(name: &str) -> Result<Self, ImportError> {
        let unknown = || ImportError::UnknownZone { name: name.to_owned() };
        if let Some(seconds) = plimsoll_domain::moment::utc_offset(name) {
            let offset = Offset::from_seconds(seconds).map_err(|_| unknown())?;
            return Ok(Zone { zone: TimeZone::fixed(offset) });
        }
        let zone = TimeZone::get(name).map_err(|_| unknown())?;
        Ok(Zone { zone })
    }

    /// Returns the moment at which a clock showed `2018-01-28 00:00:05`, in milliseconds since 1970; nothing if it never did. Where it showed that twice, it
    /// is the first time that is later than `after`.
    pub fn moment(&self, shown: &str, after: Option<u64>) -> Option<u64> {
        let shown: DateTime = shown.trim().parse().ok()?;
        let at =
            |offset: Offset| u64::try_from(offset.to_timestamp(shown).ok()?.as_millisecond()).ok();
        match self.zone.to_ambiguous_timestamp(shown).offset() {
            AmbiguousOffset::Unambiguous { offset } => at(offset),
            AmbiguousOffset::Gap { .. } => None,
            AmbiguousOffset::Fold { before, after: second } => {
                let first = at(before)?;
                if after.is_some_and(|after| first <= after) { at(second) } else { Some(first) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_that_are_put_back_show_an_hour_twice() {
        let zone = Zone::named("America/Los_Angeles").unwrap();
        assert_eq!(zone.moment("2018-01-28 00:00:05", None), Some(1_517_126_405_000));
        // 2018-11-04: two o'clock became one.
        let first = zone.moment("2018-11-04 01:30:00", None).unwrap();
        assert_eq!(first, 1_541_320_200_000);
        assert_eq!(zone.moment("2018-11-04 01:30:00", Some(first)), Some(first + 3_600_000));
        assert_eq!(zone.moment("2018-11-04 01:30:00", Some(first - 5)), Some(first));
        // 2018-03-11: there was no half past two.
        assert_eq!(zone.moment("2018-03-11 02:30:00", None), None);
        assert_eq!(zone.moment("soon", None), None);
        assert_eq!(Zone::named("+01:00").unwrap().moment("1970-01-01 01:00:01", None), Some(1000));
        assert!(Zone::named("Mars/Olympus").is_err());
    }
}
