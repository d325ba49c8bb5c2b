//! URIs, and servers that are not there or do not let us in.

use std::{
    net::TcpListener,
    time::{Duration, Instant},
};

use super::{cluster::PASSWORD, *};
use tokio_postgres::config::{Host, SslMode};

fn target(uri: &str) -> Target {
    Target::parse(uri).unwrap_or_else(|error| panic!("{uri}: {error}"))
}

fn refusal(uri: &str) -> StoreError {
    match PostgresStore::open(uri, Wish::Write) {
        Ok(_) => panic!("{uri} was opened"),
        Err(error) => error,
    }
}

#[test]
fn the_place_names_the_hosts_the_ports_and_the_database() {
    for (uri, place) in [
        ("postgres://u:p@h:5433/db", "postgres://h:5433/db"),
        ("postgresql://u@a,b:1/db", "postgres://a:5432,b:1/db"),
        ("postgres://u:p@h", "postgres://h:5432/u"),
        ("postgres:///db?hostaddr=::1&port=1", "postgres://::1:1/db"),
        (
            "postgres:///?password=p&host=/tmp&port=1&dbname=db",
            "postgres://%2Ftmp:1/db",
        ),
    ] {
        assert_eq!(target(uri).place, place);
    }
}

#[test]
fn a_uri_that_cannot_be_read_is_told_without_a_part_of_its_password() {
    for (uri, why) in [
        ("postgres://u:Pa5s@w0rd@h/db", "write @"),
        ("postgres://u:Pa5s@w0rd/x@h/db", "write @"),
        ("postgres://u:Pa5s?w0rd@h/db", "write @"),
        ("postgres://h:1/db?user=u&password=Pa5s@w0rd", "write @"),
        ("postgres://h/db?password=Pa5s&w0rd=x", "%26"),
        ("postgres://h/db?password=Pa5s&w0rd", "%26"),
        ("postgres://u:Pa5sw0rd", "option `port`"),
        ("postgres://u:Pa5sw0rd@h?keepalives=no", "`keepalives`"),
        ("postgres://u:Pa5sw0rd@%FF", "utf-8"),
        ("postgres://u:Pa5sw0rd@h?sslmode=prefer", "`sslmode`"),
    ] {
        let error = Target::parse(uri).unwrap_err();
        assert_eq!(error.trouble, Trouble::Unreachable, "{error}");
        let said = format!("{error} {error:?}");
        assert!(said.contains(why), "{uri}: {said}");
        assert!(!said.contains("Pa5s") && !said.contains("w0rd"), "{said}");
    }
}

#[test]
fn sslmode_says_whether_the_connection_is_encrypted_and_who_is_believed() {
    use SslMode::{Disable, Prefer, Require};
    for (keys, mode, roots) in [
        ("", Prefer, None),
        ("sslmode=disable", Disable, None),
        ("sslmode=require", Require, None),
        ("sslmode=verify-full", Require, Some("system")),
        (
            "sslrootcert=system&sslmode=verify-full",
            Require,
            Some("system"),
        ),
        (
            "ssl%6Dode=verify-full&sslrootcert=%2Fa%20b",
            Require,
            Some("/a b"),
        ),
    ] {
        let target = target(&format!("postgres://u@h/db?{keys}"));
        let found = (target.config.get_ssl_mode(), target.roots.as_deref());
        assert_eq!(found, (mode, roots), "{keys}");
    }
    for (keys, why) in [
        ("sslmode=allow", "must be disable, require, verify-full"),
        ("sslmode=verify-ca", "must be disable, require, verify-full"),
        ("sslrootcert=/a", "requires `sslmode=verify-full`"),
        ("sslmode=require&sslrootcert=system", "requires `sslmode"),
    ] {
        let error = Target::parse(&format!("postgres://u@h/db?{keys}")).unwrap_err();
        assert!(error.to_string().contains(why), "{keys}: {error}");
    }
}

#[test]
fn what_nobody_wrote_is_such_that_a_vanished_machine_is_noticed_within_a_minute() {
    let unsaid = target("postgres://u@h/db");
    let config = &unsaid.config;
    let idle = config.get_keepalives_idle();
    let rest = config.get_keepalives_interval().unwrap() * config.get_keepalives_retries().unwrap();
    assert!(config.get_keepalives() && (idle + rest).as_secs() < 60);
    assert!(config.get_tcp_user_timeout().unwrap().as_secs() < 60);
    assert_eq!(unsaid.patience().as_secs(), 5);
    let said = target("postgres://a,b/db?connect_timeout=2&keepalives_idle=60");
    assert_eq!(said.patience().as_secs(), 4);
    assert_eq!(said.config.get_keepalives_idle().as_secs(), 60);
    let longest = format!("postgres://a,b,c/db?connect_timeout={}", i64::MAX);
    assert_eq!(target(&longest).patience(), Duration::MAX);
    assert_eq!(target("postgres:///db").config.get_hosts().len(), 1);
}

#[test]
fn there_is_no_tls_over_a_socket() {
    let socket = target("postgres://u@%2Ftmp/db?sslmode=require").config;
    assert_eq!(socket.get_hosts(), [Host::Unix("/tmp".into())]);
    assert_eq!(socket.get_ssl_mode(), SslMode::Disable);
    for uri in [
        "postgres://u@%2Ftmp,h/db?sslmode=require",
        "postgres://u@%2Ftmp/db?sslmode=require&hostaddr=127.0.0.1",
    ] {
        assert_eq!(target(uri).config.get_ssl_mode(), SslMode::Require, "{uri}");
    }
}

#[test]
fn a_server_that_cannot_be_reached_is_told_with_what_to_look_at() {
    let closed = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    for (host, why) in [
        (
            format!("127.0.0.1:{closed}"),
            "whether the server is running",
        ),
        ("no-such-host.invalid".to_owned(), "Check the host name"),
        (
            "%2Fno%2Fsuch%2Fdir".to_owned(),
            "whether the server is running",
        ),
    ] {
        let error = refusal(&format!("postgres://u:hunter22@{host}/db"));
        let said = error.to_string();
        assert_eq!(error.trouble, Trouble::Unreachable, "{said}");
        assert!(said.contains(why) && !said.contains("hunter22"), "{said}");
    }
}

#[test]
fn a_server_that_never_answers_is_given_up_in_time() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let start = Instant::now();
    let error = refusal(&format!(
        "postgres://u@127.0.0.1:{port}/db?connect_timeout=1"
    ));
    assert!(
        error.to_string().contains("no answer within 1 s"),
        "{error}"
    );
    assert!(start.elapsed().as_secs() < 5);
}

#[test]
fn a_wrong_password_is_told_and_never_shown() {
    let cluster = Cluster::shared();
    let name = cluster.database();
    let good = cluster.network_uri("localhost", &name, "");
    let wrong = good.replace("correct%3Fhorse", "battery-staple");
    assert_ne!(good, wrong);
    let error = refusal(&wrong);
    let said = format!("{error} {error:?}");
    assert_eq!(error.trouble, Trouble::Unreachable, "{said}");
    assert!(said.contains("Check the user and the password"), "{said}");
    assert!(!said.contains("battery-staple"), "{said}");
    let none = refusal(&good.replace(":correct%3Fhorse", ""));
    assert!(none.to_string().contains("Write it into the URI"), "{none}");
    let store = PostgresStore::open(&good, Wish::Write).unwrap();
    assert!(!store.place().contains(PASSWORD) && !store.place().contains("correct"));
}

#[test]
fn a_database_that_is_not_there_is_told_with_how_to_make_it() {
    let error = refusal(&Cluster::shared().uri("nowhere"));
    assert!(error.to_string().contains("createdb"), "{error}");
}
