//! What recording costs an MPI program that writes blocks of 4 KiB to memory as fast as it can,
//! which no storage lets it do: bandwidth while recording over bandwidth without.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use plimsoll_benches::{PAIRS, interleaved, report};

const RANKS: &str = "2";
const BLOCKS: &str = "300000";

fn main() -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize()?;
    let library = root.join("target/preload/release/libplimsoll.so");
    let folder = tempfile::tempdir_in("/dev/shm")?;
    for (name, suffix) in [("MPICH", "mpich"), ("Open MPI", "openmpi")] {
        let program = folder.path().join(suffix);
        let compiled = Command::new(format!("mpicc.{suffix}"))
            .args(["-O2", "-o"])
            .arg(&program)
            .arg(root.join("tests/programs/mpi_blocks.c"))
            .status();
        if !compiled.is_ok_and(|status| status.success()) || !library.exists() {
            println!("SKIPPED: {name} needs mpicc.{suffix} and `make library`");
            continue;
        }
        for api in ["posix", "mpi"] {
            let run = |record: bool| {
                rate(suffix, &program, api, folder.path(), record.then_some(library.as_path()))
                    .unwrap_or(f64::NAN)
            };
            let ratios = interleaved(2 * PAIRS, || run(true), || run(false));
            report(&format!("{name}, {api} calls: recorded over not"), ratios);
        }
    }
    Ok(())
}

/// MiB/s of one run.
fn rate(
    mpi: &str,
    program: &Path,
    api: &str,
    folder: &Path,
    library: Option<&Path>,
) -> Result<f64> {
    let recording = folder.join("recording");
    let mut command = Command::new(format!("mpirun.{mpi}"));
    command.args(["-n", RANKS]);
    command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    if let Some(library) = library {
        std::fs::create_dir(&recording)?;
        command.env("LD_PRELOAD", library).env("PLIMSOLL_RECORD_DIR", &recording);
    }
    let output = command.arg(program).arg(api).arg(folder.join("data")).arg(BLOCKS).output()?;
    if library.is_some() {
        std::fs::remove_dir_all(&recording)?;
    }
    ensure!(output.status.success(), "{command:?} failed");
    String::from_utf8_lossy(&output.stdout).trim().parse().context("no figure")
}
