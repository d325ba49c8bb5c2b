//! The names of files in the header lines of a diff: quotes, time stamps, prefixes. Pure.

use jiff::{Timestamp, fmt::strtime};

/// One side of a diff: what `---` or `+++` says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Side {
    /// None where there is no file (`/dev/null`).
    pub(crate) name: Option<String>,
    /// Of a missing file, GNU diff writes the name and the beginning of the epoch.
    pub(crate) is_missing: bool,
}

/// What follows `--- ` or `+++ `.
pub(crate) fn side(rest: &str) -> Result<Side, String> {
    let (name, stamp) = if rest.starts_with('"') {
        quoted(rest)?
    } else if let Some((name, stamp)) = rest.split_once('\t') {
        (name.to_owned(), stamp)
    } else {
        let (name, stamp) = dated(rest);
        (name.to_owned(), stamp)
    };
    let stamp = stamp.trim();
    let is_missing = name == "/dev/null" || stamp == "(nonexistent)" || is_epoch(stamp);
    let is_named = name != "/dev/null";
    Ok(Side {
        name: is_named.then_some(name),
        is_missing,
    })
}

/// Whether a time stamp is the beginning of the epoch, in any time zone.
fn is_epoch(stamp: &str) -> bool {
    let zoned = strtime::parse("%Y-%m-%d %H:%M:%S%.f %z", stamp);
    zoned
        .and_then(|time| time.to_timestamp())
        .is_ok_and(|time| time == Timestamp::UNIX_EPOCH)
}

/// A name and a time stamp after blanks, as some tools write it: a date and a time, up to the end of the line.
fn dated(rest: &str) -> (&str, &str) {
    let is_stamp = |text: &str| {
        let shape = |(at, c): (usize, char)| match at {
            4 | 7 => c == '-',
            10 => c == ' ',
            13 | 16 => c == ':',
            0..=18 => c.is_ascii_digit(),
            _ => c.is_ascii_digit() || matches!(c, '.' | '+' | '-' | ' '),
        };
        text.len() >= 19 && text.chars().enumerate().all(shape)
    };
    let mut blanks = rest.match_indices(' ').map(|(at, _)| at);
    match blanks.find(|at| rest.get(at + 1..).is_some_and(is_stamp)) {
        Some(at) => {
            let (name, stamp) = rest.split_at(at);
            (name.trim_end(), stamp)
        }
        None => (rest, ""),
    }
}

/// Reads a name in double quotes, as git writes it, and returns what follows.
pub(crate) fn quoted(text: &str) -> Result<(String, &str), String> {
    let wrong = || format!("the quoted name in `{text}` cannot be read");
    let mut bytes = Vec::new();
    let mut rest = text.strip_prefix('"').ok_or_else(wrong)?.chars();
    loop {
        match rest.next().ok_or_else(wrong)? {
            '"' => break,
            '\\' => {
                let escape = rest.next().ok_or_else(wrong)?;
                bytes.push(match escape {
                    'a' => 7,
                    'b' => 8,
                    't' => b'\t',
                    'n' => b'\n',
                    'v' => 11,
                    'f' => 12,
                    'r' => b'\r',
                    '"' | '\\' => u8::try_from(escape).unwrap_or(b'\\'),
                    '0'..='3' => {
                        let digits: String =
                            [escape].into_iter().chain(rest.by_ref().take(2)).collect();
                        u8::from_str_radix(&digits, 8).map_err(|_| wrong())?
                    }
                    _ => return Err(wrong()),
                });
            }
            other => {
                let mut room = [0; 4];
                bytes.extend(other.encode_utf8(&mut room).bytes());
            }
        }
    }
    let name =
        String::from_utf8(bytes).map_err(|_| format!("the name in `{text}` is not UTF-8"))?;
    Ok((name, rest.as_str()))
}

/// The prefixes of the two sides that git can write: `a/` and `b/`, with `diff.mnemonicPrefix` others.
const PREFIXES: [&str; 7] = ["a/", "b/", "i/", "w/", "c/", "o/", "h/"];

/// The name without a prefix of git.
pub(crate) fn without_prefix(name: &str) -> &str {
    let mut prefixes = PREFIXES.into_iter();
    prefixes
        .find_map(|prefix| name.strip_prefix(prefix))
        .unwrap_or(name)
}

/// The one file of which both names are. Some tools put the names of two directories before it, others the
/// ending of a backup behind the old one. None if they are of two files.
pub(crate) fn common(old: &str, new: &str) -> Option<String> {
    let below = |name: &str| name.split_once('/').map(|(_, below)| below.to_owned());
    if old == new {
        return Some(new.to_owned());
    }
    if let (Some(before), Some(after)) = (below(old), below(new))
        && before == after
    {
        return Some(after);
    }
    let mut backups = [".orig", ".old", ".bak", "~"].into_iter();
    let is_backup = backups.any(|ending| old.strip_suffix(ending) == Some(new));
    is_backup.then(|| new.to_owned())
}

/// The two names of `diff --git`, where no other line has them: names without quotes can have blanks, so both must be the
/// same but for their prefixes.
pub(crate) fn of_git(rest: &str) -> Result<(String, String), String> {
    let wrong = || format!("the names in `diff --git {rest}` cannot be told apart");
    if rest.starts_with('"') {
        let (old, rest) = quoted(rest)?;
        let rest = rest.trim_start();
        let new = if rest.starts_with('"') {
            quoted(rest)?.0
        } else {
            rest.to_owned()
        };
        return Ok((old, new));
    }
    if rest.ends_with('"')
        && let Some((old, _)) = rest.split_once(" \"")
    {
        let new = quoted(rest.get(old.len() + 1..).unwrap_or_default())?.0;
        return Ok((old.to_owned(), new));
    }
    let mut blanks = rest.match_indices(' ').map(|(at, _)| at);
    let both = blanks.find_map(|at| {
        let (old, new) = (rest.get(..at)?, rest.get(at + 1..)?);
        let same = old == new || without_prefix(old) == without_prefix(new);
        same.then(|| (old.to_owned(), new.to_owned()))
    });
    both.ok_or_else(wrong)
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
        let both = |old: &str, new: &str| Ok((old.to_owned(), new.to_owned()));
        assert_eq!(
            of_git("a/my file b/my file"),
            both("a/my file", "b/my file")
        );
        assert_eq!(of_git("x y x y"), both("x y", "x y"));
        assert_eq!(
            of_git("\"a/\\303\\251\" \"b/\\303\\251\""),
            both("a/é", "b/é")
        );
        assert!(of_git("a/x b/y").is_err());
    }
}
