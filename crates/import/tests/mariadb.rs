//! LMT's databases in a running MariaDB.
#![cfg(feature = "mariadb")]

#[path = "support/lmt.rs"]
mod lmt;
#[path = "support/mariadb.rs"]
mod mariadb;
mod support;

use plimsoll_import::{ImportError, Options, import_from_mariadb};
use support::*;

/// What a server has is the same history as the database in SQLite that was loaded into it.
#[test]
fn a_running_mariadb_has_the_history_that_was_loaded() {
    let Some(server) = mariadb::MariaDb::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let address = |user: &str, database: &str| {
        let socket = server.socket().display().to_string().replace('/', "%2F");
        format!("mysql://{user}@localhost/{database}?socket={socket}")
    };
    for (number, path) in lmt::databases(folder.path()).into_iter().enumerate() {
        let database = format!("filesystem_{number}");
        server.take_over(&database, &path);
        let stores = ["expected", "store"].map(|it| folder.path().join(format!("{database}.{it}")));
        take(&path, &stores[0]);
        let url = address("root", &database);
        let told = import_from_mariadb(&url, None, &stores[1], &options()).unwrap();
        assert!(told.imported.samples > 100);
        assert!(read(&stores[0]) == read(&stores[1]), "{database}");
        let again = import_from_mariadb(&url, None, &stores[1], &options()).unwrap().imported;
        assert_eq!((again.samples, again.already_there), (0, told.imported.samples));
    }
    server.execute("create database other; create table other.x (y int); create user someone identified by 'secret'; grant select on filesystem_0.* to someone;");
    let error = |url: &str, password: Option<&str>, expected: &str| {
        let store = folder.path().join("none");
        let error = import_from_mariadb(url, password, &store, &options()).unwrap_err();
        let error = error.to_string();
        assert!(
            error.contains(expected) && !error.contains('\n') && !error.contains("secret"),
            "{error}"
        );
    };
    error(&address("root", "other"), None, "no table");
    error(&address("root", "absent"), None, "absent");
    error(&address("someone", "filesystem_0"), Some("wrong"), "Access denied");
    error(&address("someone:secret", "filesystem_0"), None, "MYSQL_PWD");
    error("mysql://root@localhost", None, "names no database");
    let named = import_from_mariadb(
        &address("someone", "filesystem_0"),
        Some("secret"),
        &folder.path().join("named"),
        &options(),
    );
    assert!(named.unwrap().imported.samples > 100);
    let no_zone = import_from_mariadb("mysql://a@b/c", None, folder.path(), &Options::default());
    assert!(matches!(no_zone.unwrap_err(), ImportError::NoZone { .. }));
}
