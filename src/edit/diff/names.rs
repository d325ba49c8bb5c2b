//! The names of files in the header lines of a diff: quotes, time stamps, prefixes. Pure.

use jiff::{Timestamp, fmt::strtime};

use crate::edit::hunks::{Cursor, DiffError, error_at};

/// One side of a diff: what `---` or `+++` says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Side {
    /// None where there is no file (`/dev/null`).
    pub(crate) name: Option<String>,
    /// Of a missing file, GNU diff writes the name and the beginning of the epoch.
    pub(crate) is_missing: bool,
}

/// Both sides, with nothing in them if their lines do not begin here.
pub(crate) fn sides(cursor: &mut Cursor<'_>) -> Result<[Side; 2], DiffError> {
    if !cursor.has_names(cursor.at) {
        return Ok([Side::default(), Side::default()]);
    }
    let mut next = |mark| {
        let line = cursor.peek().unwrap_or_default();
        cursor.at += 1;
        side(line.strip_prefix(mark).unwrap_or_default())
            .map_err(|problem| error_at(cursor.at - 1, problem))
    };
    Ok([next("--- ")?, next("+++ ")?])
}

/// What follows `--- ` or `+++ `.
fn side(rest: &str) -> Result<Side, String> {
    let (name, stamp) = if rest.starts_with('"') {
        quoted(rest)?
    } else if let Some((name, stamp)) = rest.split_once('\t') {
        (name.to_owned(), stamp)
    } else {
        // Some tools write blanks before the time stamp.
        let blanks = rest.match_indices(' ').map(|(at, _)| rest.split_at(at));
        let dated = blanks.clone().find(|(_, stamp)| time(stamp).is_some());
        let dated = dated.map(|(name, stamp)| (name.trim_end().to_owned(), stamp));
        dated.unwrap_or_else(|| (rest.to_owned(), ""))
    };
    let is_epoch = |time: strtime::BrokenDownTime| {
        time.to_timestamp()
            .is_ok_and(|time| time == Timestamp::UNIX_EPOCH)
    };
    let is_nowhere = name == "/dev/null";
    Ok(Side {
        is_missing: is_nowhere
            || stamp.trim() == "(nonexistent)"
            || time(stamp).is_some_and(is_epoch),
        name: (!is_nowhere).then_some(name),
    })
}

/// Reads a time stamp, with a time zone or without one.
fn time(stamp: &str) -> Option<strtime::BrokenDownTime> {
    let formats = ["%Y-%m-%d %H:%M:%S%.f %z", "%Y-%m-%d %H:%M:%S%.f"];
    let mut read = formats
        .into_iter()
        .map(|format| strtime::parse(format, stamp.trim()));
    read.find_map(Result::ok)
}

/// A name that is in double quotes or not, and goes up to the end.
pub(crate) fn unquoted(text: &str) -> Result<String, String> {
    if !text.starts_with('"') {
        return Ok(text.to_owned());
    }
    match quoted(text)? {
        (name, "") => Ok(name),
        _ => Err(format!("something follows the quoted name in `{text}`")),
    }
}

/// Reads a name in double quotes, as git writes it, and returns what follows.
fn quoted(text: &str) -> Result<(String, &str), String> {
    let wrong = || format!("the quoted name in `{text}` cannot be read");
    let mut bytes = Vec::new();
    let mut rest = text.strip_prefix('"').ok_or_else(wrong)?;
    while let Some((plain, end)) = rest.find(['"', '\\']).map(|at| rest.split_at(at)) {
        bytes.extend(plain.bytes());
        let Some(escape) = end.strip_prefix('\\') else {
            let name = String::from_utf8(bytes);
            let name = name.map_err(|_| format!("the name in `{text}` is not UTF-8"))?;
            return Ok((name, end.get(1..).unwrap_or_default()));
        };
        let (byte, length) = match escape.as_bytes() {
            [b'a', ..] => (7, 1),
            [b'b', ..] => (8, 1),
            [b't', ..] => (b'\t', 1),
            [b'n', ..] => (b'\n', 1),
            [b'v', ..] => (11, 1),
            [b'f', ..] => (12, 1),
            [b'r', ..] => (b'\r', 1),
            [sign @ (b'"' | b'\\'), ..] => (*sign, 1),
            [b'0'..=b'3', ..] => {
                let digits = escape.get(..3).ok_or_else(wrong)?;
                (u8::from_str_radix(digits, 8).map_err(|_| wrong())?, 3)
            }
            _ => return Err(wrong()),
        };
        bytes.push(byte);
        rest = escape.get(length..).unwrap_or_default();
    }
    Err(wrong())
}

/// The prefixes of the two sides that git can write: `a/` and `b/`, with `diff.mnemonicPrefix` others.
const PREFIXES: [&str; 7] = ["a/", "b/", "i/", "w/", "c/", "o/", "h/"];

/// The name without a prefix of git.
fn without_prefix(name: &str) -> &str {
    let mut prefixes = PREFIXES.into_iter();
    prefixes
        .find_map(|prefix| name.strip_prefix(prefix))
        .unwrap_or(name)
}

/// The one file of which both names are. Some tools put the names of two directories before it, others the
/// ending of a backup behind the old one. None if they are of two files.
fn common(old: &str, new: &str) -> Option<String> {
    let mut backups = [".orig", ".old", ".bak", "~"].into_iter();
    if old == new || backups.any(|ending| old.strip_suffix(ending) == Some(new)) {
        return Some(new.to_owned());
    }
    let ((_, before), (_, after)) = (old.split_once('/')?, new.split_once('/')?);
    (before == after).then(|| after.to_owned())
}

/// The names of a file before and after: those of its rename or copy lines if it has them (`moved`), otherwise the one of
/// its other header lines. All lines must name the same file.
pub(crate) fn of_file(
    git: Option<&str>,
    moved: Option<(String, String)>,
    sides: &[Side; 2],
) -> Result<(String, String), String> {
    let [old, new] = sides.each_ref().map(|side| side.name.as_deref());
    let Some(git) = git else {
        let name = of_sides(old, new)?;
        return Ok((name.clone(), name));
    };
    let (from, to) = match moved {
        Some(names) => names,
        None => of_git(git).map(|name| (name.clone(), name))?,
    };
    for (side, name) in [(old, &from), (new, &to)] {
        if let Some(side) = side
            && side != name
            && without_prefix(side) != name
        {
            return Err(format!(
                "`{side}` is another file than `{name}` in the `diff --git` line, and no rename lines say so"
            ));
        }
    }
    Ok((from, to))
}

/// The name of a file for which only `---` and `+++` lines are there; it is that before and after.
fn of_sides(old: Option<&str>, new: Option<&str>) -> Result<String, String> {
    match (old, new) {
        (Some(old), Some(new)) => common(old, new).ok_or_else(|| {
            format!(
                "`{old}` and `{new}` are two files, and no rename lines say which of them is meant; name one file in \
                 both lines"
            )
        }),
        (one, other) => Ok(without_prefix(one.or(other).unwrap_or_default()).to_owned()),
    }
}

/// The one name in `diff --git`. Names without quotes can have blanks, so both must be the same but for their prefixes.
fn of_git(rest: &str) -> Result<String, String> {
    let blanks = rest.match_indices(' ').map(|(at, _)| rest.split_at(at));
    let mut names = blanks.filter_map(|(old, new)| {
        let (old, new) = (unquoted(old).ok()?, unquoted(new.get(1..)?).ok()?);
        let bare = without_prefix(&old);
        if old == new {
            return Some(old);
        }
        (bare == without_prefix(&new)).then(|| bare.to_owned())
    });
    names
        .next()
        .ok_or_else(|| format!("the names in `diff --git {rest}` cannot be told apart"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_ends_before_its_time_stamp() {
        let name = |rest| side(rest).unwrap().name.unwrap();
        assert_eq!(name("a/my file\t"), "a/my file");
        assert_eq!(name("old/x.c\t2026-01-02 03:04:05.0 +0100"), "old/x.c");
        assert_eq!(name("x.c   2026-01-02 03:04:05"), "x.c");
        assert_eq!(name("notes 2026-01-02"), "notes 2026-01-02");
        assert_eq!(name("a 2026-01-02 last.txt"), "a 2026-01-02 last.txt");
        assert_eq!(name("\"a/\\303\\251 \\\"q\\\".txt\""), "a/é \"q\".txt");
        assert!(side("\"a/\\377\"").is_err() && side("\"a").is_err());
    }

    #[test]
    fn a_missing_file_is_told_in_three_ways() {
        assert_eq!(side("/dev/null").unwrap().name, None);
        let missing = |rest| side(rest).unwrap().is_missing;
        assert!(missing("new/x\t1970-01-01 01:00:00.000000000 +0100"));
        assert!(missing("x.txt\t(nonexistent)"));
        assert!(!missing("x.txt\t(revision 4)"));
        assert!(!missing("x.txt\t1970-01-01 00:00:01.000000000 +0000"));
    }

    #[test]
    fn two_names_of_one_file() {
        assert_eq!(common("a/x/y", "b/x/y").as_deref(), Some("x/y"));
        assert_eq!(common("pkg-1.0/y", "pkg-1.1/y").as_deref(), Some("y"));
        assert_eq!(common("y.orig", "y").as_deref(), Some("y"));
        assert_eq!(common("a/x", "b/y"), None);
        let name = |rest| of_git(rest).unwrap();
        assert_eq!(name("a/my file b/my file"), "my file");
        assert_eq!(name("x y x y"), "x y");
        assert_eq!(name("\"a/\\303\\251\" \"b/\\303\\251\""), "é");
        assert!(of_git("a/x b/y").is_err());
    }
}
