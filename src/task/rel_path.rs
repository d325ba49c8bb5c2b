//! The only path type of a file operation.

use std::fmt;

use camino::Utf8Path;
use serde::{Deserialize, Serialize};

/// A path below a root: components joined by single slashes, none of them empty, `.` or `..` (R-001-24,
/// R-001-157). Symbolic links in it are checked when it is opened, by directory handle.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct RelPath(String);

/// POSIX's `PATH_MAX` and `NAME_MAX`, in bytes.
const LONGEST: usize = 4095;
const LONGEST_NAME: usize = 255;

impl RelPath {
    /// Checks a path as the plan spells it, and never alters it. The error says what is wrong.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        if text.is_empty() {
            return Err("it is empty");
        }
        if text.len() > LONGEST {
            return Err("it is longer than 4095 bytes");
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
}
