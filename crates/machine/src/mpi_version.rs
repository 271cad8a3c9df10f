//! Which MPI a version text comes from.

/// An implementation of MPI.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MpiImplementation {
    /// Open MPI.
    OpenMpi,
    /// MPICH, and launchers of its family (Hydra) that do not say more.
    Mpich,
    /// Intel MPI.
    Intel,
    /// HPE Cray MPICH.
    Cray,
    /// MVAPICH.
    Mvapich,
    /// IBM Spectrum MPI.
    Spectrum,
}

impl MpiImplementation {
    /// Returns its name as people write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OpenMpi => "Open MPI",
            Self::Mpich => "MPICH",
            Self::Intel => "Intel MPI",
            Self::Cray => "Cray MPICH",
            Self::Mvapich => "MVAPICH",
            Self::Spectrum => "Spectrum MPI",
        }
    }
}

/// An implementation and its version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MpiVersion {
    /// Which MPI.
    pub implementation: MpiImplementation,
    /// Its version, e.g. "5.0.6", where the text has one.
    pub version: Option<String>,
}

/// What each implementation calls itself, the special before the general: Cray,
/// MVAPICH and Intel are made from MPICH and mention it; Spectrum from Open MPI.
const SIGNATURES: [(&str, MpiImplementation); 9] = [
    ("cray mpich", MpiImplementation::Cray),
    ("mvapich", MpiImplementation::Mvapich),
    ("intel(r) mpi", MpiImplementation::Intel),
    ("spectrum mpi", MpiImplementation::Spectrum),
    ("ibm spectrum", MpiImplementation::Spectrum),
    ("open mpi", MpiImplementation::OpenMpi),
    ("open-mpi", MpiImplementation::OpenMpi),
    ("mpich", MpiImplementation::Mpich),
    ("hydra", MpiImplementation::Mpich),
];

/// Reads what `mpirun --version`, `mpichversion` or `MPI_Get_library_version` say;
/// `None` when no implementation is recognised.
pub fn parse_mpi_version(text: &str) -> Option<MpiVersion> {
    let lower = text.to_ascii_lowercase();
    let (signature, implementation) =
        SIGNATURES.into_iter().find(|(signature, _)| lower.contains(signature))?;
    let named = lower.lines().filter(|line| line.contains(signature));
    let labelled = lower.lines().filter(|line| line.contains("version"));
    let version = named.chain(labelled).find_map(version_in);
    Some(MpiVersion { implementation, version })
}

/// Returns the first word of a line that looks like a version: "5.0.6", "4.1.2rc1", "2021.10".
fn version_in(line: &str) -> Option<String> {
    line.split(|c: char| c.is_whitespace() || matches!(c, ',' | '(' | ')' | ':'))
        .map(|word| word.strip_prefix('v').unwrap_or(word))
        .find(|word| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.'))
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> (MpiImplementation, String) {
        let found = parse_mpi_version(text).unwrap();
        (found.implementation, found.version.unwrap_or_default())
    }

    #[test]
    fn recognises_what_launchers_say() {
        use MpiImplementation::*;
        let version = |text: &str| text.to_owned();
        assert_eq!(
            read("mpirun (Open MPI) 4.1.6\n\nReport bugs to http://www.open-mpi.org/community/\n"),
            (OpenMpi, version("4.1.6"))
        );
        assert_eq!(read("mpirun.real (Open MPI) 5.0.0rc12\n"), (OpenMpi, version("5.0.0rc12")));
        assert_eq!(
            read(
                "HYDRA build details:\n    Version:                                 4.0.2\n    \
                 Release Date:                            Thu Apr  7 12:34:45 CDT 2022\n"
            ),
            (Mpich, version("4.0.2"))
        );
        assert_eq!(
            read("MPICH Version:    \t4.2.1\nMPICH Device:    \tch4:ofi\n"),
            (Mpich, version("4.2.1"))
        );
        assert_eq!(
            read(
                "Intel(R) MPI Library for Linux* OS, Version 2021.10 Build 20230619 (id: c2e19c2f3e)\n\
                 Copyright 2003-2023, Intel Corporation.\n"
            ),
            (Intel, version("2021.10"))
        );
        assert_eq!(
            read("MPI VERSION    : CRAY MPICH version 8.1.25.17 (ANL base 3.4a2)\n"),
            (Cray, version("8.1.25.17"))
        );
        assert_eq!(
            read("MVAPICH2 Version:     \t2.3.7\nMVAPICH2 Device: ch3:mrail\n"),
            (Mvapich, version("2.3.7"))
        );
        assert_eq!(read("mpirun (IBM Spectrum MPI) 10.4.0.6rtm4\n").0, Spectrum);
    }

    #[test]
    fn a_version_may_be_missing_and_junk_is_nothing() {
        assert_eq!(read("Open MPI"), (MpiImplementation::OpenMpi, String::new()));
        assert_eq!(parse_mpi_version("slurm 23.02.6\n"), None);
        assert_eq!(parse_mpi_version(""), None);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(mpich|version|v?[0-9.]+|.|\n){0,40}") {
            parse_mpi_version(&text);
        }
    }
}
