//! Downloads that succeed.

use std::{
    fs,
    sync::{Mutex, atomic::AtomicBool},
};

use serde_json::json;
use url::Url;

use super::{
    fetch, film, folder, names, order, refused, run,
    server::{Reply, Server},
    sha256, web,
};
use crate::servers::{
    acquisition::downloader::download,
    tool::{Progress, Run},
};

#[test]
fn a_download_is_byte_identical_and_its_receipt_is_right() {
    let server = Server::start(|_| Reply::content(&film()));
    let (folder, target) = folder();
    let receipt = fetch(&server.url("/v.mp4?part=1&X-Amz-Signature=secret"), &target).unwrap();
    assert_eq!(fs::read(&target).unwrap(), film());
    assert_eq!(
        receipt,
        json!({
            "output_uri": Url::from_file_path(&target).unwrap().as_str(),
            "bytes": film().len(),
            "content_type": "video/mp4",
            "sha256": sha256(&film()),
            "url": server.url("/v.mp4?part=1").as_str(),
            "resumed": false,
        })
    );
    assert!(
        receipt["output_uri"]
            .as_str()
            .unwrap()
            .ends_with("/a%20b.mp4")
    );
    assert_eq!(names(&folder), ["a b.mp4"]);
    assert_eq!(
        server.requests()[0].path,
        "/v.mp4?part=1&X-Amz-Signature=secret"
    );
}

#[test]
fn without_a_length_the_end_of_the_connection_ends_the_file() {
    let server = Server::start(|_| Reply::content(&film()).without("Content-Length"));
    let (_folder, target) = folder();
    fetch(&server.url("/"), &target).unwrap();
    assert_eq!(fs::read(&target).unwrap(), film());
}

#[test]
fn bytes_that_are_no_text_survive_a_text_content_type() {
    let server = Server::start(|_| {
        Reply::content(b"\xff\xfe\x80 caf\xe9").with("Content-Type", "text/plain")
    });
    let (_folder, target) = folder();
    fetch(&server.url("/"), &target).unwrap();
    assert_eq!(fs::read(&target).unwrap(), b"\xff\xfe\x80 caf\xe9");
}

#[test]
fn without_a_target_a_new_file_of_the_right_ending_is_made() {
    let server = Server::start(|_| Reply::content(&film()));
    let receipt =
        run(|run| download(&order(server.url("/talk.mp4").as_str(), None), &web(), run)).unwrap();
    let path = Url::parse(receipt["output_uri"].as_str().unwrap())
        .unwrap()
        .to_file_path()
        .unwrap();
    let content = fs::read(&path).unwrap();
    fs::remove_file(&path).unwrap();
    assert_eq!(content, film());
    assert_eq!(path.extension().unwrap(), "mp4");
}

#[test]
fn redirects_are_followed_five_times_and_no_more() {
    let server = Server::start(|_| Reply::redirect("/again"));
    let (_folder, target) = folder();
    let text = refused(&server.url("/"), &target);
    assert!(text.contains("redirects again after 5"), "{text}");
    // Relative to each hop, and shown without what signs it.
    let server = Server::start(|request| match request.nth {
        0..=4 => Reply::redirect(&format!("step{}?a=1&Signature=s", request.nth)),
        _ => Reply::content(&film()),
    });
    let receipt = fetch(&server.url("/dir/start"), &target).unwrap();
    assert_eq!(receipt["url"], json!(server.url("/dir/step4?a=1").as_str()));
}

#[test]
fn progress_counts_bytes_upwards_to_the_whole_even_if_the_transfer_begins_anew() {
    let server = Server::start(|request| {
        let reply = Reply::content(&film());
        if request.nth == 0 {
            reply.cut_after(600_000)
        } else {
            reply
        }
    });
    let (_folder, target) = folder();
    let seen = Mutex::new(Vec::new());
    let report = |progress: Progress| seen.lock().unwrap().push(progress);
    let run = Run {
        cancelled: &AtomicBool::new(false),
        report: &report,
    };
    download(
        &order(server.url("/").as_str(), Some(&target)),
        &web(),
        &run,
    )
    .unwrap();
    let seen = seen.into_inner().unwrap();
    assert!(
        seen.windows(2).all(|pair| pair[0].done < pair[1].done),
        "{seen:?}"
    );
    assert_eq!(
        seen.last().map(|last| (last.done, last.total)),
        Some((700_032.0, Some(700_032.0)))
    );
}

#[test]
fn credentials_of_the_url_go_into_their_header_and_nowhere_else() {
    let server = Server::start(|_| Reply::content(&film()));
    let (_folder, target) = folder();
    let mut url = server.url("/v");
    url.set_username("me").unwrap();
    url.set_password(Some("a b")).unwrap();
    let receipt = fetch(&url, &target).unwrap();
    assert_eq!(
        server.requests()[0].header("authorization"),
        Some("Basic bWU6YSBi")
    );
    assert_eq!(receipt["url"], json!(server.url("/v").as_str()));
}

#[test]
fn a_file_of_this_machine_is_copied() {
    let (folder, target) = folder();
    let from = folder.path().join("from.bin");
    fs::write(&from, film()).unwrap();
    let url = Url::from_file_path(&from).unwrap();
    let receipt = fetch(&url, &target).unwrap();
    assert_eq!(fs::read(&target).unwrap(), film());
    assert_eq!(receipt["content_type"], json!("video/mp4"));
    assert_eq!(receipt["sha256"], json!(sha256(&film())));
    assert_eq!(receipt["url"], json!(url.as_str()));
    assert_eq!(names(&folder), ["a b.mp4", "from.bin"]);
}
