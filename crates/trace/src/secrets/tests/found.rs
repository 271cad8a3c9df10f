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
