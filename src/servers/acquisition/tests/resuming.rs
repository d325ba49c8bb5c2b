//! What an interrupted download leaves, and how it goes on.

use std::{
    fs,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use serde_json::json;
use url::Url;

use super::{
    fetch, film, folder, names, order, patient, refused,
    server::{Reply, Server},
    sha256, web,
};
use crate::servers::{
    acquisition::{
        downloader::download,
        partial::{Origin, Part},
        url_validator::validate,
    },
    tool::{Progress, Run, ToolError},
};

pub(super) const ETAG: &str = "\"one\"";

/// Sends the whole film but for the first `drops` requests, which end after 300 kB each.
pub(super) fn dropping(drops: usize) -> Server {
    Server::start(move |request| {
        let reply = Reply::ranged(request, &film(), ETAG);
        if request.nth < drops {
            reply.cut_after(300_000)
        } else {
            reply
        }
    })
}

/// A query with a signature, without the value of the signature.
const SIGNED: &str = "X-Amz-Algorithm=a&X-Amz-Credential=b&X-Amz-Date=c&X-Amz-Expires=9&X-Amz-SignedHeaders=host&X-Amz-Signature=";

/// Leaves `bytes` as an interrupted download of `/` does.
pub(super) fn leave(server: &Server, target: &Path, bytes: &[u8]) {
    let length = film().len() as u64;
    leave_of(Some(&server.url("/")), Some(length), target, bytes);
}

/// Leaves `bytes` as a killed download of that URL does. Without a URL, it contains a credential.
pub(super) fn leave_of(url: Option<&Url>, length: Option<u64>, target: &Path, bytes: &[u8]) {
    let mut part = Part::open(target, url.map(Url::as_str)).unwrap();
    let origin = Origin {
        url: url.map(ToString::to_string),
        etag: Some(ETAG.to_owned()),
        last_modified: None,
        length,
    };
    part.begin(origin).unwrap();
    part.append(bytes).unwrap();
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
fn a_failed_download_is_resumed_by_the_next_call() {
    // Six attempts of one call get 50 kB each; the next call gets the rest.
    let server = Server::start(|request| {
        let reply = Reply::ranged(request, &film(), ETAG);
        if request.nth < 6 {
            reply.cut_after(50_000)
        } else {
            reply
        }
    });
    let (folder, target) = folder();
    let text = refused(&server.url(&format!("/v?{SIGNED}one")), &target);
    assert!(
        text.contains("broke off after 300000 of 700032 bytes"),
        "{text}"
    );
    assert!(!text.contains("=one"), "{text}");
    assert_eq!(names(&folder), ["a b.mp4.part", "a b.mp4.part.json"]);
    assert!(
        !fs::read_to_string(folder.path().join("a b.mp4.part.json"))
            .unwrap()
            .contains("=one")
    );
    // Signed anew, it is still the same file.
    let receipt = fetch(&server.url(&format!("/v?{SIGNED}two")), &target).unwrap();
    assert_eq!(fs::read(&target).unwrap(), film());
    assert_eq!(receipt["sha256"], json!(sha256(&film())));
    assert_eq!(receipt["resumed"], json!(true));
    assert_eq!(server.requests()[6].header("range"), Some("bytes=300000-"));
    assert_eq!(names(&folder), ["a b.mp4"]);
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
fn only_a_date_that_was_a_minute_old_continues_a_download() {
    const MODIFIED: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
    for (date, continues) in [
        (Some("Sun, 06 Nov 1994 08:49:37 GMT"), false),
        (Some("Sun, 06 Nov 1994 08:50:36 GMT"), false),
        (Some("yesterday"), false),
        (None, false),
        (Some("Sun, 06 Nov 1994 08:50:37 GMT"), true),
    ] {
        // The film takes the place of a file of the same length within the second.
        let server = Server::start(move |request| {
            let content = match request.nth {
                0 => vec![b'x'; film().len()],
                _ => film(),
            };
            let reply = Reply::ranged(request, &content, MODIFIED)
                .with("ETag", "W/\"weak\"")
                .with("Last-Modified", MODIFIED);
            let reply = match date {
                Some(date) => reply.with("Date", date),
                None => reply,
            };
            if request.nth == 0 {
                reply.cut_after(1000)
            } else {
                reply
            }
        });
        let (_folder, target) = folder();
        let receipt = fetch(&server.url("/"), &target).unwrap();
        assert_eq!(receipt["resumed"], json!(continues), "{date:?}");
        let asked = server.requests()[1].header("if-range").map(str::to_owned);
        assert_eq!(asked.as_deref(), continues.then_some(MODIFIED), "{date:?}");
        assert_eq!(fs::read(&target).unwrap() == film(), !continues, "{date:?}");
    }
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
fn a_complete_part_whose_rest_is_empty_begins_anew() {
    let server = Server::start(|request| Reply::ranged(request, &film(), ETAG));
    let (_folder, target) = folder();
    leave(&server, &target, &film());
    fetch(&server.url("/"), &target).unwrap();
    let requests = server.requests();
    assert_eq!(requests[0].header("range"), Some("bytes=700032-"));
    assert_eq!(requests[1].header("range"), None);
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
fn a_rest_without_bytes_of_a_whole_that_is_shorter_is_refused() {
    let server = Server::start(|_| {
        let none = Reply::content(b"").with("ETag", ETAG);
        none.partial("bytes 150000-99999/100000")
    });
    let (folder, target) = folder();
    leave_of(Some(&server.url("/")), None, &target, &film()[..150_000]);
    let text = refused(&server.url("/"), &target);
    assert!(text.contains("more bytes came than the 100000"), "{text}");
    assert_eq!(names(&folder), [""; 0]);
}

#[test]
fn two_downloads_of_one_target_exclude_each_other() {
    let server = Server::start(|_| Reply::content(&film()));
    let (_folder, target) = folder();
    let first = Part::open(&target, Some("elsewhere")).unwrap();
    assert!(refused(&server.url("/"), &target).contains("another download"));
    drop(first);
    fetch(&server.url("/"), &target).unwrap();
}

#[test]
fn a_cancelled_download_leaves_a_part_only_at_a_named_target() {
    let server = Server::start(|request| Reply::ranged(request, &film(), ETAG).hang_after(400_000));
    let (folder, target) = folder();
    for named in [Some(target.as_path()), None] {
        let cancelled = AtomicBool::new(false);
        let before = server.requests().len();
        let report = |progress: Progress| cancelled.store(progress.done > 0.0, Ordering::Relaxed);
        let run = Run {
            cancelled: &cancelled,
            report: &report,
        };
        let error = download(&order(server.url("/").as_str(), named), &web(), &run).unwrap_err();
        assert!(matches!(error, ToolError::Cancelled), "{error}");
        assert_eq!(server.requests().len(), before + 1);
    }
    assert_eq!(names(&folder), ["a b.mp4.part", "a b.mp4.part.json"]);
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
