//! Storage URIs as they are written, and what of them may be shown.

use super::*;

fn file(text: &str) -> String {
    match Uri::parse(text).unwrap().location() {
        Location::File(path) => path.to_string(),
        _ => panic!("{text} is no file"),
    }
}

#[test]
fn a_file_uri_is_percent_decoded() {
    assert_eq!(file("file:///abs%20path/%C3%BC.wav"), "/abs path/ü.wav");
    assert_eq!(file("FILE://localhost/a"), "/a");
    assert_eq!(file("file:/a"), "/a");
    assert_eq!(file("file:///take#2?.wav"), "/take#2?.wav");
    assert_eq!(file("file:///unencoded ü.wav"), "/unencoded ü.wav");
}

#[test]
fn a_plain_path_is_taken_as_it_is() {
    for path in [
        "/abs/ü b.wav",
        "rel/a b.wav",
        "12:30 notes.wav",
        "100%.wav",
        "a%20b.wav",
        "./-x",
        "日本/語.mp4",
    ] {
        assert_eq!(file(path), path);
    }
}

#[test]
fn the_text_is_kept_as_received() {
    for text in [
        "file:///a%20b",
        "HTTP://Example.COM",
        "s3://b/k%20k",
        "rel path",
        "gs://bucket/x",
    ] {
        assert_eq!(Uri::parse(text).unwrap().as_str(), text);
    }
}

#[test]
fn each_scheme_has_its_location() {
    let location = |text: &str| Uri::parse(text).unwrap().location;
    assert!(
        matches!(location("https://h/p?q#f"), Location::Http(url) if url.host_str() == Some("h"))
    );
    assert!(
        matches!(location("s3://b/k/l m"), Location::Object { service: Service::S3, bucket, key } if bucket == "b" && key == "k/l m")
    );
    assert!(
        matches!(location("s3://b"), Location::Object { bucket, key, .. } if bucket == "b" && key.is_empty())
    );
    for (text, of) in [
        ("GS://bucket/x", Service::Gcs),
        ("az://bucket/x", Service::Azure),
    ] {
        assert!(
            matches!(location(text), Location::Object { service, bucket, key } if service == of && bucket == "bucket" && key == "x")
        );
    }
    assert!(matches!(location("ftp://h/x"), Location::Other { scheme } if scheme == "ftp"));
    // A slash too many is a part of the key.
    assert!(matches!(location("s3://b//k"), Location::Object { key, .. } if key == "/k"));
    assert!(
        matches!(location("data:text/plain,hi"), Location::Other { scheme } if scheme == "data")
    );
}

#[test]
fn a_text_that_is_no_storage_uri_is_refused_with_its_reason() {
    for (text, why) in [
        ("", "is empty"),
        (" \n", "is empty"),
        ("a\0b", "NUL"),
        ("file:///a%00b", "NUL"),
        ("file://server/a", "names the host `server`"),
        ("file://relative", "names the host"),
        ("file:rel", "is not absolute"),
        ("file://", "is not absolute"),
        ("file:///a%2", "percent-encoding at byte 9"),
        ("file:///100%", "percent-encoding at byte 11"),
        ("file:///%zz", "percent-encoding"),
        ("file:///%ff", "is not UTF-8"),
        ("http://", "is not a valid URL"),
        ("s3:///key", "names no bucket"),
    ] {
        let error = Uri::parse(text).unwrap_err().to_string();
        assert!(error.contains(why), "{text}: {error}");
    }
}

#[test]
fn an_error_shows_no_password() {
    let error = Uri::parse("https://user:hunter2@h:99999/")
        .unwrap_err()
        .to_string();
    assert!(!error.contains("hunter2"), "{error}");
}

#[test]
fn any_absolute_path_survives_the_way_through_its_file_uri() {
    for path in [
        "/",
        "/a b/ü%20#?;[x].wav",
        "/日本/\"q\"'\\`{}|^<>",
        "/\u{1}\u{7f}",
        "/a//b/c",
    ] {
        let uri = Uri::from_path(Utf8Path::new(path)).unwrap();
        assert!(
            uri.as_str().is_ascii() && uri.as_str().starts_with("file:///"),
            "{uri:?}"
        );
        assert_eq!(file(uri.as_str()), path);
        assert_eq!(Uri::parse(uri.as_str()).unwrap(), uri);
        // As readers of URLs have it, too.
        let url = Url::parse(uri.as_str()).unwrap();
        assert_eq!(url.to_file_path().unwrap().to_str(), Some(path));
    }
    assert!(Uri::from_path(Utf8Path::new("rel")).is_err());
    assert!(Uri::from_path(Utf8Path::new("/a\0")).is_err());
}

#[test]
fn however_a_file_uri_is_spelt_other_readers_are_given_one_that_they_read_alike() {
    for (text, path) in [
        ("file:///take#2?.wav", "/take#2?.wav"),
        ("FILE://LocalHost/a", "/a"),
        ("file:/a b", "/a b"),
        ("file:///a\\b|c", "/a\\b|c"),
        ("file:///C|/a", "/C|/a"),
        ("file:///a\tb\n", "/a\tb\n"),
        ("file:///a/%2e%2E/b/./c", "/b/c"),
        ("file:///../../b/..", "/"),
        ("file:///a/.", "/a/"),
        ("file:///a%2F..%2fb", "/b"),
        ("file:///ü%23", "/ü#"),
        ("file:///a ", "/a "),
    ] {
        let uri = Uri::parse(text).unwrap();
        assert_eq!(uri.as_str(), text);
        assert_eq!(file(text), path);
        let others = uri.for_others();
        let read = Url::parse(&others).unwrap().to_file_path().unwrap();
        assert_eq!(read.to_str(), Some(path), "{text} as {others}");
    }
    for text in ["a#b", "/a%20b", "https://h/a?b#c", "s3://b/k#1"] {
        assert_eq!(Uri::parse(text).unwrap().for_others(), text);
    }
}

#[test]
fn a_relative_path_is_taken_from_the_root() {
    let root = Utf8Path::new("/root");
    assert_eq!(
        Uri::parse("a/b").unwrap().local_path(root).unwrap(),
        "/root/a/b"
    );
    assert_eq!(
        Uri::parse("/a/b").unwrap().local_path(root).unwrap(),
        "/a/b"
    );
    assert_eq!(Uri::parse("https://h/").unwrap().local_path(root), None);
}

#[test]
fn debug_shows_no_secret() {
    let shown = format!("{:?}", Uri::parse("https://u:p@h/?sig=abc").unwrap());
    assert_eq!(shown, r#"Uri("https://***@h/?sig=***")"#);
}
