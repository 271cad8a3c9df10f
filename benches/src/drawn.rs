//! Scenarios drawn at random: targets, rates, noise of all kinds, floods, requests that cost, late notice, limits, block sizes and nodes.
//! A seed is a scenario, always the same one.

use plimsoll_stats::Random;

/// Returns the scenario of a seed as a person would write it, so that `plimsoll simulate` can play it, too. It is for comparing
/// routers: nothing breaks, and everything is written at once or paced.
pub fn scenario(seed: u64) -> String {
    let mut random = Random::for_stream(seed, SCENARIO_STREAM);
    let random = &mut random;
    let targets = *pick(random, &[2, 4, 8, 16, 16, 32, 64]);
    let is_fifo = one_in(random, 4);
    let rate = log_uniform(random, 20e6, 2e9);
    let rates = rates(random, targets, rate);
    let (noise, of_noise) = noise(random, targets, is_fifo);
    let (costs, of_costs) = costs(random, is_fifo);
    let (limits, of_limits) = limits(random, targets, rate);
    let (application, of_application) = application(random, rates.iter().sum());
    let service = if is_fifo { "fifo" } else { "processor-sharing" };
    let spread =
        rates.iter().copied().fold(0.0, f64::max) / rates.iter().copied().fold(f64::MAX, f64::min);
    let list: Vec<String> = rates.iter().map(|rate| format!("\"{:.0}B/s\"", rate)).collect();
    let title = format!(
        "{targets} targets {service} of {} MB/s, rates differ {spread:.3} times{of_costs}{of_limits}; \
         {of_application}; {of_noise}",
        (rate / 1e6) as u64
    );
    format!(
        "# The random scenario of seed {seed}.\nversion = 1\ntitle = {title:?}\n\
         policies = [\"window\", \"striped\", \"static\"]\n\n[storage]\ntargets = {targets}\n\
         rate = \"{rate:.0}B/s\"\nrates = [{}]\nservice = {service:?}\n{costs}{limits}\n{application}{noise}",
        list.join(", "),
    )
}

const SCENARIO_STREAM: u64 = 1 << 42;

fn one_in(random: &mut Random, n: u64) -> bool {
    random.below(n) == 0
}

fn pick<'a, T>(random: &mut Random, all: &'a [T]) -> &'a T {
    &all[random.index(all.len())]
}

fn log_uniform(random: &mut Random, least: f64, most: f64) -> f64 {
    least * (most / least).powf(random.unit())
}

/// All equal, one slow, or spread by up to 100 times.
fn rates(random: &mut Random, targets: usize, rate: f64) -> Vec<f64> {
    let mut rates = vec![rate; targets];
    match random.below(4) {
        0 => rates[random.index(targets)] /= log_uniform(random, 2.0, 20.0),
        1 => {
            let spread = log_uniform(random, 1.5, 100.0);
            rates.iter_mut().for_each(|one| *one /= log_uniform(random, 1.0, spread));
        }
        _ => {}
    }
    rates
}

fn costs(random: &mut Random, is_fifo: bool) -> (String, String) {
    let (mut keys, mut words) = (String::new(), String::new());
    if one_in(random, 3) {
        let cost_us = log_uniform(random, 50.0, 10_000.0) as u64;
        keys += &format!("request_cost = \"{cost_us}us\"\n");
        words += &format!(", a request costs {cost_us} us");
    }
    if !is_fifo && one_in(random, 6) {
        keys += "curve = \"wright-f2\"\n";
        words += ", contended as in F.2";
    }
    (keys, words)
}

fn limits(random: &mut Random, targets: usize, rate: f64) -> (String, String) {
    let (mut keys, mut words) = (String::new(), String::new());
    let all = rate * targets as f64;
    if one_in(random, 8) {
        let per_server = (targets / *pick(random, &[1, 2, 4])).max(1);
        let limit = rate * per_server as f64 * log_uniform(random, 0.3, 1.0);
        keys += &format!("targets_per_server = {per_server}\nserver_limit = \"{limit:.0}B/s\"\n");
        words += &format!(", servers of {per_server} with {:.0} MB/s", limit / 1e6);
    }
    if one_in(random, 8) {
        let limit = all * log_uniform(random, 0.05, 1.0);
        keys += &format!("client_limit = \"{limit:.0}B/s\"\n");
        words += &format!(", nodes with {:.0} MB/s", limit / 1e6);
    }
    (keys, words)
}

/// As much data as all targets take in 0.2 to 20 s, in at most 4,000 blocks and 16 GB.
fn application(random: &mut Random, total_rate: f64) -> (String, String) {
    let processes = log_uniform(random, 1.0, 513.0) as u64;
    let per_node = *pick(random, &[1, 4, 16, 16, 64, 256]);
    let data = (total_rate * log_uniform(random, 0.2, 20.0)).min(16e9);
    let block = (data / processes as f64).min(log_uniform(random, 65_536.0, 256e6)).max(4096.0);
    let blocks =
        (data / processes as f64 / block).round().clamp(1.0, (4000 / processes).max(1) as f64);
    let mut keys = format!(
        "[application]\nprocesses = {processes}\nprocesses_per_node = {per_node}\nblocks = {blocks}\n\
         block = \"{block:.0}B\"\n"
    );
    let mut words = format!(
        "{processes} processes, {per_node} a node, {blocks} blocks of {:.3} MB",
        block / 1e6
    );
    if one_in(random, 4) {
        let outstanding = *pick(random, &[0.0, 1.0, 4.0]) * block;
        keys += &format!("submit = \"paced\"\noutstanding = \"{outstanding:.0}B\"\n");
        words += &format!(" paced by {:.3} MB", outstanding / 1e6);
    }
    if one_in(random, 3) {
        let notice_us = log_uniform(random, 1000.0, 100_000.0) as u64;
        keys += &format!("notice_every = \"{notice_us}us\"\n");
        words += &format!(", noticed every {notice_us} us");
    }
    (keys, words)
}

/// Nothing, streams on some targets, floods on all of them, or slowness that comes and goes; sometimes two of them.
fn noise(random: &mut Random, targets: usize, is_fifo: bool) -> (String, String) {
    let (mut keys, mut words) = (String::new(), Vec::new());
    let kind = random.below(5);
    if kind == 1 || kind == 2 {
        // On some, or a flood of all.
        let on = if kind == 1 { 1 + random.index(targets.div_ceil(2)) } else { targets };
        let streams = on as u64 * *pick(random, &[1, 4, 4, 16, 64]);
        keys += &format!("[[noise]]\nkind = \"streams\"\nstreams = {streams}\ntargets = {on}\n");
        words.push(format!("{streams} streams on {on}"));
        if is_fifo {
            let block = *pick(random, &["1MiB", "4MiB", "16MiB"]);
            keys += &format!("block = {block:?}\n");
            words.push(format!("blocks of {block}"));
        } else if one_in(random, 2) {
            keys += "sharing = \"stream\"\n";
            words.push("by stream".into());
        }
    }
    if kind >= 3 {
        let slowdown = log_uniform(random, 1.5, 50.0);
        let slow_ms = log_uniform(random, 20.0, 60_000.0) as u64;
        let normal_ms = (slow_ms as f64 * log_uniform(random, 0.5, 50.0)) as u64;
        let distribution = *pick(random, &["fixed", "exponential", "lognormal"]);
        let lasts = |ms: u64| format!("{{ mean = \"{ms}ms\", distribution = {distribution:?} }}");
        let on = if one_in(random, 2) { targets } else { 1 + random.index(targets) };
        keys += &format!(
            "[[noise]]\nkind = \"on-off\"\nslowdown = {slowdown:.2}\nslow = {}\nnormal = {}\ntargets = {on}\n",
            lasts(slow_ms),
            lasts(normal_ms)
        );
        words.push(format!(
            "{on} are {slowdown:.1} times slower for {slow_ms} of {} ms, {distribution}",
            slow_ms + normal_ms
        ));
    }
    let words = if words.is_empty() { "nobody else".into() } else { words.join(" ") };
    (keys, words)
}

#[cfg(test)]
mod tests {
    use plimsoll_simulate::Scenario;

    use super::*;

    #[test]
    fn every_seed_is_a_scenario_and_all_kinds_come_up() {
        let all: Vec<String> = (1..400).map(scenario).collect();
        for (nth, text) in all.iter().enumerate() {
            Scenario::parse("drawn", text).unwrap_or_else(|error| panic!("{error}\n{text}"));
            assert_eq!(*text, scenario(nth as u64 + 1), "equal seeds are equal scenarios");
        }
        for key in [
            "request_cost",
            "notice_every",
            "client_limit",
            "server_limit",
            "wright-f2",
            "fifo",
            "sharing",
            "on-off",
            "lognormal",
            "paced",
            "processes_per_node = 1\n",
            "4MiB",
        ] {
            let with = all.iter().filter(|text| text.contains(key)).count();
            assert!((5..395).contains(&with), "{key}: {with}");
        }
    }
}
