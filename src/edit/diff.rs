//! Reads a diff file by file: git's extended headers, and the headers of other tools.

mod begin_patch;
mod file;
pub(super) mod names;

use std::collections::HashMap;

use super::hunks::{Cursor, DiffError, DiffRules, contradiction, error_at};

pub(crate) use file::{FileChange, FileDiff, Mode};
use names::Side;

/// The line with which git begins a file.
const GIT: &str = "diff --git ";

/// Every file of the diff, and what a plan cannot express.
pub(crate) fn read(diff: &str, rules: DiffRules) -> (Vec<FileDiff>, Vec<DiffError>) {
    let cursor = &mut Cursor::new(diff);
    let mut files = Vec::new();
    let mut problems = Vec::new();
    while let Some(line) = cursor.peek() {
        let at = cursor.at;
        let section = if line.starts_with("*** Begin Patch") {
            begin_patch::read(cursor, rules)
        } else if line.starts_with(GIT) || cursor.has_names(at) {
            file(cursor, rules).map(|file| vec![file])
        } else if let Some(problem) = inexpressible(cursor) {
            Err(cursor.error(format!("`{line}`: {problem}")))
        } else {
            cursor.at += 1;
            continue;
        };
        match section {
            Ok(section) => files.extend(section),
            Err(problem) => {
                problems.push(problem);
                cursor.at = cursor.at.max(at + 1);
                while cursor.peek().is_some() && !resumes(cursor) {
                    cursor.at += 1;
                }
            }
        }
    }
    if files.is_empty() && problems.is_empty() {
        let is_begin = |line: &str| line.starts_with("--- ") || line.starts_with(GIT);
        let mut indented = diff.lines().filter(|line| line.starts_with([' ', '\t']));
        let problem = if indented.any(|line| is_begin(line.trim_start())) {
            "the diff is indented; send it without the blanks before its lines"
        } else {
            "the text has no diff: no `diff --git` line, no `---` and `+++` lines and no `*** Begin Patch`"
        };
        problems.push(error_at(0, problem));
    }
    (files, problems)
}

/// Whether the next file begins here, after one that could not be read.
fn resumes(cursor: &Cursor<'_>) -> bool {
    let line = cursor.peek().unwrap_or_default();
    let is_inner = line.starts_with("*** ") && !line.starts_with("*** Begin Patch");
    cursor.begins_file(cursor.at) && !is_inner
}

/// Lines that say what no plan can express: how they begin and end, and what is to be done.
const INEXPRESSIBLE: [(&str, &str, &str); 15] = [
    ("*** Update File: ", "", OUTSIDE),
    ("*** Add File: ", "", OUTSIDE),
    ("*** Delete File: ", "", OUTSIDE),
    ("*** Move to: ", "", OUTSIDE),
    ("diff --cc ", "", COMBINED),
    ("diff --combined ", "", COMBINED),
    ("@@@ ", "", COMBINED),
    ("***************", "", CONTEXT),
    ("@@", "", NAMELESS),
    ("Only in ", "", ONLY),
    ("Binary files ", " differ", BINARY),
    ("Files ", " differ", BINARY),
    ("Cannot display: ", "", BINARY),
    ("Property changes on: ", "", PROPERTIES),
    ("Submodule ", ":", SUBMODULE),
];

const OUTSIDE: &str = "this line stands outside of `*** Begin Patch` and `*** End Patch`";
const COMBINED: &str = "a combined diff, of a merge, is not read; make a diff against one parent";
const CONTEXT: &str = "a context diff is not read; make a unified diff (diff -u)";
const NAMELESS: &str = "these hunks name no file; put `--- FILE` and `+++ FILE` above them";
const ONLY: &str =
    "the diff has nothing of its content; make the diff with `diff -N`, or leave the file out";
const BINARY: &str =
    "the content of a binary file is not in the diff; change it by an action of a plan";
const PROPERTIES: &str =
    "a plan has no properties of Subversion; leave them out (svn diff --ignore-properties)";
const SUBMODULE: &str =
    "a plan cannot change a submodule; leave it out (git diff --ignore-submodules)";

/// What a line says that no plan can express.
fn inexpressible(cursor: &Cursor<'_>) -> Option<&'static str> {
    let line = cursor.peek()?;
    let mut known = INEXPRESSIBLE.iter();
    let found = known.find(|(begin, end, _)| line.starts_with(begin) && line.ends_with(end));
    let next = |by: usize| cursor.line(cursor.at + by).unwrap_or_default();
    let says_nothing = line.starts_with("Index: ")
        && next(1).starts_with("===")
        && (next(2).is_empty() || next(2).starts_with("Index: "));
    found.map(|(_, _, what)| *what).or_else(|| {
        says_nothing.then_some("the diff names the file and says nothing of it, as of an empty one")
    })
}

/// The file that begins here: with `diff --git` and extended headers, or with `---` and `+++` alone.
fn file(cursor: &mut Cursor<'_>, rules: DiffRules) -> Result<FileDiff, DiffError> {
    let line = cursor.at;
    let git = cursor.peek().and_then(|line| line.strip_prefix(GIT));
    let wrong = |problem: String| match git {
        Some(names) => error_at(line, format!("`{names}`: {problem}")),
        None => error_at(line, problem),
    };
    cursor.at += usize::from(git.is_some());
    let headers = Headers::read(cursor);
    let is_named = cursor.has_names(cursor.at);
    let sides = names::sides(cursor)?;
    let change = headers.change(git, &sides).map_err(wrong)?;
    let modes = headers.modes().map_err(wrong)?;
    let first = cursor.at;
    let hunks = cursor.hunks(rules)?;
    if is_named && hunks.is_empty() {
        return Err(error_at(first, "no hunk follows these names"));
    }
    let index = headers.0.get("index ");
    let index = index.map_or_else(String::new, |hashes| format!("index {hashes}\n"));
    let text = Some(index + &cursor.text_from(first));
    cursor.skip_text()?;
    let file = FileDiff {
        line: line + 1,
        change,
        modes,
        hunks,
        text,
    };
    file.problem()
        .map_or(Ok(file), |problem| Err(wrong(problem)))
}

/// The extended headers of git, each with what follows it.
struct Headers<'t>(HashMap<&'static str, &'t str>);

impl<'t> Headers<'t> {
    fn read(cursor: &mut Cursor<'t>) -> Self {
        const KEYS: [&str; 13] = [
            "rename from ",
            "rename to ",
            "copy from ",
            "copy to ",
            "old mode ",
            "new mode ",
            "new file mode ",
            "deleted file mode ",
            "similarity index ",
            "dissimilarity index ",
            "index ",
            "GIT binary patch",
            "Binary files ",
        ];
        let mut headers = HashMap::new();
        while let Some(line) = cursor.peek()
            && let Some(key) = KEYS.into_iter().find(|key| line.starts_with(key))
        {
            headers.insert(key, line.strip_prefix(key).unwrap_or_default());
            cursor.at += 1;
        }
        Self(headers)
    }

    /// What becomes of the file.
    fn change(&self, git: Option<&str>, sides: &[Side; 2]) -> Result<FileChange, String> {
        if self.0.contains_key("GIT binary patch") || self.0.contains_key("Binary files ") {
            return Err(
                "the file is binary; change it by an action of a plan (FILE_CREATE or replace_content, with base64)"
                    .to_owned(),
            );
        }
        let name = |key| self.0.get(key).map(|name| names::unquoted(name));
        let moved = |from, to| match (name(from), name(to)) {
            (Some(from), Some(to)) => Ok(Some((from?, to?))),
            (None, None) => Ok(None),
            _ => Err("only one of the two names of a rename or copy is given".to_owned()),
        };
        let renamed = moved("rename from ", "rename to ")?;
        let copied = moved("copy from ", "copy to ")?;
        let [old, new] = sides;
        let is_new = self.0.contains_key("new file mode ") || old.is_missing;
        let is_deleted = self.0.contains_key("deleted file mode ") || new.is_missing;
        let is_copy = copied.is_some();
        let said = [renamed.is_some(), is_copy, is_new, is_deleted];
        if said.into_iter().filter(|is_said| *is_said).count() > 1 {
            return Err(
                "the headers contradict each other: a file is new, deleted, renamed or copied"
                    .to_owned(),
            );
        }
        let (from, to) = names::of_file(git, renamed.or(copied), sides)?;
        Ok(match (is_new, is_deleted, is_copy) {
            (true, ..) => FileChange::Created(to),
            (_, true, _) => FileChange::Deleted(from),
            (.., true) => FileChange::Copied(from, to),
            _ => FileChange::Edited(from, to),
        })
    }

    /// The modes before and after.
    fn modes(&self) -> Result<[Option<Mode>; 2], String> {
        let of = |key| self.0.get(key).map(|octal| mode(octal)).transpose();
        let (old, new) = (of("old mode ")?, of("new mode ")?);
        if old.is_some() != new.is_some() {
            return Err("only one of `old mode` and `new mode` is given".to_owned());
        }
        let index = self
            .0
            .get("index ")
            .and_then(|hashes| hashes.split_once(' '));
        let kept = index.map(|(_, octal)| mode(octal)).transpose()?;
        let old = old.or(of("deleted file mode ")?).or(kept);
        let new = new.or(of("new file mode ")?).or(kept);
        Ok([old, new])
    }
}

fn mode(octal: &str) -> Result<Mode, String> {
    match octal.trim_end() {
        "100755" | "100775" => Ok(Mode::Executable),
        "120000" => Ok(Mode::Link),
        "160000" => Err(SUBMODULE.to_owned()),
        mode if mode.starts_with("100") => Ok(Mode::Plain),
        mode => Err(format!("`{mode}` is not the mode of a file")),
    }
}

impl FileDiff {
    /// What contradicts itself, changes nothing, or has no place in a plan.
    fn problem(&self) -> Option<String> {
        let is_link = self.modes.contains(&Some(Mode::Link));
        let [old_mode, new_mode] = self.modes;
        let said = match &self.change {
            FileChange::Created(_) => return contradiction(&self.hunks),
            _ if is_link => {
                "a plan can make a symbolic link, but neither change, rename nor delete one"
            }
            FileChange::Deleted(_) if self.hunks.iter().any(|hunk| !hunk.new.is_empty()) => {
                "the diff deletes the file, but some of its lines stay"
            }
            FileChange::Edited(from, to)
                if from == to && self.hunks.is_empty() && old_mode == new_mode =>
            {
                "the diff says nothing of this file"
            }
            _ => return contradiction(&self.hunks),
        };
        Some(said.to_owned())
    }

    /// The content of a new file.
    pub(crate) fn content(&self) -> Result<String, String> {
        match self.hunks.as_slice() {
            [] => Ok(String::new()),
            [hunk] if hunk.old.is_empty() => Ok(hunk.new.concat()),
            _ => Err("the diff of a new file has old lines or several hunks".to_owned()),
        }
    }
}
