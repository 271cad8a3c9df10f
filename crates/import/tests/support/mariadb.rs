//! A real MariaDB that a test starts, on a socket in its own directory, and ends.
#![allow(dead_code, reason = "each test uses some of it")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use rusqlite::types::ValueRef;

/// How long a server may take to start, on a machine that does much else.
const PATIENCE: Duration = Duration::from_secs(300);

pub struct MariaDb {
    folder: tempfile::TempDir,
    server: Child,
}

impl MariaDb {
    /// Starts a server without any network; nothing, with a word, where there is none.
    pub fn start() -> Option<Self> {
        let program = |name: &str| {
            let mut folders = ["/usr/bin", "/usr/sbin"].iter().map(|it| Path::new(it).join(name));
            folders.find(|it| it.is_file())
        };
        let (Some(install), Some(server), Some(_)) =
            (program("mariadb-install-db"), program("mariadbd"), program("mariadb-dump"))
        else {
            eprintln!("SKIPPED: needs mariadb-server");
            return None;
        };
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let data = format!("--datadir={}", folder.path().join("data").display());
        let user = format!("--user={}", user());
        let output = Command::new(install)
            .args(["--no-defaults", &data, &user, "--skip-test-db"])
            .arg("--auth-root-authentication-method=normal")
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let server = Command::new(server)
            .args([
                "--no-defaults",
                &data,
                &user,
                "--skip-networking",
                "--innodb-buffer-pool-size=8M",
            ])
            .arg(format!("--socket={}", folder.path().join("socket").display()))
            .arg(format!("--pid-file={}", folder.path().join("pid").display()))
            .arg(format!("--log-error={}", folder.path().join("log").display()))
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let mut started = MariaDb { folder, server };
        let deadline = Instant::now() + PATIENCE;
        while !started.is_ready() {
            let ended = started.server.try_wait().unwrap();
            let log = || std::fs::read_to_string(started.folder.path().join("log"));
            assert!(ended.is_none() && Instant::now() < deadline, "{:?}", log());
            std::thread::sleep(Duration::from_millis(50));
        }
        Some(started)
    }

    pub fn socket(&self) -> PathBuf {
        self.folder.path().join("socket")
    }

    fn is_ready(&self) -> bool {
        let asked = self.client("mariadb").args(["-e", "select 1"]).output();
        asked.unwrap().status.success()
    }

    fn client(&self, program: &str) -> Command {
        let mut client = Command::new(program);
        client.arg("--no-defaults").arg("--user=root");
        client.arg(format!("--socket={}", self.socket().display()));
        client
    }

    /// Runs statements.
    pub fn execute(&self, sql: &str) {
        let mut client = self.client("mariadb");
        client.stdin(Stdio::piped()).stderr(Stdio::piped());
        let mut client = client.spawn().unwrap();
        client.stdin.take().unwrap().write_all(sql.as_bytes()).unwrap();
        let output = client.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// Makes a database of LMT with the rows of one in SQLite.
    pub fn take_over(&self, database: &str, from: &Path) {
        let from = Connection::open(from).unwrap();
        let mut sql = format!("create database {database}; use {database};\n");
        for (table, columns) in TABLES {
            let declared: Vec<String> =
                columns.iter().map(|(name, kind)| format!("`{name}` {kind}")).collect();
            sql += &format!("create table {table} ({}) engine=MyISAM;\n", declared.join(", "));
            let names: Vec<&str> = columns.iter().map(|it| it.0).collect();
            let Ok(mut rows) = from.prepare(&format!("select {} from {table}", names.join(", ")))
            else {
                continue;
            };
            let mut rows = rows.query([]).unwrap();
            while let Some(row) = rows.next().unwrap() {
                let value = |column| match row.get_ref(column).unwrap() {
                    ValueRef::Null => "null".into(),
                    ValueRef::Integer(value) => value.to_string(),
                    ValueRef::Real(value) => value.to_string(),
                    ValueRef::Text(text) => format!("'{}'", String::from_utf8_lossy(text)),
                    ValueRef::Blob(_) => panic!("bytes"),
                };
                let values: Vec<String> = (0..names.len()).map(value).collect();
                sql += &format!("insert into {table} values ({});\n", values.join(", "));
            }
        }
        self.execute(&sql);
    }

    /// Dumps a database with `mariadb-dump`, whose output begins at the end of what it said about itself.
    pub fn dump(&self, options: &[&str]) -> Vec<u8> {
        let output = self.client("mariadb-dump").args(options).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    }
}

impl Drop for MariaDb {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

fn user() -> String {
    let output = Command::new("id").arg("-un").output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// The tables of LMT 1.1 that are read, with columns that are not, and keys.
const TABLES: [(&str, &[(&str, &str)]); 10] = [
    (
        "FILESYSTEM_INFO",
        &[
            ("FILESYSTEM_ID", "integer primary key"),
            ("FILESYSTEM_NAME", "varchar(128) comment 'its (only) \\'name\\', `quoted`'"),
        ],
    ),
    ("OSS_INFO", &[("OSS_ID", "integer"), ("HOSTNAME", "varchar(128), key (HOSTNAME, OSS_ID)")]),
    (
        "OSS_DATA",
        &[
            ("OSS_ID", "integer"),
            ("TS_ID", "int unsigned"),
            ("PCT_CPU", "float"),
            ("PCT_MEMORY", "float, primary key (OSS_ID, TS_ID)"),
        ],
    ),
    (
        "OST_INFO",
        &[
            ("OST_ID", "integer primary key"),
            ("OSS_ID", "integer"),
            ("OST_NAME", "varchar(128)"),
            ("HOSTNAME", "varchar(128)"),
            ("OFFLINE", "boolean default 0"),
            ("DEVICE_NAME", "varchar(128)"),
        ],
    ),
    (
        "OST_DATA",
        &[
            ("OST_ID", "integer"),
            ("TS_ID", "int unsigned"),
            ("READ_BYTES", "bigint"),
            ("WRITE_BYTES", "bigint unsigned"),
            ("PCT_CPU", "float"),
            ("KBYTES_FREE", "bigint"),
            ("KBYTES_USED", "bigint"),
            ("INODES_FREE", "bigint"),
            ("INODES_USED", "bigint, primary key (OST_ID, TS_ID)"),
        ],
    ),
    (
        "MDS_INFO",
        &[
            ("MDS_ID", "integer"),
            ("FILESYSTEM_ID", "integer"),
            ("MDS_NAME", "varchar(128)"),
            ("HOSTNAME", "varchar(128)"),
            ("DEVICE_NAME", "varchar(128)"),
        ],
    ),
    (
        "MDS_DATA",
        &[
            ("MDS_ID", "integer"),
            ("TS_ID", "int unsigned"),
            ("PCT_CPU", "float"),
            ("KBYTES_FREE", "bigint"),
            ("KBYTES_USED", "bigint"),
            ("INODES_FREE", "bigint"),
            ("INODES_USED", "bigint"),
        ],
    ),
    (
        "OPERATION_INFO",
        &[("OPERATION_ID", "integer"), ("OPERATION_NAME", "varchar(64)"), ("UNITS", "varchar(64)")],
    ),
    (
        "MDS_OPS_DATA",
        &[
            ("MDS_ID", "integer"),
            ("TS_ID", "int unsigned"),
            ("OPERATION_ID", "integer"),
            ("SAMPLES", "bigint"),
            ("SUM", "bigint"),
            ("SUMSQUARES", "bigint"),
        ],
    ),
    (
        "TIMESTAMP_INFO",
        &[
            ("TS_ID", "int unsigned not null auto_increment primary key"),
            ("TIMESTAMP", "datetime not null"),
        ],
    ),
];
