//! The journal of a plan: what was meant, and how far it came. Recovery reads nothing else of ours.
//!
//! Lines of `crc32 SP json LF`, appended to a file whose space is set aside first. The first line whose
//! checksum fails ends it: a torn tail says nothing.

use std::fs::File;

use crc::{CRC_32_ISO_HDLC, Crc};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::{
    plan::files::{Dir, FileError},
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
        let begin = Event::Begin {
            version: VERSION,
            entries: entries.to_vec(),
            operation: operation.to_owned(),
        };
        let line = line(&begin);
        let new = dir.create(JOURNAL, 0o600)?;
        dir.reserve(JOURNAL, &new.file, (line.len() + TAIL) as u64)?;
        let mut journal = Self {
            file: new.file,
            length: 0,
        };
        journal.write(dir, &line)?;
        Ok(journal)
    }

    /// Reads how far a plan came, and opens its journal to go on.
    pub(crate) fn open(dir: &Dir<'_>) -> Result<(Self, State), FileError> {
        let (bytes, _) = dir.read(JOURNAL, LONGEST)?;
        let (state, length) = read(&bytes);
        let file = dir.open_to_write(JOURNAL)?;
        Ok((Self { file, length }, state))
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

/// How far a plan came that nobody is at work on; `Empty` where there is no journal.
pub(crate) fn state(dir: &Dir<'_>) -> Result<State, FileError> {
    match dir.read(JOURNAL, LONGEST) {
        Ok((bytes, _)) => Ok(read(&bytes).0),
        Err(error) if error.errno == Errno::NOENT => Ok(State::Empty),
        Err(error) => Err(error),
    }
}

/// The run that carried a plan out, as its journal begins.
pub(crate) fn operation(dir: &Dir<'_>) -> Option<String> {
    let (bytes, _) = dir.read(JOURNAL, LONGEST).ok()?;
    let first = bytes.split_inclusive(|byte| *byte == b'\n').next()?;
    match serde_json::from_slice(whole(first)?).ok()? {
        Event::Begin { operation, .. } => Some(operation),
        Event::Apply | Event::Done | Event::RolledBack { .. } => None,
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

/// The state after all good lines, and their length together.
fn read(bytes: &[u8]) -> (State, u64) {
    let mut state = State::default();
    let mut length = 0;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let Some(json) = whole(line) else {
            // A tail that was torn is expected; a beginning that is not there while a tail is, is damage.
            let rest = bytes.get(usize::try_from(length).unwrap_or_default()..);
            let more = rest
                .unwrap_or_default()
                .split_inclusive(|byte| *byte == b'\n');
            if state == State::Empty && more.skip(1).any(|line| whole(line).is_some()) {
                state = State::Foreign;
            }
            break;
        };
        // A line that is whole and says what we do not know was written by somebody else.
        state = match serde_json::from_slice(json) {
            Ok(event) => state.next(event),
            Err(_) => State::Foreign,
        };
        length += line.len() as u64;
    }
    (state, length)
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
        }
    }

    #[test]
    fn a_torn_tail_says_nothing() {
        let whole = [line(&begun()), line(&Event::Apply), line(&Event::Done)].concat();
        let before_done = whole.len() - line(&Event::Done).len();
        for cut in before_done..whole.len() {
            let mut torn = whole.get(..cut).unwrap().to_vec();
            torn.resize(whole.len() + 100, 0);
            assert_eq!(
                read(&torn),
                (State::Applying(Vec::new()), before_done as u64),
                "{cut}"
            );
        }
        assert_eq!(read(&whole).0, State::Done(Vec::new()));
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
        };
        assert_eq!(read(&line(&begin)).0, State::Ready(entries));
    }

    #[test]
    fn a_damaged_line_ends_the_journal() {
        let mut bytes = [line(&begun()), line(&Event::Apply)].concat();
        let last = bytes.len() - 3;
        *bytes.get_mut(last).unwrap() ^= 1;
        assert_eq!(read(&bytes).0, State::Ready(Vec::new()));
    }

    #[test]
    fn a_journal_without_its_beginning_is_not_taken_for_an_empty_one() {
        let mut bytes = [line(&begun()), line(&Event::Apply)].concat();
        *bytes.get_mut(12).unwrap() ^= 1;
        assert_eq!(read(&bytes).0, State::Foreign);
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
        };
        assert_eq!(State::Empty.next(event), State::Foreign);
    }
}
