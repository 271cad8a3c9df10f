//! What a plan may not say, and what the person who wrote it is told.

use plimsoll_bench::plan::{FILE_BYTES_MAX, Plan, PlanError};

const PLAN: &str = r#"version = 1
name = "example"

[[target]]
name = "t0"
path = "/mnt/t0"

[[target]]
name = "t1"
path = "/mnt/t1"

[clients]
count = 4

[burst]
sizes = ["16MiB"]
transfer = "1MiB"

[vary]
parameter = "clients"
values = [1, 2, 4]

[repeat]
rounds = 6
"#;

/// The plan with one part replaced, and why it is refused.
fn refused(part: &str, by: &str) -> String {
    assert!(PLAN.contains(part), "{part}");
    let message = match Plan::parse(&PLAN.replacen(part, by, 1)) {
        Ok(plan) => panic!("{by:?} was accepted: {plan:?}"),
        Err(error) => error.to_string(),
    };
    assert!(!message.contains('\n'), "{message}");
    message
}

#[test]
fn the_plan_itself_is_accepted() {
    Plan::parse(PLAN).unwrap();
}

/// What is replaced, by what, and the message.
const TABLE: &[(&str, &str, &str)] = &[
    // Keys and versions.
    (
        "transfer =",
        "tranfser =",
        "plan line 17: unknown key \"tranfser\"; hint: did you mean \"transfer\"? burst has \
         sizes, of, transfer, operation, pattern, sharing, caching, engine, depth, \
         striping, stripe_count, stripe_size, verify",
    ),
    (
        "[repeat]",
        "[repaet]",
        "plan line 23: unknown key \"repaet\"; hint: did you mean \"repeat\"? a plan has \
         version, name, seed, target, clients, placement, burst, vary, groups, repeat, \
         budget, pause",
    ),
    (
        "path = \"/mnt/t1\"",
        "path = \"/mnt/t1\"\nxyz = 1",
        "plan line 11: unknown key \"xyz\"; hint: target has name, path, server, lustre_index",
    ),
    (
        "version = 1",
        "version = 2",
        "the plan has version 2, this program reads 1 to 1; hint: update plimsoll",
    ),
    ("version = 1", "version = 0", "the plan has version 0, this program reads 1 to 1"),
    ("version = 1", "", "plan line 1: no `version = 1` at the top; is it a plan?"),
    ("version = 1", "version = \"1\"", "plan line 1: the version is not a whole number"),
    ("name = \"example\"", "name = \"\"", "plan line 2: name: an empty name"),
    (
        "name = \"example\"",
        "name = \"../other/results\"",
        "plan line 2: name: \"../other/results\" cannot be the name of a directory",
    ),
    (
        "name = \"example\"",
        "name = \"..\"",
        "plan line 2: name: \"..\" cannot be the name of a directory",
    ),
    // Targets.
    (
        "name = \"t1\"",
        "name = \"t0\"",
        "plan line 9: target[1].name: two targets have the name \"t0\"",
    ),
    (
        "\"/mnt/t1\"",
        "\"/mnt/t0/\"",
        "plan line 10: target[1].path: /mnt/t0/ is the place of target \"t0\" already",
    ),
    ("\"/mnt/t1\"", "\"mnt\"", "plan line 10: target[1].path: \"mnt\" is not an absolute path"),
    // Clients.
    ("count = 4", "count = 0", "plan line 13: clients.count: 0 clients; allowed: 1 to 262144"),
    (
        "count = 4",
        "processes = 0",
        "plan line 13: clients.processes: no processes; allowed: 1 and more",
    ),
    (
        "count = 4",
        "count = 4\nnames = [\"a\"]",
        "plan line 12: clients: count is 4, but there are 1 names",
    ),
    (
        "count = 4",
        "names = [\"a\", \"a\", \"b\", \"c\"]",
        "plan line 13: clients.names: two clients have the name \"a\"",
    ),
    (
        "count = 4",
        "count = 4\nused = 5",
        "plan line 14: clients.used: 5 of 4 clients; allowed: 1 to 4",
    ),
    // Sizes.
    ("[\"16MiB\"]", "[]", "plan line 16: burst.sizes: no sizes, like [\"16MiB\"]"),
    (
        "[\"16MiB\"]",
        "[\"0B\"]",
        "plan line 16: burst.sizes: a burst of no bytes; allowed: 1B and more",
    ),
    (
        "[\"16MiB\"]",
        "[\"16MiB\", \"16MiB\"]",
        "plan line 16: burst.sizes: 16MiB is there twice; hint: repeat.rounds repeats all",
    ),
    (
        "[\"16MiB\"]",
        "[\"512KiB\"]",
        "plan line 17: burst.transfer: a transfer of 1MiB is larger than the burst of 512KiB",
    ),
    (
        "[\"16MiB\"]",
        "[\"16.5MiB\"]",
        "plan line 16: burst.sizes: 16.5MiB is not a whole number of transfers of 1MiB; \
         hint: 16MiB",
    ),
    (
        "transfer = \"1MiB\"",
        "transfer = \"8MiB\"\nof = \"instance\"",
        "plan line 16: burst.sizes: 16MiB shared by 4 processes is less than a transfer of \
         8MiB each; hint: a larger burst, a smaller transfer or fewer clients",
    ),
    (
        "[\"16MiB\"]\ntransfer = \"1MiB\"",
        "[\"16kB\"]\ntransfer = \"1kB\"",
        "plan line 17: burst.transfer: 1kB is not a multiple of 512 bytes, as direct I/O \
         needs; hint: caching = \"synced\" has no such rule",
    ),
    (
        "[\"16MiB\"]\ntransfer = \"1MiB\"",
        "[\"5kB\"]\ntransfer = \"1000B\"",
        "plan line 17: burst.transfer: 1kB is not a multiple of 512 bytes, as direct I/O \
         needs; hint: caching = \"synced\" has no such rule",
    ),
    (
        "transfer = \"1MiB\"",
        "transfer = \"0B\"",
        "plan line 17: burst.transfer: a transfer of 0B; allowed: 1B to 1GiB",
    ),
    (
        "transfer = \"1MiB\"",
        "transfer = \"burst\"\nof = \"instance\"\nstripe_count = 2",
        "plan line 15: burst.stripe_size: 1MiB is not a multiple of 16MiB, as a transfer goes to \
         one target",
    ),
    (
        "[\"16MiB\"]\ntransfer = \"1MiB\"",
        "[\"12KiB\"]\ntransfer = \"burst\"\nof = \"instance\"",
        "plan line 16: burst.sizes: 12KiB for 4 processes is less than 4KiB each",
    ),
    (
        "[\"16MiB\"]\ntransfer = \"1MiB\"",
        "[\"1000B\"]\ntransfer = \"burst\"",
        "plan line 17: burst.transfer: 1kB is not a multiple of 512 bytes, as direct I/O \
         needs; hint: caching = \"synced\" has no such rule",
    ),
    (
        "[\"16MiB\"]",
        "[16]",
        "plan line 16: burst.sizes: invalid type: integer `16`, expected a string",
    ),
    (
        "[\"16MiB\"]",
        "\"16MiB\"",
        "plan line 16: burst.sizes: invalid type: string \"16MiB\", expected a list [...]",
    ),
    (
        "[\"16MiB\"]",
        "[\"16Mb\"]",
        "plan line 16: burst.sizes: size \"16Mb\" has the unknown unit \"Mb\"; write it \
         like 64KiB or 1.5GB (units: B KiB MiB GiB TiB PiB kB MB GB TB PB)",
    ),
    // Values.
    (
        "values = [1, 2, 4]",
        "values = [1, 5]",
        "plan line 21: vary.values: 5 clients, but there are 4 clients; allowed: 1 to 4",
    ),
    (
        "values = [1, 2, 4]",
        "values = [0]",
        "plan line 21: vary.values: 0 clients, but there are 4 clients; allowed: 1 to 4",
    ),
    (
        "\"clients\"\nvalues = [1, 2, 4]",
        "\"pairs\"\nvalues = [3]",
        "plan line 21: vary.values: 3 pairs, but there are 2 targets; allowed: 1 to 2",
    ),
    (
        "\"clients\"\nvalues = [1, 2, 4]",
        "\"targets\"\nvalues = [3]",
        "plan line 21: vary.values: 3 targets, but there are 2 targets; allowed: 1 to 2",
    ),
    (
        "\"clients\"\nvalues = [1, 2, 4]",
        "\"stripe-count\"\nvalues = [1, 3]",
        "plan line 21: vary.values: 3 targets under a file, but there are 2 targets; \
         allowed: 1 to 2",
    ),
    (
        "\"clients\"\nvalues = [1, 2, 4]",
        "\"none\"\nvalues = [1]",
        "plan line 19: vary: values without a parameter; hint: name it, or leave the values \
         out",
    ),
    ("values = [1, 2, 4]", "values = []", "plan line 21: vary.values: no values of clients"),
    (
        "values = [1, 2, 4]",
        "values = [1, 1]",
        "plan line 21: vary.values: 1 is there twice; hint: repeat.rounds repeats all",
    ),
    (
        "values = [1, 2, 4]",
        "values = [\"1MiB\"]",
        "plan line 19: vary: values of clients are whole numbers, like [1, 2, 4]",
    ),
    (
        "values = [1, 2, 4]",
        "values = [1.5]",
        "plan line 21: vary.values: invalid type: floating point `1.5`, expected a whole \
         number or a text",
    ),
    ("values = [1, 2, 4]", "values = [-1]", "plan line 21: vary.values: -1 is not 1 to 4294967295"),
    (
        "values = [1, 2, 4]",
        "values = 4",
        "plan line 21: vary.values: invalid type: integer `4`, expected a list [...]",
    ),
    (
        "parameter = \"clients\"",
        "parameter = \"client\"",
        "plan line 20: vary.parameter: unknown variant `client`, expected one of `none`, \
         `clients`, `targets`, `pairs`, `processes`, `burst`, `transfer`, `depth`, \
         `stripe-count`, `chunk`, `stripe-size`, `sharing`, `server`",
    ),
    (
        "parameter = \"clients\"\nvalues = [1, 2, 4]",
        "parameter = \"depth\"\nvalues = [4]",
        "plan line 21: vary.values: the synchronous engine has one transfer in flight, not \
         4; hint: engine = \"uring\"",
    ),
    (
        "[repeat]",
        "[groups]\nparameter = \"pairs\"\nvalues = [1]\n[repeat]",
        "plan line 24: groups.parameter: groups vary pairs while rounds vary clients",
    ),
    (
        "[repeat]",
        "[groups]\nparameter = \"server\"\nvalues = [\"s0\"]\n[repeat]",
        "plan line 25: groups.values: no target of s0",
    ),
    // Repetitions and budget.
    ("rounds = 6", "rounds = 0", "plan line 24: repeat.rounds: no rounds; allowed: 1 and more"),
    ("rounds = 6", "runs = 0", "plan line 24: repeat.runs: no runs; allowed: 1 and more"),
    (
        "rounds = 6",
        "precision = 1.0",
        "plan line 24: repeat.precision: 1 is not between 0 and 1; 0.05 is 5 %",
    ),
    (
        "rounds = 6",
        "precision = nan",
        "plan line 24: repeat.precision: NaN is not between 0 and 1; 0.05 is 5 %",
    ),
    (
        "rounds = 6",
        "confidence = 95.0",
        "plan line 24: repeat.confidence: 95 is not between 0 and 1; 0.95 is usual",
    ),
    (
        "rounds = 6",
        "rounds = 6\nrounds_max = 5",
        "plan line 25: repeat.rounds_max: 5 is less than rounds = 6",
    ),
    (
        "rounds = 6",
        "rounds = 6\nrounds_max = 7",
        "plan line 25: repeat.rounds_max: nothing ends the rounds before; hint: precision, \
         a budget, or rounds",
    ),
    (
        "rounds = 6",
        "rounds = 6\n[budget]\nbytes = \"100MiB\"",
        "plan line 26: budget.bytes: 100MiB is too little for one round of every run: 112MiB",
    ),
    (
        "rounds = 6",
        "rounds = 6\n[budget]\ntime = \"0s\"",
        "plan line 26: budget.time: no time; allowed: 1ns and more",
    ),
    // Absurdities.
    (
        "[\"16MiB\"]",
        "[\"9223372036854775808B\"]",
        "plan line 16: burst.sizes: 1 processes with 8192PiB each are more than 1024PiB in \
         one instance",
    ),
    (
        "count = 4",
        "count = 1000\nprocesses = 1000000",
        "plan line 14: clients.processes: 1000000 processes in an instance; allowed: 1 to 262144",
    ),
    (
        "rounds = 6",
        "runs = 4294967295\nrounds = 4294967295",
        "plan line 24: repeat.runs: more instances than can be counted",
    ),
    (
        "name = \"example\"",
        "name = \"example\"\nseed = -1",
        "plan line 3: seed: invalid value: integer `-1`, expected u64",
    ),
];

#[test]
fn each_refusal_says_where_what_and_what_is_allowed() {
    for (part, by, message) in TABLE {
        assert_eq!(refused(part, by), *message, "{by}");
    }
}

#[test]
fn a_plan_needs_a_target() {
    let start = PLAN.find("[[target]]").unwrap();
    let end = PLAN.find("[clients]").unwrap();
    let text = format!("{}{}", &PLAN[..start], &PLAN[end..]);
    let message = Plan::parse(&text).unwrap_err().to_string();
    assert_eq!(message, "plan: target: no targets; hint: add [[target]] with name and path");
}

#[test]
fn what_is_no_plan_at_all_is_said_to_be_none() {
    assert_eq!(Plan::from_bytes(b"a\nb\xff"), Err(PlanError::NotText { line: 2 }));
    let long = format!("#{}", "x".repeat(FILE_BYTES_MAX as usize));
    let message = Plan::parse(&long).unwrap_err().to_string();
    assert_eq!(message, "the plan is larger than 1MiB; hint: is it a plan?");
    assert_eq!(Plan::from_bytes(long.as_bytes()), Plan::parse(&long));
    let message = Plan::parse("version = 1\n[burst").unwrap_err().to_string();
    assert!(message.starts_with("plan line 2: "), "{message}");
}

#[test]
fn one_process_cannot_read_what_another_wrote() {
    let alone = PLAN
        .replace("count = 4", "count = 1")
        .replace("values = [1, 2, 4]", "values = [1]")
        .replace("[vary]", "operation = \"read\"\n[vary]");
    let message = Plan::parse(&alone).unwrap_err().to_string();
    assert!(
        message.contains("burst.operation: a file must be read by another process"),
        "{message}"
    );
    Plan::parse(&alone.replace("count = 1", "count = 1\nprocesses = 2")).unwrap();
}

#[test]
fn lustre_has_one_directory_for_all_targets() {
    let lustre = PLAN
        .replace("\"/mnt/t0\"", "\"/lustre\"\nlustre_index = 0")
        .replace("\"/mnt/t1\"", "\"/lustre\"\nlustre_index = 1");
    Plan::parse(&lustre).unwrap();
    let twice = lustre.replace("lustre_index = 1", "lustre_index = 0");
    let message = Plan::parse(&twice).unwrap_err().to_string();
    assert!(message.ends_with("/lustre is the place of target \"t0\" already"), "{message}");
    let striped = PLAN.replace("[vary]", "striping = \"lustre\"\n[vary]");
    let message = Plan::parse(&striped).unwrap_err().to_string();
    assert!(message.contains("burst.striping: Lustre cannot place files"), "{message}");
}
