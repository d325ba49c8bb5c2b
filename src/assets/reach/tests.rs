//! What a light look tells, against real files and servers on loopback.

use std::{
    io::{BufRead, BufReader, Write},
    net::{TcpListener, TcpStream},
    os::unix::{fs::symlink, net::UnixListener},
    sync::{Arc, Mutex},
    thread,
};

use tempfile::TempDir;

use super::*;

fn look_as(policy: Policy, contact: Contact, uri: &str) -> Reach {
    let uri = Uri::parse(uri).unwrap();
    let objects = &Objects::of(&crate::catalog::Storage::default());
    Look {
        policy,
        contact,
        objects,
    }
    .reach(&uri, Utf8Path::new("/"))
}

fn look(uri: &str) -> Reach {
    look_as(Policy::PrivateToo, Contact::Hosts, uri)
}

fn reach(uri: &Uri, root: &Utf8Path) -> Reach {
    let look = Look {
        policy: Policy::PublicOnly,
        contact: Contact::Nobody,
        objects: &Objects::of(&crate::catalog::Storage::default()),
    };
    look.reach(uri, root)
}

fn gone(reach: &Reach) -> bool {
    matches!(reach, Reach::Gone(_))
}

fn unsure(reach: &Reach) -> bool {
    matches!(reach, Reach::Unsure(_))
}

/// A server whose paths say what it answers: `/HEAD-STATUS/GET-STATUS`, `/to/URL` redirects,
/// `/loop` redirects to itself, `/silent` never answers.
struct Server {
    at: String,
    methods: Arc<Mutex<Vec<String>>>,
}

fn server() -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = format!("http://{}", listener.local_addr().unwrap());
    let methods = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&methods);
    thread::spawn(move || {
        let mut silent = Vec::new();
        for stream in listener.incoming() {
            let stream = stream.unwrap();
            let (method, path) = request(&stream);
            seen.lock().unwrap().push(method.clone());
            match answer(&method, &path) {
                Some(text) => (&stream).write_all(text.as_bytes()).unwrap(),
                None => silent.push(stream),
            }
        }
    });
    Server { at, methods }
}

fn request(stream: &TcpStream) -> (String, String) {
    let mut lines = BufReader::new(stream).lines().map(Result::unwrap);
    let first = lines.next().unwrap();
    assert!(
        lines.any(|line| line.is_empty()),
        "a request ends in an empty line"
    );
    let mut words = first.split(' ');
    (
        words.next().unwrap().to_owned(),
        words.next().unwrap().to_owned(),
    )
}

fn answer(method: &str, path: &str) -> Option<String> {
    if path == "/silent" {
        return None;
    }
    let redirect = |to: &str| {
        Some(format!(
            "HTTP/1.1 302 x\r\nLocation: {to}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        ))
    };
    if let Some(to) = path.strip_prefix("/to/") {
        return redirect(to);
    }
    if path == "/loop" {
        return redirect("/loop");
    }
    let mut statuses = path.trim_start_matches('/').split('/');
    let head = statuses.next().unwrap();
    let status = if method == "HEAD" {
        head
    } else {
        statuses.next().unwrap_or(head)
    };
    let length = match (method, status) {
        (_, "206") => "Content-Range: bytes 0-0/1234\r\nContent-Length: 1\r\n",
        ("HEAD", "200") => "Content-Length: 77\r\n",
        _ => "Content-Length: 0\r\n",
    };
    let body = if method == "GET" && status == "206" {
        "x"
    } else {
        ""
    };
    Some(format!(
        "HTTP/1.1 {status} x\r\n{length}Connection: close\r\n\r\n{body}"
    ))
}

#[test]
fn a_readable_file_is_reached_and_measured() {
    let dir = tempfile::tempdir().unwrap();
    let root = Utf8Path::from_path(dir.path()).unwrap();
    fs::write(root.join("ü b.wav"), "12345").unwrap();
    fs::write(root.join("empty"), "").unwrap();
    symlink(root.join("ü b.wav"), root.join("link")).unwrap();
    let at = |uri: &str| reach(&Uri::parse(uri).unwrap(), root);
    assert_eq!(at("ü b.wav"), Reach::Ok { bytes: Some(5) });
    assert_eq!(
        at(Uri::from_path(&root.join("ü b.wav")).unwrap().as_str()),
        Reach::Ok { bytes: Some(5) }
    );
    assert_eq!(at("link"), Reach::Ok { bytes: Some(5) });
    assert_eq!(at("empty"), Reach::Ok { bytes: Some(0) });
}

#[test]
fn what_is_no_file_is_gone() {
    let dir = tempfile::tempdir().unwrap();
    let root = Utf8Path::from_path(dir.path()).unwrap();
    let _listener = UnixListener::bind(root.join("socket")).unwrap();
    symlink("nowhere", root.join("dangling")).unwrap();
    for uri in [
        "none",
        "socket",
        "dangling",
        ".",
        "/dev/null",
        "socket/below",
    ] {
        let found = reach(&Uri::parse(uri).unwrap(), root);
        assert!(gone(&found), "{uri}: {found:?}");
    }
}

#[test]
fn a_scheme_nobody_can_check_is_unsure() {
    assert_eq!(
        look("s3://b/k"),
        Reach::Unsure("no credentials for s3: are configured".to_owned())
    );
    assert!(unsure(&look("gs://b/k")));
}

#[test]
fn head_alone_decides_where_it_is_answered() {
    let server = server();
    assert_eq!(
        look(&format!("{}/200", server.at)),
        Reach::Ok { bytes: Some(77) }
    );
    assert!(unsure(&look(&format!("{}/500", server.at))));
    assert!(unsure(&look(&format!("{}/503", server.at))));
    assert!(unsure(&look(&format!("{}/429", server.at))));
    assert_eq!(*server.methods.lock().unwrap(), ["HEAD"; 4]);
}

#[test]
fn a_head_that_is_refused_is_asked_again_as_a_get_of_one_byte() {
    let server = server();
    let at = |path: &str| look(&format!("{}/{path}", server.at));
    assert_eq!(
        at("403/206"),
        Reach::Ok { bytes: Some(1234) },
        "presigned for GET alone"
    );
    assert_eq!(at("405/200"), Reach::Ok { bytes: Some(0) });
    assert_eq!(at("405/405"), Reach::Ok { bytes: None });
    assert_eq!(at("501/416"), Reach::Ok { bytes: None });
    for status in [401, 403, 404, 410] {
        assert!(gone(&at(&status.to_string())), "{status}");
    }
    assert!(gone(&at("405/404")));
    assert!(unsure(&at("400")));
    assert!(unsure(&at("403/500")));
}

#[test]
fn a_redirect_is_followed_five_times() {
    let server = server();
    let mut url = format!("{}/200", server.at);
    for _ in 0..5 {
        url = format!("{}/to/{url}", server.at);
    }
    assert_eq!(look(&url), Reach::Ok { bytes: Some(77) });
    assert!(unsure(&look(&format!("{}/to/{url}", server.at))));
    assert!(unsure(&look(&format!("{}/loop", server.at))));
}

#[test]
fn a_server_that_is_away_or_silent_is_unsure() {
    let server = server();
    assert!(unsure(&look(&format!("{}/silent", server.at))));
    let closed = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    assert!(unsure(&look(&format!("http://{closed}/"))));
    assert!(unsure(&look("http://no-such-host.invalid/")));
}

/// R-000-57, C-14: the check of inputs keeps the address policy, on redirects too.
#[test]
fn an_address_that_the_policy_refuses_is_never_contacted_however_it_is_written() {
    let server = server();
    for host in [
        "169.254.169.254",
        "2852039166",
        "0xa9.0xfe.0xa9.0xfe",
        "[fe80::1]",
        "[febf::1]",
        "[::ffff:169.254.169.254]",
        "[::169.254.169.254]",
        "[64:ff9b::169.254.169.254]",
        "168.63.129.16",
    ] {
        for url in [
            format!("http://{host}/latest/meta-data"),
            format!("{}/to/http://{host}/x", server.at),
        ] {
            let found = look(&url);
            assert!(
                matches!(&found, Reach::Gone(why) if why.starts_with("refused to connect")),
                "{url}: {found:?}"
            );
        }
    }
}

/// R-000-57: nothing is learnt of this machine and its network, not even whether a port is open.
#[test]
fn a_private_address_is_contacted_only_where_the_entry_allows_it() {
    let server = server();
    let port = server.at.rsplit(':').next().unwrap();
    let closed = TcpListener::bind("127.0.0.1:0").unwrap();
    let closed = closed.local_addr().unwrap().port().to_string();
    for host in ["127.0.0.1", "localhost", "127.1", "[::ffff:127.0.0.1]"] {
        let answers = [port, &closed].map(|port| {
            let url = format!("http://{host}:{port}/200");
            look_as(Policy::PublicOnly, Contact::Hosts, &url)
        });
        assert!(gone(&answers[0]), "{host}: {answers:?}");
        assert_eq!(answers[0], answers[1], "open and closed look the same");
    }
    assert_eq!(*server.methods.lock().unwrap(), [""; 0]);
}

#[test]
fn a_dry_run_contacts_nobody_and_refuses_what_a_run_would() {
    let server = server();
    let dry = |policy, url: &str| look_as(policy, Contact::Nobody, url);
    let url = format!("{}/200", server.at);
    assert_eq!(
        dry(Policy::PrivateToo, &url),
        Reach::Unsure("a dry run contacts no host".to_owned())
    );
    assert!(gone(&dry(Policy::PublicOnly, &url)));
    assert_eq!(*server.methods.lock().unwrap(), [""; 0]);
}

#[test]
fn no_reason_shows_a_secret() {
    let server = server();
    let found = look(&format!(
        "{}/to/ftp://user:hunter2@h/?sig=hunter2",
        server.at
    ));
    assert!(
        unsure(&found) && !format!("{found:?}").contains("hunter2"),
        "{found:?}"
    );
}

fn dir() -> (TempDir, Utf8PathBuf) {
    let dir = TempDir::new().unwrap();
    let path = Utf8PathBuf::try_from(dir.path().to_owned()).unwrap();
    (dir, path)
}

#[test]
fn a_probe_leaves_nothing_behind() {
    let (_kept, path) = dir();
    assert!(probe(&path).unwrap().free_bytes > 0);
    assert_eq!(fs::read_dir(&path).unwrap().count(), 0);
}

#[test]
fn a_directory_that_is_not_there_yet_is_tried_above_and_not_made() {
    let (_kept, path) = dir();
    let room = probe(&path.join("store/deep")).unwrap();
    assert_eq!(room.tried, path);
    assert!(!path.join("store").exists());
}

#[test]
fn a_file_in_the_way_is_an_error_with_its_path() {
    let (_kept, path) = dir();
    fs::write(path.join("store"), "").unwrap();
    let error = probe(&path.join("store/deep")).unwrap_err().to_string();
    assert!(error.contains(path.join("store").as_str()), "{error}");
}
