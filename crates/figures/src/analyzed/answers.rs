//! The questions of the paper, answered in words: each with its figure and how sure it is.

mod course;
mod likeness;
mod recurring;
mod targets;
mod whole;

use plimsoll_analyze::{Analysis, Beside, DAYS_TO_RECUR, Frame, LEAST_DAYS};
use plimsoll_report::words;

use super::beside;
use super::figure::figure;

/// What figures in brackets are.
const BRACKETS: &str = "Totals and counts are exact for the minutes that are used. Brackets are 95 % intervals, estimated from how days differ: if use stays as it was, about 95 of 100 of them hold the figure of a long time.";

/// What a history says in words, what matters most first.
#[derive(Debug, Default)]
pub struct Answers {
    parts: Vec<Told>,
    unanswered: Vec<String>,
}

/// Some answers under one heading.
#[derive(Debug)]
pub struct Told {
    /// For programs.
    pub key: &'static str,
    /// For people.
    pub heading: &'static str,
    pub sentences: Vec<String>,
}

/// An answer, or the question that stays open.
type Answer = Result<String, &'static str>;

impl Answers {
    /// Answers what can be answered.
    pub fn of(frame: &Frame, analysis: &Analysis, beside: &Beside) -> Self {
        let mut answers = Answers::default();
        let has_intervals = frame.days.len() >= LEAST_DAYS;
        let brackets = has_intervals.then(|| Ok(BRACKETS.to_string()));
        answers.add("intervals", "how to read it", brackets.into_iter().collect());
        answers.add("findings", "what stands out", findings(frame, analysis));
        answers.add("known", "what is known", known(frame, analysis));
        answers.add("load", "how much is moved", load(frame, analysis, beside));
        answers.add("time", "when", time(frame, analysis));
        answers.add("space", "where", space(analysis));
        answers.add("servers", "files and servers", servers(analysis));
        answers.add("forecasts", "the next hour", forecasts(analysis));
        answers
    }

    fn add(&mut self, key: &'static str, heading: &'static str, answers: Vec<Answer>) {
        let mut sentences = Vec::new();
        for answer in answers {
            match answer {
                Ok(sentence) => sentences.push(sentence),
                Err(question) => self.unanswered.push(question.to_string()),
            }
        }
        self.parts.push(Told { key, heading, sentences });
    }

    /// Returns the answers by their headings, and last what the data cannot answer. Headings without a sentence are among them.
    pub fn parts(self) -> Vec<Told> {
        let Answers { mut parts, unanswered } = self;
        let heading = "what the data cannot answer";
        parts.push(Told { key: "unanswered", heading, sentences: unanswered });
        parts
    }
}

fn findings(frame: &Frame, analysis: &Analysis) -> Vec<Answer> {
    let mut found = recurring::hot(analysis);
    found.extend(recurring::hot_periods(analysis));
    found.extend(recurring::jobs(frame, analysis));
    found.extend(whole::drift(analysis));
    let is_any = !found.is_empty();
    found.extend(whole::outages(analysis));
    let is_long_enough = frame.days.len() >= DAYS_TO_RECUR;
    if !is_any && is_long_enough {
        found.insert(0, "Nothing recurs beyond chance: no target gets more than others day after day, and at no time of the day more is moved every day than around it.".into());
    }
    let mut answers: Vec<Answer> = found.into_iter().map(Ok).collect();
    if !is_long_enough {
        answers.push(Err(
            "whether something recurs every day: 13 days are needed to tell that from chance",
        ));
    }
    if analysis.drifts.iter().all(Option::is_none) {
        answers.push(Err("whether load grows or shrinks: 21 days are needed"));
    }
    answers
}

fn known(frame: &Frame, analysis: &Analysis) -> Vec<Answer> {
    let mut answers = vec![whole::known(frame, analysis).ok_or("anything: no minute is known")];
    answers.extend(whole::dropped(frame, analysis).map(Ok));
    answers
}

fn load(frame: &Frame, analysis: &Analysis, beside: &Beside) -> Vec<Answer> {
    vec![
        whole::more_read(analysis)
            .ok_or("whether more is read or written: too little of both is known"),
        whole::bursty(analysis)
            .ok_or("how bursty reads and writes are: too few minutes are known"),
        whole::below_mean(analysis)
            .ok_or("how far typical minutes are from the mean: too few minutes are known"),
        beside::busy(frame, beside).ok_or("how busy targets are beyond their bytes (file system utilization), and how large requests are: operations are not counted here"),
        beside::who(analysis, beside)
            .ok_or("which jobs make the load: targets do not count by job here (plimsoll monitor --jobs does)"),
    ]
}

fn time(frame: &Frame, analysis: &Analysis) -> Vec<Answer> {
    vec![
        course::hours(frame, analysis)
            .ok_or("whether hours or days of the week differ: 7 of each are needed"),
        course::phases(frame, analysis)
            .ok_or("how long high activity lasts: quantiles are equal or nothing is known"),
        course::tells_next(analysis)
            .ok_or("whether activity tells what comes: too few minutes are known"),
        course::reads_tell_writes(analysis).ok_or(
            "whether reads and writes go together: one of them is not known or does not vary",
        ),
    ]
}

fn space(analysis: &Analysis) -> Vec<Answer> {
    vec![
        targets::balance(analysis)
            .ok_or("how balanced targets are: fewer than two move data, or one moves none"),
        targets::persistence(analysis).ok_or(
            "whether the same targets stay ahead: fewer than two days, or fewer than three targets",
        ),
        targets::parallel(analysis).ok_or("how many targets work alike: nothing was moved"),
    ]
}

fn servers(analysis: &Analysis) -> Vec<Answer> {
    vec![
        course::metadata(analysis)
            .ok_or("how files are opened and closed: no samples of metadata are there"),
        targets::servers(analysis)
            .ok_or("how busy servers' processors are: no samples of them are there"),
    ]
}

fn forecasts(analysis: &Analysis) -> Vec<Answer> {
    if analysis.forecasts.iter().all(Option::is_none) {
        return vec![Err("whether the next hour can be forecast: 21 days without gaps are needed")];
    }
    recurring::forecasts(analysis).into_iter().map(Ok).collect()
}

/// "14 TiB".
fn bytes(value: f64) -> String {
    words::bytes(value.max(0.0) as u64)
}

/// "605,000": three digits that count.
fn about(value: f64) -> String {
    if !(value.is_finite() && value >= 999.5) {
        return words::short(value);
    }
    let unit = 10f64.powf(value.log10().floor() - 2.0);
    words::short((value / unit).round() * unit)
}

/// "6.51 min".
fn minutes(value: f64) -> String {
    match value {
        it if it >= 2.0 * 1440.0 => format!("{} days", words::short(it / 1440.0)),
        it if it >= 120.0 => format!("{} hours", words::short(it / 60.0)),
        it => format!("{} min", words::short(it)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_sentences_have_three_digits() {
        assert_eq!((about(604_806.0), about(0.72)), ("605,000".into(), "0.72".into()));
        assert_eq!((about(999.6), about(5_500_721.0)), ("1,000".into(), "5,500,000".into()));
        assert_eq!((minutes(6.5), minutes(150.0)), ("6.5 min".into(), "2.5 hours".into()));
        assert_eq!(minutes(20.0 * 1440.0), "20 days");
    }

    #[test]
    fn what_is_not_known_is_asked_at_the_end() {
        let mut answers = Answers::default();
        answers.add("load", "how much", vec![Ok("Much.".into()), Err("how much more")]);
        let parts = answers.parts();
        assert_eq!((parts[0].heading, &parts[0].sentences), ("how much", &vec!["Much.".into()]));
        assert_eq!(
            (parts[1].key, &parts[1].sentences),
            ("unanswered", &vec!["how much more".into()])
        );
    }
}
