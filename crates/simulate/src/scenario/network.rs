//! Messages and data on their way.

use plimsoll_domain::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

/// Messages between the parts of a router, and the pipeline of data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Network {
    /// From sending a message to its arrival.
    pub message_latency: Nanos,
    /// Time for which a message keeps its receiver from handling the next one.
    pub message_cost: Nanos,
    /// RPCs that a stream may have in flight. 0 is no bound.
    pub rpcs_in_flight: u32,
    /// Bytes of an RPC.
    pub rpc_size: Bytes,
    /// Time from sending an RPC to its answer on an idle target.
    pub rpc_round_trip: Nanos,
    /// Share of messages that get lost.
    pub loss: f64,
    /// Share of messages that arrive twice.
    pub repeat: f64,
}

impl Default for Network {
    fn default() -> Self {
        Network {
            message_latency: Nanos::new(10_000),
            message_cost: Nanos::new(1_000),
            rpcs_in_flight: 0,
            rpc_size: Bytes::new(1 << 20),
            rpc_round_trip: Nanos::new(0),
            loss: 0.0,
            repeat: 0.0,
        }
    }
}

impl Network {
    /// When a party says again what was not answered; 0 where messages are never lost.
    pub(crate) fn retry_ns(&self) -> u64 {
        if self.loss == 0.0 && self.repeat == 0.0 {
            return 0;
        }
        // Well beyond a round trip, so that what is only on its way is not said twice.
        (self.message_latency.get() * 20).max(1_000_000)
    }

    /// Bytes per nanosecond that one stream can get at most: its RPCs in flight over their
    /// round trip.
    pub fn stream_cap(&self) -> f64 {
        let round_trip_ns = self.rpc_round_trip.get() as f64;
        if self.rpcs_in_flight == 0 || round_trip_ns == 0.0 {
            return f64::INFINITY;
        }
        f64::from(self.rpcs_in_flight) * self.rpc_size.get() as f64 / round_trip_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_lost_is_said_again_after_twenty_latencies_or_a_millisecond() {
        let quick = Network { message_latency: Nanos::new(49_999), ..Network::default() };
        let slow = Network { message_latency: Nanos::new(50_001), ..Network::default() };
        assert_eq!((quick.retry_ns(), slow.retry_ns()), (0, 0), "nothing gets lost");
        let lossy = |network: &Network| Network { loss: 0.1, ..network.clone() }.retry_ns();
        let repeating = |network: &Network| Network { repeat: 0.1, ..network.clone() }.retry_ns();
        assert_eq!((lossy(&quick), lossy(&slow)), (1_000_000, 1_000_020));
        assert_eq!((repeating(&quick), repeating(&slow)), (1_000_000, 1_000_020));
    }

    #[test]
    fn a_stream_gets_what_its_rpcs_carry_in_a_round_trip() {
        let network = |rpcs_in_flight, round_trip_ns| Network {
            rpcs_in_flight,
            rpc_size: Bytes::new(1000),
            rpc_round_trip: Nanos::new(round_trip_ns),
            ..Network::default()
        };
        assert_eq!(network(8, 500).stream_cap(), 16.0);
        assert_eq!(network(0, 500).stream_cap(), f64::INFINITY, "any number");
        assert_eq!(network(8, 0).stream_cap(), f64::INFINITY, "in no time");
    }
}
