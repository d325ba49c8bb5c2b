//! `patch`: the hunks of a diff of one file. Nothing is guessed: the old lines of every hunk must be in the file exactly, at
//! the stated line, or, if a stated line is wrong, at one place only. Pure.

mod places;

use std::fmt::Write as _;

use ring::digest::{Context, SHA1_FOR_LEGACY_USE_ONLY, SHA256};

use crate::task::{RelPath, hexadecimal};

use super::{
    Budget, EditError, Edited,
    diff::names,
    hunks::{Cursor, DiffError, DiffRules, Hunk, contradiction, error_at},
    text::Text,
};

use places::places;

/// A diff of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Patch {
    hunks: Vec<Hunk>,
    /// The hash of the file before, from an `index` line: in lower case, often only its first digits.
    blob: Option<String>,
    requires_index: bool,
}

/// The digits of a hash that prove something: git writes at least so many.
const LEAST_DIGITS: usize = 7;

impl Patch {
    /// Reads the diff of that file. The error says what is wrong, and where.
    pub(crate) fn parse(diff: &str, file: &RelPath, rules: DiffRules) -> Result<Self, DiffError> {
        let mut cursor = Cursor::new(diff);
        let mut blob = None;
        let mut is_named = false;
        while let Some(line) = cursor.peek().filter(|line| !line.starts_with("@@")) {
            if let Some(kind) = beyond(line) {
                return Err(cursor.error(format!(
                    "{kind}; `patch` changes the content of one file (`oneact plan from-diff` makes a plan of it)"
                )));
            }
            if !is_named && cursor.has_names(cursor.at) {
                named(&mut cursor, file)?;
                is_named = true;
                continue;
            }
            if line.starts_with([' ', '+', '-']) {
                return Err(cursor.error(
                    "this line belongs to no hunk; a hunk begins with `@@ -FIRST,COUNT +FIRST,COUNT @@`, or with `@@` alone",
                ));
            }
            blob = line.strip_prefix("index ").map_or(blob, before_of_index);
            cursor.at += 1;
        }
        let hunks = cursor.hunks(rules)?;
        cursor.skip_text()?;
        if cursor.peek().is_some() {
            return Err(cursor.error(
                "here begins another file; give each file an action of its own, or make a plan of the diff with \
                 `oneact plan from-diff`",
            ));
        }
        if rules.require_index && blob.is_none() {
            return Err(error_at(
                0,
                "the diff has no `index` line, so its hash cannot be checked",
            ));
        }
        let problem = contradiction(&hunks).map(|problem| error_at(0, problem));
        let patch = Self {
            hunks,
            blob,
            requires_index: rules.require_index,
        };
        problem.map_or(Ok(patch), Err)
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
        if is_it {
            return Ok("; the `index` hash proves that the diff was made from this file");
        }
        if !self.requires_index {
            return Ok(
                "; the `index` hash is of another version of the file, and the old lines fit all the same",
            );
        }
        Err(EditError::Refused(format!(
            "the diff was made from another version of the file: its `index` line says {said}, which is not the hash of \
             the file as it is now"
        )))
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
fn named(cursor: &mut Cursor<'_>, file: &RelPath) -> Result<(), DiffError> {
    let at = cursor.at;
    for (line, side) in (at..).zip(names::sides(cursor)?) {
        let Some(name) = side.name else {
            let what =
                "the diff creates or deletes the file; use the action FILE_CREATE or FILE_DELETE";
            return Err(error_at(line, what));
        };
        let below = name.split_once('/').map(|(_, below)| below);
        if name != file.as_str() && below != Some(file.as_str()) {
            let what = format!("the diff is of `{name}`, and the action names `{file}`");
            return Err(error_at(line, what));
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
    budget.go_on()?;
    let hunks = &patch.hunks;
    let whole = [text.mark, text.body].concat();
    let folded = whole.replace("\r\n", "\n");
    // A diff without CR LF fits a file in which every line ends so.
    let lines = hunks
        .iter()
        .flat_map(|hunk| hunk.old.iter().chain(&hunk.new));
    let is_folded = folded != whole
        && folded.replace('\n', "\r\n") == whole
        && !lines.clone().any(|line| line.ends_with("\r\n"));
    let before = if is_folded { &folded } else { &whole };
    let file: Vec<&str> = before.split_inclusive('\n').collect();
    let places = places(&file, hunks)?;
    let mut said = said(hunks, &places);
    let mut after = String::with_capacity(before.len() + lines.map(String::len).sum::<usize>());
    let mut done = 0;
    for (hunk, place) in hunks.iter().zip(places) {
        after.extend(file.get(done..place).unwrap_or_default().iter().copied());
        after.extend(hunk.new.iter().map(String::as_str));
        done = place + hunk.old.len();
    }
    after.extend(file.get(done..).unwrap_or_default().iter().copied());
    if is_folded {
        after = after.replace('\n', "\r\n");
        said.push_str("; the file keeps its line ends, CR LF");
    }
    said.push_str(patch.proof(&whole)?);
    budget.fits(after.len() as u64)?;
    Ok(Edited::whole(after.into_bytes(), said))
}

fn said(hunks: &[Hunk], places: &[usize]) -> String {
    let mut said = match hunks.len() {
        1 => "1 hunk applied".to_owned(),
        hunks => format!("{hunks} hunks applied"),
    };
    for (number, (hunk, place)) in (1..).zip(hunks.iter().zip(places)) {
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
    said
}

#[cfg(test)]
mod tests;
