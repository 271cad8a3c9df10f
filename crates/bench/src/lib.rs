//! Runs experiments: plan, schedule, a team of processes, results.
