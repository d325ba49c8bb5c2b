//! Answers that end too early although they state no length, and redirects that change.

use std::{
    fs,
    io::{Read, Write},
    net::TcpListener,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use url::Url;

use super::{
    super::downloader::download,
    server::{Reply, Server},
    *,
};

#[test]
fn a_cancelled_download_of_unknown_length_leaves_nothing_at_the_target() {
    let server = Server::start(|_| {
        Reply::content(&film())
            .without("Content-Length")
            .hang_after(400_000)
    });
    let (folder, target) = folder();
    let cancelled = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&cancelled);
    // The client then waits for more.
    thread::spawn(move || {
        thread::sleep(Duration::from_millis(500));
        flag.store(true, Ordering::Relaxed);
    });
    let run = Run {
        cancelled: &cancelled,
        report: &|_| {},
    };
    let url = server.url("/");
    let error = download(&order(url.as_str(), Some(&target)), &patient(), &run).unwrap_err();
    assert!(matches!(error, ToolError::Cancelled), "{error}");
    assert_eq!(names(&folder), [""; 0]);
}

/// The server closes a connection whose bytes it has not read, so the client gets a reset.
#[test]
fn a_reset_connection_is_no_end_of_a_file() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = Url::parse(&format!("http://{}/", listener.local_addr().unwrap())).unwrap();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            stream.read_exact(&mut [0]).unwrap();
            let head = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n";
            stream.write_all(head).unwrap();
            stream.write_all(&film()[..100_000]).unwrap();
            thread::sleep(Duration::from_millis(200));
        }
    });
    let (folder, target) = folder();
    let problem = refused(&url, &target);
    assert!(problem.contains("Connection reset"), "{problem}");
    assert_eq!(names(&folder), [""; 0]);
}

/// The validators of two files can be equal.
#[test]
fn a_redirect_that_leads_to_another_file_begins_anew() {
    // A URL with a credential is compared, too, although no note names it.
    for (first, second) in [
        ("/v1", "/v2"),
        ("/v1?token=abc1", "/v2?token=def2"),
        ("/v1?key=abc1", "/v2?key=abc1"),
        ("/v1?token=abc1", "/v1?token=def2"),
    ] {
        let other = vec![b'x'; film().len()];
        let content = other.clone();
        let server = Server::start(move |request| match request.path.as_str() {
            "/" if request.nth == 0 => Reply::redirect(first),
            "/" => Reply::redirect(second),
            _ if request.nth == 1 => Reply::ranged(request, &film(), "\"1\"").cut_after(1000),
            _ => Reply::ranged(request, &content, "\"1\""),
        });
        let (folder, target) = folder();
        let receipt = fetch(&server.url("/"), &target).unwrap();
        assert_eq!(fs::read(&target).unwrap(), other, "{first} {second}");
        assert_eq!(receipt["resumed"], json!(false));
        assert_eq!(names(&folder), ["a b.mp4"]);
    }
}

#[test]
fn a_redirect_with_a_credential_to_the_same_file_is_resumed() {
    let server = Server::start(|request| match request.path.as_str() {
        "/" => Reply::redirect("/v1?token=abc1"),
        _ if request.nth == 1 => Reply::ranged(request, &film(), "\"1\"").cut_after(1000),
        _ => Reply::ranged(request, &film(), "\"1\""),
    });
    let (_folder, target) = folder();
    let receipt = fetch(&server.url("/"), &target).unwrap();
    assert_eq!(fs::read(&target).unwrap(), film());
    assert_eq!(receipt["resumed"], json!(true));
}

/// Nobody knows whether such a range is the whole rest.
#[test]
fn a_range_of_a_content_without_a_length_continues_nothing() {
    for last in [film().len() - 1, 1999] {
        let start = b"10000\r\n";
        let chunk = [start, &film()[..0x10000]].concat();
        let server = Server::start(move |request| match request.nth {
            0 => Reply::ranged(request, &chunk, "\"1\"")
                .without("Content-Length")
                .with("Transfer-Encoding", "chunked")
                .cut_after(start.len() + 1000),
            1 => Reply::content(&film()[1000..2000])
                .without("Content-Length")
                .with("ETag", "\"1\"")
                .partial(&format!("bytes 1000-{last}/*")),
            _ => Reply::content(&film()),
        });
        let (_folder, target) = folder();
        let receipt = fetch(&server.url("/"), &target).unwrap();
        assert_eq!(fs::read(&target).unwrap(), film());
        assert_eq!(receipt["resumed"], json!(false));
    }
}
