//! Scores of what a benchmark measured: pure functions from measures to verdicts.
