//! Series as files describe them in their metadata, so that a reader finds rows without reading texts of each.

use serde::{Deserialize, Serialize};

use crate::{Component, ComponentKind, Measure, Series};

/// A series, and how many rows a file has of it. It may be one that only a later program knows.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Described {
    kind: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    cluster: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    file_system: String,
    target: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    job: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    server: String,
    measure: String,
    #[serde(default, skip_serializing_if = "is_zero")]
    bin: u64,
    /// Rows of it in the file.
    pub rows: u64,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_zero(bin: &u64) -> bool {
    *bin == 0
}

impl Described {
    /// Returns the list of a file: JSON, in the order of the numbers of series.
    pub fn list(series: &[Series], rows: &[u64]) -> String {
        let all: Vec<_> = series.iter().zip(rows).map(|(it, rows)| Self::of(it, *rows)).collect();
        serde_json::to_string(&all).expect("texts and numbers can be written")
    }

    /// Returns what a list says.
    pub fn parse(list: &str) -> Result<Vec<Self>, serde_json::Error> {
        serde_json::from_str(list)
    }

    fn of(series: &Series, rows: u64) -> Self {
        let Series { measure, bin, component, server } = series;
        let Component { kind, cluster, file_system, name, job } = component.clone();
        let (kind, measure) = (kind.name().to_string(), measure.name().to_string());
        let (server, bin) = (server.clone(), *bin);
        Described { kind, cluster, file_system, target: name, job, server, measure, bin, rows }
    }

    /// Returns the series; nothing if this program does not know its kind or measure.
    pub fn series(self) -> Option<Series> {
        let kind = ComponentKind::named(&self.kind)?;
        let measure = Measure::named(&self.measure)?;
        let (cluster, file_system) = (self.cluster, self.file_system);
        let component = Component { kind, cluster, file_system, name: self.target, job: self.job };
        Some(Series { measure, bin: self.bin, component, server: self.server })
    }
}
