//! Black-box tests of the `plimsoll` binary, one file for each thing a user does.

mod aliases;
mod bench;
mod calibrate;
mod command;
mod container;
mod contention;
mod doctor;
mod documentation;
mod everyday;
mod export;
mod library;
mod measured;
mod models;
mod mpi;
mod no_space;
mod record;
mod recording;
mod report;
mod results;
mod route;
mod score;
mod simulate;
mod site;
mod storage;
mod testbed;
mod wrong_use;
