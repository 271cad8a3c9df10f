//! Parameters through `lctl get_param`, where their files may not be read.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use plimsoll_history::Component;
use plimsoll_lustre::{Content, Name, PARAMETERS, Parameter, parameter_text};

use crate::group::rank;
use crate::input::Input;
use crate::lustre_files::component;

/// The program that prints parameters.
#[derive(Debug)]
pub struct Lctl {
    program: PathBuf,
    patterns: Vec<String>,
}

/// Texts by component, with what each is.
pub type Texts<'a> = BTreeMap<Component, Vec<(&'static Parameter, &'a [u8])>>;

impl Lctl {
    /// Makes use of the program at this path.
    pub fn new(program: PathBuf, jobs: bool) -> Self {
        let wanted = PARAMETERS.iter().filter(|it| jobs || it.content != Content::Jobs);
        Self { program, patterns: wanted.map(pattern).collect() }
    }

    /// Runs it. What it cannot find it says on its standard error, and is no failure.
    pub fn run(&self) -> io::Result<Vec<u8>> {
        let output = Command::new(&self.program)
            .arg("get_param")
            .args(&self.patterns)
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .output()?;
        Ok(output.stdout)
    }
}

/// "obdfilter.*.stats".
fn pattern(parameter: &Parameter) -> String {
    match parameter.component {
        "" => parameter.leaf.to_owned(),
        "lnet" => parameter.leaf.to_owned(),
        "ost" | "mds" => format!("{}.*.*.{}", parameter.component, parameter.leaf),
        "ldlm" => format!("ldlm.services.*.{}", parameter.leaf),
        component => format!("{component}.*.{}", parameter.leaf),
    }
}

/// Sorts what was printed by component; the text that tells the time comes first.
pub fn texts<'a>(printed: &'a [u8], server: &str, cluster: &str) -> Texts<'a> {
    let mut texts = Texts::new();
    for (name, text) in parameter_text(printed) {
        // LNet's have no component here.
        let own;
        let name = match name {
            "stats" | "routers" | "nis" => {
                own = format!("lnet.{name}");
                own.as_str()
            }
            name => name,
        };
        let name = Name::of(name);
        let Some(parameter) = name.parameter() else { continue };
        if let Some(component) = component(&name, server) {
            texts.entry(component.of_cluster(cluster)).or_default().push((parameter, text));
        }
    }
    let put_in_order = |texts: &mut Vec<(&'static Parameter, &[u8])>| {
        texts.sort_by_key(|(parameter, _)| rank(Input::Lustre(parameter)));
    };
    texts.values_mut().for_each(put_in_order);
    texts
}
