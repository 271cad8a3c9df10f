//! The `plimsoll` program.

#[global_allocator]
static MEMORY: plimsoll_process::LimitedMemory = plimsoll_process::LimitedMemory;

fn main() -> std::process::ExitCode {
    plimsoll::run(std::env::args_os())
}
