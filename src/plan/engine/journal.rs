//! The journal of a plan: what was meant, and how far it came. Recovery reads nothing else of ours.
//!
//! Lines of `crc32 SP json LF`, appended to a file whose space is set aside first. The first line whose
//! checksum fails ends it: a torn tail says nothing.
//!
//! A checksum proves nothing about the author. The first line therefore names the inode and the birth time
//! of the file that it stands in: a copy, a clone or an unpacked archive cannot have them.

use std::fs::File;

use crc::{CRC_32_ISO_HDLC, Crc};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::{
    plan::files::{Birth, Dir, FileError},
    task::RelPath,
};

use super::entry::Entry;

/// The journal's name in the report directory.
pub(crate) const JOURNAL: &str = "journal";

/// Of the lines, so that a later program knows what it reads.
const VERSION: u32 = 1;

/// Room for what is written after the entries, in bytes.
const TAIL: usize = 4096;

/// More than the longest journal there can be: a plan has at most some hundred entries.
const LONGEST: u64 = 64 * 1024 * 1024;

const CHECKSUM: Crc<u32> = Crc::<u32>::new(&CRC_32_ISO_HDLC);

/// One line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Event {
    /// Everything is made ready; nothing of the tree has changed.
    Begin {
        version: u32,
        entries: Vec<Entry>,
        /// The run that carries the plan out.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        operation: String,
        /// Of the journal's own file; none where the file system keeps no birth times.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        birth: Option<Birth>,
    },
    /// From here on, the tree may have changed.
    Apply,
    /// All of it was made, and is on the disk.
    Done,
    /// Nothing of it is left. What others had changed meanwhile was left alone: these names of ours
    /// hold what would otherwise be lost.
    RolledBack { spared: Vec<RelPath> },
}

/// How far a plan came.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum State {
    #[default]
    Empty,
    Ready(Vec<Entry>),
    Applying(Vec<Entry>),
    Done(Vec<Entry>),
    /// With the names of ours that hold what would otherwise be lost.
    RolledBack(Vec<RelPath>),
    /// Written by a later version of this program.
    Foreign,
}

impl State {
    /// The only ways from state to state; an event that does not fit changes nothing.
    pub(crate) fn next(self, event: Event) -> Self {
        match (self, event) {
            (_, Event::Begin { version, .. }) if version != VERSION => Self::Foreign,
            (Self::Empty, Event::Begin { entries, .. }) => Self::Ready(entries),
            (Self::Ready(entries), Event::Apply) => Self::Applying(entries),
            (Self::Applying(entries), Event::Done) => Self::Done(entries),
            (Self::Ready(_) | Self::Applying(_), Event::RolledBack { spared }) => {
                Self::RolledBack(spared)
            }
            (state, _) => state,
        }
    }
}

/// Whether a journal was written where it lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Origin {
    /// Its first record names its own file.
    Here,
    /// It has no record, or names no birth time, or another file: it may be anybody's.
    #[default]
    Unproven,
}

/// What a journal says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Account {
    pub(crate) state: State,
    pub(crate) origin: Origin,
    /// The run that carries the plan out.
    pub(crate) operation: String,
}

/// An open journal.
#[derive(Debug)]
pub(crate) struct Journal {
    file: File,
    length: u64,
}

impl Journal {
    /// Starts one: every entry is written, nothing is waited for yet.
    pub(crate) fn begin(
        dir: &Dir<'_>,
        entries: &[Entry],
        operation: &str,
    ) -> Result<Self, FileError> {
        let new = dir.create(JOURNAL, 0o600)?;
        let begin = Event::Begin {
            version: VERSION,
            entries: entries.to_vec(),
            operation: operation.to_owned(),
            birth: Birth::of(&new.file),
        };
        let line = line(&begin);
        dir.reserve(JOURNAL, &new.file, (line.len() + TAIL) as u64)?;
        let mut journal = Self {
            file: new.file,
            length: 0,
        };
        journal.write(dir, &line)?;
        Ok(journal)
    }

    /// Reads what a journal says, and opens it to go on.
    pub(crate) fn open(dir: &Dir<'_>) -> Result<(Self, Account), FileError> {
        let (bytes, _, read_from) = dir.read_open(JOURNAL, LONGEST)?;
        let (account, length) = read(&bytes, Birth::of(&read_from));
        let file = dir.open_to_write(JOURNAL)?;
        Ok((Self { file, length }, account))
    }

    /// Appends an event, and waits until it is on the disk.
    pub(crate) fn record(&mut self, dir: &Dir<'_>, event: &Event) -> Result<(), FileError> {
        self.append(dir, event)?;
        self.sync(dir)
    }

    /// Appends an event that a crash may still lose.
    pub(crate) fn append(&mut self, dir: &Dir<'_>, event: &Event) -> Result<(), FileError> {
        self.write(dir, &line(event))
    }

    pub(crate) fn sync(&self, dir: &Dir<'_>) -> Result<(), FileError> {
        dir.sync_data(JOURNAL, &self.file)
    }

    fn write(&mut self, dir: &Dir<'_>, line: &[u8]) -> Result<(), FileError> {
        dir.write_at(JOURNAL, &self.file, line, self.length)?;
        self.length += line.len() as u64;
        Ok(())
    }

    /// Gives back the room that was set aside and is not needed.
    pub(crate) fn trim(self) {
        // Nothing depends on it.
        let _ = self.file.set_len(self.length);
    }
}

/// What the journal of a plan says that nobody is at work on; nothing where there is no journal.
pub(crate) fn account(dir: &Dir<'_>) -> Result<Account, FileError> {
    match dir.read_open(JOURNAL, LONGEST) {
        Ok((bytes, _, file)) => Ok(read(&bytes, Birth::of(&file)).0),
        Err(error) if error.errno == Errno::NOENT => Ok(Account::default()),
        Err(error) => Err(error),
    }
}

fn line(event: &Event) -> Vec<u8> {
    // Of strings and numbers: writing it to memory cannot fail.
    let json = serde_json::to_vec(event).unwrap_or_default();
    let mut line = format!("{:08x} ", CHECKSUM.checksum(&json)).into_bytes();
    line.extend(json);
    line.push(b'\n');
    line
}

/// What all good lines say, and their length together. `own` is the birth of the file they stand in.
fn read(bytes: &[u8], own: Option<Birth>) -> (Account, u64) {
    let mut account = Account::default();
    let mut length = 0;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let Some(json) = whole(line) else {
            // A tail that was torn is expected; a beginning that is not there while a tail is, is damage.
            let rest = bytes.get(usize::try_from(length).unwrap_or_default()..);
            let more = rest
                .unwrap_or_default()
                .split_inclusive(|byte| *byte == b'\n');
            if account.state == State::Empty && more.skip(1).any(|line| whole(line).is_some()) {
                account.state = State::Foreign;
            }
            break;
        };
        // A line that is whole and says what we do not know was written by somebody else.
        account.state = match serde_json::from_slice(json) {
            Ok(event) => {
                if let (
                    0,
                    Event::Begin {
                        birth, operation, ..
                    },
                ) = (length, &event)
                {
                    account.operation.clone_from(operation);
                    if birth.is_some() && *birth == own {
                        account.origin = Origin::Here;
                    }
                }
                account.state.next(event)
            }
            Err(_) => State::Foreign,
        };
        length += line.len() as u64;
    }
    (account, length)
}

/// What a line says, if its checksum holds.
fn whole(line: &[u8]) -> Option<&[u8]> {
    let (sum, json) = line.strip_suffix(b"\n")?.split_at_checked(9)?;
    let sum = std::str::from_utf8(sum).ok()?.strip_suffix(' ')?;
    let sum = u32::from_str_radix(sum, 16).ok()?;
    (sum == CHECKSUM.checksum(json)).then_some(json)
}

#[cfg(test)]
mod tests {
    use super::{
        super::entry::{Post, Pre, Way},
        *,
    };
    use crate::plan::files::{Facts, Kind};

    fn begun() -> Event {
        Event::Begin {
            version: VERSION,
            entries: Vec::new(),
            operation: String::new(),
            birth: None,
        }
    }

    fn state(bytes: &[u8]) -> State {
        read(bytes, None).0.state
    }

    #[test]
    fn a_torn_tail_says_nothing() {
        let whole = [line(&begun()), line(&Event::Apply), line(&Event::Done)].concat();
        let before_done = whole.len() - line(&Event::Done).len();
        for cut in before_done..whole.len() {
            let mut torn = whole.get(..cut).unwrap().to_vec();
            torn.resize(whole.len() + 100, 0);
            let (account, length) = read(&torn, None);
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
    fn no_event_leads_out_of_an_end() {
        let undone = Event::RolledBack { spared: Vec::new() };
        for event in [begun(), Event::Apply, Event::Done, undone] {
            for end in [State::Done(Vec::new()), State::RolledBack(Vec::new())] {
                assert_eq!(end.clone().next(event.clone()), end);
            }
        }
        assert_eq!(State::Empty.next(Event::Apply), State::Empty);
    }

    #[test]
    fn a_journal_of_a_later_version_is_not_read() {
        let event = Event::Begin {
            version: VERSION + 1,
            entries: Vec::new(),
            operation: String::new(),
            birth: None,
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
        };
        let origin = |lines: &[u8], own| read(lines, own).0.origin;
        let ours = line(&begun(Some(birth(7, 9))));
        assert_eq!(origin(&ours, Some(birth(7, 9))), Origin::Here);
        for other in [None, Some(birth(7, 8)), Some(birth(8, 9))] {
            assert_eq!(origin(&ours, other), Origin::Unproven, "{other:?}");
        }
        let unsaid = line(&begun(None));
        for own in [None, Some(birth(7, 9))] {
            assert_eq!(origin(&unsaid, own), Origin::Unproven);
        }
        // Not in a later record, after one that names another file or none.
        for first in [unsaid, line(&begun(Some(birth(1, 1)))), line(&Event::Apply)] {
            let lines = [first, ours.clone()].concat();
            assert_eq!(origin(&lines, Some(birth(7, 9))), Origin::Unproven);
        }
    }

    #[test]
    fn a_journal_names_its_own_file_and_its_copy_does_not() {
        let keep = tempfile::tempdir().unwrap();
        let path = camino::Utf8Path::from_path(keep.path()).unwrap();
        let root = crate::plan::files::Root::open(path, std::sync::Arc::default()).unwrap();
        let dir = root.dir(None).unwrap();
        drop(Journal::begin(&dir, &[], "op_1").unwrap());
        if Birth::of(&dir.open(JOURNAL).unwrap().0).is_none() {
            return; // A file system without birth times.
        }
        assert_eq!(account(&dir).unwrap().origin, Origin::Here);
        std::fs::rename(path.join(JOURNAL), path.join("aside")).unwrap();
        std::fs::copy(path.join("aside"), path.join(JOURNAL)).unwrap();
        assert_eq!(account(&dir).unwrap().origin, Origin::Unproven);
        assert_eq!(account(&dir).unwrap().operation, "op_1");
    }
}
