//! Forms that an attack found, or that are like them. Arguments are divided by `¦`.

use super::*;

/// Returns the arguments after they were masked.
fn masked_at(arguments: &str) -> String {
    let mut bytes = arguments.replace('¦', "\0").into_bytes();
    bytes.push(0);
    mask(&mut bytes);
    String::from_utf8(bytes).unwrap().trim_end_matches('\0').replace('\0', "¦")
}

#[test]
fn nothing_of_a_secret_in_other_orders_and_brackets_stays() {
    for arguments in [
        "x¦--hmac-key¦SECRET",
        "curl¦-H¦Ocp-Apim-Subscription-Key: SECRET",
        "python¦-c¦requests.get(u, auth=('me', 'SECRET'))",
        "python¦-c¦requests.get(u, auth=(\"me\", \"a)SECRET\"), verify=0)",
        "python¦-c¦requests.get(u, auth=HTTPBasicAuth('me', 'SECRET'))",
        "python¦-c¦connect(password=dict(a=\"x\", b=\"SECRET\"))",
        "sh¦-c¦x=1 PASSWORD=$(echo \"SECRET x\") app",
        "sh¦-c¦x=1 PASSWORD=${P:-a SECRET} app",
        "curl¦-d¦{\"password\":{\"v\":\"a}SECRET\"}}",
        "node¦-e¦x({password:`a SECRET`})",
        "node¦-e¦x({password : `SECRET`})",
        "x¦<password><![CDATA[a SECRET]]></password>",
        "x¦<ns:password><![CDATA[a <b> SECRET]]></ns:password>",
        "x¦<password><![CDATA[a SECRET]]>",
        "x¦<password><![CDATA[a SECRET",
        "x¦<password><string>SECRET</string></password>",
        "x¦<add value=\"SECRET\" key=\"password\"/>",
        "x¦<add key=\"db-password\" value=\"SECRET\"/>",
        "x¦{\"value\":\"SECRET\",\"name\":\"password\"}",
        "x¦{\"value\":\"a}SECRET\",\"name\":\"password\"}",
        "x¦{\"id\":5,\"value\":\"SECRET\",\"name\":\"password\"}",
        "x¦{\"name\":\"password\",\"x\":\"a}b\",\"value\":\"SECRET\"}",
        "x¦{\"name\":\"password\",\"x\":{\"b\":1},\"value\":\"SECRET\"}",
        "sh¦-c¦curl -d \"{\\\"value\\\":\\\"SECRET\\\",\\\"name\\\":\\\"password\\\"}\" h",
        "x¦- value: SECRET\n  name: DB_PASSWORD",
        "x¦- value: 3\n  name: a\n- value: SECRET\n  name: DB_PASSWORD",
        "x¦<property><name>fs.s3a.secret.key</name><value>SECRET</value></property>",
        "x¦<property><value>SECRET</value><name>fs.s3a.secret.key</name></property>",
        "x¦<property><a><b/></a><name>secret</name><!-- x --><value>SECRET</value></property>",
        "aws¦ParameterKey=DBPassword,ParameterValue=SECRET",
        "aws¦ParameterValue=SECRET,ParameterKey=DBPassword",
        "curl¦-su¦user:SECRET",
        "curl¦-sSu¦user:SECRET¦https://h",
        "curl¦-sSuuser:SECRET",
        "curl¦-U¦user:SECRET",
        "timeout¦5¦/usr/bin/curl¦-fsSLu¦me:SECRET",
        "sh¦-c¦true; curl -su user:SECRET h",
        "sh¦-c¦true; \"curl\" -sSuuser:SECRET h",
    ] {
        let text = masked_at(arguments);
        assert!(!text.contains("SECRET") && text.contains("***"), "{arguments}: {text}");
    }
}

#[test]
fn a_token_ends_where_no_token_goes_on() {
    let token = "ghp_SECRET0123456789";
    for (before, behind) in [
        ("echo ", "|gh auth login"),
        ("echo `echo ", "`"),
        ("echo [", "]"),
        ("curl https://h/p#", "#a"),
        ("x ", "%20"),
        ("curl h/?q=%20", "%0A"),
        ("printf '", "\\n'"),
        ("printf 'user\\n", "\\n' | app"),
        ("x oauth2-", " y"),
        ("x user_", ".git y"),
    ] {
        let text = masked_at(&format!("sh¦-c¦{before}{token}{behind}"));
        let kept = behind.trim_start_matches(".git");
        assert_eq!(text, format!("sh¦-c¦{before}***{kept}"));
    }
}

#[test]
fn what_only_looks_like_these_forms_stays_readable() {
    for given in [
        "rsync¦-avu¦host:dir/file¦.",
        "sh¦-c¦curl -O http://h/x; rsync -avu host:dir .",
        "docker¦run¦-itu¦1000:1000¦image",
        "curl¦-sSfLo¦file:x¦https://h/p",
        "curl¦-ofile_u¦http://h:80/p",
        "x¦model_hf_llama_2_7b_chat",
        "x¦results_hf_631g_opt_001.out[3]",
        "x¦hf_transfer_models[0]",
        "pip¦install¦sk-learn-contrib-tools[all]",
        "x¦task-something-12345678901234567890",
        "x¦usage: app <user> <password> <host> <port>",
        "x¦<a><password/><host>h</host></a>",
        "x¦<value>3</value><name>steps</name>",
        "x¦<a><value>3</value></a><a><name>password</name></a>",
        "x¦{\"value\": 3, \"name\": \"steps\"}, {\"name\": \"password\"}",
        "x¦- value: 3\n  name: a\n- name: DB_PASSWORD",
        "app¦--name run --value 3 --key frames",
        "sh¦-c¦f(value=1); g(name='password')",
        "sh¦-c¦x=`date +%s`; y=(1 2); ./app $x ${y[1]}",
    ] {
        assert_eq!(masked_at(given), given);
    }
}

#[test]
fn nothing_of_a_secret_in_further_forms_stays() {
    for arguments in [
        "java¦<entry key=\"password\">SECRET</entry>",
        "java¦<entry key='db.password' type='x'>a SECRET</entry>",
        "java¦<property name=\"token\">\n  SECRET</property>",
        "curl¦-d¦{\"u\":\"https:\\/\\/me:SECRET@h\\/p\"}",
        "sh¦-c¦curl -H Authorization:\\ GSSAPI SECRET h",
        "sh¦-c¦curl -H Proxy-Authorization: AWS4-HMAC-SHA256 SECRET h",
        "app¦--password=***SECRET",
        "Rscript¦-e¦password <- 'SECRET'",
        "Rscript¦-e¦x<-1; db_password<-\"a SECRET\"; y<-2",
        "perl¦-e¦%a = (password => 'SECRET', n => 1)",
        "k¦a: 1\npassword: |\n  one\n  SECRET\n",
        "k¦a: 1\npassword: |-\n  one\n  SECRET\n",
        "k¦a: 1\npassword: >\n  one\n  SECRET\n",
        "app¦dbPwd=SECRET",
        "app¦--userPw=SECRET",
        "env¦CLIENT_KEY=SECRET",
        "env¦DEPLOY_SSH_KEY=SECRET",
        "x¦gldt-SECRET0123456789",
        "x¦glptt-SECRET0123456789",
        "x¦xoxe-SECRET0123456789",
        "x¦rk_test_SECRET0123456789",
        "x¦whsec_SECRET0123456789",
        "x¦shpss_SECRET0123456789",
        "x¦hvb.SECRET0123456789",
        "x¦dckr_oat_SECRET0123456789",
        "x¦GOCSPX-SECRET0123456789",
        "python¦-c¦subprocess.run([\"app\", \"--password\", \"SECRET\"])",
        "python¦-c¦run(['app', '--db-password', 'SECRET'])",
        "bash¦-c¦app \"--db-password\" \"SECRET\" in",
        "curl¦-d¦{\"c\": \"[\\\"app\\\", \\\"--token\\\", \\\"SECRET\\\"]\"}",
        "python¦-c¦run([\"curl\",\"-u\",\"me:SECRET\"])",
        "bash¦-c¦aws configure set aws_secret_access_key SECRET --profile p",
        "perl¦-e¦$ENV{PASSWORD} = \"SECRET\"; x()",
        "perl¦-e¦$h{password}='SECRET'; x()",
        "perl¦-e¦$h{'db_password'} = 'SECRET'; x()",
        "k¦a: 1\npassword: |2-\n  one\n  SECRET\n",
        "k¦- name: PASSWORD\n  value: >-\n   one SECRET\n",
        "k¦- name: PASSWORD\n  value: |+1\n   one SECRET\n",
        "env¦API_KEYS=SECRET¦x",
        "env¦ACCESS_TOKENS=SECRET¦x",
        "env¦AZURE_STORAGE_KEY=SECRET¦x",
        "docker¦-e¦OPENAI_KEY=SECRET¦x",
        "sh¦-c¦export DBPWD=SECRET; x",
        "ldapsearch¦--bindpw¦SECRET",
        "app¦--rootpw=SECRET",
        "x¦<Password value=\"SECRET\"/>",
        "app¦--password¦=¦SECRET",
        "sh¦-c¦app --password '|SECRET' in",
        "sh¦-c¦app --password \"&SECRET\" in",
        "make¦-f¦-¦PASSWORD?=SECRET",
        "make¦x\nDB_PASSWORD ?= SECRET\n",
        "env¦CONSUMER_KEY=SECRET",
        "Rscript¦-e¦password <<- \"SECRET\"",
    ] {
        let masked = masked_at(arguments);
        assert!(!masked.contains("SECRET"), "{arguments}: {masked}");
        assert!(masked.contains("***"), "{masked}");
    }
    for given in [
        "sh¦-c¦x <- 1; y<-2; gmx mdrun -pin on -npw=12",
        "x¦<entry key='steps'>3</entry>",
        "sh¦-c¦cat <<E | wc\nname: |\n  text\nE",
        "ls¦/scratch/1//0a/b¦xPass¦oldPw/x",
        "sh¦-c¦echo 'use my password now'; cat my_secret | wc; app \"--token\" \"--fast\"",
        "sh¦-c¦make PUBLIC_KEY=x sort_key=y; a{b} = 3; x = {y} = 4",
        "x¦<password a=\"b\"/><c value=\"d\"/>",
    ] {
        assert_eq!(masked_at(given), given);
    }
}

/// Texts that cost more than in proportion to their length, each with a secret at its end.
fn costly(bytes: usize) -> Vec<String> {
    [
        "-",
        "p-",
        "a:",
        "https://",
        "sk-",
        "value=",
        "<value>",
        "\"value\":",
        "-u ",
        "-x ",
        "u:p@h ",
        "' ",
        "\\\"'",
        "={",
        "password=x ",
        "<name><value>",
        "token:",
        "x://a:b@",
        "\"token\"]",
        "{name:",
        "value <- ",
    ]
    .iter()
    .map(|piece| format!("{} --password=SECRET", piece.repeat(bytes / piece.len())))
    .collect()
}

#[test]
fn what_costs_much_to_look_through_is_masked() {
    for text in costly(20_000) {
        let mut bytes = text.clone().into_bytes();
        mask(&mut bytes);
        assert!(!bytes.windows(6).any(|it| it == b"SECRET"), "{}", &text[..20]);
    }
}

#[test]
fn what_may_not_be_looked_at_is_masked_whole() {
    let mut bytes = *b"app\0--steps=3\0in.nml\0";
    mask_within(&mut bytes, &Looks::none());
    assert_eq!(bytes, *b"***\0***\0***\0\0\0\0\0\0\0\0\0\0");
    let looks = Looks::for_bytes(0);
    let mut bytes = format!("x {}\0in.nml\0", "password=x ".repeat(4000)).into_bytes();
    mask_within(&mut bytes, &looks);
    assert!(looks.are_spent());
    let text = String::from_utf8(bytes).unwrap();
    let text = text.trim_end_matches('\0');
    assert!(text.starts_with("x password=* password=* "), "what was looked at stays readable");
    assert!(text.ends_with("***\0***"), "what was not does not");
}

/// An ordinary command is looked through with much to spare.
#[test]
fn what_is_ordinary_may_all_be_looked_at() {
    let words =
        "export DB_PASSWORD=abcd; curl -u me:abcd https://me:abcd@h/p --token abcd | jq .value\n";
    let count = 2048 / words.len();
    let script = words.repeat(count);
    let looks = Looks::for_bytes(script.len());
    let mut bytes = script.clone().into_bytes();
    mask_within(&mut bytes, &looks);
    assert!(!looks.are_spent());
    let text = String::from_utf8(bytes).unwrap();
    assert_eq!(text.matches("***").count(), 4 * count, "{text}");
    assert_eq!(text.matches("jq .value").count(), count);
}

#[test]
fn only_what_is_kept_is_masked() {
    let mut bytes = format!("app\0{}\0", "x".repeat(100_000)).into_bytes();
    assert!(mask_kept(&mut bytes, 100));
    assert_eq!(&bytes[..4], b"app\0");
    assert!(bytes.len() <= 1600 && bytes[4..].iter().all(|it| *it == 0));
    let mut bytes = b"app\0--token=abcd".to_vec();
    assert!(!mask_kept(&mut bytes, 100));
    assert_eq!(bytes, b"app\0--token=***\0");
}
