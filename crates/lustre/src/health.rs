//! `health_check`: whether this server's or client's Lustre works (health_check_show in obdclass).

use crate::text::{Lines, words};

/// What `health_check` says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health<'a> {
    /// Nothing is wrong.
    pub is_healthy: bool,
    text: &'a [u8],
}

impl<'a> Health<'a> {
    /// Reads the text of `health_check`; `None` if it says neither.
    pub fn of(text: &'a [u8]) -> Option<Self> {
        let verdict = Lines::of(text).map(<[u8]>::trim_ascii).find_map(|line| match line {
            b"healthy" => Some(true),
            b"NOT HEALTHY" | b"LBUG" => Some(false),
            _ => None,
        });
        Some(Self { is_healthy: verdict?, text })
    }

    /// Returns the devices that are not healthy, where the release says which.
    pub fn unhealthy_devices(&self) -> impl Iterator<Item = &'a str> {
        Lines::of(self.text).filter_map(|line| {
            let device = line.trim_ascii().strip_prefix(b"device ")?;
            let device = device.strip_suffix(b" reported unhealthy")?;
            words(device)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn healthy_or_not_or_unknown() {
        assert!(Health::of(b"healthy\n").unwrap().is_healthy);
        let text = b"device fs-OST0012 reported unhealthy\ndevice fs-OST0014 reported unhealthy\nNOT HEALTHY\n";
        let health = Health::of(text).unwrap();
        assert!(!health.is_healthy);
        assert_eq!(Vec::from_iter(health.unhealthy_devices()), ["fs-OST0012", "fs-OST0014"]);
        assert!(!Health::of(b"LBUG").unwrap().is_healthy);
        assert_eq!(Health::of(b"unhealthy"), None);
        assert_eq!(Health::of(b""), None);
    }
}
