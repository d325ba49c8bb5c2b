//! `patch`: the hunks of a diff of one file. Nothing is guessed: the old lines of every hunk must be in the file exactly, at
//! the stated line, or, if a stated line is wrong, at one place only. Pure.

mod misfit;
mod places;

use std::fmt::Write as _;

use ring::digest::{Context, SHA1_FOR_LEGACY_USE_ONLY, SHA256};

use crate::task::{RelPath, hexadecimal};

use super::{
    Budget, EditError, Edited,
    diff::names,
    hunks::{Counts, Cursor, DiffError, End, Hunk, Line, Returns, contradiction, error_at},
    text::Text,
};

use misfit::misfit;
use places::{Ends, places};

/// A diff of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Patch {
    pub(super) hunks: Vec<Hunk>,
    returns: Returns,
    /// The hash of the file before, from an `index` line: in lower case, often only its first digits.
    blob: Option<String>,
    index: Index,
}

/// What a hash in an `index` line that does not fit comes to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Index {
    #[default]
    Told,
    /// The file must be the one from which the diff was made.
    Required,
}

/// The digits of a hash that prove something: git writes at least so many.
const LEAST_DIGITS: usize = 7;

impl Patch {
    /// Reads the diff of that file. The error says what is wrong, and where.
    pub(crate) fn parse(
        diff: &str,
        file: &RelPath,
        counts: Counts,
        index: Index,
    ) -> Result<Self, DiffError> {
        let mut cursor = Cursor::new(diff);
        let mut blob = None;
        let mut names = 0;
        while let Some(line) = cursor.peek().filter(|line| !line.starts_with("@@")) {
            if let Some(kind) = beyond(line) {
                return Err(cursor.error(format!(
                    "{kind}; `patch` changes the content of one file (`oneact plan from-diff` makes a plan of it)"
                )));
            }
            blob = line.strip_prefix("index ").map_or(blob, before_of_index);
            if cursor.has_names(cursor.at) {
                named(&cursor, file)?;
                names += 1;
                cursor.at += 1;
            } else if line.starts_with([' ', '+', '-']) {
                return Err(cursor.error(
                    "this line belongs to no hunk; a hunk begins with `@@ -FIRST,COUNT +FIRST,COUNT @@`, or with `@@` alone",
                ));
            }
            cursor.at += 1;
        }
        if names > 1 {
            return Err(
                cursor.error("the diff is of several files; give each file an action of its own")
            );
        }
        let hunks = cursor.hunks(counts)?;
        cursor.skip_text()?;
        if cursor.peek().is_some() {
            return Err(cursor.error(
                "here begins another file; give each file an action of its own, or make a plan of the diff with \
                 `oneact plan from-diff`",
            ));
        }
        let patch = Self {
            hunks,
            returns: cursor.returns,
            blob,
            index,
        };
        patch.makes_sense()?;
        Ok(patch)
    }

    /// Refuses what no file can take.
    fn makes_sense(&self) -> Result<(), DiffError> {
        let wrong = |problem: String| Err(error_at(0, problem));
        if self.index == Index::Required && self.blob.is_none() {
            return wrong("the diff has no `index` line, so its hash cannot be checked".to_owned());
        }
        if let Some(problem) = contradiction(&self.hunks) {
            return wrong(problem);
        }
        Ok(())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.hunks.is_empty()
    }

    /// What the hash of the `index` line says of the file before.
    fn proof(&self, before: &str) -> Result<&'static str, EditError> {
        let Some(said) = &self.blob else {
            return Ok("");
        };
        let is_it = [&SHA1_FOR_LEGACY_USE_ONLY, &SHA256]
            .into_iter()
            .any(|algorithm| {
                let mut hash = Context::new(algorithm);
                hash.update(format!("blob {}\0", before.len()).as_bytes());
                hash.update(before.as_bytes());
                hexadecimal(hash.finish().as_ref()).starts_with(said)
            });
        match (is_it, self.index) {
            (true, _) => Ok("; the `index` hash proves that the diff was made from this file"),
            (false, Index::Told) => Ok(
                "; the `index` hash is of another version of the file, and the old lines fit all the same",
            ),
            (false, Index::Required) => Err(EditError::Refused(format!(
                "the diff was made from another version of the file: its `index` line says {said}, which is not \
                 the hash of the file as it is now"
            ))),
        }
    }
}

/// The first hash of `index 1234567..89abcde 100644`; none of a new file.
fn before_of_index(rest: &str) -> Option<String> {
    let (before, _) = rest.split_once("..")?;
    let is_hash =
        before.len() >= LEAST_DIGITS && before.bytes().all(|digit| digit.is_ascii_hexdigit());
    let is_some = before.bytes().any(|digit| digit != b'0');
    (is_hash && is_some).then(|| before.to_ascii_lowercase())
}

/// What a header line says that is more than a change of content.
fn beyond(line: &str) -> Option<&'static str> {
    const KINDS: [(&str, &str); 10] = [
        (
            "*** ",
            "this is the `*** Begin Patch` text of coding agents",
        ),
        ("rename from", "the diff renames the file"),
        ("copy from", "the diff copies a file"),
        ("old mode", "the diff changes the mode of the file"),
        ("new file mode", "the diff creates the file"),
        ("deleted file mode", "the diff deletes the file"),
        ("GIT binary patch", "the diff is of a binary file"),
        ("Binary files ", "the diff is of a binary file"),
        ("diff --c", "this is a combined diff, of a merge"),
        ("***************", "this is a context diff"),
    ];
    let mut kinds = KINDS.into_iter();
    kinds.find_map(|(begin, kind)| line.starts_with(begin).then_some(kind))
}

/// Checks that `---` and `+++` name the file of the action.
fn named(cursor: &Cursor<'_>, file: &RelPath) -> Result<(), DiffError> {
    for (at, mark) in [(cursor.at, "--- "), (cursor.at + 1, "+++ ")] {
        let line = cursor.line(at).unwrap_or_default();
        let side = names::side(line.strip_prefix(mark).unwrap_or_default())
            .map_err(|problem| error_at(at, problem))?;
        let Some(name) = side.name else {
            let what =
                "the diff creates or deletes the file; use the action FILE_CREATE or FILE_DELETE";
            return Err(error_at(at, what));
        };
        let (whole, below) = (name.as_str(), name.split_once('/').map(|(_, below)| below));
        if whole != file.as_str() && below != Some(file.as_str()) {
            let what = format!("the diff is of `{name}`, and the action names `{file}`");
            return Err(error_at(at, what));
        }
    }
    Ok(())
}

/// The file with all hunks. A file that the last hunk leaves empty is empty.
pub(super) fn apply(
    text: Text<'_>,
    patch: &Patch,
    budget: &Budget<'_>,
) -> Result<Edited, EditError> {
    let whole = [text.mark, text.body].concat();
    let file: Vec<&str> = whole.split_inclusive('\n').collect();
    let ways: &[Ends] = match patch.returns {
        Returns::Everywhere => &[Ends::Returns, Ends::Plain],
        Returns::Kept if Ends::Returns.are_all(&file, &patch.hunks) => {
            &[Ends::Plain, Ends::Returns]
        }
        Returns::Kept => &[Ends::Plain],
    };
    let mut first = None;
    for ends in ways {
        budget.go_on()?;
        match places(&file, &patch.hunks, *ends) {
            Ok(places) => {
                let proof = patch.proof(&whole)?;
                let after = rewritten(&file, &patch.hunks, &places, *ends);
                budget.fits(after.len() as u64)?;
                let said = said(patch, &places, *ends, proof);
                return Ok(Edited::whole(after.into_bytes(), said));
            }
            Err(found) => first = first.or(Some(found)),
        }
    }
    let (number, problem) = first.unwrap_or((0, places::Problem::Nowhere));
    Err(misfit(&file, &patch.hunks, number, problem))
}

/// The text with the hunks at these places.
fn rewritten(file: &[&str], hunks: &[Hunk], places: &[usize], ends: Ends) -> String {
    let added = hunks.iter().flat_map(|hunk| &hunk.lines);
    let room = added.map(|line| line.text.len() + 2).sum::<usize>();
    let kept = file.iter().map(|line| line.len()).sum::<usize>();
    let mut after = String::with_capacity(room + kept);
    let mut done = 0;
    for (hunk, place) in hunks.iter().zip(places) {
        after.extend(file.get(done..*place).unwrap_or_default().iter().copied());
        done = place + hunk.old_lines().count();
        for line in hunk.new_lines() {
            write_line(&mut after, line, ends);
        }
    }
    after.extend(file.get(done..).unwrap_or_default().iter().copied());
    after
}

fn write_line(after: &mut String, line: &Line, ends: Ends) {
    after.push_str(&line.text);
    if line.end == End::Feed {
        after.push_str(ends.text());
    }
}

fn said(patch: &Patch, places: &[usize], ends: Ends, proof: &str) -> String {
    let mut said = match patch.hunks.len() {
        1 => "1 hunk applied".to_owned(),
        hunks => format!("{hunks} hunks applied"),
    };
    for (number, (hunk, place)) in (1..).zip(patch.hunks.iter().zip(places)) {
        let line = place + 1;
        // Writing to a String cannot fail.
        let _ = match hunk.start {
            Some(start) if start != line && *place > 0 => {
                write!(said, "; hunk {number} at line {line}, not at line {start}")
            }
            Some(_) => Ok(()),
            None => write!(said, "; hunk {number} at line {line}"),
        };
        if hunk.recounted.is_some() {
            let _ = write!(
                said,
                "; the counts of hunk {number} were wrong, and were recounted"
            );
        }
    }
    if ends == Ends::Returns && patch.returns == Returns::Kept {
        said.push_str("; the file keeps its line ends, CR LF");
    }
    said + proof
}

#[cfg(test)]
mod tests;
