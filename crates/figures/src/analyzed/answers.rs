//! The questions of the paper, answered in words: each with its figure and how sure it is.

use plimsoll_analyze::{Analysis, Estimate, Frame, Span};
use plimsoll_report::words;

use super::found::{DIRECTIONS, clock};

/// Returns what can be answered, and what the data cannot answer.
pub fn answers(frame: &Frame, analysis: &Analysis) -> (Vec<String>, Vec<String>) {
    let (mut told, mut open) = (Vec::new(), Vec::new());
    let mut add = |answer: Option<String>, question: &str| match answer {
        Some(answer) => told.push(answer),
        None => open.push(question.to_string()),
    };
    add(more_read(analysis), "whether more is read or written: too little of both is known");
    add(bursty(analysis), "how bursty reads and writes are: too few minutes are known");
    add(
        below_mean(analysis),
        "how far typical minutes are from the mean: too few minutes are known",
    );
    add(phases(analysis), "how long high activity lasts: quantiles are equal or nothing is known");
    add(tells_next(analysis), "whether activity tells what comes: too few minutes are known");
    add(
        reads_tell_writes(analysis),
        "whether reads and writes go together: one of them is not known or does not vary",
    );
    add(balance(analysis), "how balanced targets are: fewer than two move data, or one moves none");
    add(
        persistence(analysis),
        "whether the same targets stay ahead: fewer than two days, or fewer than three targets",
    );
    add(parallel(analysis), "how many targets work alike: nothing was moved");
    add(metadata(analysis), "how files are opened and closed: no samples of metadata are there");
    add(servers(analysis), "how busy servers' processors are: no samples of them are there");
    told.extend(analysis.hot.iter().take(5).map(|hot| {
        format!(
            "Target {} is {} more than others day after day: {} times the median target, on {} of {} days.",
            hot.name,
            DIRECTIONS[hot.direction],
            figure(&hot.over_median, words::short),
            hot.days_above,
            hot.days
        )
    }));
    told.extend(analysis.daily_jobs.iter().take(5).map(|job| {
        let bytes = job.bytes.as_ref().map(|it| figure(it, bytes));
        format!(
            "Every day from {} ({}) for about {} minutes more is {} than around, on {} of days{}.",
            clock(job.start),
            frame.zone().name(),
            job.minutes,
            DIRECTIONS[job.direction],
            words::percent(job.share),
            bytes.map(|it| format!(": {it} on top")).unwrap_or_default()
        )
    }));
    told.extend(forecasts(analysis));
    if analysis.forecasts.iter().all(Option::is_none) {
        open.push("whether the next hour can be forecast: 21 days without gaps are needed".into());
    }
    open.push("how large requests are, and which jobs make the load: this history's samples of targets are not divided by job here".into());
    (told, open)
}

/// "1.75 (1.61 to 1.9)".
fn figure(estimate: &Estimate, show: impl Fn(f64) -> String) -> String {
    match estimate.interval {
        Some(interval) => {
            format!("{} ({} to {})", show(estimate.value), show(interval.low), show(interval.high))
        }
        None => format!("{} (too few days to say how sure)", show(estimate.value)),
    }
}

fn bytes(value: f64) -> String {
    words::bytes(value.max(0.0) as u64)
}

fn more_read(analysis: &Analysis) -> Option<String> {
    let ratio = analysis.system.ratio?;
    let verdict = match ratio.interval {
        Some(it) if it.low > 1.0 => "More is read than written",
        Some(it) if it.high < 1.0 => "More is written than read",
        _ => "Whether more is read or written is not certain",
    };
    let [read, written] = analysis.system.directions.each_ref().map(|it| bytes(it.bytes as f64));
    Some(format!(
        "{verdict}: {read} read, {written} written, a ratio of {}.",
        figure(&ratio, words::short)
    ))
}

fn bursty(analysis: &Analysis) -> Option<String> {
    let [read, written] = &analysis.system.directions;
    let (read, written) = (read.cov?, written.cov?);
    let apart = read.interval.zip(written.interval);
    let verdict = match apart {
        Some((read, written)) if written.low > read.high => "Writes are burstier than reads",
        Some((read, written)) if read.low > written.high => "Reads are burstier than writes",
        _ => "Neither reads nor writes are clearly the burstier",
    };
    let percent = |it: f64| words::percent(it);
    Some(format!(
        "{verdict}: the coefficient of variation of minutes is {} for reads and {} for writes.",
        figure(&read, percent),
        figure(&written, percent)
    ))
}

fn below_mean(analysis: &Analysis) -> Option<String> {
    let [read, written] = &analysis.system.directions;
    let (below_read, below_written) = (read.below_mean?, written.below_mean?);
    let highest =
        |of: &plimsoll_analyze::Transfer| Some(of.mean?.value / of.minutes.as_ref()?.max());
    Some(format!(
        "{} of minutes read less than the mean, {} write less; the mean is {} of the highest minute for reads and {} for writes.",
        figure(&below_read, words::percent),
        figure(&below_written, words::percent),
        words::percent(highest(read)?),
        words::percent(highest(written)?)
    ))
}

fn phases(analysis: &Analysis) -> Option<String> {
    let [high, low] = &analysis.phases;
    let minutes = |it: Option<f64>| it.map(|it| format!("{} min", words::short(it)));
    Some(format!(
        "High activity lasts {} for reads and {} for writes on average, and begins again every {} and {}; low activity lasts {} and {}.",
        minutes(high[0].mean_length())?,
        minutes(high[1].mean_length())?,
        minutes(high[0].mean_interval())?,
        minutes(high[1].mean_interval())?,
        minutes(low[0].mean_length())?,
        minutes(low[1].mean_length())?
    ))
}

fn tells_next(analysis: &Analysis) -> Option<String> {
    let at = |which: usize, window: usize| {
        analysis.correlations[which].by_window.get(window)?.get(1).copied().flatten()
    };
    let mut parts = Vec::new();
    for (window, width) in ["a minute", "5 minutes", "25 minutes"].into_iter().enumerate() {
        if let Some((reads, writes)) = at(0, window).zip(at(1, window)) {
            parts.push(format!(
                "{width}: {} for reads, {} for writes",
                figure(&reads.r, words::short),
                figure(&writes.r, words::short)
            ));
        }
    }
    (!parts.is_empty()).then(|| {
        format!(
            "How activity goes with that of the next window (1 is perfectly). {}.",
            parts.join("; ")
        )
    })
}

fn reads_tell_writes(analysis: &Analysis) -> Option<String> {
    let r = (*analysis.correlations[2].by_window.first()?.first()?)?.r;
    let verdict = match r.value.abs() {
        it if it < 0.3 => "hardly go together",
        it if it < 0.6 => "go together somewhat",
        _ => "go together",
    };
    Some(format!(
        "Reads and writes of the same minute {verdict}: their correlation is {}.",
        figure(&r, words::short)
    ))
}

fn balance(analysis: &Analysis) -> Option<String> {
    let [read, written] = analysis.space.most_over_least;
    Some(format!(
        "The target that is read most is read {} times as much as the one that is read least; for writes it is {} times. Over all of the time, not in one minute.",
        words::short(read?),
        words::short(written?)
    ))
}

fn persistence(analysis: &Analysis) -> Option<String> {
    let (_, [read, written]) = analysis.space.imbalance.iter().find(|it| it.0 == Span::Day)?;
    let verdict = |rho: f64| match rho {
        it if it > 0.6 => "mostly the same ones",
        it if it > 0.2 => "partly the same ones",
        _ => "others each day",
    };
    let (reads, writes) = (read.persistence?, written.persistence?);
    Some(format!(
        "Targets that are ahead on one day are {} on the next for reads (rank correlation {}), {} for writes ({}).",
        verdict(reads),
        words::short(reads),
        verdict(writes),
        words::short(writes)
    ))
}

fn parallel(analysis: &Analysis) -> Option<String> {
    let [read, written] = &analysis.space.parallelism;
    let (reads, writes) = (&read.degrees[0], &written.degrees[0]);
    Some(format!(
        "In a minute, {} targets do about as much as each other on average when they read, {} when they write; {} and {} of such groups have fewer than 10.",
        words::short(reads.mean()?),
        words::short(writes.mean()?),
        words::percent(reads.share_below(10)?),
        words::percent(writes.share_below(10)?)
    ))
}

fn metadata(analysis: &Analysis) -> Option<String> {
    let metadata = analysis.metadata.as_ref()?;
    let [opens, closes] = &metadata.operations;
    Some(format!(
        "{} files are opened in a minute on average and {} closed, {} closes for each open; the highest minute has {} opens.",
        words::short(opens.mean?),
        words::short(closes.mean?),
        words::short(metadata.closes_per_open?),
        words::short(opens.most?)
    ))
}

fn servers(analysis: &Analysis) -> Option<String> {
    let servers = &analysis.servers;
    let mean = |it: &plimsoll_analyze::ServerSums| it.sum as f64 / it.known as f64 / 1e6;
    let busiest = servers.iter().max_by(|one, other| mean(&one.1).total_cmp(&mean(&other.1)))?;
    let under = servers.iter().filter(|it| it.1.most < 750_000).count();
    Some(format!(
        "Processors of the busiest server, {}, work {} of the time; {} of {} servers have no minute over 75 %.",
        busiest.0,
        words::percent(mean(&busiest.1)),
        under,
        servers.len()
    ))
}

fn forecasts(analysis: &Analysis) -> Vec<String> {
    let both = analysis.forecasts.iter().zip(["reads", "writes"]);
    let told = both.filter_map(|(forecast, name)| {
        let forecast = forecast.as_ref()?;
        let over = figure(&forecast.over_naive, words::percent);
        Some(if forecast.wins() {
            format!("The {name} of the next hour can be told better than by the last hour or by yesterday: on days held out, the error is {over} of the better one's.")
        } else {
            format!("No forecast of the {name} of the next hour was better than the last hour and yesterday: on days held out, its error is {over} of the better one's.")
        })
    });
    told.collect()
}
