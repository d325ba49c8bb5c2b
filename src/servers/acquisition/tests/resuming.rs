//! How an interrupted download goes on.

use std::{
    fs,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use super::{
    fetch, film, folder, names, order, patient, refused,
    server::{Reply, Server},
    sha256, web,
};
use crate::servers::{
    acquisition::{downloader::download, url_validator::validate},
    tool::{Progress, Run, ToolError},
};
use serde_json::json;

const ETAG: &str = "\"one\"";

/// Sends the whole film but for the first `drops` requests, which end after 300 kB each.
fn dropping(drops: usize) -> Server {
    Server::start(move |request| {
        let reply = Reply::ranged(request, &film(), ETAG);
        if request.nth < drops {
            reply.cut_after(300_000)
        } else {
            reply
        }
    })
}

#[test]
fn dropped_connections_are_resumed_within_the_call() {
    let server = dropping(2);
    let (folder, target) = folder();
    let receipt = fetch(&server.url("/"), &target).unwrap();
    assert_eq!(fs::read(&target).unwrap(), film());
    assert_eq!(receipt["sha256"], json!(sha256(&film())));
    assert_eq!(receipt["resumed"], json!(true));
    assert_eq!(names(&folder), ["a b.mp4"]);
    let requests = server.requests();
    let ranges: Vec<Option<&str>> = requests
        .iter()
        .map(|request| request.header("range"))
        .collect();
    assert_eq!(ranges, [None, Some("bytes=300000-"), Some("bytes=600000-")]);
    assert_eq!(requests[1].header("if-range"), Some(ETAG));
}

#[test]
fn a_download_that_breaks_off_again_and_again_leaves_nothing() {
    let server = Server::start(|request| Reply::ranged(request, &film(), ETAG).cut_after(50_000));
    let (folder, target) = folder();
    let text = refused(&server.url("/v?token=t"), &target);
    assert!(
        text.contains("broke off after 300000 of 700032 bytes"),
        "{text}"
    );
    assert!(!text.contains("token"), "{text}");
    assert_eq!(names(&folder), [""; 0]);
}

#[test]
fn content_that_changed_in_between_is_fetched_anew() {
    let server = Server::start(|request| {
        if request.nth == 0 {
            Reply::ranged(request, &vec![b'x'; 400_000], "\"old\"").cut_after(200_000)
        } else {
            Reply::ranged(request, &film(), ETAG)
        }
    });
    let (_folder, target) = folder();
    let receipt = fetch(&server.url("/"), &target).unwrap();
    assert_eq!(server.requests()[1].header("if-range"), Some("\"old\""));
    assert_eq!(fs::read(&target).unwrap(), film());
    assert_eq!(receipt["resumed"], json!(false));
}

#[test]
fn content_without_a_validator_is_never_continued() {
    let server = Server::start(|request| {
        let reply = Reply::content(&film());
        if request.nth == 0 {
            reply.cut_after(10_000)
        } else {
            reply
        }
    });
    let (_folder, target) = folder();
    fetch(&server.url("/"), &target).unwrap();
    assert_eq!(fs::read(&target).unwrap(), film());
    assert!(
        server
            .requests()
            .iter()
            .all(|request| request.header("range").is_none())
    );
}

#[test]
fn a_range_that_was_not_asked_for_is_not_glued_on() {
    let server = Server::start(|request| match request.nth {
        0 => Reply::ranged(request, &film(), ETAG).cut_after(1000),
        1 => {
            Reply::ranged(request, &film(), ETAG).with("Content-Range", "bytes 2000-700031/700032")
        }
        _ => Reply::ranged(request, &film(), ETAG),
    });
    let (_folder, target) = folder();
    fetch(&server.url("/"), &target).unwrap();
    assert_eq!(fs::read(&target).unwrap(), film());
}

#[test]
fn a_body_shorter_than_announced_has_broken_off_and_leaves_nothing_at_the_target() {
    let server = Server::start(|_| Reply::content(b"half").with("Content-Length", "8"));
    let (folder, target) = folder();
    let text = refused(&server.url("/"), &target);
    assert!(text.contains("broke off after 4 of 8 bytes"), "{text}");
    assert_eq!(server.requests().len(), 6);
    assert_eq!(names(&folder), [""; 0]);
}

#[test]
fn a_rest_longer_than_the_whole_is_refused() {
    let server = Server::start(|request| {
        let reply = Reply::ranged(request, &film(), ETAG);
        if request.nth == 0 {
            reply.cut_after(600_000)
        } else {
            let longer = Reply::content(&vec![0; 200_000]).with("ETag", ETAG);
            longer.partial("bytes 600000-700031/700032")
        }
    });
    let (folder, target) = folder();
    let text = refused(&server.url("/"), &target);
    assert!(text.contains("more bytes came than the 700032"), "{text}");
    assert_eq!(names(&folder), [""; 0]);
}

#[test]
fn a_cancelled_download_leaves_nothing() {
    let server = Server::start(|request| Reply::ranged(request, &film(), ETAG).hang_after(400_000));
    let (folder, target) = folder();
    let cancelled = AtomicBool::new(false);
    let report = |progress: Progress| cancelled.store(progress.done > 0.0, Ordering::Relaxed);
    let run = Run {
        cancelled: &cancelled,
        report: &report,
    };
    let order = order(server.url("/").as_str(), Some(&target));
    let error = download(&order, &web(), &run).unwrap_err();
    assert!(matches!(error, ToolError::Cancelled), "{error}");
    assert_eq!((server.requests().len(), names(&folder)), (1, Vec::new()));
}

#[test]
fn a_cancelled_call_does_not_wait_for_a_silent_server() {
    let cancelled = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&cancelled);
    let server = Server::start(move |_| {
        flag.store(true, Ordering::Relaxed);
        // No answer, ever: only a cut connection ends these calls within the hour.
        loop {
            thread::park();
        }
    });
    let run = Run {
        cancelled: &cancelled,
        report: &|_| {},
    };
    let (folder, target) = folder();
    let url = server.url("/");
    let error = download(&order(url.as_str(), Some(&target)), &patient(), &run).unwrap_err();
    assert!(matches!(error, ToolError::Cancelled), "{error}");
    cancelled.store(false, Ordering::Relaxed);
    let error = validate(url.as_str(), &patient(), &run).unwrap_err();
    assert!(matches!(error, ToolError::Cancelled), "{error}");
    assert_eq!(names(&folder), [""; 0]);
}

#[test]
fn changed_content_is_not_glued_on_even_if_the_server_ignores_if_range() {
    let server = Server::start(|request| match request.nth {
        0 => Reply::ranged(request, &film(), "\"old\"").cut_after(1000),
        1 => Reply::ranged(request, &vec![b'x'; 700_032], "\"old\"").with("ETag", ETAG),
        _ => Reply::ranged(request, &film(), ETAG),
    });
    let (_folder, target) = folder();
    fetch(&server.url("/"), &target).unwrap();
    assert_eq!(server.requests()[1].header("range"), Some("bytes=1000-"));
    assert_eq!(fs::read(&target).unwrap(), film());
}
