//! What the tables of an experiment hold.

/// What the Parquet files hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    pub experiment: String,
    pub instances: u64,
    pub pairs: u64,
    /// Lines of the journal that could not be read any more.
    pub damaged: u64,
}
