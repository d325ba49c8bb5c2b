//! One list of facts for every kind of store: a directory, objects in memory, and two real servers.

#[path = "../../../tests/suite/s3_server.rs"]
#[expect(dead_code, reason = "the suite uses the rest")]
mod server;

use std::{cell::Cell, fs, thread};

use self::server::{Kind, Server};
use super::*;
use crate::{
    assets::{
        objects::{Fresh, tests as objects},
        print,
    },
    task::{Links, Print, Sight, Still},
};

/// A store in a directory of its own.
struct TestStore {
    _keep: tempfile::TempDir,
    root: Utf8PathBuf,
    store: Store,
    server: Option<Server>,
}

impl TestStore {
    fn new(open: impl FnOnce(&Utf8Path) -> (Store, Option<Server>)) -> Self {
        let keep = tempfile::tempdir().unwrap();
        let root = Utf8PathBuf::from_path_buf(keep.path().canonicalize().unwrap()).unwrap();
        let (store, server) = open(&root);
        Self {
            _keep: keep,
            root,
            store,
            server,
        }
    }

    fn of(objects: Objects, root: &Utf8Path) -> Store {
        let uri = Uri::parse("s3://platform-bucket/a/prefix").unwrap();
        let remote = Remote::open(&uri, &objects, &root.join("state")).unwrap();
        Store {
            place: AssetPlace::Remote(Arc::new(remote)),
            objects,
        }
    }

    fn staged(&self, content: &[u8]) -> Utf8PathBuf {
        let (file, path) = tempfile::NamedTempFile::new_in(&self.root)
            .unwrap()
            .keep()
            .unwrap();
        drop(file);
        fs::write(&path, content).unwrap();
        Utf8PathBuf::try_from(path).unwrap()
    }

    fn prepared(&self, name: &str, content: &[u8]) -> Result<Prepared, StoreError> {
        let staged = self.staged(content);
        self.store.prepare(Finished {
            session_id: "sess-1",
            file_name: name,
            staged: &staged,
            seen: None,
            operation_id: "op_1",
            go_on: &|| true,
        })
    }

    fn place(&self, name: &str, content: &[u8]) -> Stored {
        let prepared = self.prepared(name, content).unwrap();
        prepared.commit(&|| true).unwrap()
    }

    fn read(&self, uri: &Uri) -> Option<Vec<u8>> {
        if let Some(path) = uri.local_path(&self.root) {
            return fs::read(path).ok();
        }
        // A store that is opened anew, as another run does.
        let to = self.root.join("copy");
        let _ = fs::remove_file(&to);
        self.store.objects().look(uri, &|| true).ok()?;
        self.store.objects().copy(uri, &to, &|| true).unwrap();
        Some(fs::read(to).unwrap())
    }

    fn uri(&self, name: &str) -> Uri {
        self.store.uri_of("sess-1", name).unwrap()
    }

    fn print(&self, uri: &Uri) -> Print {
        let object = self.store.objects().print(uri, Fresh::Yes, &|| true);
        object.unwrap_or_else(|| print::print(uri, &self.root, Links::Refused, &|| true))
    }

    fn still(&self, then: &Print, uri: &Uri) -> Still {
        let object = self.store.objects().still(then, uri, &|| true);
        object.unwrap_or_else(|| print::still(then, uri, &self.root, Links::Refused, &|| true))
    }
}

fn bytes(length: usize) -> Vec<u8> {
    (0..length)
        .map(|at| u8::try_from((at * 31 + at / 251) % 256).unwrap())
        .collect()
}

/// A sentence, and what shows that it holds.
type Fact = (&'static str, fn(&TestStore));

/// What holds for every store.
const FACTS: &[Fact] = &[
    (
        "an asset has every byte of its file, whatever its size",
        |place| {
            const PART: usize = 8 << 20;
            // From four parts on, an object is also read in parts.
            for length in [
                0,
                1,
                1000,
                PART - 1,
                PART,
                PART + 1,
                2 * PART + 7,
                4 * PART,
                5 * PART + 3,
            ] {
                let name = format!("{length}.bin");
                let content = bytes(length);
                let stored = place.place(&name, &content);
                assert_eq!(stored.bytes, length as u64);
                assert_eq!(stored.uri, place.uri(&name));
                assert!(place.read(&stored.uri).unwrap() == content, "{length}");
            }
        },
    ),
    (
        "what is only prepared leaves its place as it was",
        |place| {
            for length in [10, 9 << 20] {
                drop(place.prepared("only.wav", &bytes(length)).unwrap());
                assert!(place.read(&place.uri("only.wav")).is_none());
            }
            place.place("only.wav", b"old");
            drop(place.prepared("only.wav", &bytes(9 << 20)).unwrap());
            assert_eq!(place.read(&place.uri("only.wav")).unwrap(), b"old");
        },
    ),
    (
        "an asset of the same name is replaced, also by the same content",
        |place| {
            for content in [
                &b"one"[..],
                b"two",
                b"two",
                &bytes(9 << 20),
                &bytes(10 << 20),
                &bytes(10 << 20),
                b"one",
            ] {
                let stored = place.place("again.wav", content);
                assert_eq!(stored.bytes, content.len() as u64);
                assert!(place.read(&stored.uri).unwrap() == content);
            }
        },
    ),
    (
        "two runs that store the same name at once both succeed",
        |place| {
            let contents = [bytes(9 << 20), bytes(100)];
            thread::scope(|scope| {
                for content in &contents {
                    let mut store = place.store.clone();
                    if let AssetPlace::Remote(_) = &store.place {
                        // Each run waits on a runtime of its own.
                        store = TestStore::of(store.objects.anew(), &place.root);
                    }
                    let staged = place.staged(content);
                    scope.spawn(move || {
                        let finished = Finished {
                            session_id: "sess-1",
                            file_name: "both.bin",
                            staged: &staged,
                            seen: None,
                            operation_id: "op_2",
                            go_on: &|| true,
                        };
                        let prepared = store.prepare(finished).unwrap();
                        // The last one wins, as with a rename; the other one may find that out.
                        match prepared.commit(&|| true) {
                            Ok(_) => {}
                            Err(StoreError::Object(error)) => {
                                assert_eq!(error.why, crate::assets::Why::Changed);
                            }
                            Err(error) => panic!("{error}"),
                        }
                    });
                }
            });
            let now = place.read(&place.uri("both.bin")).unwrap();
            assert!(contents.contains(&now));
        },
    ),
    (
        "a file that changes after it was prepared is not stored",
        |place| {
            for length in [10, 9 << 20] {
                let staged = place.staged(&bytes(length));
                let prepared = place.store.prepare(Finished {
                    session_id: "sess-1",
                    file_name: "changed.bin",
                    staged: &staged,
                    seen: None,
                    operation_id: "op_1",
                    go_on: &|| true,
                });
                fs::write(&staged, bytes(length + 1)).unwrap();
                let error = prepared.unwrap().commit(&|| true).unwrap_err();
                assert!(matches!(error, StoreError::Changed(_)), "{error}");
                assert!(place.read(&place.uri("changed.bin")).is_none());
            }
        },
    ),
    ("an unsafe name is refused", |place| {
        for name in ["", "..", "a/b", "a\nb", "../x"] {
            assert!(place.store.uri_of("sess-1", name).is_err(), "{name}");
            assert!(
                place.store.has_room("sess-1", name, &|| true).is_err(),
                "{name}"
            );
            assert!(place.prepared(name, b"x").is_err(), "{name}");
        }
        assert!(place.store.has_room("sess-1", "new.wav", &|| true).is_ok());
    }),
    ("a name outside ASCII is kept", |place| {
        let stored = place.place("é ü~*[#?.json", b"{}");
        assert_eq!(place.read(&stored.uri).unwrap(), b"{}");
    }),
    ("a change is found by the fingerprint", |place| {
        let stored = place.place("print.wav", b"one");
        let then = place.print(&stored.uri);
        assert_eq!(place.still(&then, &stored.uri), Still::Same);
        place.place("print.wav", b"other");
        assert_eq!(place.still(&then, &stored.uri), Still::Other);
        let nowhere = place.uri("nowhere.wav");
        assert_eq!(place.print(&nowhere).sight, Sight::Absent);
        assert_eq!(place.still(&then, &nowhere), Still::Gone);
    }),
];

/// What holds for every object store.
const OF_OBJECTS: &[Fact] = &[
    (
        "an object of another program is never overwritten",
        |place| {
            for length in [10, 9 << 20] {
                let prepared = place.prepared("foreign.wav", &bytes(length)).unwrap();
                objects::put(place.store.objects(), &place.uri("foreign.wav"), b"foreign");
                let error = prepared.commit(&|| true).unwrap_err();
                assert!(
                    error
                        .to_string()
                        .contains("that this root did not store under this name"),
                    "{error}"
                );
                let room = place.store.has_room("sess-1", "foreign.wav", &|| true);
                assert!(room.unwrap_err().to_string().contains("not overwritten"));
                assert_eq!(place.read(&place.uri("foreign.wav")).unwrap(), b"foreign");
            }
        },
    ),
    (
        "an object of another root is never overwritten, and does not count as stored",
        |place| {
            place.place("shared.wav", b"one");
            let other = place.root.join("other");
            let store = TestStore::of(place.store.objects.anew(), &other);
            for content in [&b"one"[..], b"two"] {
                let room = store.has_room("sess-1", "shared.wav", &|| true);
                let error = room.unwrap_err().to_string();
                assert!(error.contains("not overwritten"), "{error}");
                let staged = place.staged(content);
                let finished = Finished {
                    session_id: "sess-1",
                    file_name: "shared.wav",
                    staged: &staged,
                    seen: None,
                    operation_id: "op_2",
                    go_on: &|| true,
                };
                let stored = store.prepare(finished).unwrap().commit(&|| true);
                let error = stored.unwrap_err().to_string();
                assert!(error.contains("not overwritten"), "{error}");
            }
            assert_eq!(place.read(&place.uri("shared.wav")).unwrap(), b"one");
        },
    ),
    ("a run that is stopped leaves nothing visible", |place| {
        let staged = place.staged(&bytes(20 << 20));
        // The hash of the file asks before each of its 160 blocks.
        for least in [0, 161, 163, 164, 165] {
            let asked = Cell::new(0);
            let go_on = || {
                asked.set(asked.get() + 1);
                asked.get() <= least
            };
            let finished = Finished {
                session_id: "sess-1",
                file_name: "stopped.bin",
                staged: &staged,
                seen: None,
                operation_id: "op_1",
                go_on: &go_on,
            };
            let prepared = place.store.prepare(finished);
            let stored = prepared.and_then(|prepared| prepared.commit(&|| false));
            assert!(stored.is_err(), "{least}");
            assert!(place.read(&place.uri("stopped.bin")).is_none(), "{least}");
        }
    }),
    (
        "an object that changes between check and use is not copied",
        |place| {
            let stored = place.place("pinned.wav", b"one");
            place.store.objects().look(&stored.uri, &|| true).unwrap();
            objects::put(place.store.objects(), &stored.uri, b"two");
            let to = place.root.join("pinned");
            let error = place
                .store
                .objects()
                .copy(&stored.uri, &to, &|| true)
                .unwrap_err();
            assert!(
                error.to_string().contains("changed after it was checked"),
                "{error}"
            );
            assert!(!to.exists());
        },
    ),
    ("keys that servers treat differently are refused", |place| {
        for key in [
            "",
            "/a",
            "a/",
            "a//b",
            "a\\b",
            "a/../b",
            ".",
            "a\u{1}",
            &"x".repeat(901),
        ] {
            let uri = Uri::parse(&format!("s3://platform-bucket/{key}")).unwrap();
            let error = place.store.objects().look(&uri, &|| true).unwrap_err();
            assert!(
                error.to_string().contains("the key cannot be used"),
                "{error}"
            );
        }
        for bucket in ["..", ".b", "a@b", "a?b", "a#b", "ü"] {
            let uri = Uri::parse(&format!("s3://{bucket}/key")).unwrap();
            let error = place.store.objects().look(&uri, &|| true).unwrap_err();
            assert!(error.to_string().contains("no name of a bucket"), "{error}");
        }
    }),
];

fn check(place: &TestStore, facts: &[Fact]) {
    for (fact, holds) in facts {
        let held = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| holds(place)));
        assert!(held.is_ok(), "it does not hold that {fact}");
    }
}

#[test]
fn the_facts_hold_for_a_directory() {
    let place = TestStore::new(|root| {
        let storage = Storage {
            uri: "assets".to_owned(),
            ..Storage::default()
        };
        (
            Store::open(&storage, root, &root.join("state")).unwrap(),
            None,
        )
    });
    check(&place, FACTS);
}

#[test]
fn the_facts_hold_for_objects_in_memory() {
    let place = TestStore::new(|root| (TestStore::of(objects::in_memory(), root), None));
    check(&place, FACTS);
    check(&place, OF_OBJECTS);
}

fn on(kind: Kind) -> TestStore {
    TestStore::new(|root| {
        let server = Server::start(kind);
        let objects = objects::at(&server.endpoint(), (server::KEY, server::SECRET));
        (TestStore::of(objects, root), Some(server))
    })
}

#[test]
fn the_facts_hold_for_seaweedfs() {
    let place = on(Kind::Seaweed);
    check(&place, FACTS);
    check(&place, OF_OBJECTS);
    assert_eq!(place.place("note.txt", b"x").note, None);
    probed(&place, crate::assets::Conditions::Honoured);
}

#[test]
fn the_facts_hold_for_rclone_and_what_it_ignores_is_told() {
    let place = on(Kind::Rclone);
    check(&place, FACTS);
    check(&place, OF_OBJECTS);
    let note = place.place("note.txt", b"x").note.unwrap();
    assert!(note.contains("ignores the condition"), "{note}");
    probed(&place, crate::assets::Conditions::Ignored);
}

fn probed(place: &TestStore, expected: crate::assets::Conditions) {
    match place.store.probe("op_9", &|| true).unwrap() {
        Probed::Bucket { uri, conditions } => {
            assert_eq!(
                (uri.as_str(), conditions),
                ("s3://platform-bucket/a/prefix", expected)
            );
        }
        Probed::Directory(room) => panic!("{room:?}"),
    }
    let server = place.server.as_ref().unwrap();
    let keys = server.keys("a/prefix");
    assert!(
        keys.iter()
            .all(|key| key.starts_with("a/prefix/sess-1/") && !key.contains("probe")),
        "{keys:?}"
    );
    let state = place.root.join("state/uploads");
    assert!(!state.exists() || fs::read_dir(state).unwrap().next().is_none());
}

#[test]
fn what_a_server_refuses_is_told_apart() {
    let server = Server::start(Kind::Seaweed);
    let why = |bucket: &str, keys: (&str, &str), endpoint: &str| {
        let objects = objects::bucket_at(endpoint, keys, bucket);
        let uri = Uri::parse(&format!("s3://{bucket}/nothing")).unwrap();
        objects.look(&uri, &|| true).unwrap_err().to_string()
    };
    let keys = (server::KEY, server::SECRET);
    let endpoint = server.endpoint();
    for (told, expected) in [
        (
            why("platform-bucket", keys, &endpoint),
            "there is no such object",
        ),
        (
            why("other-bucket", keys, &endpoint),
            "the bucket does not exist there",
        ),
        (
            why("platform-bucket", (server::KEY, "wrong"), &endpoint),
            "the secret key is wrong",
        ),
        (
            why("platform-bucket", ("unknown", "x"), &endpoint),
            "does not know these credentials",
        ),
        (
            why("platform-bucket", keys, "http://127.0.0.1:9"),
            "cannot be reached: Connection refused",
        ),
    ] {
        assert!(told.contains(expected), "{told}");
        assert!(
            !told.contains(server::SECRET) && !told.contains("StringToSign"),
            "{told}"
        );
    }
    let objects = objects::at(&endpoint, keys);
    let uri = Uri::parse("s3://platform-bucket/a.txt").unwrap();
    server.put("a.txt", b"presigned");
    let url = objects.presigned(&uri, &|| true).unwrap();
    assert!(url.contains("X-Amz-Expires=3600&"), "{url}");
}
