//! What tests share: running the binary, recordings and results to look at, places to write to, test beds, another user.

pub mod attacker;
pub mod bed;
pub mod busy_machine;
pub mod command;
pub mod growing;
pub mod measured;
pub mod recording;
pub mod served;
pub mod storage;
pub mod view;
