//! Black-box tests of the `plimsoll` binary, one file for each thing a user does.

mod command;
mod contention;
mod doctor;
mod documentation;
mod models;
mod site;
mod testbed;
mod wrong_use;
