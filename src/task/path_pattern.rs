//! A pattern of paths below the root.
//!
//! A pattern without a `/` (but for one at its end) matches a name in any directory, as in `.gitignore`;
//! any other is anchored at the root. What a pattern matches, it matches with all that lies below.
//! Names are compared as a file system might that is lax about them: without regard to case, to Unicode
//! compatibility forms, and to code points that are invisible.

use globset::{Glob, GlobBuilder};
use unicode_normalization::UnicodeNormalization;

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
    fn what_is_no_pattern_is_refused_by_name() {
        for bad in ["!keep", "a\\b", "a\n", "", "/", "/**", "a[", "{a"] {
            let error = PathPattern::parse(bad).unwrap_err();
            let named = format!("`{}` is no pattern", bad.escape_debug());
            assert!(error.starts_with(&named), "{error}");
        }
    }
}
