//! Scratch directories: private, swept when their owner is dead, never before.

use std::{
    fs::Permissions,
    os::unix::fs::PermissionsExt,
    process::{Command, Stdio},
    thread,
};

use super::*;

fn state() -> (tempfile::TempDir, Utf8PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = Utf8PathBuf::from_path_buf(dir.path().join("state")).unwrap();
    (dir, path)
}

/// The names in a directory, but for our mark.
fn names(dir: &Utf8Path) -> Vec<String> {
    dir.read_dir_utf8()
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_owned())
        .filter(|name| name != MARK)
        .collect()
}

/// The id of a run.
fn op(number: usize) -> String {
    format!("op_{number:026}")
}

/// What a run of that id left when it was killed.
fn dead(state: &Utf8Path, number: usize) -> Utf8PathBuf {
    let dir = state.join("staging").join(op(number));
    fs::create_dir_all(&dir).unwrap();
    mark(&dir).unwrap();
    dir
}

#[test]
fn a_staging_directory_is_private_and_gone_when_dropped() {
    let (_keep, state) = state();
    let staging = Staging::open(&state, "op-1").unwrap();
    assert_eq!(staging.dir(), state.join("staging/op-1"));
    for dir in [state.as_path(), &state.join("staging"), staging.dir()] {
        assert_eq!(
            fs::metadata(dir).unwrap().permissions().mode() & 0o777,
            0o700,
            "{dir}"
        );
    }
    fs::create_dir_all(staging.dir().join("a/b")).unwrap();
    fs::write(staging.dir().join("a/b/c"), "x").unwrap();
    drop(staging);
    assert_eq!(names(&state.join("staging")), Vec::<String>::new());
}

#[test]
fn what_stands_in_the_place_of_a_staging_directory_stays() {
    let (_keep, state) = state();
    for left in [false, true] {
        let staging = Staging::open(&state, &op(1)).unwrap();
        if left {
            fs::write(staging.dir().join("left"), "x").unwrap();
        }
        let (dir, aside) = (staging.dir().to_owned(), state.join("aside"));
        fs::rename(&dir, &aside).unwrap();
        fs::create_dir(&dir).unwrap();
        fs::write(dir.join("precious"), "x").unwrap();
        assert!(!staging.is_in_place());
        drop(staging);
        assert!(dir.join("precious").exists(), "{left}");
        fs::remove_dir_all(&dir).unwrap();
        fs::remove_dir_all(&aside).unwrap();
    }
}

/// Root may remove it anyway.
#[test]
fn what_a_tool_has_locked_is_gone_too_and_what_a_link_leads_to_is_left_alone() {
    let (keep, state) = state();
    let outside = Utf8Path::from_path(keep.path()).unwrap().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::set_permissions(&outside, Permissions::from_mode(0o500)).unwrap();
    let staging = Staging::open(&state, "op-1").unwrap();
    let locked = staging.dir().join("locked");
    fs::create_dir_all(locked.join("in")).unwrap();
    std::os::unix::fs::symlink(&outside, locked.join("link")).unwrap();
    fs::set_permissions(&locked, Permissions::from_mode(0o000)).unwrap();
    drop(staging);
    assert_eq!(names(&state.join("staging")), Vec::<String>::new());
    let mode = fs::metadata(&outside).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o500);
}

#[test]
fn what_a_killed_process_left_is_removed_by_the_next_run_and_not_before() {
    let (_keep, state) = state();
    let left = dead(&state, 1);
    fs::write(left.join("half.wav"), "RIFF").unwrap();
    // flock(1) opens and locks the directory as we do, then becomes the sleeper.
    let mut owner = Command::new("flock")
        .args([
            "--no-fork",
            left.as_str(),
            "sh",
            "-c",
            "echo locked; exec sleep 1000",
        ])
        .stdout(Stdio::piped())
        .spawn()
        .expect("this test needs flock(1) of util-linux");
    let mut said = [0; 6];
    owner
        .stdout
        .as_mut()
        .unwrap()
        .read_exact(&mut said)
        .unwrap();

    drop(Staging::open(&state, "first").unwrap());
    assert!(left.join("half.wav").exists(), "its owner lives");
    assert!(matches!(
        Staging::open(&state, &op(1)),
        Err(StoreError::Busy { .. })
    ));

    owner.kill().unwrap();
    owner.wait().unwrap();
    drop(Staging::open(&state, "second").unwrap());
    assert_eq!(names(&state.join("staging")), Vec::<String>::new());
}

#[test]
fn the_same_operation_after_a_kill_starts_with_an_empty_directory() {
    let (_keep, state) = state();
    let left = dead(&state, 1);
    fs::write(left.join("old"), "x").unwrap();
    let staging = Staging::open(&state, &op(1)).unwrap();
    assert_eq!(names(staging.dir()), Vec::<String>::new());
}

#[test]
fn an_empty_directory_is_the_next_run_s() {
    let (_keep, state) = state();
    let inode = |dir: &Utf8Path| std::os::unix::fs::MetadataExt::ino(&fs::metadata(dir).unwrap());
    let first = Staging::open(&state, "first").unwrap();
    let made = inode(first.dir());
    drop(first);
    let second = Staging::open(&state, "second").unwrap();
    assert_eq!(inode(second.dir()), made);
    assert!(!state.join("spare/directory").exists());
}

#[test]
fn a_spare_directory_that_is_not_as_it_was_made_is_not_used() {
    let (keep, state) = state();
    drop(Staging::open(&state, "first").unwrap());
    let spare = state.join("spare/directory");
    let outside = Utf8Path::from_path(keep.path()).unwrap().join("outside");
    fs::create_dir(&outside).unwrap();
    let spoils: [&dyn Fn(); 3] = [
        &|| fs::write(spare.join("old"), "x").unwrap(),
        &|| fs::set_permissions(&spare, Permissions::from_mode(0o777)).unwrap(),
        &|| {
            fs::remove_dir_all(&spare).unwrap();
            std::os::unix::fs::symlink(&outside, &spare).unwrap();
        },
    ];
    for spoil in spoils {
        spoil();
        let staging = Staging::open(&state, "next").unwrap();
        let made = fs::symlink_metadata(staging.dir()).unwrap();
        assert!(made.is_dir());
        assert_eq!(made.permissions().mode() & 0o777, 0o700);
        assert_eq!(names(staging.dir()), Vec::<String>::new());
    }
    assert!(outside.exists());
}

/// Each opens the directories for itself, so that flock(2) treats the threads as processes.
#[test]
fn sixteen_runs_at_once_never_remove_one_that_lives() {
    let (_keep, state) = state();
    thread::scope(|scope| {
        for runner in 0..16 {
            let state = &state;
            scope.spawn(move || {
                for round in 0..25 {
                    let id = format!("run-{runner}-{round}");
                    let staging = Staging::open(state, &id).unwrap();
                    let path = staging.write("asset", id.as_bytes()).unwrap();
                    thread::yield_now();
                    assert_eq!(fs::read_to_string(&path).unwrap(), id);
                    // One that died: it is there and nobody holds it.
                    let dead = state.join("staging").join(op(runner * 100 + round));
                    fs::create_dir(&dead).unwrap();
                }
            });
        }
    });
    drop(Staging::open(&state, "last").unwrap());
    assert_eq!(names(&state.join("staging")), Vec::<String>::new());
}

#[test]
fn sixteen_runs_of_one_operation_are_one_at_a_time() {
    let (_keep, state) = state();
    let held = Staging::open(&state, "same").unwrap();
    thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                let second = Staging::open(&state, "same");
                assert!(matches!(second, Err(StoreError::Busy { .. })));
            });
        }
    });
    assert!(held.dir().exists());
}

#[test]
fn bytes_are_written_once_and_a_second_time_is_refused() {
    let (_keep, state) = state();
    let staging = Staging::open(&state, "op").unwrap();
    let long: Vec<u8> = (0..BLOCK * 3 + 7)
        .map(|n| u8::try_from(n % 251).unwrap())
        .collect();
    let path = staging.write("a b ü.bin", long.as_slice()).unwrap();
    assert_eq!(fs::read(&path).unwrap(), long);
    let again = staging.write("a b ü.bin", &b"other"[..]).unwrap_err();
    assert!(
        matches!(
            again,
            StoreError::Io {
                operation: "create",
                ..
            }
        ),
        "{again}"
    );
    assert_eq!(fs::read(&path).unwrap(), long);
}

#[test]
fn a_source_that_fails_leaves_no_file() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("gone"))
        }
    }
    let (_keep, state) = state();
    let staging = Staging::open(&state, "op").unwrap();
    let error = staging
        .write("x", (&b"some"[..]).chain(Broken))
        .unwrap_err();
    assert!(matches!(error, StoreError::Source { .. }), "{error}");
    assert_eq!(names(staging.dir()), Vec::<String>::new());
}

#[test]
fn base64_is_decoded_in_blocks_and_checked() {
    use base64::Engine;
    let (_keep, state) = state();
    let staging = Staging::open(&state, "op").unwrap();
    let long = vec![0xA5; 1_000_001];
    let path = staging
        .write_base64("long", &STANDARD.encode(&long))
        .unwrap();
    assert_eq!(fs::read(path).unwrap(), long);
    assert_eq!(
        fs::read(staging.write_base64("empty", "").unwrap()).unwrap(),
        b""
    );
    for wrong in ["!", "AAAA AAAA", "QQ", "QQ=", "QUJD\n", "ü", "QUJDRA==QUJD"] {
        let error = staging.write_base64("wrong", wrong).unwrap_err();
        assert!(
            matches!(error, StoreError::NotBase64 { .. }),
            "{wrong}: {error}"
        );
        assert!(!staging.file("wrong").unwrap().exists());
    }
}

#[test]
fn a_name_that_is_no_single_component_is_refused() {
    let (_keep, state) = state();
    let long = "x".repeat(201);
    for name in ["", ".", "..", "a/b", "/a", "a\0", "a\n", "\u{85}", &long] {
        assert!(
            matches!(
                Staging::open(&state, name),
                Err(StoreError::UnsafeName { .. })
            ),
            "{name:?}"
        );
    }
    let staging = Staging::open(&state, &long[1..]).unwrap();
    assert!(matches!(
        staging.file("../x"),
        Err(StoreError::UnsafeName { .. })
    ));
    assert!(matches!(
        staging.write("a/b", &b""[..]),
        Err(StoreError::UnsafeName { .. })
    ));
    assert_eq!(
        staging.file("..a b.WAV").unwrap(),
        staging.dir().join("..a b.WAV")
    );
}

/// What lies in a directory that is named like ours is not ours for that.
#[test]
fn only_what_this_program_made_is_swept() {
    let (_keep, state) = state();
    let staging = state.join("staging");
    let theirs = ["build", "op_1", "op_2026", &op(7), "left.lock", "1-2-3"];
    for name in theirs {
        fs::create_dir_all(staging.join(name)).unwrap();
        fs::write(staging.join(name).join("work"), "x").unwrap();
    }
    // The mark alone makes nothing ours, nor does the name of a link.
    fs::write(staging.join("build").join(MARK), "").unwrap();
    let outside = state.join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join(MARK), "").unwrap();
    std::os::unix::fs::symlink(&outside, staging.join(op(8))).unwrap();
    let swept = [dead(&state, 1), dead(&state, 2)];
    fs::write(swept[1].join("half.wav"), "RIFF").unwrap();
    assert_eq!(Staging::left_over(&state).unwrap().len(), 2);
    drop(Staging::open(&state, &op(9)).unwrap());
    assert!(swept.iter().all(|dir| !dir.exists()));
    for name in theirs {
        assert!(staging.join(name).join("work").exists(), "{name}");
    }
    assert!(outside.join(MARK).exists());
    assert!(matches!(
        Staging::open(&state, &op(7)),
        Err(StoreError::Io { .. })
    ));
}

/// A place that is a link leads to a directory of somebody else, who may have a `directory` in it.
#[test]
fn no_spare_directory_is_taken_or_set_aside_through_a_link() {
    let (keep, state) = state();
    let theirs = Utf8Path::from_path(keep.path()).unwrap().join("theirs");
    let work = theirs.join(SPARE).join("work");
    fs::create_dir_all(work.parent().unwrap()).unwrap();
    fs::write(&work, "x").unwrap();
    fs::create_dir(&state).unwrap();
    std::os::unix::fs::symlink(&theirs, state.join("spare")).unwrap();
    for id in [op(1), op(2)] {
        drop(Staging::open(&state, &id).unwrap());
        assert!(work.exists());
    }
    fs::remove_dir_all(theirs.join(SPARE)).unwrap();
    drop(Staging::open(&state, &op(3)).unwrap());
    assert_eq!(names(&theirs), Vec::<String>::new());
    assert_eq!(names(&state.join("staging")), Vec::<String>::new());
}
