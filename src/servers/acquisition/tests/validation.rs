//! `url_validator` (R-000-117, R-000-118).

use std::fs;

use url::Url;

use super::{
    film, folder, hasty, run,
    server::{Reply, Request, Server},
    web,
};
use crate::servers::{
    acquisition::url_validator::{Verdict, validate},
    tool::ToolError,
};

fn verdict(url: &str) -> Verdict {
    run(|run| validate(url, &web(), run)).unwrap()
}

#[test]
fn a_recording_is_available_by_type_or_by_name() {
    let server = Server::start(|request| match request.path.as_str() {
        "/stream" => Reply::content(b"").with("Content-Type", "application/vnd.apple.mpegurl"),
        "/talk.mkv" => Reply::content(b"").with("Content-Type", "application/octet-stream"),
        "/named" => Reply::content(b"")
            .with("Content-Type", "binary/octet-stream")
            .with(
                "Content-Disposition",
                "attachment; filename=\"talk.mp4\"; size=9",
            ),
        "/moved" => Reply::redirect("/stream"),
        _ => Reply::content(b""),
    });
    for path in ["/v", "/stream", "/talk.mkv", "/named", "/moved"] {
        assert_eq!(
            verdict(server.url(path).as_str()),
            Verdict::Available,
            "{path}"
        );
    }
    assert!(
        server
            .requests()
            .iter()
            .all(|request| request.method == "HEAD")
    );
}

#[test]
fn a_page_is_no_recording() {
    let server =
        Server::start(|_| Reply::content(b"").with("Content-Type", "text/html; charset=utf-8"));
    let Verdict::Unavailable(why) = verdict(server.url("/v.mp4").as_str()) else {
        panic!()
    };
    assert!(why.contains("text/html"), "{why}");
}

#[test]
fn where_head_is_refused_one_byte_is_asked_for() {
    for status in [
        "405 Method Not Allowed",
        "501 Not Implemented",
        "403 Forbidden",
    ] {
        let server = Server::start(move |request: &Request| match request.method.as_str() {
            "HEAD" => Reply::status(status),
            _ => Reply::content(b"\0").partial("bytes 0-0/9"),
        });
        assert_eq!(verdict(server.url("/").as_str()), Verdict::Available);
        assert_eq!(server.requests()[1].header("range"), Some("bytes=0-0"));
    }
}

#[test]
fn a_status_that_forbids_is_a_restriction_not_an_error() {
    for status in [
        "403 Forbidden",
        "404 Not Found",
        "451 Unavailable For Legal Reasons",
        "429 Too Many Requests",
    ] {
        let server = Server::start(move |_| Reply::status(status));
        assert_eq!(
            verdict(server.url("/").as_str()),
            Verdict::Unavailable(format!("HTTP {status}"))
        );
    }
}

#[test]
fn what_is_no_usable_url_is_invalid_and_not_an_error() {
    for text in [
        "",
        "not a url",
        "http://",
        "ftp://a.example/v.mp4",
        "https://exa mple/",
    ] {
        assert!(matches!(verdict(text), Verdict::Invalid(_)), "{text}");
    }
}

#[test]
fn an_unreachable_or_silent_server_is_an_error() {
    let error = run(|run| validate("http://nowhere.invalid/v", &web(), run)).unwrap_err();
    assert!(matches!(error, ToolError::Failed(_)), "{error}");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let error = run(|run| validate(&url, &hasty(), run)).unwrap_err();
    assert!(error.to_string().contains("it timed out"), "{error}");
}

#[test]
fn files_are_validated_by_their_content() {
    let (folder, target) = folder();
    fs::write(&target, film()).unwrap();
    fs::write(folder.path().join("empty.mp4"), "").unwrap();
    fs::write(folder.path().join("words.mp4"), "words").unwrap();
    assert_eq!(verdict(target.to_str().unwrap()), Verdict::Available);
    assert_eq!(
        verdict(Url::from_file_path(&target).unwrap().as_str()),
        Verdict::Available
    );
    for (name, says) in [
        ("none", "No such file"),
        ("empty.mp4", "empty"),
        ("words.mp4", "by its content"),
    ] {
        let Verdict::Unavailable(why) = verdict(folder.path().join(name).to_str().unwrap()) else {
            panic!()
        };
        assert!(why.contains(says), "{why}");
    }
}

/// R-000-118.
#[test]
fn the_validators_answer_has_exactly_the_four_keys_of_the_specification() {
    let content = Verdict::Available.into_content("generic_video_platform");
    let expected = r#"{"url_valid":true,"platform":"generic_video_platform","video_available":true,"restrictions":null}"#;
    assert_eq!(content.to_string(), expected);
}
