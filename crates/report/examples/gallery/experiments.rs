//! What `bench` and `score` will draw.

use plimsoll_report::Unit;
use plimsoll_report::html::{
    Axis, BoxPlots, BoxSummary, Cell, Column, Lines, Scale, Scatter, Section, Table,
};

use crate::Noise;

/// Box plots, distributions, predicted against measured, scores.
pub fn experiments() -> Section {
    let mut noise = Noise(99);
    let mib = 1048576.0;
    let mut boxes = BoxPlots::new(
        "Bandwidth by stripe count",
        "stripe count",
        Axis::new("bandwidth", Unit::BytesPerSec),
    );
    let mut cdf = Lines::cdf("Bandwidth of instances", Axis::new("bandwidth", Unit::BytesPerSec));
    for (index, stripes) in [1, 2, 4, 8, 16].into_iter().enumerate() {
        let middle = (110.0 + 90.0 * (index as f64)) * mib;
        boxes = boxes.summary(BoxSummary {
            name: stripes.to_string(),
            count: 60,
            low: middle * 0.7,
            first_quartile: middle * 0.9,
            median: middle,
            third_quartile: middle * 1.06,
            high: middle * 1.2,
            median_interval: Some((middle * 0.97, middle * 1.02)),
            outliers: (0..index).map(|_| middle * (0.35 + noise.next() * 0.3)).collect(),
        });
        let values =
            (0..60).map(|_| middle * (0.7 + noise.next() * 0.25 + noise.next() * 0.25)).collect();
        cdf = cdf.distribution(format!("stripe count {stripes}"), values);
    }
    let pairs = |spread: f64, noise: &mut Noise| -> Vec<(f64, f64)> {
        (0..80)
            .map(|k| {
                let x = 2f64.powf(21.0 + f64::from(k) / 12.0);
                (x, x * (1.0 + (noise.next() - 0.5) * spread))
            })
            .collect()
    };
    let bandwidth = |title: &str| Axis::new(title, Unit::BytesPerSec).scale(Scale::Log2);
    let predicted =
        Scatter::new("Predicted against measured", bandwidth("measured"), bandwidth("predicted"))
            .points("reads", pairs(0.3, &mut noise))
            .points("writes", pairs(0.8, &mut noise))
            .diagonal();
    let table = Table::new(vec![
        Column::text("target"),
        Column::figures("LEB"),
        Column::figures("PEB, median"),
        Column::text("verdict"),
    ])
    .caption("Scores by target")
    .row(vec![
        Cell::Text("t0".into()),
        Cell::value(0.981, Unit::Ratio),
        Cell::value(0.962, Unit::Ratio),
        Cell::Text("normal".into()),
    ])
    .row(vec![
        Cell::Text("t1".into()),
        Cell::value(0.42, Unit::Ratio),
        Cell::value(0.455, Unit::Ratio),
        Cell::Text("persistent straggler".into()),
    ])
    .row(vec![
        Cell::Text("t2".into()),
        Cell::value(0.77, Unit::Ratio),
        Cell::Missing,
        Cell::Text("transient straggler".into()),
    ]);
    Section::new("Experiments").chart(boxes).chart(cdf).chart(predicted).table(&table)
}
