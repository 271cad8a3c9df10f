//! The value of a number, which may be missing.

use serde::{Serialize, Serializer};

use crate::Number;
use crate::number::MISSING;

/// A value of a [`Number`]. Missing is not zero: it is null in JSON and "-" in tables.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    /// A whole number, kept exactly.
    Integer(u64),
    /// A real number.
    Real(f64),
    /// Not known or not defined here.
    Missing,
}

impl From<u64> for Value {
    fn from(value: u64) -> Self {
        Value::Integer(value)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Value::Real(value)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Value::Missing, Into::into)
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::Integer(value) => serializer.serialize_u64(*value),
            // JSON has no NaN or infinity: such a value becomes null.
            Value::Real(value) => serializer.serialize_f64(*value),
            Value::Missing => serializer.serialize_none(),
        }
    }
}

impl Value {
    pub(crate) fn show(self, number: &Number) -> String {
        match self {
            Value::Integer(value) => number.unit.show(value as f64),
            Value::Real(value) => number.unit.show(value),
            Value::Missing => MISSING.to_string(),
        }
    }
}
