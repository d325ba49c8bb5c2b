//! Assets reach their place whole or not at all, on real disks that are full or read-only.

mod changed;
mod links;

use std::{
    io::Read,
    os::unix::fs::{FileTypeExt, PermissionsExt, symlink},
    process::Command,
    thread,
};

use super::*;

struct TestStore {
    _keep: tempfile::TempDir,
    root: Utf8PathBuf,
    store: Directory,
}

fn place() -> TestStore {
    let keep = tempfile::tempdir().unwrap();
    let root = Utf8PathBuf::from_path_buf(keep.path().canonicalize().unwrap()).unwrap();
    let store = Directory::open("agent_outputs/assets", &root).unwrap();
    TestStore {
        _keep: keep,
        root,
        store,
    }
}

impl TestStore {
    fn staged(&self, content: &str) -> Utf8PathBuf {
        let path = self.root.join("staged");
        fs::write(&path, content).unwrap();
        path
    }
}

impl Stored {
    fn path(&self) -> Utf8PathBuf {
        self.uri.local_path(Utf8Path::new("/")).unwrap()
    }
}

impl Directory {
    fn place(
        &self,
        session_id: &str,
        file_name: &str,
        staged: &Utf8Path,
    ) -> Result<Stored, StoreError> {
        self.prepared(session_id, file_name, staged, None)?.commit()
    }

    fn prepared(
        &self,
        session_id: &str,
        file_name: &str,
        staged: &Utf8Path,
        seen: Option<&Stat>,
    ) -> Result<Prepared, StoreError> {
        self.prepare(Finished {
            session_id,
            file_name,
            staged,
            seen,
            operation_id: "op",
            go_on: &|| true,
        })
    }
}

#[test]
fn whatever_is_in_the_way_of_an_asset_is_found_before_it_is_made() {
    let aside = tempfile::tempdir().unwrap();
    let found = |made: &str, links: &[&str]| {
        let place = place();
        let path = place.root.join(made);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        match links {
            [] => fs::write(&path, "").unwrap(),
            _ => symlink(aside.path(), &path).unwrap(),
        }
        let room = place.store.has_room("s", "f");
        assert!(!place.root.join("agent_outputs/assets/s/f").is_file() || room.is_ok());
        room
    };
    found("elsewhere", &[]).unwrap();
    found("agent_outputs/assets/s/f", &[]).unwrap();
    found("agent_outputs/assets/s2", &[]).unwrap();
    for taken in [
        "agent_outputs",
        "agent_outputs/assets",
        "agent_outputs/assets/s",
    ] {
        found(taken, &[]).unwrap_err();
    }
    found("agent_outputs/assets/s/f/x", &[]).unwrap_err();
    let link = found("agent_outputs/assets/s", &["link"]).unwrap_err();
    assert!(matches!(link, StoreError::Symlink(_)), "{link}");
}

#[test]
fn a_file_that_is_only_prepared_leaves_its_place_as_it_was() {
    let place = place();
    place.store.place("s", "f", &place.staged("old")).unwrap();
    let prepared = place
        .store
        .prepared("s", "f", &place.staged("new"), None)
        .unwrap();
    drop(prepared);
    let path = place.root.join("agent_outputs/assets/s/f");
    assert_eq!(fs::read_to_string(path).unwrap(), "old");
}

#[test]
fn two_runs_that_place_the_same_asset_at_once_both_succeed() {
    let place = place();
    let round = |number: usize| {
        let staged = place.root.join(format!("staged-{number}"));
        for _ in 0..100 {
            fs::write(&staged, "same").unwrap();
            place
                .store
                .prepared("s", "f", &staged, None)
                .unwrap()
                .commit()
                .unwrap();
        }
    };
    thread::scope(|scope| {
        for number in 0..4 {
            scope.spawn(move || round(number));
        }
    });
    let made = fs::read_to_string(place.root.join("agent_outputs/assets/s/f")).unwrap();
    assert_eq!(made, "same");
}

#[test]
fn a_directory_in_the_place_of_an_asset_is_found_before_anything_moves() {
    let place = place();
    fs::create_dir_all(place.root.join("agent_outputs/assets/s/f")).unwrap();
    let error = place.store.prepared("s", "f", &place.staged("x"), None);
    assert!(matches!(error, Err(StoreError::NotAFile { .. })));
}

#[test]
fn an_asset_is_data_and_keeps_no_special_bits() {
    let place = place();
    let staged = place.staged("x");
    fs::set_permissions(&staged, fs::Permissions::from_mode(0o6755)).unwrap();
    let stored = place.store.place("s", "f", &staged).unwrap();
    assert_eq!(fs::metadata(stored.path()).unwrap().mode() & 0o7777, 0o644);
}

fn files_under(dir: &Utf8Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in dir.read_dir_utf8().unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_dir() {
            found.extend(files_under(entry.path()));
        } else if !entry.path().as_str().ends_with("/lock") {
            found.push(entry.path().to_string());
        }
    }
    found
}

#[test]
fn a_placed_file_is_at_its_uri_and_gone_from_staging() {
    let place = place();
    let staged = place.staged("hello");
    let stored = place.store.place("sess 1", "ü.txt", &staged).unwrap();
    assert_eq!(
        stored.path(),
        place.root.join("agent_outputs/assets/sess 1/ü.txt")
    );
    assert_eq!(stored.uri, place.store.uri_of("sess 1", "ü.txt").unwrap());
    assert!(
        stored
            .uri
            .as_str()
            .ends_with("/agent_outputs/assets/sess%201/%C3%BC.txt")
    );
    assert_eq!(stored.bytes, 5);
    assert_eq!(fs::read_to_string(stored.path()).unwrap(), "hello");
    assert!(!staged.exists());
}

#[test]
fn the_store_is_where_its_uri_says() {
    let root = Utf8Path::new("/root");
    let uri = |store: &str| {
        Directory::open(store, root)
            .unwrap()
            .uri_of("s", "f")
            .unwrap()
            .as_str()
            .to_owned()
    };
    assert_eq!(
        uri("agent_outputs/assets"),
        "file:///root/agent_outputs/assets/s/f"
    );
    assert_eq!(uri("file:///big%20disk"), "file:///big%20disk/s/f");
    assert_eq!(uri("/big disk/"), "file:///big%20disk/s/f");
}

#[test]
fn a_store_of_another_kind_is_refused_without_its_secrets() {
    for uri in [
        "s3://key:secret@bucket/p",
        "https://u:secret@h/",
        "gs://b?sig=secret",
    ] {
        let error = Directory::open(uri, Utf8Path::new("/")).unwrap_err();
        assert!(matches!(error, StoreError::Unsupported { .. }));
        let text = error.to_string();
        assert!(
            text.contains("set [storage] uri to a path") && !text.contains("secret"),
            "{text}"
        );
    }
    assert!(matches!(
        Directory::open("", Utf8Path::new("/")),
        Err(StoreError::BadUri(_))
    ));
}

#[test]
fn an_unsafe_name_is_refused_and_nothing_is_created() {
    let place = place();
    let staged = place.staged("x");
    for bad in [
        "",
        ".",
        "..",
        "../x",
        "a/b",
        "a\0",
        "a\u{7f}",
        &"é".repeat(101),
    ] {
        assert!(
            matches!(
                place.store.uri_of(bad, "f"),
                Err(StoreError::UnsafeName { .. })
            ),
            "{bad:?}"
        );
        assert!(
            matches!(
                place.store.uri_of("s", bad),
                Err(StoreError::UnsafeName { .. })
            ),
            "{bad:?}"
        );
        assert!(
            matches!(
                place.store.place(bad, "f", &staged),
                Err(StoreError::UnsafeName { .. })
            ),
            "{bad:?}"
        );
        assert!(
            matches!(
                place.store.place("s", bad, &staged),
                Err(StoreError::UnsafeName { .. })
            ),
            "{bad:?}"
        );
    }
    assert!(staged.exists() && !place.root.join("agent_outputs").exists());
}

#[test]
fn an_asset_of_the_same_name_is_replaced_and_never_half_seen() {
    let place = place();
    let path = place
        .store
        .place("s", "f", &place.staged(&"0".repeat(50_000)))
        .unwrap()
        .path();
    thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for round in 1..=60 {
                let staged = place.staged(&(round % 10).to_string().repeat(50_000));
                place.store.place("s", "f", &staged).unwrap();
            }
        });
        while !writer.is_finished() {
            let seen = fs::read(&path).unwrap();
            assert_eq!(seen.len(), 50_000);
            assert!(seen.iter().all(|byte| *byte == seen[0]));
        }
    });
}

#[test]
fn a_link_or_a_pipe_or_a_directory_is_not_taken_for_a_file() {
    let place = place();
    let link = place.root.join("link");
    symlink("/etc/passwd", &link).unwrap();
    assert!(matches!(
        place.store.place("s", "f", &link),
        Err(StoreError::Symlink { .. })
    ));
    let pipe = place.root.join("pipe");
    rustix::fs::mkfifoat(CWD, pipe.as_std_path(), Mode::from_raw_mode(0o600)).unwrap();
    assert!(fs::metadata(&pipe).unwrap().file_type().is_fifo());
    assert!(matches!(
        place.store.place("s", "f", &pipe),
        Err(StoreError::NotAFile { .. })
    ));
    assert!(matches!(
        place.store.place("s", "f", &place.root),
        Err(StoreError::NotAFile { .. })
    ));
    let socket = place.root.join("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    assert!(matches!(
        place.store.place("s", "f", &socket),
        Err(StoreError::NotAFile { .. })
    ));
    let missing = place
        .store
        .place("s", "f", &place.root.join("none"))
        .unwrap_err();
    assert!(
        matches!(
            missing,
            StoreError::Io {
                operation: "open",
                ..
            }
        ),
        "{missing}"
    );
}

/// A file system of its own: 1 MiB of tmpfs, gone when dropped; none where mounting is forbidden.
struct SmallDisk(Utf8PathBuf);

impl SmallDisk {
    #[expect(clippy::print_stderr, reason = "a skipped test says so")]
    fn mount(at: &Utf8Path) -> Option<Self> {
        fs::create_dir(at).unwrap();
        let options = ["-t", "tmpfs", "-o", "size=1m", "oneact-test", at.as_str()];
        let mounted = Command::new("mount").args(options).output();
        if mounted.is_ok_and(|output| output.status.success()) {
            return Some(Self(at.to_owned()));
        }
        eprintln!("skipped: cannot mount a tmpfs here (needs root)");
        None
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

#[test]
fn from_another_file_system_a_file_arrives_whole_and_alone() {
    let place = place();
    let Some(disk) = SmallDisk::mount(&place.root.join("disk")) else {
        return;
    };
    let store = Directory::open(disk.0.join("store").as_str(), &place.root).unwrap();
    let staged = place.staged(&"ab".repeat(200_000));
    let stored = store.place("s", "f", &staged).unwrap();
    assert_eq!(stored.bytes, 400_000);
    assert_eq!(
        fs::read_to_string(stored.path()).unwrap(),
        "ab".repeat(200_000)
    );
    assert_eq!(files_under(&disk.0), [stored.path().to_string()]);
}

#[test]
fn a_full_disk_leaves_the_old_asset_and_nothing_else() {
    let place = place();
    let Some(disk) = SmallDisk::mount(&place.root.join("disk")) else {
        return;
    };
    let store = Directory::open(disk.0.join("store").as_str(), &place.root).unwrap();
    let old = store.place("s", "f", &place.staged("old")).unwrap();
    let staged = place.staged(&"new".repeat(1 << 20));

    let error = store.place("s", "f", &staged).unwrap_err();
    assert!(
        matches!(
            error,
            StoreError::Io {
                operation: "write",
                ref error,
                ..
            } if error.kind() == io::ErrorKind::StorageFull
        ),
        "{error}"
    );
    assert_eq!(fs::read_to_string(old.path()).unwrap(), "old");
    assert_eq!(files_under(&disk.0), [old.path().to_string()]);
    assert!(
        staged.exists(),
        "the next attempt finds the file where it was"
    );

    let staging = Staging::open(&disk.0.join("state"), "op").unwrap();
    let error = staging
        .write("big", io::repeat(7).take(4 << 20))
        .unwrap_err();
    assert!(
        matches!(
            error,
            StoreError::Io {
                operation: "write",
                ref error,
                ..
            } if error.kind() == io::ErrorKind::StorageFull
        ),
        "{error}"
    );
    assert!(!staging.dir().join("big").exists());
}

#[test]
fn a_store_that_may_not_be_written_is_told_from_a_full_one() {
    let place = place();
    let Some(disk) = SmallDisk::mount(&place.root.join("disk")) else {
        return;
    };
    let store = Directory::open(disk.0.join("store").as_str(), &place.root).unwrap();
    let remount = Command::new("mount")
        .args(["-o", "remount,ro", disk.0.as_str()])
        .status();
    assert!(remount.unwrap().success());
    let error = store.place("s", "f", &place.staged("x")).unwrap_err();
    assert!(
        matches!(
            error,
            StoreError::Io {
                operation: "create",
                ref error,
                ..
            } if error.kind() == io::ErrorKind::ReadOnlyFilesystem
        ),
        "{error}"
    );
}
