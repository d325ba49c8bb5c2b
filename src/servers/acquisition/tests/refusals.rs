//! Downloads that are refused or fail, and what they leave: nothing.

use std::{
    fs,
    io::{Read, Write},
    net::TcpListener,
    thread,
};

use serde_json::json;
use url::Url;

use super::{
    film, folder, hasty, names, order, ordered_as, refused, run,
    server::{Reply, Server},
    web, web_under,
};
use crate::{
    assets::Policy,
    servers::acquisition::downloader::{Order, download},
};

#[test]
fn an_empty_body_is_refused() {
    let server = Server::start(|_| Reply::content(b""));
    let (folder, target) = folder();
    assert!(refused(&server.url("/"), &target).contains("empty"));
    assert_eq!(names(&folder), [""; 0]);
}

#[test]
fn a_file_over_the_limit_is_refused_by_its_announced_and_by_its_real_length() {
    let announced = Server::start(|_| Reply::content(&film()));
    let silent = Server::start(|_| Reply::content(&film()).without("Content-Length"));
    for server in [announced, silent] {
        let (folder, target) = folder();
        let order = Order {
            max_bytes: 1000,
            ..order(server.url("/").as_str(), Some(&target))
        };
        let text = run(|run| download(&order, &web(), run))
            .unwrap_err()
            .to_string();
        assert!(
            text.contains("too large") && text.contains("at most 1000"),
            "{text}"
        );
        assert_eq!(names(&folder), [""; 0]);
    }
}

#[test]
fn compressed_content_nobody_asked_for_is_refused() {
    let server = Server::start(|_| Reply::content(b"\x1f\x8b").with("Content-Encoding", "gzip"));
    let (_folder, target) = folder();
    assert!(refused(&server.url("/"), &target).contains("compressed (gzip)"));
    assert_eq!(
        server.requests()[0].header("accept-encoding"),
        Some("identity")
    );
}

#[test]
fn content_in_another_form_than_that_of_the_file_is_refused() {
    let chunks = b"5\r\nhello\r\n0\r\n\r\n";
    for (header, coding) in [
        ("Content-Encoding", "identity, GZIP"),
        ("Transfer-Encoding", "gzip"),
        ("Transfer-Encoding", "chunked, gzip"),
        ("Transfer-Encoding", "xchunked"),
    ] {
        let server = Server::start(move |_| {
            Reply::content(chunks)
                .without("Content-Length")
                .with(header, coding)
        });
        let (folder, target) = folder();
        let text = refused(&server.url("/"), &target);
        assert!(
            text.contains("(gzip)") || text.contains("(xchunked)"),
            "{text}"
        );
        assert_eq!(names(&folder), [""; 0], "{header}: {coding}");
    }
}

#[test]
fn the_form_of_the_file_itself_has_several_names() {
    for (header, coding) in [
        ("Content-Encoding", "Identity"),
        ("Content-Encoding", "none"),
        ("Content-Encoding", ""),
        ("Transfer-Encoding", "identity"),
    ] {
        let server = Server::start(move |_| Reply::content(b"hello").with(header, coding));
        let (_folder, target) = folder();
        let order = order(server.url("/").as_str(), Some(&target));
        run(|run| download(&order, &web(), run)).unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"hello", "{header}: {coding}");
    }
    let server = Server::start(|_| {
        Reply::content(b"5\r\nhello\r\n0\r\n\r\n")
            .without("Content-Length")
            .with("Transfer-Encoding", " CHUNKED ")
    });
    let (_folder, target) = folder();
    let order = order(server.url("/").as_str(), Some(&target));
    run(|run| download(&order, &web(), run)).unwrap();
    assert_eq!(fs::read(&target).unwrap(), b"hello");
}

#[test]
fn a_compressed_page_of_a_failure_is_told_as_the_failure() {
    let server = Server::start(|_| Reply::status("404 Not Found").with("Content-Encoding", "gzip"));
    let (_folder, target) = folder();
    assert!(refused(&server.url("/"), &target).contains("HTTP 404"));
}

#[test]
fn an_existing_target_is_refused_before_anything_is_asked() {
    let (folder, target) = folder();
    fs::write(&target, "mine").unwrap();
    let arguments = json!({"url": "http://h.invalid/", "output_path": target.to_str().unwrap()});
    let order = Order::parse(&serde_json::from_value(arguments).unwrap());
    let text = order.unwrap_err().to_string();
    assert!(
        text.contains("output_path") && text.contains("exists already"),
        "{text}"
    );
    assert_eq!(fs::read(&target).unwrap(), b"mine");
    assert_eq!(names(&folder), ["a b.mp4"]);
}

#[test]
fn a_target_that_appears_meanwhile_is_not_replaced() {
    let (_folder, target) = folder();
    let taken = target.clone();
    let server = Server::start(move |_| {
        fs::write(&taken, "mine").unwrap();
        Reply::content(&film())
    });
    assert!(refused(&server.url("/"), &target).contains("exists already"));
    assert_eq!(fs::read(&target).unwrap(), b"mine");
}

#[test]
fn a_missing_folder_is_named() {
    let (folder, _) = folder();
    let server = Server::start(|_| Reply::content(&film()));
    let text = refused(&server.url("/"), &folder.path().join("none/v.mp4"));
    assert!(text.contains("/none: No such file"), "{text}");
}

#[test]
fn arguments_that_cannot_be_used_are_named() {
    for (arguments, argument) in [
        (json!({"url": "ftp://a.example/v"}), "`url`"),
        (
            json!({"url": "http://a.example/", "output_path": "s3://bucket/key"}),
            "`output_path`",
        ),
        (
            json!({"url": "http://a.example/", "output_path": "/tmp/"}),
            "`output_path`",
        ),
        (
            json!({"url": "http://a.example/", "output_path": "/tmp/.."}),
            "`output_path`",
        ),
    ] {
        let error = Order::parse(&serde_json::from_value(arguments).unwrap()).unwrap_err();
        assert!(error.to_string().contains(argument), "{error}");
    }
}

#[test]
fn loopback_is_refused_unless_allowed() {
    let server = Server::start(|_| Reply::content(&film()));
    let (folder, target) = folder();
    for url in [
        server.url("/"),
        Url::parse(&server.url("/").as_str().replace("127.0.0.1", "localhost")).unwrap(),
    ] {
        let order = order(url.as_str(), Some(&target));
        let text = run(|run| download(&order, &web_under(Policy::PublicOnly), run))
            .unwrap_err()
            .to_string();
        for part in ["`url`", "loopback", "127.0.0.1", "allow_private = true"] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }
    assert!(server.requests().is_empty());
    assert_eq!(names(&folder), [""; 0]);
}

#[test]
fn a_redirect_to_a_refused_address_or_scheme_is_not_followed() {
    for (to, reason) in [
        ("http://169.254.169.254/latest/meta-data", "link-local"),
        ("http://[::ffff:169.254.169.254]/", "link-local"),
        ("file:///etc/passwd", "302 Found"),
    ] {
        let server = Server::start(move |_| Reply::redirect(to));
        let (folder, target) = folder();
        let text = refused(&server.url("/"), &target);
        assert!(text.contains(reason), "{text}");
        assert_eq!(names(&folder), [""; 0]);
    }
}

#[test]
fn statuses_are_named_with_whether_retrying_helps() {
    for (status, says) in [
        ("404 Not Found", "HTTP 404 Not Found from http"),
        ("404 Not Found", "retrying will not help"),
        ("429 Too Many Requests", "HTTP 429"),
        ("429 Too Many Requests", "(Retry-After: 7)"),
        ("429 Too Many Requests", "retrying later may help"),
        ("503 Service Unavailable", "HTTP 503 Service Unavailable"),
        ("503 Service Unavailable", "retrying later may help"),
    ] {
        let server = Server::start(move |_| Reply::status(status).with("Retry-After", "7"));
        let (folder, target) = folder();
        let text = refused(&server.url("/v?token=t"), &target);
        assert!(text.contains(says), "{text}");
        assert!(!text.contains("token"), "{text}");
        assert_eq!(names(&folder), [""; 0]);
        assert_eq!(server.requests().len(), 1);
    }
}

#[test]
fn a_silent_server_times_out_before_and_amid_the_answer() {
    let server = Server::start(|request| match request.path.as_str() {
        "/amid" => Reply::content(&film()).hang_after(1000),
        _ => Reply::content(&film())
            .without("Content-Length")
            .hang_after(0),
    });
    for path in ["/amid", "/before"] {
        let (_folder, target) = folder();
        let order = order(server.url(path).as_str(), Some(&target));
        let text = run(|run| download(&order, &hasty(), run))
            .unwrap_err()
            .to_string();
        assert!(text.contains("it timed out"), "{text}");
    }
}

#[test]
fn a_server_that_never_shakes_hands_over_tls_times_out() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}/", listener.local_addr().unwrap());
    let (_folder, target) = folder();
    let text = run(|run| download(&order(&url, Some(&target)), &hasty(), run))
        .unwrap_err()
        .to_string();
    assert!(text.contains("it timed out"), "{text}");
}

#[test]
fn a_server_without_tls_is_not_called_corrupt() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}/", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let _ = (&stream).write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
            let _ = (&stream).read_to_end(&mut Vec::new());
        }
    });
    let (_folder, target) = folder();
    let text = refused(&Url::parse(&url).unwrap(), &target);
    assert!(text.contains("it does not speak TLS"), "{text}");
    assert!(!text.contains("corrupt"), "{text}");
}

#[test]
fn a_refused_connection_and_an_unknown_host_are_told_apart() {
    let (_folder, target) = folder();
    let closed = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let text = refused(&Url::parse(&format!("http://{closed}/")).unwrap(), &target);
    assert!(
        text.contains("the request to") && text.contains("refused"),
        "{text}"
    );
    let text = refused(&Url::parse("http://nowhere.invalid/").unwrap(), &target);
    assert!(text.contains("its host is not found"), "{text}");
}

#[test]
fn content_of_another_format_is_refused_and_named() {
    let server = Server::start(|_| Reply::content(&film()));
    let (folder, target) = folder();
    let wrong = ordered_as(server.url("/").as_str(), &target, "webm");
    let text = run(|run| download(&wrong, &web(), run))
        .unwrap_err()
        .to_string();
    assert!(text.contains("mp4 (video/mp4), not webm"), "{text}");
    assert_eq!(names(&folder), [""; 0]);
    run(|run| {
        download(
            &ordered_as(server.url("/").as_str(), &target, "mp4"),
            &web(),
            run,
        )
    })
    .unwrap();
}

#[test]
fn a_missing_empty_or_irregular_file_is_refused() {
    let (folder, target) = folder();
    fs::write(folder.path().join("empty"), "").unwrap();
    for (name, says) in [
        ("none", "No such file"),
        ("empty", "empty"),
        (".", "no regular file"),
    ] {
        let url = Url::from_file_path(folder.path().join(name)).unwrap();
        let text = refused(&url, &target);
        assert!(text.contains(says), "{text}");
    }
    assert_eq!(names(&folder), ["empty"]);
}
