//! The `plimsoll` program.

fn main() -> std::process::ExitCode {
    plimsoll::run(std::env::args_os())
}
