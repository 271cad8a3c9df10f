//! libplimsoll.so: records the I/O calls of the program that it is loaded into.
//!
//! A call goes through `recorder::begin_in`, the backend that owns the descriptor or name (`backend`) or else
//! the real function, and `recorder::ended`. Which calls there are is said in `table`; an event goes into
//! the calling thread's chunk (`chunk`), which is a shared mapping of the process's file
//! (`spool`), so that nothing that was completed is lost when the process is killed.
//!
//! This code runs inside other people's programs. It never allocates with their allocator, never
//! prints, keeps `errno` and return values as they are, calls no function that it stands in for,
//! and recording holds no descriptor. When it cannot work, it switches itself off.
//!
//! Not here: launching programs and collecting recordings (`plimsoll record`), reading (`trace`).

// Tests export no stand-in, so that some of them are not used.
#![cfg_attr(test, allow(dead_code, non_snake_case))]

mod any_number;
pub mod backend;
mod by_hand;
mod chunk;
mod circumstances;
mod clock;
pub mod config;
mod decision;
mod definitions;
mod descriptors;
mod environment;
mod exit;
mod files;
mod folder;
mod guard;
mod handover;
mod hooks;
mod hot;
mod identity;
mod inspect;
pub mod library_table;
mod lock;
mod mapped_files;
mod mappings;
mod message;
mod mount;
pub mod mpi;
mod open_file;
pub mod own_descriptors;
mod own_memory;
mod own_stack;
mod path_room;
mod paths;
mod private_file;
mod process;
pub mod real;
pub mod recorder;
mod room;
pub mod served_table;
mod spool;
mod stage;
mod sys;
pub mod table;
mod text;
mod thread;
mod transfers;
mod unwind;
mod walk;
mod watched_pages;

use plimsoll_trace::layout::State;

extern "C" fn constructor() {
    // SAFETY: what would unwind here ends the program.
    unsafe { own_stack::on_large_stack(start) };
}

fn start() {
    for real in table::REALS {
        real.resolve();
    }
    #[cfg(target_arch = "x86_64")]
    hooks::raw::resolve();
    decision::make();
    if hot::is_on() || backend::is_active() {
        // SAFETY: a function that needs nothing.
        unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    }
    // Not with the first call: a program that is killed before it leaves its file all the same.
    if hot::is_on()
        && let Some(busy) = thread::Busy::begin()
    {
        process::recording(&busy);
        guard::install();
    }
    if backend::is_active() {
        if guard::install() {
            watched_pages::begin();
        }
        hooks::standard_streams::check();
    }
}

extern "C" fn in_child() {
    path_room::begin_anew();
    hooks::inlined::begin_anew();
}

extern "C" fn destructor() {
    backend::ends();
    hooks::inlined::settle_all();
    exit::finish(State::Finished);
}

/// Runs when the library is loaded.
#[cfg(not(test))]
#[used]
#[unsafe(link_section = ".init_array")]
static CONSTRUCTOR: extern "C" fn() = constructor;

/// Runs after the program's own exit handlers.
#[cfg(not(test))]
#[used]
#[unsafe(link_section = ".fini_array")]
static DESTRUCTOR: extern "C" fn() = destructor;
