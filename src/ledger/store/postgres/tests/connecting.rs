//! URIs, and servers that are not there or do not let us in.

use std::{net::TcpListener, time::Instant};

use super::{
    super::uri::{
        Check::{Nothing, Signer, SignerAndName},
        Roots, Trust,
    },
    cluster::PASSWORD,
    *,
};
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
fn the_place_shows_the_uri_without_its_password() {
    for (uri, place) in [
        ("postgres://u:p@h:5433/db", "postgres://u@h:5433/db"),
        (
            "postgresql://h/db?password=p&sslmode=require&host=x",
            "postgresql://h/db?host=x",
        ),
        ("postgres://u:p?a@p/q@h/db", "postgres://u@h/db"),
        ("postgres://h", "postgres://h"),
        ("host=h password=p", "PostgreSQL"),
        ("mysql://u:p@h", "postgres://u@h"),
    ] {
        let shown = match Target::parse(uri) {
            Ok(target) => target.place,
            Err(error) => {
                let said = error.to_string();
                assert!(said.contains(place) && !said.contains("p@"), "{said}");
                continue;
            }
        };
        assert_eq!(shown, place);
    }
}

#[test]
fn a_uri_that_can_be_read_in_two_ways_is_refused_and_not_shown() {
    for uri in [
        "postgres://127.0.0.1:5432/l1?user=owner&password=Pa5s@w0rd",
        "postgres://127.0.0.1?password=Pa5s@w0rd",
        "postgres://h/db?ssl%6dode=require",
    ] {
        let said = Target::parse(uri).unwrap_err().to_string();
        assert!(said.contains("its URI"), "{said}");
        assert!(!said.contains("Pa5s") && !said.contains("w0rd"), "{said}");
    }
}

#[test]
fn sslmode_and_sslrootcert_mean_what_libpq_says() {
    let trust = |check, roots: Option<&str>| Trust {
        check,
        roots: roots.map_or(Roots::System, |path| Roots::File(path.into())),
        direct: false,
    };
    for (keys, mode, expected) in [
        ("", SslMode::Prefer, trust(Nothing, None)),
        ("?sslmode=disable", SslMode::Disable, trust(Nothing, None)),
        ("?sslmode=prefer", SslMode::Prefer, trust(Nothing, None)),
        ("?sslmode=require", SslMode::Require, trust(Nothing, None)),
        (
            "?sslmode=require&sslrootcert=%2Fa%20b",
            SslMode::Require,
            trust(Signer, Some("/a b")),
        ),
        ("?sslmode=verify-ca", SslMode::Require, trust(Signer, None)),
        (
            "?sslrootcert=/r&sslmode=verify-full",
            SslMode::Require,
            trust(SignerAndName, Some("/r")),
        ),
        (
            "?sslrootcert=system",
            SslMode::Require,
            trust(SignerAndName, None),
        ),
    ] {
        let target = target(&format!("postgres://u@h/db{keys}"));
        assert_eq!(
            (target.config.get_ssl_mode(), &target.trust),
            (mode, &expected),
            "{keys}"
        );
    }
    for keys in [
        "sslmode=on",
        "sslmode=require&sslrootcert=system",
        "colour=blue",
    ] {
        let error = Target::parse(&format!("postgres://u@h/db?{keys}")).unwrap_err();
        assert_eq!(error.trouble, Trouble::Unreachable, "{error}");
    }
}

#[test]
fn what_nobody_wrote_is_such_that_a_vanished_machine_is_noticed_within_a_minute() {
    let target = target("postgres://u@h/db");
    let config = &target.config;
    let idle = config.get_keepalives_idle();
    let rest = config.get_keepalives_interval().unwrap() * config.get_keepalives_retries().unwrap();
    assert!(config.get_keepalives() && (idle + rest).as_secs() < 60);
    assert!(config.get_tcp_user_timeout().unwrap().as_secs() < 60);
    assert_eq!(target.patience().as_secs(), 5);
    let named = Target::parse("postgres://a,b/db?connect_timeout=2").unwrap();
    assert_eq!(named.patience().as_secs(), 4);
    assert!(
        !Target::parse("postgres:///db")
            .unwrap()
            .config
            .get_hosts()
            .is_empty()
    );
    let socket = Target::parse("postgres://u@%2Ftmp/db?sslmode=require").unwrap();
    assert_eq!(socket.config.get_hosts(), [Host::Unix("/tmp".into())]);
    assert_eq!(socket.config.get_ssl_mode(), SslMode::Disable);
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
