//! A Prometheus that is asked for ranges of time, over HTTP.

use std::io::Read;
use std::path::Path;
use std::time::Duration;

use plimsoll_history::{Import, Measure};
use ureq::Agent;

use crate::notes::Notes;
use crate::prometheus::{Metrics, failed, one_line};
use crate::prometheus_answer::read_answers;
use crate::selector::Selector;
use crate::{ImportError, Options, Outcome};

/// What time is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeRange {
    /// From this moment on, in milliseconds since 1970.
    pub since: u64,
    /// Up to this moment.
    pub until: u64,
    /// How far samples are apart, in milliseconds.
    pub step: u32,
}

/// Steps that are asked for at once: Prometheus refuses more than 11,000 for each series.
const STEPS_AT_ONCE: u64 = 5_000;

/// Answers in a row after which more is asked for again.
const ANSWERS_BEFORE_MORE: u64 = 16;

/// Longest answer, which is not held, and longest refusal, which is.
const ANSWER_BYTES_MAX: u64 = 4 << 30;
const REFUSAL_BYTES_MAX: u64 = 64 << 10;

/// How long to wait for a connection, the beginning of an answer and all of it.
const CONNECTED: Duration = Duration::from_secs(30);
const ANSWERED: Duration = Duration::from_secs(300);
const RECEIVED: Duration = Duration::from_secs(1800);

/// Imports what a Prometheus has of the metrics that the mapping names: all of it, or nothing. `url` is its address, without `/api`.
///
/// # Errors
/// If it cannot be asked or does not answer, if the mapping names no metrics, or if the store cannot be written.
pub fn import_from_prometheus(
    url: &str,
    range: &TimeRange,
    store: &Path,
    options: &Options,
) -> Result<Outcome, ImportError> {
    let server = Server::new(url)?;
    let queries: Vec<(Measure, &str)> = options.mapping.queries().collect();
    let path = Path::new(url);
    if queries.is_empty() {
        let reason = "no metric is named; hint: say in a mapping what measures are called there, as in read_bytes = \"node_disk_read_bytes_total\" (--mapping FILE, docs/import.md)";
        return Err(ImportError::content(path, reason));
    }
    let step = u64::from(range.step.max(1));
    // The same steps whatever the moment is at which somebody asks: importing again changes nothing.
    let first = range.since.div_ceil(step);
    let end = range.until.min(options.until.unwrap_or(u64::MAX)) / step + 1;
    let mut import = Import::begin(store, "prometheus")?;
    if let Some(until) = options.until {
        import = import.until(until);
    }
    let mut notes = Notes::default();
    let mut metrics = Metrics::new(path, options, &mut import)?;
    let (mut at_once, mut in_a_row) = (STEPS_AT_ONCE, 0u64);
    let mut parts = 0;
    for (measure, query) in queries {
        let query = &sampled_within(query, step);
        let mut from = first;
        while from < end {
            let to = end.min(from + at_once);
            let moments = from * step..=(to - 1) * step;
            metrics.answers(measure, range.step, moments.clone());
            match server.ask(query, *moments.start(), *moments.end(), step)? {
                Asked::Answer(answer) => {
                    read_answers(answer, &mut metrics).map_err(|error| failed(path, error))?;
                    from = to;
                    parts += 1;
                    in_a_row += 1;
                    // It may have been too much at that moment only.
                    if in_a_row % ANSWERS_BEFORE_MORE == 0 {
                        at_once = (at_once * 2).min(STEPS_AT_ONCE);
                    }
                }
                Asked::TooMuch(_) if at_once > 1 => {
                    (at_once, in_a_row) = ((at_once / 2).max(1), 0);
                }
                Asked::TooMuch(words) => {
                    let reason = format!("Prometheus could not answer: {words}");
                    return Err(ImportError::content(path, reason));
                }
            }
        }
    }
    notes.recognised(parts, "answers to queries, each of a part of the time");
    metrics.finish(&mut notes)?;
    let imported = import.finish()?;
    Ok(Outcome { format: "Prometheus".into(), imported, notes: notes.into_vec() })
}

/// Returns a query of what was sampled within a step. Prometheus repeats what it sampled up to five minutes before, so that a host which was down would seem to have
/// done nothing, and where samples are further apart than steps, all would seem to be done in one of them. Of other queries than of a metric only Prometheus knows.
fn sampled_within(query: &str, step: u64) -> String {
    match Selector::parse(query) {
        Some(_) => {
            let step = step as f64 / 1000.0;
            format!("{query} and (timestamp({query}) > time() - {step})")
        }
        None => query.to_owned(),
    }
}

/// What came of a question.
enum Asked {
    Answer(Box<dyn Read>),
    /// Less may be answered: what Prometheus says.
    TooMuch(String),
}

struct Server<'a> {
    url: &'a str,
    agent: Agent,
}

impl<'a> Server<'a> {
    fn new(url: &'a str) -> Result<Self, ImportError> {
        let wrong = |reason: &str| Err(ImportError::content(Path::new(url), reason));
        let Some(rest) = url.strip_prefix("http://") else {
            return wrong(
                "only http:// is asked; hint: save the answer of query_range with curl, and import that file",
            );
        };
        if rest.split('/').next().is_some_and(|it| it.contains('@')) {
            return wrong(
                "it has a password or a user, which others see on the command line; hint: save the answer with curl --netrc, and import that file",
            );
        }
        let agent = Agent::config_builder()
            .max_redirects(0)
            .max_redirects_will_error(false)
            .http_status_as_error(false)
            // Whoever was named is asked, and nobody in between.
            .proxy(None)
            .timeout_connect(Some(CONNECTED))
            .timeout_recv_response(Some(ANSWERED))
            .timeout_recv_body(Some(RECEIVED))
            .build()
            .into();
        Ok(Server { url: url.trim_end_matches('/'), agent })
    }

    /// Asks for a query at moments from one to another, in milliseconds since 1970.
    fn ask(&self, query: &str, from: u64, to: u64, step: u64) -> Result<Asked, ImportError> {
        let path = Path::new(self.url);
        let seconds = |millis: u64| format!("{}.{:03}", millis / 1000, millis % 1000);
        let asked = self
            .agent
            .get(format!("{}/api/v1/query_range", self.url))
            .query("query", query)
            .query("start", seconds(from))
            .query("end", seconds(to))
            .query("step", seconds(step))
            .call();
        let failed = |error: ureq::Error| {
            ImportError::content(
                path,
                format!("it cannot be asked: {}", one_line(&error.to_string())),
            )
        };
        let response = asked.map_err(failed)?;
        let status = response.status().as_u16();
        let body = |limit| response.into_body().into_with_config().limit(limit).reader();
        match status {
            200 => Ok(Asked::Answer(Box::new(body(ANSWER_BYTES_MAX)))),
            300..=399 => {
                let reason = "it leads elsewhere, where nobody is asked; hint: name the address that it leads to";
                Err(ImportError::content(path, reason))
            }
            _ => {
                let words = refusal(body(REFUSAL_BYTES_MAX));
                let is_too_much = ["maximum resolution", "too many samples", "timed out"];
                if is_too_much.iter().any(|it| words.contains(it)) {
                    return Ok(Asked::TooMuch(words));
                }
                let reason = format!("it answers with status {status}: {words}");
                Err(ImportError::content(path, reason))
            }
        }
    }
}

/// Returns what a refusal says.
fn refusal(body: impl Read) -> String {
    let mut text = Vec::new();
    // What came is said, also if it is cut off.
    let _ = body.take(REFUSAL_BYTES_MAX).read_to_end(&mut text);
    let said: Option<serde_json::Value> = serde_json::from_slice(&text).ok();
    let words = said.and_then(|it| it.get("error")?.as_str().map(str::to_owned));
    one_line(&words.unwrap_or_else(|| String::from_utf8_lossy(&text).into_owned()))
}
