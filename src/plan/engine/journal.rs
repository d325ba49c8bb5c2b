//! The journal of a plan: the one record of what it is to change, how far it came, and how it ended. Recovery, rollback and
//! every report are made from it.
//!
//! It consists of lines of `crc32 SP json LF`, appended to a file whose space is allocated first. The first line with a
//! wrong checksum ends it. The file is made together with the report directory, so a missing journal was removed.
//!
//! A checksum proves nothing about the author. The first line therefore names the inode and the birth time of its own
//! file, which a copy, a clone or an unpacked archive cannot have, and the inode of the root.

mod state;

use std::{fs::File, io::Read};

use crc::{CRC_32_ISO_HDLC, Crc, Table};

use crate::{
    plan::record::{Run, Undo},
    task::Sanction,
    tree::{Anonymous, Birth, Dir, FileError, there},
};

pub(crate) use state::{Account, Begin, End, Event, PipelineNote, Started, State};

pub(crate) const JOURNAL: &str = "journal";

/// Of the lines, so that a later program knows what it reads.
const VERSION: u32 = 1;

/// The largest journal that is written or read. A plan has at most a thousand actions, and a journal that somebody
/// else wrote must cost little time and memory.
const LONGEST: u64 = 16 * 1024 * 1024;

/// The longest first line of a journal that is recovered without a question. It names no paths.
const FIRST: u64 = 4096;

static CHECKSUM: Crc<u32, Table<16>> = Crc::<u32, Table<16>>::new(&CRC_32_ISO_HDLC);

/// Whether a journal was written in this place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Its first record names its own file and its root, and nobody but its owner may write to it.
    Here,
    /// It may be anybody's.
    Unproven(Doubt),
}

impl Default for Origin {
    fn default() -> Self {
        Self::Unproven(Doubt::Unsaid)
    }
}

/// The reason why a journal may not have been written in this place by this user or root. Each completes a sentence that
/// begins with the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Doubt {
    #[error("has no first record that can be read: it is damaged, or oneact did not write it")]
    Unsaid,
    #[error(transparent)]
    Anonymous(#[from] Anonymous),
    #[error("was not written in this place: its directory was copied, cloned or unpacked")]
    OtherFile,
    #[error("names another root: it was moved here from there")]
    OtherRoot,
    #[error(
        "names another inode of the root: the overlay file system of the root was mounted again, as it is when a container restarts"
    )]
    Overlay,
}

#[derive(Debug)]
pub(crate) struct Journal {
    file: File,
    length: u64,
    pub(super) origin: Origin,
}

/// Why the changes of a plan are not in its journal.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotReady {
    #[error("the journal of the plan would be longer than 16 MiB; split the plan")]
    TooLong,
    #[error(transparent)]
    File(#[from] FileError),
}

impl Journal {
    /// Starts a journal. A crash may still lose it.
    pub(crate) fn begin(
        dir: &Dir<'_>,
        operation: &str,
        sanction: &Sanction,
        run: Run,
    ) -> Result<Self, FileError> {
        let (file, _) = dir.create(JOURNAL, 0o600)?;
        let birth = birth(dir, &file)?;
        let begin = Begin {
            version: VERSION,
            operation: operation.to_owned(),
            birth: birth.ok(),
            root: dir.root.inode()?,
            approved: match sanction {
                Sanction::Approved(hash) => Some(hash.clone()),
                Sanction::None | Sanction::Sought => None,
            },
        };
        let mut journal = Self {
            file,
            length: 0,
            origin: birth.map_or_else(|why| Origin::Unproven(why.into()), |_| Origin::Here),
        };
        let lines = [line(&Event::Begin(begin)), line(&Event::Run(run))];
        journal.write(dir, &lines.concat())?;
        Ok(journal)
    }

    /// Writes the changes of a part, and reserves `room` bytes for the events that follow. A crash may still lose it.
    pub(crate) fn ready(&mut self, dir: &Dir<'_>, part: Undo, room: u64) -> Result<(), NotReady> {
        let line = line(&Event::Ready(part));
        let length = self.length + line.len() as u64 + room;
        if length > LONGEST {
            return Err(NotReady::TooLong);
        }
        dir.reserve(JOURNAL, &self.file, length)?;
        Ok(self.write(dir, &line)?)
    }

    /// Reads a journal, and opens it for further events.
    pub(crate) fn open(dir: &Dir<'_>) -> Result<(Self, Account), FileError> {
        let (account, length) = told(dir)?;
        let file = dir.open_to_write(JOURNAL)?;
        let origin = account.origin;
        let journal = Self {
            file,
            length,
            origin,
        };
        Ok((journal, account))
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

    /// Releases the reserved space that is not needed.
    pub(crate) fn trim(&self) {
        // Nothing depends on it.
        let _ = self.file.set_len(self.length);
    }
}

/// The account of the journal of a plan that no process is applying; an empty one if no journal was written here.
pub(crate) fn account(dir: &Dir<'_>) -> Result<Account, FileError> {
    match beginning(dir)? {
        Some(Beginning::Here) => account_by_anybody(dir),
        Some(Beginning::Elsewhere(doubt)) => Ok(Account {
            origin: Origin::Unproven(doubt),
            ..Account::default()
        }),
        Some(Beginning::Torn) | None => Ok(Account::default()),
    }
}

/// The same of a journal that anybody may have written, for a person who names its directory.
pub(crate) fn account_by_anybody(dir: &Dir<'_>) -> Result<Account, FileError> {
    let (account, _) = there(told(dir))?.unzip();
    Ok(account.unwrap_or_default())
}

fn told(dir: &Dir<'_>) -> Result<(Account, u64), FileError> {
    let (bytes, _, file) = dir.read_open(JOURNAL, LONGEST)?;
    read_here(dir, &file, &bytes)
}

/// The lines of the journal in this directory.
fn read_here(dir: &Dir<'_>, file: &File, bytes: &[u8]) -> Result<(Account, u64), FileError> {
    let (mut account, length) = read(bytes, birth(dir, file)?, dir.root.inode()?);
    if account.origin == Origin::Unproven(Doubt::OtherRoot) && dir.root.is_on_overlay() {
        account.origin = Origin::Unproven(Doubt::Overlay);
    }
    Ok((account, length))
}

/// Of the journal's own file.
fn birth(dir: &Dir<'_>, file: &File) -> Result<Result<Birth, Anonymous>, FileError> {
    Birth::of(file).map_err(FileError::of("look at", dir.name(JOURNAL)))
}

/// What the beginning of a journal shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Beginning {
    /// The first line names this file and this root.
    Here,
    /// A part of one line, and zeros: a power failure leaves this.
    Torn,
    Elsewhere(Doubt),
}

/// Reads the beginning of a journal, if there is one. Nothing else is read, because a stranger may have written a
/// journal that takes long to read.
pub(super) fn beginning(dir: &Dir<'_>) -> Result<Option<Beginning>, FileError> {
    let Some((file, _)) = there(dir.open(JOURNAL))? else {
        return Ok(None);
    };
    let mut bytes = Vec::new();
    let read_first = (&file).take(FIRST).read_to_end(&mut bytes);
    read_first.map_err(FileError::of("read", dir.name(JOURNAL)))?;
    let first = bytes.split_inclusive(|byte| *byte == b'\n').next();
    let (account, length) = read_here(dir, &file, first.unwrap_or_default())?;
    let is_full = bytes.len() as u64 == FIRST && bytes.last() != Some(&0);
    Ok(Some(match account.origin {
        Origin::Here => Beginning::Here,
        Origin::Unproven(_) if length == 0 && !is_full && !bytes.contains(&b'\n') => {
            Beginning::Torn
        }
        Origin::Unproven(doubt) => Beginning::Elsewhere(doubt),
    }))
}

fn line(event: &Event) -> Vec<u8> {
    // Of strings and numbers: writing it to memory cannot fail.
    let json = serde_json::to_vec(event).unwrap_or_default();
    let mut line = format!("{:08x} ", CHECKSUM.checksum(&json)).into_bytes();
    line.extend(json);
    line.push(b'\n');
    line
}

/// What all good lines say, and their length together. `own` is the birth of the file they stand in,
/// `own_root` the inode of the root it is below.
fn read(bytes: &[u8], own: Result<Birth, Anonymous>, own_root: u64) -> (Account, u64) {
    let mut account = Account::default();
    let mut length = 0;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let Some(json) = whole(line) else {
            // A torn tail is expected. Good lines after a bad first line mean damage.
            let rest = bytes.get(usize::try_from(length).unwrap_or_default()..);
            let more = rest
                .unwrap_or_default()
                .split_inclusive(|byte| *byte == b'\n');
            if account.state == State::Empty && more.skip(1).any(|line| whole(line).is_some()) {
                account.state = State::Foreign;
            }
            break;
        };
        match serde_json::from_slice(json) {
            Ok(event) => {
                if let (0, Event::Begin(begin)) = (length, &event) {
                    account.origin = origin(begin, own, own_root);
                    if let (Origin::Here, Some(hash)) = (account.origin, &begin.approved) {
                        account.sanction = Sanction::Approved(hash.clone());
                    }
                }
                account.heed(event);
            }
            // A complete line with an unknown content was written by another version.
            Err(_) => account.state = State::Foreign,
        }
        length += line.len() as u64;
    }
    (account, length)
}

fn origin(begin: &Begin, own: Result<Birth, Anonymous>, own_root: u64) -> Origin {
    match own {
        Err(Anonymous::NoBirthTimes) if begin.birth.is_some() => Origin::Unproven(Doubt::OtherFile),
        Err(why) => Origin::Unproven(why.into()),
        Ok(own) if begin.birth != Some(own) => Origin::Unproven(Doubt::OtherFile),
        Ok(_) if begin.root != own_root => Origin::Unproven(Doubt::OtherRoot),
        Ok(_) => Origin::Here,
    }
}

/// What a line says, if its checksum holds.
fn whole(line: &[u8]) -> Option<&[u8]> {
    let (sum, json) = line.strip_suffix(b"\n")?.split_at_checked(9)?;
    let sum = std::str::from_utf8(sum).ok()?.strip_suffix(' ')?;
    let sum = u32::from_str_radix(sum, 16).ok()?;
    (sum == CHECKSUM.checksum(json)).then_some(json)
}

/// For fuzzing: the events of a journal, a line each, to which the checksums are added. A journal says nothing more because
/// its tail is torn, and is never taken for one that was written here.
#[cfg(any(test, fuzzing))]
pub(crate) fn fuzzed(events: &[u8]) {
    let lines = events.split(|byte| *byte == b'\n').map(|json| {
        let sum = format!("{:08x} ", CHECKSUM.checksum(json));
        [sum.as_bytes(), json, b"\n"].concat()
    });
    let journal = lines.collect::<Vec<_>>().concat();
    let read = |bytes: &[u8]| read(bytes, Err(Anonymous::NoBirthTimes), 1);
    let (whole, length) = read(&journal);
    assert_eq!(usize::try_from(length), Ok(journal.len()));
    assert_ne!(whole.origin, Origin::Here);
    let (torn, length) = read(&[&journal, b"00000000 {\"Apply" as &[u8]].concat());
    assert_eq!(usize::try_from(length), Ok(journal.len()));
    assert_eq!(torn.state, whole.state);
    assert_eq!(torn.changes(), whole.changes());
}

#[cfg(test)]
mod tests;
