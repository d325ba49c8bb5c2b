//! Journals that are whole, torn, moved and forged.

use super::{
    super::entry::{Post, Pre, Way},
    *,
};
use std::os::unix::fs::PermissionsExt;

use crate::{
    plan::files::{Facts, Kind},
    task::{RelPath, Sanction},
};

fn begun() -> Event {
    Event::Begin {
        version: VERSION,
        entries: Vec::new(),
        operation: String::new(),
        birth: None,
        root: None,
        approved: None,
    }
}

fn state(bytes: &[u8]) -> State {
    read(bytes, Err(Anonymous::NoBirthTimes), 1).0.state
}

#[test]
fn a_torn_tail_says_nothing() {
    let whole = [line(&begun()), line(&Event::Apply), line(&Event::Done)].concat();
    let before_done = whole.len() - line(&Event::Done).len();
    for cut in before_done..whole.len() {
        let mut torn = whole.get(..cut).unwrap().to_vec();
        torn.resize(whole.len() + 100, 0);
        let (account, length) = read(&torn, Err(Anonymous::NoBirthTimes), 1);
        assert_eq!(
            (account.state, length),
            (State::Applying(Vec::new()), before_done as u64),
            "{cut}"
        );
    }
    assert_eq!(state(&whole), State::Done(Vec::new()));
}

#[test]
fn every_kind_of_entry_is_read_as_it_was_written() {
    let path = |name: &str| RelPath::parse(name).unwrap();
    let pre = Pre {
        facts: Facts {
            kind: Kind::File,
            dev: u64::MAX,
            ino: 1 << 60,
            bytes: 3,
            mtime: i64::MAX,
            mode: 0o644,
            uid: 0,
            gid: u32::MAX,
            nlink: 1,
        },
        sha256: "00".to_owned(),
        backup: path("backups/a.bak"),
        attributes: None,
    };
    let post = Post {
        ino: 2,
        bytes: 4,
        sha256: "11".to_owned(),
        attributes: None,
    };
    let entries = vec![
        Entry::MakeDir {
            path: path("d"),
            slot: path("s/0"),
            ino: 9,
        },
        Entry::Create {
            path: path("d/a"),
            slot: path("s/1"),
            post: post.clone(),
        },
        Entry::Modify {
            path: path("b"),
            slot: path("s/2"),
            pre: pre.clone(),
            post,
            way: Way::InPlace,
        },
        Entry::Delete {
            path: path("c"),
            slot: path("s/3"),
            pre: pre.clone(),
        },
        Entry::Rename {
            path: path("e"),
            to: path("f"),
            pre,
        },
    ];
    let begin = Event::Begin {
        version: VERSION,
        entries: entries.clone(),
        operation: "op_1".to_owned(),
        birth: None,
        root: None,
        approved: None,
    };
    assert_eq!(state(&line(&begin)), State::Ready(entries));
}

#[test]
fn a_damaged_line_ends_the_journal() {
    let mut bytes = [line(&begun()), line(&Event::Apply)].concat();
    let last = bytes.len() - 3;
    *bytes.get_mut(last).unwrap() ^= 1;
    assert_eq!(state(&bytes), State::Ready(Vec::new()));
}

#[test]
fn a_journal_without_its_beginning_is_not_taken_for_an_empty_one() {
    let mut bytes = [line(&begun()), line(&Event::Apply)].concat();
    *bytes.get_mut(12).unwrap() ^= 1;
    assert_eq!(state(&bytes), State::Foreign);
}

#[test]
fn entries_are_made_ready_once() {
    let ready = |name: &str| Event::Ready {
        volumes: None,
        entries: vec![Entry::RemoveDir {
            path: RelPath::parse(name).unwrap(),
            slot: RelPath::parse("s").unwrap(),
        }],
    };
    let one = State::Empty.next(begun()).next(ready("a"));
    assert_ne!(one, State::Ready(Vec::new()));
    assert_eq!(one.clone().next(ready("b")), one);
}

#[test]
fn no_event_leads_out_of_an_end() {
    let undone = Event::RolledBack { spared: Vec::new() };
    let unchanged = Event::NothingChanged;
    for event in [begun(), Event::Apply, Event::Done, undone, unchanged] {
        for end in [
            State::Done(Vec::new()),
            State::RolledBack {
                entries: Vec::new(),
                spared: Vec::new(),
            },
        ] {
            assert_eq!(end.clone().next(event.clone()), end);
        }
    }
    assert_eq!(State::Empty.next(Event::Apply), State::Empty);
    let applying = State::Applying(Vec::new());
    assert_eq!(applying.clone().next(Event::NothingChanged), applying);
}

#[test]
fn a_journal_of_a_later_version_is_not_read() {
    let event = Event::Begin {
        version: VERSION + 1,
        entries: Vec::new(),
        operation: String::new(),
        birth: None,
        root: None,
        approved: None,
    };
    assert_eq!(State::Empty.next(event), State::Foreign);
}

#[test]
fn only_the_file_that_the_first_record_names_is_believed() {
    let birth = |ino, born| Birth { ino, born };
    let begun = |birth| Event::Begin {
        version: VERSION,
        entries: Vec::new(),
        operation: String::new(),
        birth,
        root: Some(1),
        approved: None,
    };
    let origin = |lines: &[u8], own| read(lines, own, 1).0.origin;
    let ours = line(&begun(Some(birth(7, 9))));
    assert_eq!(origin(&ours, Ok(birth(7, 9))), Origin::Here);
    let copied = Origin::Unproven(Doubt::OtherFile);
    let unborn = Err(Anonymous::NoBirthTimes);
    for other in [unborn, Ok(birth(7, 8)), Ok(birth(8, 9))] {
        assert_eq!(origin(&ours, other), copied, "{other:?}");
    }
    let unsaid = line(&begun(None));
    assert_eq!(origin(&unsaid, Ok(birth(7, 9))), copied);
    for why in [
        Anonymous::NoBirthTimes,
        Anonymous::OtherOwner,
        Anonymous::OthersWrite,
    ] {
        let doubt = Doubt::Anonymous(why);
        assert_eq!(origin(&unsaid, Err(why)), Origin::Unproven(doubt));
    }
    // Not in a later record, after one that names another file or none.
    for first in [unsaid, line(&begun(Some(birth(1, 1)))), line(&Event::Apply)] {
        let lines = [first, ours.clone()].concat();
        assert_ne!(origin(&lines, Ok(birth(7, 9))), Origin::Here);
    }
}

#[test]
fn a_journal_names_its_own_file_and_its_copy_does_not() {
    let keep = tempfile::tempdir().unwrap();
    let path = camino::Utf8Path::from_path(keep.path()).unwrap();
    let root = Root::open(path).unwrap();
    let dir = root.dir(None).unwrap();
    drop(Journal::begin(&dir, "op_1", &Sanction::None).unwrap());
    if Birth::of(&dir.open(JOURNAL).unwrap().0).unwrap().is_err() {
        return; // A file system without birth times.
    }
    assert_eq!(account(&dir).unwrap().origin, Origin::Here);
    std::fs::rename(path.join(JOURNAL), path.join("aside")).unwrap();
    std::fs::copy(path.join("aside"), path.join(JOURNAL)).unwrap();
    let copied = Origin::Unproven(Doubt::OtherFile);
    let unread = Account {
        origin: copied,
        ..Account::default()
    };
    assert_eq!(account(&dir).unwrap(), unread);
    let copy = account_by_anybody(&dir).unwrap();
    assert_eq!((copy.origin, copy.operation.as_str()), (copied, "op_1"));
}

/// A journal that is longer than any that oneact writes: to read it would fail.
#[test]
fn of_a_journal_that_does_not_begin_as_one_that_was_written_here_nothing_more_is_read() {
    let keep = tempfile::tempdir().unwrap();
    let path = camino::Utf8Path::from_path(keep.path()).unwrap();
    let root = Root::open(path).unwrap();
    let dir = root.dir(None).unwrap();
    let begins = |first: &[u8], rest: u8| {
        let mut text = first.to_vec();
        text.resize(usize::try_from(LONGEST).unwrap() + 1, rest);
        std::fs::write(path.join(JOURNAL), text).unwrap();
        assert!(told(&dir).is_err());
        assert_eq!(account(&dir).unwrap().state, State::Empty);
        beginning(&dir).unwrap().unwrap()
    };
    let wide = [vec![b'x'; 4095], b"\n".to_vec()].concat();
    for (first, rest) in [
        (&b""[..], b'\n'),
        (b"", b'x'),
        (b"\0", b'x'),
        (&wide, b'x'),
        (&wide, 0),
        (&line(&begun()), 0),
        (b"torn\n", 0),
    ] {
        let found = begins(first, rest);
        let elsewhere = matches!(found, Beginning::Elsewhere(_));
        assert!(elsewhere, "{first:?} {rest}: {found:?}");
    }
    // What a power failure leaves.
    let torn = line(&begun());
    for first in [&b""[..], torn.get(..torn.len() - 1).unwrap()] {
        assert_eq!(begins(first, 0), Beginning::Torn, "{first:?}");
    }
    std::fs::write(path.join(JOURNAL), "").unwrap();
    assert_eq!(beginning(&dir).unwrap(), Some(Beginning::Torn));
}

#[test]
fn a_journal_that_was_moved_to_another_root_is_not_its_own() {
    let keep = tempfile::tempdir().unwrap();
    let path = camino::Utf8Path::from_path(keep.path()).unwrap();
    let root = |name: &str| {
        let path = path.join(name);
        std::fs::create_dir(&path).unwrap();
        Root::open(&path).unwrap()
    };
    let (one, two) = (root("one"), root("two"));
    let dir = one.dir(None).unwrap();
    drop(Journal::begin(&dir, "op_1", &Sanction::None).unwrap());
    if Birth::of(&dir.open(JOURNAL).unwrap().0).unwrap().is_err() {
        return; // A file system without birth times.
    }
    assert_eq!(account(&dir).unwrap().origin, Origin::Here);
    std::fs::rename(
        path.join("one").join(JOURNAL),
        path.join("two").join(JOURNAL),
    )
    .unwrap();
    let moved = account(&two.dir(None).unwrap()).unwrap();
    assert_eq!(moved.origin, Origin::Unproven(Doubt::OtherRoot));
}

/// A directory of reports may be writable by others: what they put there has their name, or lets them write.
#[test]
fn a_journal_of_another_user_or_that_others_may_write_to_is_not_believed() {
    let keep = tempfile::tempdir().unwrap();
    let path = camino::Utf8Path::from_path(keep.path()).unwrap();
    let root = Root::open(path).unwrap();
    let dir = root.dir(None).unwrap();
    drop(Journal::begin(&dir, "op_1", &Sanction::None).unwrap());
    if Birth::of(&dir.open(JOURNAL).unwrap().0).unwrap().is_err() {
        return; // A file system without birth times.
    }
    let journal = path.join(JOURNAL);
    let mode = |bits| std::fs::set_permissions(&journal, PermissionsExt::from_mode(bits)).unwrap();
    for bits in [0o602, 0o620, 0o666] {
        mode(bits);
        let doubt = Doubt::Anonymous(Anonymous::OthersWrite);
        let origin = account(&dir).unwrap().origin;
        assert_eq!(origin, Origin::Unproven(doubt), "{bits:o}");
    }
    mode(0o600);
    assert_eq!(account(&dir).unwrap().origin, Origin::Here);
    // Only root can give a file away.
    if std::os::unix::fs::chown(&journal, Some(1000), None).is_ok() {
        let doubt = Doubt::Anonymous(Anonymous::OtherOwner);
        assert_eq!(account(&dir).unwrap().origin, Origin::Unproven(doubt));
    }
}

#[test]
fn a_pipe_in_the_place_of_a_journal_is_told_as_what_it_is() {
    let keep = tempfile::tempdir().unwrap();
    let path = camino::Utf8Path::from_path(keep.path()).unwrap();
    let root = Root::open(path).unwrap();
    let mut pipe = std::process::Command::new("mkfifo");
    assert!(pipe.arg(path.join(JOURNAL)).status().unwrap().success());
    let failed = account(&root.dir(None).unwrap()).unwrap_err();
    assert_eq!(
        failed.to_string(),
        "cannot open `journal`: it is not a regular file"
    );
}

#[test]
fn a_journal_that_could_not_be_read_again_is_not_written() {
    let place = tempfile::tempdir().unwrap();
    let root = Root::open(place.path().try_into().unwrap()).unwrap();
    let dir = root.dir(None).unwrap();
    let mut journal = Journal::begin(&dir, "op_1", &Sanction::None).unwrap();
    let entry = Entry::RemoveDir {
        path: RelPath::parse(&"dir".repeat(60)).unwrap(),
        slot: RelPath::parse("slot").unwrap(),
    };
    let before = account(&dir).unwrap();
    let failed = journal.ready(&dir, &vec![entry.clone(); 20_000]);
    assert!(matches!(failed, Err(NotReady::TooLong)));
    assert_eq!(account(&dir).unwrap(), before);
    journal.ready(&dir, &vec![entry; 10_000]).unwrap();
    assert!(account(&dir).unwrap().state.is_under_way());
}
