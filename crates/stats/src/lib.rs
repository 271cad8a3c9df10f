//! Statistics for measurements of storage, as a pure library.
//!
//! Timings of parallel I/O are skewed, heavy-tailed, often multimodal and
//! correlated in time. What is here therefore assumes no shape of distribution:
//! order statistics, ranks and resampling carry every claim, and each estimate
//! comes with its number of observations. A missing observation is never a zero,
//! and what cannot be estimated is `None` or an error, never a made-up number.
//!
//! | question | module |
//! |---|---|
//! | What did I measure? | [`sample`], [`summary`], [`ecdf`], [`histogram`] |
//! | How sure am I of a median or a percentile? | [`interval`], [`bootstrap`] |
//! | How sure am I of the median of a series in time? | [`series`] |
//! | How strongly are neighbours in a series correlated? | [`dependence`], [`effective`] |
//! | Which values stand apart? | [`outlier`], [`summary`] |
//! | Do two sets of measurements differ, and by how much? | [`compare`](mod@compare), [`rank`], [`shift`] |
//! | Do two series move together? | [`correlation`], [`rank_correlation`](mod@rank_correlation) |
//! | Has a rate stopped changing with the size? | [`plateau`](mod@plateau) |
//! | What does an operation cost, what a byte? | [`cost`], [`regression`] |
//!
//! Deliberately not here: input and output, clocks, global random state (every
//! random result takes a seed), parallelism, and normal-theory tools: no t test,
//! no interval of mean ± standard error, no "remove the outliers".
//!
//! All functions are total: no input makes them panic.

pub mod bootstrap;
pub mod compare;
pub mod correlation;
pub mod cost;
pub mod dependence;
pub mod distribution;
pub mod ecdf;
pub mod effective;
mod error;
pub mod histogram;
pub mod interval;
mod moments;
pub mod outlier;
pub mod plateau;
pub mod random;
pub mod rank;
pub mod rank_correlation;
pub mod regression;
pub mod sample;
pub mod series;
pub mod shift;
pub mod summary;

pub use bootstrap::{BootstrapInterval, Resampling};
pub use compare::{Comparison, compare};
pub use error::StatsError;
pub use interval::{QuantileInterval, median_interval, quantile_interval};
pub use plateau::{NoPlateau, Plateau, plateau, plateau_of_medians};
pub use random::Random;
pub use rank_correlation::{RankCorrelation, rank_correlation};
pub use sample::Sample;
pub use series::{SeriesInterval, series_median_interval};
pub use summary::FiveNumberSummary;
