//! The only path type of a file operation, and the patterns of such paths.

use std::fmt;

use camino::Utf8Path;
use globset::{Glob, GlobBuilder};
use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization;

/// A path below a root: components joined by single slashes, none of them empty, `.` or `..` (R-001-24,
/// R-001-157). Symbolic links in it are checked when it is opened, by directory handle.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct RelPath(String);

/// POSIX's `PATH_MAX` and `NAME_MAX`, in bytes.
const LONGEST: usize = 4095;
const LONGEST_NAME: usize = 255;

/// The most names of a path. The kernel looks each of them up whenever the path is used.
const MOST_NAMES: usize = 128;

impl RelPath {
    /// Checks a path as the plan spells it, and never alters it. The error says what is wrong.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        if text.is_empty() {
            return Err("it is empty");
        }
        if text.len() > LONGEST {
            return Err("it is longer than 4095 bytes");
        }
        if text.split('/').count() > MOST_NAMES {
            return Err("it has more than 128 names");
        }
        if text.starts_with('/') {
            return Err("it is absolute; give it relative to the root");
        }
        if text.contains('\\') {
            return Err("it contains a backslash; separate directories with `/`");
        }
        if text.chars().any(char::is_control) {
            return Err("it contains a control character");
        }
        for component in text.split('/') {
            match component {
                "" => return Err("it has an empty component (`//`, or a `/` at its end)"),
                "." => return Err("it has a component `.`; write the path without it"),
                ".." => return Err("it has a component `..`, which could lead out of the root"),
                _ if component.len() > LONGEST_NAME => {
                    return Err("it has a name longer than 255 bytes");
                }
                _ => {}
            }
        }
        Ok(Self(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn as_path(&self) -> &Utf8Path {
        Utf8Path::new(&self.0)
    }

    pub fn name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or(&self.0)
    }

    /// The directory that contains it; `None` if that is the root.
    pub fn parent(&self) -> Option<Self> {
        self.0.rsplit_once('/').map(|(dir, _)| Self(dir.to_owned()))
    }

    /// The directories that contain it, the outermost first.
    pub fn ancestors(&self) -> impl Iterator<Item = Self> + '_ {
        self.directories().map(|dir| Self(dir.to_owned()))
    }

    /// The same as [`RelPath::ancestors`], borrowed.
    pub fn directories(&self) -> impl Iterator<Item = &str> {
        let slashes = self.0.match_indices('/');
        slashes.filter_map(|(at, _)| self.0.get(..at))
    }
}

impl TryFrom<String> for RelPath {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text).map_err(|why| format!("`{text}` is not a path below the root: {why}"))
    }
}

impl fmt::Display for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A pattern of paths below the root.
///
/// A pattern without a `/` (but for one at its end) matches a name in any directory, as in `.gitignore`;
/// any other is anchored at the root. What a pattern matches, it matches with all that lies below.
/// Names are compared as a file system might that is lax about them: without regard to case, to Unicode
/// compatibility forms, and to code points that are invisible.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathPattern {
    text: String,
    globs: [Glob; 2],
}

impl PathPattern {
    /// The error says what is wrong.
    pub fn parse(text: &str) -> Result<Self, String> {
        Ok(Self {
            globs: globs(text, folded)?,
            text: text.to_owned(),
        })
    }

    /// As written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What is below, and the thing itself; both of paths that went through [`folded`].
    pub const fn globs(&self) -> &[Glob; 2] {
        &self.globs
    }

    /// The same of paths as they are spelled.
    pub fn spelled(&self) -> Result<[Glob; 2], String> {
        globs(&self.text, str::to_owned)
    }
}

fn globs(text: &str, read: fn(&str) -> String) -> Result<[Glob; 2], String> {
    let wrong = |problem: &str| format!("`{}` is no pattern: {problem}", text.escape_debug());
    let stem = stem(text, read).map_err(wrong)?;
    let glob = |text: &str| {
        let glob = GlobBuilder::new(text).literal_separator(true).build();
        glob.map_err(|error| wrong(&error.kind().to_string()))
    };
    Ok([glob(&format!("{stem}/**"))?, glob(&stem)?])
}

fn stem(pattern: &str, read: fn(&str) -> String) -> Result<String, &'static str> {
    if pattern.starts_with('!') {
        return Err("exceptions (`!…`) are not known; a file is protected or it is not");
    }
    if pattern.contains('\\') {
        return Err("it contains a backslash; separate directories with `/`");
    }
    if pattern.contains(char::is_control) {
        return Err("it contains a control character");
    }
    let read = read(pattern.trim_start_matches("./"));
    let bare = read.trim_end_matches("/**").trim_end_matches('/');
    if bare.trim_matches('/').is_empty() {
        return Err("it names nothing");
    }
    Ok(if let Some(anchored) = bare.strip_prefix('/') {
        anchored.to_owned()
    } else if bare.contains('/') {
        bare.to_owned()
    } else {
        format!("**/{bare}")
    })
}

/// A path without case, without the many ways of Unicode, without what cannot be seen.
pub fn folded(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    text.nfkc()
        .filter(|c| !is_invisible(*c))
        .flat_map(char::to_uppercase)
        .flat_map(char::to_lowercase)
        .nfkc()
        .collect()
}

/// Unicode's `Default_Ignorable_Code_Point`: HFS+ and case-folding ext4 skip them in names.
const fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{AD}' | '\u{34F}' | '\u{61C}' | '\u{115F}'..='\u{1160}' | '\u{17B4}'..='\u{17B5}'
        | '\u{180B}'..='\u{180F}' | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}'
        | '\u{2060}'..='\u{206F}' | '\u{3164}' | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}' | '\u{FFA0}'
        | '\u{FFF0}'..='\u{FFF8}' | '\u{1BCA0}'..='\u{1BCA3}' | '\u{1D173}'..='\u{1D17A}'
        | '\u{E0000}'..='\u{E0FFF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_spelling_of_a_way_out_is_a_path_r_001_157() {
        for bad in [
            "",
            "/",
            "/etc/passwd",
            "..",
            "../x",
            "a/../b",
            "a/..",
            "./a",
            "a/.",
            "a//b",
            "a/",
            "..\\x",
            "a\\..\\b",
            "C:\\x",
            "a\0b",
            "a\nb",
            "//x",
        ] {
            assert!(RelPath::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_path_of_more_than_128_names_is_refused() {
        assert!(RelPath::parse(&["d"; 128].join("/")).is_ok());
        assert!(RelPath::parse(&["d"; 129].join("/")).is_err());
    }

    #[test]
    fn names_that_only_look_like_a_way_out_are_names() {
        for good in ["...", "..a", "a..", ".a/b", "%2e%2e/x", "a b/ü", "-rf"] {
            assert_eq!(
                RelPath::parse(good).map(|path| path.to_string()).as_deref(),
                Ok(good)
            );
        }
    }

    #[test]
    fn the_way_to_a_file_is_its_directories_from_the_root_on() {
        let path = RelPath::parse("a/b/c").unwrap();
        let way: Vec<String> = path.ancestors().map(|dir| dir.to_string()).collect();
        assert_eq!(way, ["a", "a/b"]);
        assert_eq!((path.name(), path.parent().unwrap().as_str()), ("c", "a/b"));
    }

    #[test]
    fn what_is_no_pattern_is_refused_by_name() {
        for bad in ["!keep", "a\\b", "a\n", "", "/", "/**", "a[", "{a"] {
            let error = PathPattern::parse(bad).unwrap_err();
            let named = format!("`{}` is no pattern", bad.escape_debug());
            assert!(error.starts_with(&named), "{error}");
        }
    }
}
