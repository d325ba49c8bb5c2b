//! Reads a diff file by file: git's extended headers, and the headers of other tools.

mod begin_patch;
mod file;
pub(super) mod names;

use super::hunks::{Counts, Cursor, DiffError, Mark, contradiction, error_at};

pub(crate) use file::{After, Before, DiffRules, FileDiff, Mode};

/// The line with which git begins a file.
const GIT: &str = "diff --git ";

type Files = (Vec<FileDiff>, Vec<DiffError>);

/// Every file of the diff, and what a plan cannot express.
pub(crate) fn read(diff: &str, counts: Counts) -> Files {
    let cursor = &mut Cursor::new(diff);
    let mut files = Vec::new();
    let mut problems = Vec::new();
    while let Some(line) = cursor.peek() {
        let at = cursor.at;
        let section = if line.starts_with("*** Begin Patch") {
            begin_patch::read(cursor, counts)
        } else if line.starts_with(GIT) || cursor.has_names(at) {
            file(cursor, counts).map(|file| vec![file])
        } else if let Some(problem) = inexpressible(cursor) {
            Err(cursor.error(problem))
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
        problems.push(nothing(cursor));
    }
    (files, problems)
}

/// Whether the next file begins here, after one that could not be read.
fn resumes(cursor: &Cursor<'_>) -> bool {
    let line = cursor.peek().unwrap_or_default();
    let is_inner = line.starts_with("*** ") && !line.starts_with("*** Begin Patch");
    cursor.begins_file(cursor.at) && !is_inner
}

/// Why a text is no diff.
fn nothing(cursor: &Cursor<'_>) -> DiffError {
    let mut lines = (0..).map_while(|at| cursor.line(at));
    let indented = lines.any(|line| {
        let text = line.trim_start();
        text.len() < line.len()
            && ["--- ", "diff --git "]
                .iter()
                .any(|begin| text.starts_with(begin))
    });
    let problem = if indented {
        "the diff is indented; send it without the blanks before its lines"
    } else {
        "the text has no diff: no `diff --git` line, no `---` and `+++` lines and no `*** Begin Patch`"
    };
    error_at(0, problem)
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
    (
        "***************",
        "",
        "a context diff is not read; make a unified diff (diff -u)",
    ),
    (
        "@@",
        "",
        "these hunks name no file; put `--- FILE` and `+++ FILE` above them",
    ),
    (
        "Only in ",
        "",
        "the diff has nothing of its content; make the diff with `diff -N`, or leave the file out",
    ),
    ("Binary files ", " differ", BINARY),
    ("Files ", " differ", BINARY),
    ("Cannot display: ", "", BINARY),
    (
        "Property changes on: ",
        "",
        "a plan has no properties of Subversion; leave them out (svn diff --ignore-properties)",
    ),
    ("Submodule ", ":", SUBMODULE),
];

const OUTSIDE: &str = "this line stands outside of `*** Begin Patch` and `*** End Patch`";
const COMBINED: &str = "a combined diff, of a merge, is not read; make a diff against one parent";
const BINARY: &str =
    "the content of a binary file is not in the diff; change it by an action of a plan";
const SUBMODULE: &str =
    "a plan cannot change a submodule; leave it out (git diff --ignore-submodules)";

/// What a line says that no plan can express.
fn inexpressible(cursor: &Cursor<'_>) -> Option<String> {
    let line = cursor.peek()?;
    let mut known = INEXPRESSIBLE.iter();
    let found = known.find(|(begin, end, _)| line.starts_with(begin) && line.ends_with(end));
    if let Some((_, _, what)) = found {
        return Some(format!("`{line}`: {what}"));
    }
    let next = |by: usize| cursor.line(cursor.at + by);
    let says_nothing = line.starts_with("Index: ")
        && next(1).is_some_and(|rule| rule.starts_with("==="))
        && next(2).is_none_or(|line| line.is_empty() || line.starts_with("Index: "));
    says_nothing.then(|| {
        format!("`{line}`: the diff names the file and says nothing of it, as of an empty one")
    })
}

/// What the extended headers of git say of a file.
#[derive(Default)]
struct Headers {
    renamed: (Option<String>, Option<String>),
    copied: (Option<String>, Option<String>),
    modes: (Option<Mode>, Option<Mode>),
    is_new: bool,
    is_deleted: bool,
    index: Option<String>,
}

/// The file that begins here: with `diff --git` and extended headers, or with `---` and `+++` alone.
fn file(cursor: &mut Cursor<'_>, counts: Counts) -> Result<FileDiff, DiffError> {
    let line = cursor.at;
    let git = cursor.peek().and_then(|line| line.strip_prefix(GIT));
    let wrong = |problem: &str| match git {
        Some(names) => error_at(line, format!("`{names}`: {problem}")),
        None => error_at(line, problem),
    };
    let mut headers = match git {
        Some(names) => Headers::all(cursor, names)?,
        None => Headers::default(),
    };
    let named = cursor.has_names(cursor.at).then_some(cursor.at);
    let (mut old, mut new) = (None, None);
    if let Some(at) = named {
        let side = |at, mark| {
            let line = cursor.line(at).unwrap_or_default();
            names::side(line.strip_prefix(mark).unwrap_or_default())
                .map_err(|problem| error_at(at, problem))
        };
        let sides = (side(at, "--- ")?, side(at + 1, "+++ ")?);
        headers.is_new |= sides.0.is_missing;
        headers.is_deleted |= sides.1.is_missing;
        (old, new) = (sides.0.name, sides.1.name);
        cursor.at += 2;
    }
    let (from, to) = match git {
        Some(names) => headers.names(names, [&old, &new]),
        None => plain_names(old.as_deref(), new.as_deref()),
    }
    .map_err(|problem| error_at(line, problem))?;
    let begin = cursor.at;
    let hunks = cursor.hunks(counts)?;
    let end = cursor.at;
    if named.is_some() && hunks.is_empty() {
        return Err(error_at(begin, "no hunk follows these names"));
    }
    cursor.skip_text()?;
    let file = FileDiff {
        line: line + 1,
        before: match (headers.copied.0.clone(), headers.is_new) {
            (Some(from), _) => Before::Copied(from),
            (None, true) => Before::Nothing,
            (None, false) => Before::At(from),
        },
        after: if headers.is_deleted {
            After::Nothing
        } else {
            After::At(to)
        },
        modes: headers.modes,
        index: headers.index.as_deref().map(|index| cursor.written(index)),
        hunks,
        text: Some(cursor.text(begin, end)),
    };
    let problem = headers.contradiction().or_else(|| link_problem(&file));
    problem.map_or(Ok(()), |problem| Err(wrong(problem)))?;
    sensible(file)
}

/// The name of a file for which only `---` and `+++` lines are there; it is that before and after.
fn plain_names(old: Option<&str>, new: Option<&str>) -> Result<(String, String), String> {
    let name = match (old, new) {
        (Some(old), Some(new)) => names::common(old, new).ok_or_else(|| {
            format!(
                "`{old}` and `{new}` are two files, and no rename lines say which of them is meant; name one file \
                 in both lines"
            )
        })?,
        (Some(name), None) | (None, Some(name)) => names::without_prefix(name).to_owned(),
        (None, None) => return Err("both names are /dev/null".to_owned()),
    };
    Ok((name.clone(), name))
}

impl Headers {
    /// The headers below `diff --git` and these names.
    fn all(cursor: &mut Cursor<'_>, names: &str) -> Result<Self, DiffError> {
        let mut headers = Self::default();
        cursor.at += 1;
        while let Some(header) = cursor.peek() {
            let read = headers.read(header);
            let read = read.map_err(|problem| cursor.error(format!("`{names}`: {problem}")));
            cursor.at += usize::from(read != Ok(false));
            if !read? {
                break;
            }
        }
        Ok(headers)
    }

    /// The names of the file before and after, without prefixes. Those of the `---` and `+++` lines must be the same.
    fn names(&self, git: &str, sides: [&Option<String>; 2]) -> Result<(String, String), String> {
        let bare = |name: &str| names::without_prefix(name).to_owned();
        let named = match (&self.renamed, &self.copied) {
            ((Some(from), Some(to)), _) | (_, (Some(from), Some(to))) => (from.clone(), to.clone()),
            _ => match names::of_git(git)? {
                (old, new) if old == new => (old, new),
                (old, new) => (bare(&old), bare(&new)),
            },
        };
        for (side, name) in sides.into_iter().zip([&named.0, &named.1]) {
            if let Some(side) = side
                && side != name
                && names::without_prefix(side) != name
            {
                return Err(format!(
                    "`{side}` is another file than `{name}` in the `diff --git` line, and no rename lines say so"
                ));
            }
        }
        Ok(named)
    }

    /// Headers that cannot all be true of one file.
    fn contradiction(&self) -> Option<&'static str> {
        let half = |pair: &(Option<String>, Option<String>)| pair.0.is_some() != pair.1.is_some();
        let is_moved = self.renamed.0.is_some() || self.copied.0.is_some();
        let is_half_mode = self.modes.0.is_some() != self.modes.1.is_some();
        if half(&self.renamed) || half(&self.copied) {
            return Some("only one of the two names of a rename or copy is given");
        }
        if self.renamed.0.is_some() && self.copied.0.is_some() {
            return Some("the headers say that the file is renamed and copied");
        }
        if is_moved && (self.is_new || self.is_deleted) || self.is_new && self.is_deleted {
            return Some(
                "the headers contradict each other: a file is new, deleted, renamed or copied",
            );
        }
        (is_half_mode && !self.is_new && !self.is_deleted)
            .then_some("only one of `old mode` and `new mode` is given")
    }

    /// Takes in a header line; false where the headers end.
    fn read(&mut self, line: &str) -> Result<bool, String> {
        let named = |name: &str| {
            if name.starts_with('"') {
                names::quoted(name).map(|(name, _)| Some(name))
            } else {
                Ok(Some(name.to_owned()))
            }
        };
        let Some((key, value)) = KEYS
            .iter()
            .find_map(|key| Some((*key, line.strip_prefix(key)?)))
        else {
            return Ok(false);
        };
        match key {
            "rename from " => self.renamed.0 = named(value)?,
            "rename to " => self.renamed.1 = named(value)?,
            "copy from " => self.copied.0 = named(value)?,
            "copy to " => self.copied.1 = named(value)?,
            "old mode " => self.modes.0 = mode(value)?,
            "new mode " => self.modes.1 = mode(value)?,
            "new file mode " => {
                self.modes.1 = mode(value)?;
                self.is_new = true;
            }
            "deleted file mode " => {
                self.modes.0 = mode(value)?;
                self.is_deleted = true;
            }
            "index " => {
                if let Some((_, unchanged)) = value.split_once(' ') {
                    let unchanged = mode(unchanged)?;
                    self.modes = (self.modes.0.or(unchanged), self.modes.1.or(unchanged));
                }
                self.index = Some(line.to_owned());
            }
            "GIT binary patch" | "Binary files " => {
                return Err(
                    "the file is binary; change it by an action of a plan (FILE_CREATE or \
                            replace_content, with base64)"
                        .to_owned(),
                );
            }
            _ => {}
        }
        Ok(true)
    }
}

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

fn mode(octal: &str) -> Result<Option<Mode>, String> {
    match octal.trim_end() {
        "100755" | "100775" => Ok(Some(Mode::Executable)),
        "120000" => Ok(Some(Mode::Link)),
        "160000" => Err(SUBMODULE.to_owned()),
        mode if mode.starts_with("100") => Ok(Some(Mode::Plain)),
        mode => Err(format!("`{mode}` is not the mode of a file")),
    }
}

/// A plan can make a symbolic link, and do nothing else with one.
fn link_problem(file: &FileDiff) -> Option<&'static str> {
    let is_link = [file.modes.0, file.modes.1].contains(&Some(Mode::Link));
    let is_made = matches!((&file.before, &file.after), (Before::Nothing, After::At(_)));
    (is_link && !is_made)
        .then_some("a plan can make a symbolic link, but neither change, rename nor delete one")
}

/// Refuses what contradicts itself, or changes nothing.
fn sensible(file: FileDiff) -> Result<FileDiff, DiffError> {
    let wrong = |problem: &str| Err(error_at(file.line - 1, problem));
    let only = |mark: Mark| {
        let mut lines = file.hunks.iter().flat_map(|hunk| &hunk.lines);
        lines.all(|line| line.mark == mark)
    };
    if let Some(problem) = contradiction(&file.hunks) {
        return wrong(&problem);
    }
    match (&file.before, &file.after) {
        (Before::At(_), After::Nothing) if !only(Mark::Removed) => {
            wrong("the diff deletes the file, but some of its lines stay")
        }
        (Before::At(before), After::At(after))
            if before == after && file.hunks.is_empty() && file.modes.0 == file.modes.1 =>
        {
            wrong("the diff says nothing of this file")
        }
        _ => Ok(file),
    }
}
