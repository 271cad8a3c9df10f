//! What Prometheus answers to a query (`/api/v1/query_range`, and `/api/v1/query` of a range), read as a stream: series with their labels, and values.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, BufReader, Read};

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::ImportError;

/// Labels of a series.
pub(crate) type Labels = BTreeMap<String, String>;

/// Takes series and their values as they come.
pub(crate) trait TakesSeries {
    /// Takes the labels of a series, whose values follow.
    fn series(&mut self, labels: &Labels) -> Result<(), ImportError>;
    /// Takes a value of it as it is written, at a time in seconds since 1970.
    fn value(&mut self, seconds: f64, value: &str) -> Result<(), ImportError>;
    /// Takes note of histograms, which are no values.
    fn histograms(&mut self);
    /// Takes what Prometheus says of an answer that is not whole.
    fn warning(&mut self, words: &str);
}

/// Why an answer cannot be read.
#[derive(Debug)]
pub(crate) enum AnswerError {
    Io(io::Error),
    /// It is none of Prometheus, or damaged.
    Wrong(String),
    /// Prometheus could not answer, and says why.
    Refused(String),
    /// Whoever took its values failed.
    Taker(ImportError),
}

/// Labels that a series has at most, and longest text.
const LABELS_MAX: usize = 256;
const TEXT_BYTES_MAX: usize = 64 << 10;

/// Reads answers that follow each other, each to its end.
pub(crate) fn read_answers(
    input: impl Read,
    taker: &mut dyn TakesSeries,
) -> Result<(), AnswerError> {
    let input = BufReader::with_capacity(1 << 16, ShortTexts::new(input));
    let mut deserializer = serde_json::Deserializer::from_reader(input);
    loop {
        let mut reading = Reading { taker, failed: None, found: Found::default() };
        let read = Answer(&mut reading).deserialize(&mut deserializer);
        let Reading { failed, found, .. } = reading;
        if let Some(error) = failed {
            return Err(AnswerError::Taker(error));
        }
        read.map_err(of_json)?;
        found.check()?;
        if deserializer.end().is_ok() {
            return Ok(());
        }
    }
}

fn of_json(error: serde_json::Error) -> AnswerError {
    if error.is_io() {
        return AnswerError::Io(error.into());
    }
    if error.is_eof() {
        return AnswerError::Wrong("it is cut off".into());
    }
    AnswerError::Wrong(format!("it is no answer of Prometheus: {error}"))
}

/// What an answer says of itself.
#[derive(Default)]
struct Found {
    status: String,
    result_type: String,
    refusal: String,
    has_data: bool,
}

impl Found {
    fn check(self) -> Result<(), AnswerError> {
        match self.status.as_str() {
            "success" if !self.has_data => {
                Err(AnswerError::Wrong("it is no answer to a query: it has no result".into()))
            }
            "success" if self.result_type != "matrix" => {
                let reason = format!(
                    "its result is a {:?} and no matrix; hint: ask /api/v1/query_range",
                    self.result_type
                );
                Err(AnswerError::Wrong(reason))
            }
            "success" => Ok(()),
            "error" => Err(AnswerError::Refused(self.refusal)),
            _ => Err(AnswerError::Wrong("it is JSON, and no answer of Prometheus".into())),
        }
    }
}

struct Reading<'a> {
    taker: &'a mut dyn TakesSeries,
    failed: Option<ImportError>,
    found: Found,
}

impl Reading<'_> {
    /// Keeps why the taker failed, as an error of JSON cannot.
    fn keep<E: Error>(&mut self, taken: Result<(), ImportError>) -> Result<(), E> {
        taken.map_err(|error| {
            self.failed = Some(error);
            E::custom("not taken")
        })
    }
}

/// Declares what reads one level of an answer, in the place where it is expected.
macro_rules! level {
    ($name:ident, $ask:ident) => {
        impl<'de> DeserializeSeed<'de> for $name<'_, '_> {
            type Value = ();

            fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
                deserializer.$ask(self)
            }
        }
    };
}

/// The whole answer.
struct Answer<'a, 'r>(&'a mut Reading<'r>);
level!(Answer, deserialize_map);

impl<'de> Visitor<'de> for Answer<'_, '_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an answer of Prometheus")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "status" => self.0.found.status = map.next_value()?,
                "error" => self.0.found.refusal = map.next_value()?,
                "data" => map.next_value_seed(Data(self.0))?,
                "warnings" => map.next_value_seed(Warnings(self.0))?,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

/// What it says of an answer that is not whole: a store of several did not answer, for instance.
struct Warnings<'a, 'r>(&'a mut Reading<'r>);
level!(Warnings, deserialize_any);

impl<'de> Visitor<'de> for Warnings<'_, '_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("warnings")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<(), A::Error> {
        while let Some(words) = all.next_element::<String>()? {
            self.0.taker.warning(&words);
        }
        Ok(())
    }
}

/// What was asked for.
struct Data<'a, 'r>(&'a mut Reading<'r>);
level!(Data, deserialize_map);

impl<'de> Visitor<'de> for Data<'_, '_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a result and its type")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "resultType" => self.0.found.result_type = map.next_value()?,
                "result" => {
                    self.0.found.has_data = true;
                    map.next_value_seed(AllSeries(self.0))?;
                }
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

/// All series.
struct AllSeries<'a, 'r>(&'a mut Reading<'r>);
level!(AllSeries, deserialize_seq);

impl<'de> Visitor<'de> for AllSeries<'_, '_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("series")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<(), A::Error> {
        while all.next_element_seed(OneSeries(self.0))?.is_some() {}
        Ok(())
    }
}

/// One series.
struct OneSeries<'a, 'r>(&'a mut Reading<'r>);
level!(OneSeries, deserialize_map);

impl<'de> Visitor<'de> for OneSeries<'_, '_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a series with its labels and values")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut is_named = false;
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "metric" if !is_named => {
                    let labels = map.next_value_seed(LabelsOf)?;
                    let taken = self.0.taker.series(&labels);
                    self.0.keep(taken)?;
                    is_named = true;
                }
                "values" if is_named => map.next_value_seed(ValuesOf(self.0))?,
                "values" => return Err(A::Error::custom("values come before their labels")),
                "histograms" => {
                    map.next_value::<IgnoredAny>()?;
                    self.0.taker.histograms();
                }
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

/// Labels, not more than a series has.
struct LabelsOf;

impl<'de> DeserializeSeed<'de> for LabelsOf {
    type Value = Labels;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Labels, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for LabelsOf {
    type Value = Labels;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("labels")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Labels, A::Error> {
        let mut labels = Labels::new();
        while let Some((name, value)) = map.next_entry()? {
            if labels.len() >= LABELS_MAX {
                return Err(A::Error::custom("a series has more labels than any has"));
            }
            labels.insert(name, value);
        }
        Ok(labels)
    }
}

/// ValuesOf of a series.
struct ValuesOf<'a, 'r>(&'a mut Reading<'r>);
level!(ValuesOf, deserialize_seq);

impl<'de> Visitor<'de> for ValuesOf<'_, '_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("values")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<(), A::Error> {
        while all.next_element_seed(Pair(self.0))?.is_some() {}
        Ok(())
    }
}

/// A time and a value.
struct Pair<'a, 'r>(&'a mut Reading<'r>);
level!(Pair, deserialize_seq);

impl<'de> Visitor<'de> for Pair<'_, '_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a time and a value")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut pair: A) -> Result<(), A::Error> {
        let missing = || A::Error::custom("a value is no pair of a time and a text");
        let seconds = pair.next_element::<f64>()?.ok_or_else(missing)?;
        pair.next_element_seed(OneValue(self.0, seconds))?.ok_or_else(missing)?;
        match pair.next_element::<IgnoredAny>()? {
            None => Ok(()),
            Some(_) => Err(missing()),
        }
    }
}

/// A value, as text.
struct OneValue<'a, 'r>(&'a mut Reading<'r>, f64);
level!(OneValue, deserialize_str);

impl<'de> Visitor<'de> for OneValue<'_, '_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value as text")
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<(), E> {
        let taken = self.0.taker.value(self.1, value);
        self.0.keep(taken)
    }
}

/// Passes on JSON whose texts are short: a reader holds a whole one.
struct ShortTexts<R> {
    input: R,
    is_in_text: bool,
    is_escaped: bool,
    length: usize,
}

impl<R> ShortTexts<R> {
    fn new(input: R) -> Self {
        ShortTexts { input, is_in_text: false, is_escaped: false, length: 0 }
    }
}

impl<R: Read> Read for ShortTexts<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(buffer)?;
        for byte in &buffer[..read] {
            // Numbers and all that is between texts have bounds, too: a reader holds the digits of a number.
            let ends = !self.is_escaped && (*byte == b'"' || !self.is_in_text && *byte == b',');
            self.is_in_text ^= !self.is_escaped && *byte == b'"';
            self.is_escaped = self.is_in_text && !self.is_escaped && *byte == b'\\';
            self.length = if ends { 0 } else { self.length + 1 };
            if self.length > TEXT_BYTES_MAX {
                let reason = "a text in it is longer than 64 KiB: it is no answer of Prometheus";
                return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
            }
        }
        Ok(read)
    }
}
