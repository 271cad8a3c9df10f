//! What is varied, and over which values.

use std::fmt;
use std::str::FromStr;

use plimsoll_domain::Bytes;
use plimsoll_domain::burst::Sharing;
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::limits;

/// Something that can differ between instances.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Parameter {
    /// Nothing differs.
    #[default]
    None,
    /// Clients that take part.
    Clients,
    /// Targets that are used.
    Targets,
    /// Clients and as many targets, each client with a target of its own (Xie 4.5).
    Pairs,
    /// Processes of each client.
    Processes,
    /// Bytes of a burst, instead of `burst.sizes`.
    Burst,
    /// Bytes of one call.
    Transfer,
    /// Transfers in flight.
    Depth,
    /// Targets that one file lies on.
    StripeCount,
    /// Bytes before the next target of a striped file follows.
    #[serde(alias = "chunk")]
    StripeSize,
    /// Who writes into one file (Xie 4.6).
    Sharing,
    /// The server whose targets are used (Xie 4.3); for groups only.
    Server,
}

/// One value of a [`Parameter`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Value {
    /// A number of clients, targets, pairs, processes or stripes, or a depth.
    Count(u32),
    /// The size of a burst, a transfer or a stripe.
    Size(Bytes),
    /// Who shares a file.
    Sharing(Sharing),
    /// The name of a server.
    Server(String),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Count(count) => write!(f, "{count}"),
            Value::Size(size) => write!(f, "{size}"),
            Value::Sharing(Sharing::Independent) => f.write_str("independent"),
            Value::Sharing(Sharing::Shared) => f.write_str("shared"),
            Value::Server(name) => f.write_str(name),
        }
    }
}

/// A parameter and the values that it takes, each once.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "RawVary", into = "RawVary")]
pub struct Vary {
    /// What differs.
    pub parameter: Parameter,
    /// The values; none if nothing differs.
    pub values: Vec<Value>,
}

impl Vary {
    /// Returns a parameter over counts.
    pub fn counts(parameter: Parameter, counts: impl IntoIterator<Item = u32>) -> Self {
        Vary { parameter, values: counts.into_iter().map(Value::Count).collect() }
    }

    /// Returns a parameter over sizes.
    pub fn sizes(parameter: Parameter, sizes: impl IntoIterator<Item = Bytes>) -> Self {
        Vary { parameter, values: sizes.into_iter().map(Value::Size).collect() }
    }

    /// Returns the number of instances of a round, or groups of a repetition: 1 if nothing differs.
    pub fn len(&self) -> usize {
        self.values.len().max(1)
    }

    /// Returns whether nothing differs.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
}

impl Parameter {
    /// Returns the word as a plan writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Parameter::None => "none",
            Parameter::Clients => "clients",
            Parameter::Targets => "targets",
            Parameter::Pairs => "pairs",
            Parameter::Processes => "processes",
            Parameter::Burst => "burst",
            Parameter::Transfer => "transfer",
            Parameter::Depth => "depth",
            Parameter::StripeCount => "stripe-count",
            Parameter::StripeSize => "stripe-size",
            Parameter::Sharing => "sharing",
            Parameter::Server => "server",
        }
    }

    /// Returns whether `value` is one that this parameter can take.
    pub(crate) fn takes(self, value: &Value) -> bool {
        matches!(
            (self.kind(), value),
            (Kind::Count, Value::Count(_))
                | (Kind::Size, Value::Size(_))
                | (Kind::Sharing, Value::Sharing(_))
                | (Kind::Server, Value::Server(_))
        )
    }

    fn kind(self) -> Kind {
        use Parameter as P;
        match self {
            P::None => Kind::Nothing,
            P::Clients | P::Targets | P::Pairs | P::Processes | P::Depth | P::StripeCount => {
                Kind::Count
            }
            P::Burst | P::Transfer | P::StripeSize => Kind::Size,
            P::Sharing => Kind::Sharing,
            P::Server => Kind::Server,
        }
    }

    /// Makes a value of what was written, or says what should have been.
    fn value(self, raw: RawValue) -> Result<Value, String> {
        let name = self.as_str();
        match (self.kind(), raw) {
            (Kind::Count, RawValue::Count(count)) => Ok(Value::Count(count)),
            (Kind::Size, RawValue::Text(text)) => {
                text.parse().map(Value::Size).map_err(|error| format!("values: {error}"))
            }
            (Kind::Sharing, RawValue::Text(text)) => match text.as_str() {
                "independent" => Ok(Value::Sharing(Sharing::Independent)),
                "shared" => Ok(Value::Sharing(Sharing::Shared)),
                _ => Err(format!("values: {text:?} is not \"independent\" or \"shared\"")),
            },
            (Kind::Server, RawValue::Text(text)) => Ok(Value::Server(text)),
            (Kind::Nothing, _) => {
                Err("values without a parameter; hint: name it, or leave the values out".into())
            }
            (Kind::Count, _) => Err(format!("values of {name} are whole numbers, like [1, 2, 4]")),
            (Kind::Size, _) => {
                Err(format!("values of {name} are sizes, like [\"1MiB\", \"16MiB\"]"))
            }
            (Kind::Sharing, _) => {
                Err("values of sharing are words: [\"shared\", \"independent\"]".into())
            }
            (Kind::Server, _) => Err("values of server are names, like [\"oss0\"]".into()),
        }
    }
}

enum Kind {
    Nothing,
    Count,
    Size,
    Sharing,
    Server,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table with parameter and values")]
struct RawVary {
    #[serde(default)]
    parameter: Parameter,
    #[serde(default)]
    values: Vec<RawValue>,
}

impl TryFrom<RawVary> for Vary {
    type Error = String;

    fn try_from(raw: RawVary) -> Result<Self, String> {
        let values = raw.values.into_iter().map(|value| raw.parameter.value(value));
        Ok(Vary { parameter: raw.parameter, values: values.collect::<Result<_, _>>()? })
    }
}

impl From<Vary> for RawVary {
    fn from(vary: Vary) -> Self {
        let raw = |value: Value| match value {
            Value::Count(count) => RawValue::Count(count),
            other => RawValue::Text(other.to_string()),
        };
        RawVary { parameter: vary.parameter, values: vary.values.into_iter().map(raw).collect() }
    }
}

#[derive(Serialize)]
#[serde(untagged)]
enum RawValue {
    Count(u32),
    Text(String),
}

impl<'de> Deserialize<'de> for RawValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RawValueVisitor)
    }
}

struct RawValueVisitor;

impl Visitor<'_> for RawValueVisitor {
    type Value = RawValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number or a text")
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<RawValue, E> {
        let count = u32::try_from(value);
        count
            .map(RawValue::Count)
            .map_err(|_| E::custom(format!("{value} is not 1 to {}", u32::MAX)))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<RawValue, E> {
        let count = u32::try_from(value);
        count
            .map(RawValue::Count)
            .map_err(|_| E::custom(format!("{value} is not 1 to {}", u32::MAX)))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<RawValue, E> {
        Ok(RawValue::Text(value.to_string()))
    }
}

/// How many targets an instance uses: a number, or `"all"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TargetsUsed {
    /// Every target of the plan, or of the group's server.
    #[default]
    All,
    /// This number of them.
    Count(u32),
}

impl Serialize for TargetsUsed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            TargetsUsed::All => serializer.serialize_str("all"),
            TargetsUsed::Count(count) => serializer.serialize_u32(*count),
        }
    }
}

impl<'de> Deserialize<'de> for TargetsUsed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match RawValue::deserialize(deserializer)? {
            RawValue::Count(count) => Ok(TargetsUsed::Count(count)),
            RawValue::Text(text) if text == "all" => Ok(TargetsUsed::All),
            RawValue::Text(text) => {
                Err(de::Error::custom(format!("targets {text:?} is neither a number nor \"all\"")))
            }
        }
    }
}

/// Bytes of one call: a size, or `"burst"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransferSize {
    /// So many, a burst being a whole number of them.
    Of(Bytes),
    /// The whole burst, in calls of at most [`ONE_CALL_MOST`].
    Burst,
}

/// The most that one call moves: Xie's bursts are single calls up to 1 GB, and loops of them beyond
/// (section 3).
pub const ONE_CALL_MOST: Bytes = Bytes::new(limits::TRANSFER_MAX);

impl TransferSize {
    /// Returns the bytes of each call of a burst of this size; the last one may be shorter.
    pub fn of_burst(self, burst: Bytes) -> Bytes {
        match self {
            TransferSize::Of(size) => size,
            TransferSize::Burst => burst.min(ONE_CALL_MOST),
        }
    }
}

impl Default for TransferSize {
    fn default() -> Self {
        TransferSize::Of(Bytes::new(1 << 20))
    }
}

impl fmt::Display for TransferSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TransferSize::Of(size) => write!(f, "{size}"),
            TransferSize::Burst => f.write_str("burst"),
        }
    }
}

impl FromStr for TransferSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "burst" => Ok(TransferSize::Burst),
            _ => text
                .parse()
                .map(TransferSize::Of)
                .map_err(|error| format!("{error}; or \"burst\" for all of it in one call")),
        }
    }
}

impl Serialize for TransferSize {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for TransferSize {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}
