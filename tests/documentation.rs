//! The program documents itself: help with examples first, every number defined.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::support::command::{json, plimsoll, text};

/// Every command and subcommand, found by asking the program.
fn commands() -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![String::new()];
    while let Some(command) = open.pop() {
        let help = text(&format!("{command} --help"));
        let listed = help.split("\nCommands:\n").nth(1).unwrap_or("");
        for line in listed.lines().take_while(|line| !line.is_empty()) {
            let name = line.split_whitespace().next().unwrap();
            if name == "help" {
                continue; // It is --help by another name.
            }
            open.push(format!("{command} {name}").trim().to_string());
        }
        found.push(command);
    }
    found
}

#[test]
fn help_of_every_command_starts_with_an_example() {
    let commands = commands();
    assert!(commands.len() > 15, "{commands:?}");
    for command in commands {
        for flag in ["--help", "-h"] {
            let help = text(&format!("{command} {flag}"));
            let first = help.lines().next().unwrap();
            assert!(first.starts_with("Example"), "{command} {flag}: {first}");
            let example = help.lines().nth(1).unwrap().trim();
            assert!(example.starts_with(format!("plimsoll {command}").trim()), "{example}");
        }
    }
}

/// The examples in the help of the models are commands that work.
#[test]
fn examples_of_the_models_work() {
    for model in ["contention", "throttle", "absorb", "utilization"] {
        let help = text(&format!("model {model} --help"));
        let examples = help.split("\n\n").next().unwrap().replace("\\\n", "");
        let examples = examples.lines().skip(1);
        // Remarks in brackets are for people; a site file would have to exist.
        let examples = examples.map(|line| line.split("   (").next().unwrap().trim());
        for example in examples.filter(|example| !example.contains("--site")) {
            let arguments = example.strip_prefix("plimsoll ").unwrap();
            let outcome = plimsoll(arguments);
            assert_eq!(outcome.status, Some(0), "{example}: {}", outcome.stderr);
        }
    }
}

#[test]
fn help_names_the_equation_and_its_source() {
    for (model, source) in [
        ("contention", "equations 6.1 to 6.4"),
        ("throttle", "equation 1"),
        ("absorb", "section 2.1"),
        ("utilization", "equation 7"),
    ] {
        let help = text(&format!("model {model} --help"));
        let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(help.contains(source), "{model}: {help}");
    }
}

#[test]
fn every_number_in_json_is_defined_in_the_docs() {
    let page = include_str!("../docs/numbers.md");
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/../domain/tests/golden/site-v1.toml");
    let results = concat!(env!("CARGO_MANIFEST_DIR"), "/../measures/tests/golden/results-v1");
    let mut keys = BTreeSet::new();
    for command in [
        "calibrate --target /var/tmp --span 64MiB --dry-run",
        "doctor",
        "model contention --targets 480 --per-job 160 --jobs 4 --trials 20 --max-load 2",
        "model throttle --targets 16 --noisy 4 --noise 64",
        "model throttle --rates 1MB/s,2MB/s --data 1GB",
        "model absorb --compute 1s --burst 1GB --cache 0B --drain 1GB/s",
        "model utilization --writes 4KiB=1 --interval 1s --write-cost 1ms,1e-9",
        "simulate heavy-noise --seeds 2 --each-target",
        "simulate absorb --blocks 2 --policy static",
        "simulate scale --policy coordinator --blocks 1 --processes 64 --targets 2",
        "simulate many-pairs --seeds 1",
        "simulate --fuzz 3",
        "testbed --base /var/tmp/plimsoll-no-such-base list",
        &format!("site show {golden}"),
        &format!("score {results}"),
    ] {
        collect_number_keys(&json(command), "", &mut keys);
    }
    assert!(keys.len() > 40, "{keys:?}");
    for key in keys {
        assert!(page.contains(&format!("| `{key}` |")), "docs/numbers.md does not define {key}");
    }
}

/// Keys whose values are numbers; the k of a distribution is not a key but a value.
fn collect_number_keys(value: &Value, key: &str, keys: &mut BTreeSet<String>) {
    match value {
        Value::Number(_) => {
            keys.insert(key.to_string());
        }
        Value::Array(items) => items.iter().for_each(|item| collect_number_keys(item, key, keys)),
        Value::Object(entries) => {
            for (name, item) in entries {
                let is_k = name.bytes().all(|byte| byte.is_ascii_digit());
                collect_number_keys(item, if is_k { key } else { name }, keys);
            }
        }
        _ => {}
    }
}

#[test]
fn completions_and_version_are_there() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        assert!(text(&format!("completions {shell}")).contains("utilization"), "{shell}");
    }
    assert!(text("--version").starts_with("plimsoll "));
}

/// The attack: a name in a shared directory that is a command, and somebody who completes it and presses enter.
#[test]
fn no_name_of_a_file_becomes_a_part_of_a_command() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("plimsoll.bash");
    std::fs::write(&script, text("completions bash")).unwrap();
    std::fs::create_dir(folder.path().join("hist$(touch ran)")).unwrap();
    let completed = |line: &str| {
        let ask = "source ./plimsoll.bash
            read -ra COMP_WORDS <<< \"$1\"; COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
            cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
            _plimsoll plimsoll \"$cur\" \"$prev\"; printf '%s,' \"${COMPREPLY[@]}\"
            complete -p plimsoll";
        let mut bash = std::process::Command::new("bash");
        bash.args(["--norc", "-c", ask, "bash", line]).current_dir(folder.path());
        String::from_utf8(bash.output().unwrap().stdout).unwrap()
    };
    // Bash itself does so where nothing is offered.
    for line in [
        "plimsoll utilization --store hi",
        "plimsoll report --html hi",
        "plimsoll bench --targets hi",
    ] {
        let offered = completed(line);
        assert!(!offered.contains("hist") && offered.contains("-o default"), "{offered}");
    }
    assert!(completed("plimsoll util").starts_with("utilization,"));
    assert!(!text("completions bash").contains("compgen -f"));
}
