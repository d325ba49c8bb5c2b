//! Whose part of a download counts, and for which URL.

use std::{fs, os::unix::fs::PermissionsExt, thread, time::Duration};

use serde_json::{Value, json};

use super::{
    fetch, film, folder, names, refused,
    resuming::{ETAG, dropping, leave, leave_of},
    server::{Reply, Server},
};

#[test]
fn a_part_with_a_second_name_is_in_the_way() {
    let server = dropping(0);
    let (folder, target) = folder();
    let precious = folder.path().join("precious");
    fs::write(&precious, "theirs").unwrap();
    fs::hard_link(&precious, folder.path().join("a b.mp4.part")).unwrap();
    let origin = json!({"etag": null, "last_modified": null, "length": null});
    let note = json!({"part": null, "url": "", "origin": origin});
    fs::write(folder.path().join("a b.mp4.part.json"), note.to_string()).unwrap();
    let told = refused(&server.url("/"), &target);
    assert!(told.contains("second name"), "{told}");
    assert_eq!(fs::read(&precious).unwrap(), b"theirs");
}

#[test]
fn an_executable_part_does_not_make_the_download_executable() {
    let server = dropping(0);
    for bytes in [&b""[..], &film()[..1000]] {
        let (folder, target) = folder();
        leave(&server, &target, bytes);
        let part = folder.path().join("a b.mp4.part");
        fs::set_permissions(&part, fs::Permissions::from_mode(0o4755)).unwrap();
        fetch(&server.url("/"), &target).unwrap();
        let mode = target.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o7111, 0, "{mode:o}");
        assert!(fs::read(&target).unwrap() == film());
    }
}

#[test]
fn a_part_that_came_with_a_checkout_begins_anew() {
    let server = dropping(0);
    for says_birth in [true, false] {
        let (folder, target) = folder();
        leave(&server, &target, b"the beginning of the film");
        let part = folder.path().join("a b.mp4.part");
        fs::copy(&part, folder.path().join("copy")).unwrap();
        fs::rename(folder.path().join("copy"), &part).unwrap();
        if !says_birth {
            let note = folder.path().join("a b.mp4.part.json");
            let mut text: Value = serde_json::from_slice(&fs::read(&note).unwrap()).unwrap();
            text["part"] = Value::Null;
            fs::write(&note, text.to_string()).unwrap();
        }
        let receipt = fetch(&server.url("/"), &target).unwrap();
        assert_eq!(receipt["resumed"], json!(false));
        assert!(fs::read(&target).unwrap() == film());
        assert_eq!(names(&folder), ["a b.mp4"]);
    }
}

/// A process that is being started holds a copy of the lock until its `exec`.
#[test]
fn a_lock_that_goes_away_at_once_is_waited_for() {
    let server = dropping(0);
    let (folder, target) = folder();
    leave(&server, &target, &film()[..1000]);
    let part = fs::File::open(folder.path().join("a b.mp4.part")).unwrap();
    part.lock().unwrap();
    let holder = thread::spawn(move || {
        thread::sleep(Duration::from_millis(100));
        drop(part);
    });
    let receipt = fetch(&server.url("/"), &target).unwrap();
    assert_eq!(receipt["resumed"], json!(true));
    holder.join().unwrap();
}

/// The note does not contain credentials, so it does not tell two such URLs apart. A signature leads to the same file.
#[test]
fn a_download_whose_url_contains_a_credential_begins_anew() {
    let server = dropping(0);
    for (query, resumes) in [
        ("/?key=B", false),
        ("/?code=B", false),
        ("/?id=B", false),
        ("/?key", false),
        ("/?token=", false),
        ("/?a=1&sign", false),
        (
            "/?X-Amz-Algorithm=a&X-Amz-Credential=b&X-Amz-Date=c&X-Amz-Expires=9&X-Amz-SignedHeaders=host&X-Amz-Signature=B",
            true,
        ),
    ] {
        let (_folder, target) = folder();
        leave(&server, &target, &film()[..1000]);
        let receipt = fetch(&server.url(query), &target).unwrap();
        assert_eq!(receipt["resumed"], json!(resumes), "{query}");
        assert!(fs::read(&target).unwrap() == film());
    }
}

#[test]
fn a_download_whose_url_contains_a_credential_leaves_nothing_to_resume() {
    for query in ["/?key=A", "/?token=A&v=1"] {
        let server =
            Server::start(|request| Reply::ranged(request, &film(), ETAG).cut_after(50_000));
        let (folder, target) = folder();
        let text = refused(&server.url(query), &target);
        assert!(text.contains("broke off"), "{text}");
        assert_eq!(names(&folder), [""; 0], "{query}");
    }
}

/// A download that was killed leaves its part.
#[test]
fn the_part_of_a_url_with_a_credential_belongs_to_no_other_url() {
    let server = dropping(0);
    let (_folder, target) = folder();
    leave_of(None, None, &target, &film()[..1000]);
    let receipt = fetch(&server.url("/"), &target).unwrap();
    assert_eq!(receipt["resumed"], json!(false));
}

#[test]
fn a_part_of_another_user_is_in_the_way() {
    let server = dropping(0);
    let (folder, target) = folder();
    let part = folder.path().join("a b.mp4.part");
    for bytes in [&b""[..], b"theirs"] {
        leave(&server, &target, b"the beginning");
        fs::write(&part, bytes).unwrap();
        if std::os::unix::fs::chown(&part, Some(1234), None).is_err() {
            return; // Only root can make such a file.
        }
        let told = refused(&server.url("/"), &target);
        assert!(told.contains("belongs to another user"), "{told}");
        assert_eq!(fs::read(&part).unwrap(), bytes);
        fs::remove_file(&part).unwrap();
    }
}

#[test]
fn a_strangers_part_file_is_left_alone() {
    let server = Server::start(|_| Reply::content(&film()));
    let (folder, target) = folder();
    let stranger = folder.path().join("a b.mp4.part");
    fs::write(&stranger, "mine").unwrap();
    assert!(refused(&server.url("/"), &target).contains("in the way"));
    for note in ["{}", "{\"url\":\"x\"}", "", "\u{0}\u{0}"] {
        let beside = folder.path().join("a b.mp4.part.json");
        fs::write(&beside, note).unwrap();
        assert!(refused(&server.url("/"), &target).contains("no note of"));
        assert_eq!(fs::read(&stranger).unwrap(), b"mine");
        assert_eq!(fs::read_to_string(&beside).unwrap(), note);
    }
    fs::remove_file(&stranger).unwrap();
    assert!(refused(&server.url("/"), &target).contains("no note of"));
    assert_eq!(names(&folder), ["a b.mp4.part.json"]);
}

#[test]
fn a_note_is_no_way_to_another_file_nor_a_pipe_to_wait_for() {
    let server = Server::start(|_| Reply::content(&film()));
    let (folder, target) = folder();
    let (note, precious) = (
        folder.path().join("a b.mp4.part.json"),
        folder.path().join("precious"),
    );
    fs::write(&precious, "mine").unwrap();
    std::os::unix::fs::symlink(&precious, &note).unwrap();
    assert!(refused(&server.url("/"), &target).contains("no note of"));
    assert_eq!(fs::read(&precious).unwrap(), b"mine");
    fs::remove_file(&note).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&note).status();
    assert!(made.unwrap().success());
    assert!(refused(&server.url("/"), &target).contains("no note of"));
    assert_eq!(names(&folder), ["a b.mp4.part.json", "precious"]);
}
