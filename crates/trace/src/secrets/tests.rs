use super::*;

mod found;

fn masked(arguments: &str) -> String {
    let mut bytes: Vec<u8> =
        arguments.split(' ').flat_map(|it| [it.as_bytes(), b"\0"].concat()).collect();
    bytes.extend([0; 7]);
    mask(&mut bytes);
    let text = String::from_utf8(bytes).unwrap();
    text.trim_end_matches('\0').replace('\0', " ")
}

fn masked_each(arguments: &[&str]) -> String {
    let mut bytes: Vec<u8> =
        arguments.iter().flat_map(|it| [it.as_bytes(), b"\0"].concat()).collect();
    mask(&mut bytes);
    String::from_utf8(bytes).unwrap().trim_end_matches('\0').replace('\0', "|")
}

#[test]
fn what_looks_like_a_secret_is_masked() {
    for (given, kept) in [
        ("app --password=hunter2 in.nml", "app --password=*** in.nml"),
        ("app --password hunter2 in.nml", "app --password *** in.nml"),
        ("app --db-passwd hunter2 --fast", "app --db-passwd *** --fast"),
        ("app -token abcdefgh", "app -token ***"),
        ("env AWS_SECRET_ACCESS_KEY=abc/def run", "env AWS_SECRET_ACCESS_KEY=*** run"),
        ("env API_KEY=x run", "env API_KEY=* run"),
        ("env api-key=xyz run", "env api-key=*** run"),
        ("curl -H Authorization:Bearer-abc https://h/", "curl -H Authorization:*** https://h/"),
        ("curl -u me:pw https://h/", "curl -u me:** https://h/"),
        ("curl https://me:longpassword@h:80/p x", "curl https://me:***@h:80/p x"),
        ("git clone ghp_0123456789abcdef01 d", "git clone *** d"),
        ("x key=eyJhbGciOiJIUzI1NiJ9.e30.abc", "x key=***"),
        ("a --password one --secret two", "a --password *** --secret ***"),
        ("wget --header=Authorization:+Bearer-abcd u", "wget --header=Authorization:*** u"),
        ("docker run --env=DB_PASSWORD=abcd x", "docker run --env=DB_PASSWORD=*** x"),
        (
            "git clone https://ghp_0123456789abcdef@github.com/x",
            "git clone https://***@github.com/x",
        ),
        (
            "git clone https://ghp_0123456789abcdef:x@github.com/x",
            "git clone https://***@github.com/x",
        ),
        ("curl https://h/?token=abcd&n=1", "curl https://h/?token=***&n=1"),
        ("j jdbc:mysql://h/d?user=u&password=abcd", "j jdbc:mysql://h/d?user=u&password=***"),
        ("c Server=h;Password=abcd;Pooling=1", "c Server=h;Password=***;Pooling=1"),
        ("curl --user=me:abcd --pass abcd --pwd=abcd", "curl --user=me:*** --pass *** --pwd=***"),
        (
            "x sk-0123456789abcdef https://a:abcd@h,https://b:abcd@g",
            "x *** https://a:***@h,https://b:***@g",
        ),
        (
            "a --creds abcd --passcode=abcd JWT=abcd --psk abcd",
            "a --creds *** --passcode=*** JWT=*** --psk ***",
        ),
        ("a fs.azure.account.key.name=abcd", "a fs.azure.account.key.name=***"),
        // A service's token as the user, with no password.
        ("curl -u ghp_0123456789abcdef01: https://h/", "curl -u ***: https://h/"),
        ("smbclient -U me%abcd --user=me%abcd //h/s", "smbclient -U me%*** --user=me%*** //h/s"),
        ("psql -U me -h h", "psql -U me -h h"),
        ("date -u +%F", "date -u +%F"),
        ("pip install -U git+https://h/p", "pip install -U git+https://h/p"),
        ("curl -sE key.pem:abcd h", "curl -sE key.pem:*** h"),
        (
            "x ./hf_transfer_models_2024.bin sk-learn-2024.py",
            "x ./hf_transfer_models_2024.bin sk-learn-2024.py",
        ),
        ("x ./npm_global_cache_dir/a1", "x ./npm_global_cache_dir/a1"),
        ("curl --cert key.pem:abcd --cert key.pem h", "curl --cert key.pem:*** --cert key.pem h"),
        ("x gsk_0123456789abcdef nvapi-0123456789abcdef", "x *** ***"),
        ("x r8_matrix_multiply ddp_training_of_8", "x r8_matrix_multiply ddp_training_of_8"),
        ("app --db-pass=abcd MY_PWD=abcd my-pass=abcd", "app --db-pass=*** MY_PWD=*** my-pass=***"),
        ("x {\"password\":\"abcd\",\"n\":1}", "x {\"password\":\"***\",\"n\":1}"),
        ("app db.pass=abcd db2pw=abcd", "app db.pass=*** db2pw=***"),
        // The password of an address is also behind a telling name, and may look like a token.
        ("x https://token:abcdef@h/p", "x https://token:***"),
        ("x https://me:ghp_0123456789abcdef:x@h/p", "x https://me:***@h/p"),
        ("x https://me:***@h/p https://me:@h/p", "x https://me:***@h/p https://me:@h/p"),
        ("curl -ume:abcd -u=me:abcd h", "curl -ume:*** -u=me:*** h"),
        ("x AccountKey=abcd; npm_0123456789abcdef", "x AccountKey=*** ***"),
        ("x h?sig=abcd&X-Amz-Signature=abcd&n=1", "x h?sig=***&X-Amz-Signature=***&n=1"),
        (
            "aws configure set aws_secret_access_key abcd/ef --profile p",
            "aws configure set aws_secret_access_key *** --profile p",
        ),
        ("git clone https://0a1b2c3d4e5f6a7b8c9d@h/x", "git clone https://***@h/x"),
        (
            "git clone https://averylongnameofauser1@h/x",
            "git clone https://averylongnameofauser1@h/x",
        ),
        (
            "python secret_santa.py in.dat token_ring out",
            "python secret_santa.py in.dat token_ring out",
        ),
        ("x --auth=abcd --author=me --design=new", "x --auth=*** --author=me --design=new"),
    ] {
        assert_eq!(masked(given), kept);
    }
}

#[test]
fn scripts_are_looked_through() {
    let mut script = *b"sh\0-c\0x=1 PASSWORD=abcd app --token=efgh 'Bearer ijkl'\0";
    mask(&mut script);
    let text = String::from_utf8_lossy(&script);
    assert!(text.contains("x=1 PASSWORD=*** app --token=*** 'Bearer ***'"), "{text}");
    for (script, kept) in [
        ("app --token abcd --fast", "app --token *** --fast"),
        ("app --password 'one two' in", "app --password '***' in"),
        ("--password abcd run", "--password *** run"),
        ("curl -u me:abcd https://a:abcd@h/p", "curl -u me:*** https://a:***@h/p"),
        ("curl --user=me:abcd https://h/p", "curl --user=me:*** https://h/p"),
        (
            "curl -d '{\"password\": \"one two\", \"n\": 1}' h",
            "curl -d '{\"password\": \"***\", \"n\": 1}' h",
        ),
        ("curl -d \"{\\\"token\\\" : \\\"abcd\\\"}\"", "curl -d \"{\\\"token\\\" : \\\"***\"}\""),
        ("app --password --fast; ls --token", "app --password --fast; ls --token"),
        (
            "curl http://mirror/; curl https://a:abcd@h/ ssh://git@g/x https://b:efgh@h",
            "curl http://mirror/; curl https://a:***@h/ ssh://git@g/x https://b:***@h",
        ),
        (
            "curl -H \"Authorization: Bearer abcd\" -H 'authorization: Basic ab cd' h",
            "curl -H \"Authorization: ***\" -H 'authorization: ***' h",
        ),
        ("curl -H Authorization:\\ Token abcd h", "curl -H Authorization:\\ *** h"),
        ("curl -H 'Cookie: session=abcd; id=ef' h", "curl -H 'Cookie: ***' h"),
        ("f(password = \"abcd\", n = 1)", "f(password = \"***\", n = 1)"),
        ("{'password': 'one two', 'n': 1}", "{'password': '***', 'n': 1}"),
        ("<a><password>abcd</password></a>", "<a><password>***</password></a>"),
        ("passes = 3 compass = 4 author = me", "passes = 3 compass = 4 author = me"),
        ("let x = password y = 2", "let x = password y = 2"),
        ("app --max-tokens 4096 -u me && x", "app --max-tokens 4096 -u me && x"),
        ("echo the password is not told", "echo the password is not told"),
    ] {
        let mut bytes = format!("sh\0-c\0{script}\0").into_bytes();
        mask(&mut bytes);
        let text = String::from_utf8(bytes).unwrap();
        assert_eq!(text.split('\0').nth(2).unwrap(), kept);
    }
    let harmless = *b"sh\0-c\0ask \"password\" twice\0";
    let mut script = harmless;
    mask(&mut script);
    assert_eq!(script, harmless, "a word in quotes that nothing is set to");
}

/// Each argument list has one secret, and none of it stays.
#[test]
fn nothing_of_a_secret_stays() {
    for arguments in [
        "curl|https://me:ab&SECRET@h/",
        "curl|https://me:ab,SECRET@h/",
        "curl|https://me:ab;SECRET@h/",
        "curl|https://me:ab?SECRET@h/",
        "curl|https://me:ab'SECRET@h/",
        "curl|https://me:ab(SECRET@h/",
        "curl|https://me:ab/SECRET@h/",
        "psql|postgres://me:pa,SECRET@h/db",
        "smbclient|smb://dom;me:SECRET@h",
        "sh|-c|f('https://me:ab/SECRET@h', 'a@b')",
        "docker|--env=DB_PASSWORD=ab,SECRET",
        "env|PASSWORD=ab,SECRET",
        "sh|-c|x=1 PASSWORD=ab,SECRET app",
        "sh|-c|x=1 PWD=ab,SECRET app",
        "curl|-u|me:ab,SECRET",
        "sh|-c|curl -u me:ab,SECRET h",
        "sh|-c|app --password='ab'SECRET x",
        "sh|-c|app --password 'ab'\"SECRET\" x",
        "sh|-c|app --password=ab'c d SECRET' x",
        "sh|-c|app --password=ab\\ SECRET x",
        "curl|-d|{\"password\":\"ab\\\"SECRET\"}",
        "sh|-c|app --token\tSECRET",
        "sh|-c|app --token \\\n SECRET",
        "odbc|Server=h;Password={ab;SECRET};Pooling=1",
        "curl|-d|{\"password\":{\"value\":\"SECRET\"}}",
        "curl|-d|{\"pass\":[\"SECRET\"]}",
        "curl|-d|<a><password type=\"x\">SECRET</password></a>",
        "python3|-c|os.environ[\"API_KEY\"]=\"SECRET\"",
        "app|--password|-SECRET",
        "sh|-c|app --password -SECRET",
        "env|SSHPASS=SECRET",
        "sh|-c|env SSHPASS='a'\\''SECRET' x",
        "app|--password=|SECRET",
        "curl|-d|<a><password>a b SECRET</password></a>",
        "odbc|Server=h;Password=a b SECRET;Pooling=1",
        "keytool|-storepass|SECRET|-keypass|SECRET",
        "x|ghu_SECRET0123456789",
        "x|ghr_SECRET0123456789",
        "x|sk_live_SECRET0123456789",
        "x|xapp-1-SECRET0123456789",
        "x|xoxa-SECRET0123456789",
        "x|hvs.SECRET0123456789",
        "x|ya29.SECRET0123456789",
        "x|SG.SECRET0123456789",
        "x|glrt-SECRET0123456789",
        "x|shpat_SECRET0123456789",
        "x|dapiSECRET0123456789",
        "x|dop_v1_SECRET0123456789",
        "env|GH_PAT=SECRET",
        "python3|-c|os.putenv('PGPASSWORD', 'SECRET')",
        "python3|-c|os.environ.setdefault( \"TOKEN\",\"ab SECRET\" )",
        "perl|-e|setenv('PASSWORD','SECRET')",
        "sh|-c|python3 -c \"os.putenv(\\\"TOKEN\\\", \\\"a SECRET\\\")\"",
        "python3|-c|os.putenv(b'TOKEN', f'a SECRET')",
        "fish|-c|set -xg TOKEN SECRET",
        "fish|-c|set --global --export TOKEN SECRET",
        "csh|-c|setenv PASSWORD SECRET; app",
        "fish|-c|set -gx TOKEN 'ab SECRET'",
        "x|-----BEGIN OPENSSH PRIVATE KEY-----\nSECRET\n-----END",
    ] {
        let mut bytes = arguments.replace('|', "\0").into_bytes();
        bytes.push(0);
        mask(&mut bytes);
        let text = String::from_utf8(bytes).unwrap();
        assert!(!text.contains("SECRET"), "{arguments}: {text}");
        assert!(text.contains("***"), "{text}");
    }
}

#[test]
fn ordinary_command_lines_stay_readable() {
    for given in [
        "mpirun -n 4 ./app --input=/scratch/me/pass1/data.h5 -k 3 --key-frames 10 --token-size 512",
        "srun --ntasks=128 --cpu-bind=cores ./lmp -in in.lj -var x 2 -pk gpu 1",
        "ior -a MPIIO -t 1m -b 16m -o /scratch/me/pass1/data=3 -F -C -e",
        "python3 train.py --max-tokens=4096 --token_count=7 --tokenizer bpe --lowpass 3 --bypass=1",
        "apptainer exec docker://registry/image:tag@sha256:abcd app",
        "wget http://host:8080/a@b http://host:80?mail=a@b https://me@host/path",
        "rsync -a me@host:/scratch/a:b/ /scratch/pass2/",
        "gmx mdrun -deffnm md -nb gpu --multipass=2 --password",
        "cp /scratch/secret/token.txt a:b x=y,z=1;2",
    ] {
        assert_eq!(masked(given), given);
    }
}

#[test]
fn everything_else_stays() {
    for given in [
        "ior -a POSIX -t 1m -b 16m -o /scratch/f",
        "app --input=a.nml x=1 key=value 12:30",
        "app --password",
        "app --password --fast",
        "app --compass=north --bypass=1 https://me@host/path",
        "curl -u me https://host:80/a@b",
        "app tokens.txt hf_short --max-tokens=4096 --tokenizer=bpe",
        "python3 -c open('token',mode)",
        "csh -c setenv OMP_NUM_THREADS 4; set -x LANG C",
        "",
    ] {
        assert_eq!(masked(given), given);
    }
}

#[test]
fn what_was_cut_off_is_no_trouble() {
    let mut bytes = *b"app\0--password=hunter";
    mask(&mut bytes);
    assert_eq!(&bytes[..], b"app\0--password=***\0\0\0");
    mask(&mut []);
}

proptest::proptest! {
    #[test]
    fn nothing_panics_and_nothing_grows(mut bytes in proptest::collection::vec(
        proptest::sample::select(b"\0-=:/@_psword\"'`\\{}[]()<>!&?;, uvalme".to_vec()), 0..80)) {
        let arguments = bytes.iter().filter(|byte| **byte == 0).count();
        mask(&mut bytes);
        proptest::prop_assert!(bytes.iter().filter(|byte| **byte == 0).count() >= arguments);
    }
}

#[test]
fn names_and_values_are_told_apart_wherever_they_stand() {
    for (given, kept) in [
        (&["sh", "-c", "x password : abcd"][..], "sh|-c|x password : ***"),
        (&["curl", "X-Auth-Token : abcd"], "curl|X-Auth-Token : ***"),
        (&["h", "{password : abcd, n: 1}"], "h|{password : ***, n: 1}"),
        (&["sh", "-c", "true; curl -ume:abcd h"], "sh|-c|true; curl -ume:*** h"),
        (&["x", "<add key=\"password\" value=\"abcd\"/>"], "x|<add key=\"password\" value=\"***"),
        (&["x", "<add key=\"colour\" value=\"abcd\"/>"], "x|<add key=\"colour\" value=\"abcd\"/>"),
        (
            &["x", "{\"name\":\"DB_PASSWORD\",\"value\":\"abcd\"}"],
            "x|{\"name\":\"DB_PASSWORD\",\"value\":\"***\"}",
        ),
        (&["x", "{\"name\":\"a\",\"value\":\"abcd\"}"], "x|{\"name\":\"a\",\"value\":\"abcd\"}"),
        (&["x", "- name: DB_PASSWORD\n  value: abcd"], "x|- name: DB_PASSWORD\n  value: ***"),
        (
            &["x", "passwordValue=abcd", "--tokenSize=1024", "tokenizer=fast"],
            "x|passwordValue=***|--tokenSize=1024|tokenizer=fast",
        ),
        (&["x", "-DclientSecretValue=abcd"], "x|-DclientSecretValue=***"),
    ] {
        assert_eq!(masked_each(given), kept, "{given:?}");
    }
}

/// What is cut off comes to the front where what stands before it becomes shorter.
#[test]
fn a_word_that_is_cut_off_is_left_out() {
    let cut = |text: String| {
        let mut bytes = text.into_bytes();
        bytes.truncate(100);
        mask_cut(&mut bytes);
        String::from_utf8(bytes).unwrap().trim_end_matches('\0').replace('\0', "|")
    };
    let long = "T".repeat(70);
    assert_eq!(cut(format!("x\0--token={long}\0https://me:abcdefghijklmn@h/")), "x|--token=***");
    assert_eq!(
        cut(format!("sh\0-c\0curl --token={long} https://me:abcdefghijk@h/")),
        "sh|-c|curl --token=*** "
    );
    assert_eq!(cut("T".repeat(200)), "");
    assert_eq!(cut("x\0short\0".into()), "x|short");
}
