//! Journals that are whole, torn, moved and forged.

use super::*;
use std::os::unix::fs::PermissionsExt;

use crate::{
    plan::{
        at::At,
        change::{Change, ChangeKind, Version},
        record::Story,
    },
    task::{RelPath, Sanction},
    tree::{Facts, Jail, Root},
};

fn begun_with(birth: Option<Birth>, version: u32) -> Event {
    Event::Begin(Begin {
        version,
        operation: String::new(),
        birth,
        root: 1,
        approved: None,
    })
}

fn begun() -> Event {
    begun_with(None, VERSION)
}

fn run() -> Run {
    Run {
        plan_id: "p".to_owned(),
        task_id: "t".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        directory: RelPath::parse("agent_outputs/reports/r").unwrap(),
        began: at(),
        actions: Vec::new(),
    }
}

fn at() -> At {
    At::from(jiff::Timestamp::UNIX_EPOCH)
}

fn part(changes: Vec<Change>) -> Undo {
    Undo {
        id: uuid::Uuid::nil(),
        created: at(),
        expires: None,
        changes,
    }
}

fn removed(name: &str) -> Change {
    let path = |name: &str| RelPath::parse(name).unwrap();
    Change::of_dir(path(name), ChangeKind::RemoveDir, path("s"), None)
}

fn ended(end: End) -> Event {
    let ending = Box::new(Story::begun(run(), Jail::Enforced).end);
    Event::End { end, ending }
}

fn of(events: &[Event]) -> Account {
    let mut account = Account::default();
    events.iter().cloned().for_each(|event| account.heed(event));
    account
}

fn state(bytes: &[u8]) -> State {
    read(bytes, Err(Anonymous::NoBirthTimes), 1).0.state
}

#[test]
fn a_torn_tail_says_nothing() {
    let ready = Event::Ready(part(vec![removed("a")]));
    let done = ended(End::Done);
    let whole = [line(&begun()), line(&ready), line(&done)].concat();
    let before_done = whole.len() - line(&done).len();
    for cut in before_done..whole.len() {
        let mut torn = whole.get(..cut).unwrap().to_vec();
        torn.resize(whole.len() + 100, 0);
        let (account, length) = read(&torn, Err(Anonymous::NoBirthTimes), 1);
        let found = (account.state, length);
        assert_eq!(found, (State::Ready, before_done as u64), "{cut}");
    }
    assert_eq!(state(&whole), State::Done);
}

#[test]
fn every_kind_of_change_is_read_as_it_was_written() {
    let path = |name: &str| RelPath::parse(name).unwrap();
    let version = Version {
        facts: Facts {
            kind: crate::tree::FileKind::File,
            dev: u64::MAX,
            ino: 1 << 60,
            bytes: 3,
            mtime: i64::MAX,
            mode: 0o644,
            uid: 0,
            gid: u32::MAX,
            nlink: 1,
            mount: 0,
            is_locked: false,
        },
        sha256: "00".to_owned(),
        attributes: String::new(),
    };
    let kinds = [
        ChangeKind::MakeDir,
        ChangeKind::RemoveDir,
        ChangeKind::Create,
        ChangeKind::Modify,
        ChangeKind::Delete,
        ChangeKind::Rename { to: path("f") },
    ];
    let change = |kind| Change {
        before: Some(version.clone()),
        after: Some(version.clone()),
        backup: Some(path("backups/a.bak")),
        degraded: vec!["owner".to_owned()],
        ..Change::of_dir(path("d/a"), kind, path("s/0"), None)
    };
    let undo = part(kinds.map(change).to_vec());
    let lines = [line(&begun()), line(&Event::Ready(undo.clone()))].concat();
    let (account, _) = read(&lines, Err(Anonymous::NoBirthTimes), 1);
    assert_eq!(account.undo, Some(undo));
}

#[test]
fn a_damaged_line_ends_the_journal() {
    let mut bytes = [line(&begun()), line(&Event::Run(run()))].concat();
    let last = bytes.len() - 3;
    *bytes.get_mut(last).unwrap() ^= 1;
    assert_eq!(state(&bytes), State::Begun);
}

#[test]
fn a_journal_without_its_beginning_is_not_taken_for_an_empty_one() {
    let mut bytes = [line(&begun()), line(&Event::Run(run()))].concat();
    *bytes.get_mut(12).unwrap() ^= 1;
    assert_eq!(state(&bytes), State::Foreign);
}

#[test]
fn each_part_adds_its_changes_and_the_begun_ones_are_known() {
    let ready = |name: &str| Event::Ready(part(vec![removed(name)]));
    let first = of(&[begun(), ready("a")]);
    assert_eq!((first.changes().len(), first.begun), (1, 0));
    let second = of(&[begun(), ready("a"), Event::Apply, ready("b")]);
    assert_eq!((second.changes().len(), second.begun), (2, 1));
}

#[test]
fn no_event_leads_out_of_an_end() {
    let undone = End::RolledBack { spared: Vec::new() };
    let ends = [End::Done, undone, End::NothingChanged].map(ended);
    for end in &ends {
        let before = of(&[begun(), end.clone()]);
        for event in [begun(), Event::Apply, Event::Ready(part(Vec::new()))]
            .iter()
            .chain(&ends)
        {
            assert_eq!(of(&[begun(), end.clone(), event.clone()]), before);
        }
    }
    assert_eq!(of(&[Event::Apply]).state, State::Empty);
}

#[test]
fn what_a_rollback_put_back_stands_in_the_journal_of_the_plan() {
    let checkpoints = vec![uuid::Uuid::max()];
    let undone = Event::Undone {
        checkpoints,
        at: at(),
    };
    let account = of(&[begun(), ended(End::Done), undone, Event::Expired]);
    assert_eq!(account.undone, [(uuid::Uuid::max(), at())]);
    assert!(account.has_expired);
}

#[test]
fn a_journal_of_a_later_version_is_not_read() {
    assert_eq!(of(&[begun_with(None, VERSION + 1)]).state, State::Foreign);
}

#[test]
fn only_the_file_that_the_first_record_names_is_believed() {
    let birth = |ino, born| Birth { ino, born };
    let begun = |birth| begun_with(birth, VERSION);
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
    drop(Journal::begin(&dir, "op_1", &Sanction::None, run()).unwrap());
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
    drop(Journal::begin(&dir, "op_1", &Sanction::None, run()).unwrap());
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
    drop(Journal::begin(&dir, "op_1", &Sanction::None, run()).unwrap());
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
    let mut journal = Journal::begin(&dir, "op_1", &Sanction::None, run()).unwrap();
    let change = removed(&"dir".repeat(60));
    let before = account(&dir).unwrap();
    let failed = journal.ready(&dir, part(vec![change.clone(); 60_000]), 0);
    assert!(matches!(failed, Err(NotReady::TooLong)));
    assert_eq!(account(&dir).unwrap(), before);
    let part = part(vec![change; 10_000]);
    journal.ready(&dir, part, 0).unwrap();
    assert!(account(&dir).unwrap().is_under_way());
}
