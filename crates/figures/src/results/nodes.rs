//! Bandwidth by where the nodes are (Xie, figs 26 and 27).

use plimsoll_report::Unit;
use plimsoll_report::html::{Axis, Scatter, Section};
use plimsoll_score::locality::{ByTrait, NodeSet, Trait};
use plimsoll_score::sequence::Basis;

use crate::scores::View;
use crate::scores::locality::{bursts, notes, sentence};

/// `None` where the site file says nothing of it.
pub fn section(view: &View) -> Option<Section> {
    let by_trait = &view.locality.by_trait;
    let notes = notes(view, view.locality);
    if by_trait.is_empty() && notes.is_empty() {
        return None;
    }
    let section = Section::new("Where the nodes are").text(
        "One mark for each set of nodes, at the median of its instances: a set counts once, however often \
         it was measured.",
    );
    let section = by_trait.iter().fold(section, |section, it| section.text(sentence(view, it)));
    let section = [Trait::Distance, Trait::Routers].into_iter().fold(section, |section, of| {
        let all: Vec<&ByTrait> = by_trait.iter().filter(|it| it.of == of).collect();
        // EAB and shares of a median are of different things.
        [Basis::EffectiveBandwidth, Basis::Bandwidth].into_iter().fold(section, |section, basis| {
            let drawn: Vec<&ByTrait> = all.iter().copied().filter(|it| it.basis == basis).collect();
            if drawn.is_empty() { section } else { section.chart(chart(view, of, basis, &drawn)) }
        })
    });
    Some(notes.into_iter().fold(section, Section::note))
}

fn chart(view: &View, of: Trait, basis: Basis, drawn: &[&ByTrait]) -> Scatter {
    let (title, x) = match of {
        Trait::Distance => {
            ("distance between nodes", "mean distance over all pairs of nodes, hops")
        }
        Trait::Routers => ("number of I/O routers", "distinct I/O routers"),
    };
    let (what, y) = match basis {
        Basis::EffectiveBandwidth => {
            ("Effective aggregate bandwidth (EAB)", "share of the targets' peak, median")
        }
        Basis::Bandwidth => ("Bandwidth", "aggregate bandwidth over its median"),
    };
    let x = Axis::new(x, Unit::Ratio);
    let y = Axis::new(y, Unit::Ratio).reaching(0.0, 1.0);
    let chart = Scatter::new(format!("{what} by {title}"), x, y);
    drawn.iter().fold(chart, |chart, it| {
        let point = |set: &NodeSet| (set.value, set.median);
        chart.points(bursts(view, it), it.sets.iter().map(point).collect())
    })
}
