//! The columns of the two Parquet files. docs/results.md explains them to users.

/// What a column's values are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Whole numbers that fit in 32 bits.
    Count32,
    /// Whole numbers.
    Count64,
    /// Nanoseconds since 1970.
    Moment,
    /// Measured numbers.
    Real,
    /// Texts.
    Text,
}

/// One column.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Column {
    pub name: &'static str,
    pub kind: Kind,
    pub is_nullable: bool,
}

const fn column(name: &'static str, kind: Kind) -> Column {
    Column { name, kind, is_nullable: false }
}

const fn nullable(name: &'static str, kind: Kind) -> Column {
    Column { name, kind, is_nullable: true }
}

impl Column {
    /// The column in Parquet's schema language.
    pub fn schema(&self) -> String {
        let repetition = if self.is_nullable { "optional" } else { "required" };
        let (physical, logical) = match self.kind {
            Kind::Count32 => ("int32", " (INTEGER(32,false))"),
            Kind::Count64 => ("int64", " (INTEGER(64,false))"),
            Kind::Moment => ("int64", " (TIMESTAMP(NANOS,true))"),
            Kind::Real => ("double", ""),
            Kind::Text => ("binary", " (STRING)"),
        };
        format!("{repetition} {physical} {}{logical};", self.name)
    }
}

/// Which instance, and what it did: the first columns of both files.
pub(crate) const SHARED: &[Column] = &[
    column("experiment", Kind::Text),
    column("run", Kind::Count32),
    column("group", Kind::Count32),
    column("round", Kind::Count32),
    column("instance", Kind::Count64),
    column("varied", Kind::Text),
    column("operation", Kind::Text),
    column("clients", Kind::Count32),
    column("processes_per_client", Kind::Count32),
    column("targets", Kind::Count32),
    column("burst", Kind::Count64),
    column("transfer", Kind::Count64),
    column("pattern", Kind::Text),
    column("sharing", Kind::Text),
    column("stripe_count", Kind::Count32),
    column("stripe_size", Kind::Count64),
    column("caching", Kind::Text),
    column("engine", Kind::Text),
    column("depth", Kind::Count32),
];

/// One row for each pair.
pub(crate) const PAIR: &[Column] = &[
    column("client", Kind::Text),
    column("target", Kind::Text),
    nullable("server", Kind::Text),
    column("processes", Kind::Count32),
    column("bytes", Kind::Count64),
    column("start", Kind::Moment),
    column("end", Kind::Moment),
    column("bandwidth", Kind::Real),
];

/// One row for each instance; an instance without pairs has no times.
pub(crate) const INSTANCE: &[Column] = &[
    column("outcome", Kind::Text),
    nullable("reason", Kind::Text),
    column("pairs", Kind::Count64),
    column("bytes", Kind::Count64),
    nullable("start", Kind::Moment),
    nullable("end", Kind::Moment),
    nullable("seconds", Kind::Real),
    nullable("aggregate_bandwidth", Kind::Real),
];

/// One of the files.
pub(crate) struct Table {
    /// Name of the schema, without its version.
    pub schema: &'static str,
    /// Columns behind the shared ones.
    pub own: &'static [Column],
}

/// Version of both schemas. A changed meaning is a new one; a new column is not.
pub(crate) const SCHEMA_VERSION: u64 = 1;
/// The entry of a file's metadata that names schema and version.
pub(crate) const SCHEMA_KEY: &str = "plimsoll.schema";

pub(crate) const PAIRS_TABLE: Table = Table { schema: "plimsoll.pairs", own: PAIR };
pub(crate) const INSTANCES_TABLE: Table = Table { schema: "plimsoll.instances", own: INSTANCE };

impl Table {
    /// All columns, in their order.
    pub fn columns(&self) -> impl Iterator<Item = &'static Column> + use<> {
        SHARED.iter().chain(self.own)
    }

    /// The columns of these names, in the order of the names.
    pub fn named(&self, names: &[&str]) -> Vec<&'static Column> {
        let find = |name: &&str| self.columns().find(|column| column.name == *name);
        names.iter().filter_map(find).collect()
    }
}
