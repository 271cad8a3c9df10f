//! Where nodes are, from a site file.

use std::collections::{BTreeSet, HashMap};

use plimsoll_domain::site::Site;

use super::Trait;
use crate::Columns;
use crate::columns::InstanceRow;

/// Coordinates and routers of clients, by their number.
#[derive(Debug, Clone, Default)]
pub struct Places {
    coordinates: HashMap<u32, Vec<i64>>,
    routers: HashMap<u32, String>,
    /// Nodes along each dimension that wraps around; empty if none does.
    torus: Vec<u64>,
}

impl Places {
    /// Those of clients that were measured. `wraps` says whether distances go around the site's torus, if
    /// it has one; the paper's equation 1 does not.
    pub fn of(columns: &Columns, site: &Site, wraps: bool) -> Self {
        let mut places = Places::default();
        if wraps {
            places.torus.clone_from(&site.topology.torus);
        }
        for client in &site.clients {
            let Some(number) = columns.clients.find(&client.name) else { continue };
            if !client.coordinates.is_empty() {
                places.coordinates.insert(number, client.coordinates.clone());
            }
            if let Some(router) = &client.router {
                places.routers.insert(number, router.clone());
            }
        }
        places
    }

    /// Whether anything is known of this trait.
    pub fn has(&self, of: Trait) -> bool {
        match of {
            Trait::Distance => !self.coordinates.is_empty(),
            Trait::Routers => !self.routers.is_empty(),
        }
    }

    /// L or R of two nodes or more.
    ///
    /// # Errors
    /// With the nodes of which it is not known. Nodes with another number of coordinates than the first
    /// are among them.
    pub fn value(&self, of: Trait, nodes: &[u32]) -> Result<f64, Vec<u32>> {
        match of {
            Trait::Distance => self.mean_distance(nodes),
            Trait::Routers => self.routers(nodes),
        }
    }

    /// L or R of an instance; `None` if it has one node, or if it is not known.
    pub fn of_instance(&self, of: Trait, columns: &Columns, instance: &InstanceRow) -> Option<f64> {
        let nodes = super::nodes(columns, instance);
        self.value(of, &nodes).ok().filter(|_| nodes.len() > 1)
    }

    fn routers(&self, nodes: &[u32]) -> Result<f64, Vec<u32>> {
        let known = |node: &&u32| self.routers.contains_key(*node);
        let (known, unknown): (Vec<&u32>, Vec<&u32>) = nodes.iter().partition(known);
        if !unknown.is_empty() {
            return Err(unknown.into_iter().copied().collect());
        }
        let distinct: BTreeSet<&String> = known.iter().map(|node| &self.routers[*node]).collect();
        Ok(distinct.len() as f64)
    }

    /// Mean over all pairs of the sum of differences along each dimension (Xie, equation 1).
    fn mean_distance(&self, nodes: &[u32]) -> Result<f64, Vec<u32>> {
        let known: Vec<Option<&Vec<i64>>> =
            nodes.iter().map(|it| self.coordinates.get(it)).collect();
        let dimensions = known.iter().flatten().map(|it| it.len()).next();
        let is_known = |it: &Option<&Vec<i64>>| it.is_some_and(|it| Some(it.len()) == dimensions);
        let unknown: Vec<u32> = nodes
            .iter()
            .zip(&known)
            .filter(|(_, it)| !is_known(it))
            .map(|(node, _)| *node)
            .collect();
        if !unknown.is_empty() {
            return Err(unknown);
        }
        let sum: f64 = (0..dimensions.unwrap_or(0))
            .map(|dimension| {
                let places = known.iter().flatten().map(|it| it[dimension]).collect();
                sum_of_distances(places, self.torus.get(dimension).copied())
            })
            .sum();
        let pairs = nodes.len() as f64 * (nodes.len() as f64 - 1.0) / 2.0;
        Ok(sum / pairs)
    }
}

/// Over all pairs along one dimension. There are few distinct places and may be many nodes.
fn sum_of_distances(mut places: Vec<i64>, around: Option<u64>) -> f64 {
    places.sort_unstable();
    let equal = places.chunk_by(|a, b| a == b);
    let counts: Vec<(i64, f64)> = equal.map(|it| (it[0], it.len() as f64)).collect();
    let mut sum = 0.0;
    for (index, (place, nodes)) in counts.iter().enumerate() {
        for (other, others) in &counts[index + 1..] {
            let direct = other.abs_diff(*place);
            let shortest =
                around.map_or(direct, |around| direct.min(around.saturating_sub(direct)));
            sum += shortest as f64 * nodes * others;
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(coordinates: &[&[i64]], torus: &[u64]) -> Places {
        let coordinates = (0..).zip(coordinates.iter().map(|it| it.to_vec())).collect();
        Places { coordinates, routers: HashMap::new(), torus: torus.to_vec() }
    }

    #[test]
    fn distances_are_those_of_equation_1_or_wrap_around() {
        let corners: [&[i64]; 3] = [&[0, 0, 0], &[24, 0, 0], &[0, 15, 2]];
        // 24, 17 and 41 without wrapping; 1, 3 and 4 around a torus of 25 x 16 x 24.
        assert_eq!(places(&corners, &[]).mean_distance(&[0, 1, 2]), Ok((24.0 + 17.0 + 41.0) / 3.0));
        let torus = places(&corners, &[25, 16, 24]);
        assert_eq!(torus.mean_distance(&[0, 1, 2]), Ok((1.0 + 3.0 + 4.0) / 3.0));
        assert_eq!(torus.mean_distance(&[0, 0]), Ok(0.0));
    }

    #[test]
    fn who_has_no_place_is_named() {
        let some = places(&[&[0, 0], &[1], &[1, 1]], &[]);
        assert_eq!(some.mean_distance(&[0, 1, 2, 7]), Err(vec![1, 7]));
        assert_eq!(some.routers(&[0, 2]), Err(vec![0, 2]));
    }

    /// The counts by place against all pairs one by one.
    #[test]
    fn many_nodes_are_counted_as_all_pairs() {
        let place = |it: i64| it * it % 17;
        let all: Vec<i64> = (0..60).map(place).collect();
        for around in [None, Some(17)] {
            let mut sum = 0.0;
            for (index, a) in all.iter().enumerate() {
                for b in &all[index + 1..] {
                    let direct = a.abs_diff(*b);
                    sum += around.map_or(direct, |around: u64| direct.min(around - direct)) as f64;
                }
            }
            assert_eq!(sum_of_distances(all.clone(), around), sum);
        }
    }
}
