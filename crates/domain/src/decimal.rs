//! Exact conversion between decimal text with a unit ("1.5GB/s") and a whole
//! number of base units. One table of units per quantity drives both directions.

use thiserror::Error;

/// Why a text is not a quantity. Says what was read and what would be accepted.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum QuantityError {
    /// Nothing to read.
    #[error("empty {what}; write it like {example}")]
    Empty {
        /// Kind of quantity, e.g. "size".
        what: &'static str,
        /// A text that would be accepted.
        example: &'static str,
    },
    /// A quantity that cannot be negative has a minus sign.
    #[error("{what} {text:?} is negative; write it like {example}")]
    Negative {
        /// Kind of quantity.
        what: &'static str,
        /// The text as given.
        text: String,
        /// A text that would be accepted.
        example: &'static str,
    },
    /// The text does not begin with a plain decimal number.
    #[error("{what} {text:?} does not begin with a plain decimal number; write it like {example}")]
    NotANumber {
        /// Kind of quantity.
        what: &'static str,
        /// The text as given.
        text: String,
        /// A text that would be accepted.
        example: &'static str,
    },
    /// The number is fine but its unit is missing or unknown.
    #[error("{what} {text:?} has {}; write it like {example} (units: {units})",
        if unit.is_empty() { "no unit".to_string() } else { format!("the unknown unit {unit:?}") })]
    Unit {
        /// Kind of quantity.
        what: &'static str,
        /// The text as given.
        text: String,
        /// The part that was not understood.
        unit: String,
        /// A text that would be accepted.
        example: &'static str,
        /// All units that are accepted.
        units: String,
    },
    /// The value is not a whole number of base units, so it cannot be kept exactly.
    #[error("{what} {text:?} is not a whole number of {base}")]
    Fraction {
        /// Kind of quantity.
        what: &'static str,
        /// The text as given.
        text: String,
        /// The base unit in words.
        base: &'static str,
    },
    /// The value does not fit.
    #[error("{what} {text:?} is too large (at most {} {base})", u64::MAX)]
    TooLarge {
        /// Kind of quantity.
        what: &'static str,
        /// The text as given.
        text: String,
        /// The base unit in words.
        base: &'static str,
    },
}

/// One way of writing a unit and how many base units it stands for.
pub(crate) struct Unit {
    pub name: &'static str,
    pub base_units: u64,
    /// Used for printing; the other spellings are only understood.
    pub printed: bool,
}

/// What a quantity is called and in which units it is written.
pub(crate) struct Scale {
    pub what: &'static str,
    pub base: &'static str,
    pub example: &'static str,
    /// The base unit first. Printed units of equal merit are tried in this order.
    pub units: &'static [Unit],
    /// What follows every unit, as "/s" of a rate.
    pub suffix: &'static str,
}

pub(crate) const fn printed(name: &'static str, base_units: u64) -> Unit {
    Unit { name, base_units, printed: true }
}

pub(crate) const fn understood(name: &'static str, base_units: u64) -> Unit {
    Unit { name, base_units, printed: false }
}

/// Digits accepted in one number: enough for every u64 with eight decimals. Zeros at the
/// end of a fraction do not count.
const DIGITS_MAX: usize = 28;

/// Decimals a printed value may have; beyond that a smaller unit is clearer.
const PRINTED_DECIMALS_MAX: u32 = 3;

impl Scale {
    /// Reads "1.5GB/s" into base units, exactly or not at all.
    pub(crate) fn parse(&self, text: &str) -> Result<u64, QuantityError> {
        let (what, base, example) = (self.what, self.base, self.example);
        let trimmed = text.trim();
        if trimmed.is_empty() {
            return Err(QuantityError::Empty { what, example });
        }
        let owned = || quoted(trimmed);
        if trimmed.starts_with(['-', '\u{2212}']) {
            return Err(QuantityError::Negative { what, text: owned(), example });
        }
        let number_len =
            trimmed.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(trimmed.len());
        let (number, unit) = trimmed.split_at(number_len);
        let (mantissa, decimals) = parse_decimal(number)
            .ok_or_else(|| QuantityError::NotANumber { what, text: owned(), example })?;
        let unit = self.find_unit(unit.trim_start(), trimmed)?;

        let too_large = || QuantityError::TooLarge { what, text: owned(), base };
        let scaled = mantissa.checked_mul(u128::from(unit.base_units)).ok_or_else(too_large)?;
        let divisor = 10u128.pow(decimals);
        if scaled % divisor != 0 {
            return Err(QuantityError::Fraction { what, text: owned(), base });
        }
        u64::try_from(scaled / divisor).map_err(|_| too_large())
    }

    fn find_unit(&self, name: &str, text: &str) -> Result<&'static Unit, QuantityError> {
        let bare = name.strip_suffix(self.suffix);
        let known = bare.and_then(|bare| self.units.iter().find(|unit| unit.name == bare));
        known.ok_or_else(|| {
            let printed = self.units.iter().filter(|unit| unit.printed);
            let names: Vec<String> =
                printed.map(|unit| format!("{}{}", unit.name, self.suffix)).collect();
            QuantityError::Unit {
                what: self.what,
                text: quoted(text),
                unit: quoted(name),
                example: self.example,
                units: names.join(" "),
            }
        })
    }

    /// Writes `value` exactly, in the unit that needs the fewest digits.
    pub(crate) fn print(&self, value: u64) -> String {
        let name = self.units.first().map_or("", |unit| unit.name);
        let fallback = format!("{value}{name}{}", self.suffix);
        if value == 0 {
            return fallback;
        }
        self.units
            .iter()
            .filter(|unit| unit.printed && unit.base_units <= value)
            .filter_map(|unit| print_in(value, unit))
            // min_by_key keeps the first of equals, so the order of the table decides ties.
            .min_by_key(|printed| (printed.digits, printed.decimals))
            .map_or(fallback, |printed| printed.text + self.suffix)
    }
}

struct Printed {
    text: String,
    digits: usize,
    decimals: u32,
}

/// `value` in `unit` if that is exact within `PRINTED_DECIMALS_MAX` decimals.
fn print_in(value: u64, unit: &Unit) -> Option<Printed> {
    let whole = value / unit.base_units;
    let rest = u128::from(value % unit.base_units);
    let decimals = (0..=PRINTED_DECIMALS_MAX)
        .find(|&decimals| (rest * 10u128.pow(decimals)) % u128::from(unit.base_units) == 0)?;
    let fraction = rest * 10u128.pow(decimals) / u128::from(unit.base_units);
    let number = if decimals == 0 {
        whole.to_string()
    } else {
        format!("{whole}.{fraction:0width$}", width = decimals as usize)
    };
    let digits = number.len() - usize::from(decimals > 0);
    Some(Printed { text: format!("{number}{}", unit.name), digits, decimals })
}

/// "12.50" becomes (1250, 2). `None` when it is not a plain decimal number.
fn parse_decimal(number: &str) -> Option<(u128, u32)> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let has_digits = !(whole.is_empty() || number.contains('.') && fraction.is_empty());
    let fraction = fraction.trim_end_matches('0');
    let digits: String = [whole, fraction].concat();
    if !has_digits || digits.len() > DIGITS_MAX || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    Some((digits.parse().ok()?, u32::try_from(fraction.len()).ok()?))
}

/// Returns what a person typed, short enough for one line of an error message.
fn quoted(text: &str) -> String {
    const SHOWN_MAX: usize = 60;
    if text.chars().count() <= SHOWN_MAX {
        return text.to_string();
    }
    text.chars().take(SHOWN_MAX).chain("...".chars()).collect()
}

/// Gives a quantity its text form (parse, print, serde) from its [`Scale`].
macro_rules! quantity_text {
    ($type:ident, $scale:expr) => {
        impl std::str::FromStr for $type {
            type Err = $crate::QuantityError;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                $scale.parse(text).map($type::new)
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(&$scale.print(self.get()))
            }
        }

        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}
pub(crate) use quantity_text;
