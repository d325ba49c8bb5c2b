//! Files that a plan may not touch: some need an approval (001 §9.1), and for others there is no approval.
//!
//! A pattern without a `/` (but for one at its end) matches a name in any directory, as in `.gitignore`;
//! any other is anchored at the root. What a pattern matches, it matches with all that lies below.
//! Names are compared as a file system might that is lax about them: without regard to case, to Unicode
//! compatibility forms, to code points that are invisible, to dots and spaces at the end.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use unicode_normalization::UnicodeNormalization;

use crate::task::{INCOMING, RelPath};

/// Why a plan may not touch a file: 001 §9.1's classes, and others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// One of oneact's own files; no approval permits a change.
    Own,
    /// Named by `forbidden_patterns` of the configuration; no approval permits a change.
    Forbidden,
    Critical,
    Important,
    AgentSystem,
    /// Named by `protected_files` of the configuration.
    Configured,
}

use Class::{AgentSystem, Critical, Important};

/// 001 §9.1 (R-001-154 … R-001-156), and the file that says what oneact may do.
const BUILT_IN: [(&str, Class); 13] = [
    (".git/**", Critical),
    (".env", Critical),
    (".env.*", Critical),
    ("credentials.json", Critical),
    ("secrets.*", Critical),
    ("requirements.txt", Important),
    ("pyproject.toml", Important),
    ("setup.py", Important),
    (".pre-commit-config.yaml", Important),
    ("agent/agent_rules.md", AgentSystem),
    ("agent_inspector/agent_inspector.md", AgentSystem),
    ("agent_executor/agent_executor.md", AgentSystem),
    ("catalog.toml", AgentSystem),
];

/// What oneact itself writes: its ledger and locks, and the records of what plans did. In every directory,
/// since every directory can be a root.
const OWN: [(&str, Class); 3] = [
    ("**/.oneact/**", Class::Own),
    ("**/agent_outputs/reports/**", Class::Own),
    ("**/agent_logs/executor/**", Class::Own),
];

/// Which files a plan may not touch.
#[derive(Debug)]
pub(crate) struct Protected {
    /// Two globs for each pattern.
    globs: GlobSet,
    /// As written. The first that matches decides.
    patterns: Vec<(String, Class)>,
    /// Files and directories of oneact, wherever its settings put them.
    own: Vec<RelPath>,
}

#[derive(Debug, thiserror::Error)]
#[error("`{}` is no pattern: {problem}", pattern.escape_debug())]
pub(crate) struct PatternError {
    /// As written.
    pub(crate) pattern: String,
    pub(crate) class: Class,
    problem: String,
}

impl Protected {
    /// oneact's own files, there or where its settings put them, the configuration's `forbidden_patterns`, the
    /// built-in patterns, and the configuration's `protected_files`. The error names the pattern that is not
    /// valid.
    pub(crate) fn with(
        own: &[RelPath],
        forbidden: &[String],
        protected: &[String],
    ) -> Result<Self, PatternError> {
        let configured = |patterns: &[String], class| -> Vec<(String, Class)> {
            patterns.iter().map(|text| (text.clone(), class)).collect()
        };
        let built_in = |(text, class): (&str, Class)| (text.to_owned(), class);
        let mut patterns: Vec<_> = OWN.into_iter().map(built_in).collect();
        patterns.extend(configured(forbidden, Class::Forbidden));
        patterns.extend(BUILT_IN.into_iter().map(built_in));
        patterns.extend(configured(protected, Class::Configured));
        let mut globs = GlobSetBuilder::new();
        for (pattern, class) in &patterns {
            let wrong = |problem: String| PatternError {
                pattern: pattern.clone(),
                class: *class,
                problem,
            };
            for text in spellings(pattern).map_err(|problem| wrong(problem.to_owned()))? {
                let glob = GlobBuilder::new(&text).literal_separator(true).build();
                globs.add(glob.map_err(|error| wrong(error.kind().to_string()))?);
            }
        }
        let globs = globs.build().map_err(|error| PatternError {
            pattern: error.glob().unwrap_or_default().to_owned(),
            class: Class::Forbidden,
            problem: error.kind().to_string(),
        })?;
        Ok(Self {
            globs,
            patterns,
            own: own.to_vec(),
        })
    }

    /// The directories of the root that are protected with all that is in them, and what else is oneact's own.
    pub(crate) fn places(&self) -> impl Iterator<Item = RelPath> {
        let patterns = OWN.iter().chain(&BUILT_IN);
        let names = patterns.filter_map(|(pattern, _)| pattern.strip_suffix("/**"));
        let names = names.filter_map(|name| RelPath::parse(name.trim_start_matches("**/")).ok());
        names.chain(self.own.iter().cloned())
    }

    /// The class of a file, and the pattern or the place that says so, in one of the ways its names can be read.
    pub(crate) fn class_of(&self, path: &RelPath) -> Option<(Class, &str)> {
        let displaced = self.own.iter().find_map(|own| displaced(path, own));
        let own = displaced.map(|place| (Class::Own, place));
        own.or_else(|| self.class_of_dir(path))
    }

    /// The same of a directory. It may lead to oneact's own files.
    pub(crate) fn class_of_dir(&self, path: &RelPath) -> Option<(Class, &str)> {
        if let Some(own) = self.own.iter().find(|own| is_or_is_in(path, own)) {
            return Some((Class::Own, own.as_str()));
        }
        let readings = readings(path).into_iter();
        let first = readings.filter_map(|reading| self.globs.matches(&reading).into_iter().min());
        let (pattern, class) = self.patterns.get(first.min()? / 2)?;
        Some((*class, pattern))
    }
}

fn spellings(pattern: &str) -> Result<[String; 2], &'static str> {
    if pattern.starts_with('!') {
        return Err("exceptions (`!…`) are not known; a file is protected or it is not");
    }
    if pattern.contains('\\') {
        return Err("it contains a backslash; separate directories with `/`");
    }
    if pattern.contains(char::is_control) {
        return Err("it contains a control character");
    }
    let folded = fold(pattern.trim_start_matches("./"));
    let bare = folded.trim_end_matches("/**").trim_end_matches('/');
    let stem = if let Some(anchored) = bare.strip_prefix('/') {
        anchored.to_owned()
    } else if bare.contains('/') {
        bare.to_owned()
    } else {
        format!("**/{bare}")
    };
    if bare.trim_matches('/').is_empty() {
        return Err("it names nothing");
    }
    Ok([format!("{stem}/**"), stem])
}

/// The path as it is read, and in the other way in which a file system may read it, if there is one. A
/// reading too many protects a file too many, never one too few.
fn readings(path: &RelPath) -> Vec<String> {
    let plain = fold(path.as_str());
    let windows: Vec<&str> = plain.split('/').map(as_windows).collect();
    let windows = windows.join("/");
    if windows == plain {
        vec![plain]
    } else {
        vec![plain, windows]
    }
}

/// Whether a path, in one of the ways its names can be read, is another or lies in it.
fn is_or_is_in(path: &RelPath, other: &RelPath) -> bool {
    let other = fold(other.as_str());
    let within = |reading: &String| {
        let rest = reading.strip_prefix(other.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    readings(path).iter().any(within)
}

/// The place of `own`, or the store of assets that it shows, if a file of that path would be in the place of a
/// directory that leads to it. The store keeps each asset in the directory of its session.
fn displaced<'o>(path: &RelPath, own: &'o RelPath) -> Option<&'o str> {
    let store = own.as_str().strip_suffix(INCOMING);
    let store = store.and_then(|store| store.strip_suffix('/'));
    let place = store.unwrap_or(own.as_str());
    let folded = fold(place);
    let displaces = |reading: &String| match reading.strip_prefix(folded.as_str()) {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => {
            store.is_some() && rest.matches('/').count() != 2
        }
        _ => (folded.strip_prefix(reading.as_str())).is_some_and(|rest| rest.starts_with('/')),
    };
    readings(path).iter().any(displaces).then_some(place)
}

/// A name as NTFS and FAT read it: nothing after a `:`, no dots and spaces at the end, and `git~1` is
/// the short name of `.git`.
fn as_windows(name: &str) -> &str {
    let name = name.split_once(':').map_or(name, |(before, _)| before);
    match name.trim_end_matches(['.', ' ']) {
        "git~1" => ".git",
        name => name,
    }
}

/// Without case, without the many ways of Unicode, without what cannot be seen.
fn fold(text: &str) -> String {
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

    fn class(path: &str) -> Option<Class> {
        let protected = Protected::with(&[], &[], &[]).unwrap();
        protected
            .class_of(&RelPath::parse(path).unwrap())
            .map(|(class, _)| class)
    }

    #[test]
    fn every_file_of_001_9_1_is_protected_r_001_154_to_156() {
        for path in [
            ".git/config",
            ".git/hooks/pre-commit",
            ".env",
            ".env.local",
            "credentials.json",
            "secrets.yaml",
        ] {
            assert_eq!(class(path), Some(Critical), "{path}");
        }
        for path in [
            "requirements.txt",
            "pyproject.toml",
            "setup.py",
            ".pre-commit-config.yaml",
        ] {
            assert_eq!(class(path), Some(Important), "{path}");
        }
        for path in [
            "agent/agent_rules.md",
            "agent_inspector/agent_inspector.md",
            "agent_executor/agent_executor.md",
            "catalog.toml",
        ] {
            assert_eq!(class(path), Some(AgentSystem), "{path}");
        }
    }

    #[test]
    fn names_are_protected_in_every_directory_and_paths_at_the_root() {
        for path in [
            "sub/.git/config",
            "a/b/.env",
            "deploy/secrets.d/key",
            "py/setup.py",
            ".git",
        ] {
            assert!(class(path).is_some(), "{path}");
        }
        assert_eq!(class("docs/agent/agent_rules.md"), None);
    }

    #[test]
    fn a_name_that_only_resembles_a_protected_one_is_free() {
        for path in [
            ".gitignore",
            ".github/workflows/ci.yml",
            "environment",
            ".envrc",
            "my_credentials.json",
            "secrets",
            "setup.pyc",
            "git~2",
            "agent/agent_rules.md.bak",
        ] {
            assert_eq!(class(path), None, "{path}");
        }
    }

    #[test]
    fn no_spelling_that_a_lax_file_system_takes_for_the_name_escapes() {
        for path in [
            ".GIT/config",
            ".Env",
            ".g\u{200C}it/config",
            ".\u{FEFF}git/config",
            ".gi\u{206A}t/hooks/x",
            ".git\u{AD}/x",
            "．ｇｉｔ/config",
            "\u{2024}env",
            "\u{17F}ecrets.yml",
            ".git./config",
            ".git /config",
            ".git. ./config",
            "git~1/config",
            "GIT~1/config",
            ".git::$INDEX_ALLOCATION/config",
            ".env:stream",
            "setup.py.",
            "CREDENTIALS.JSON ",
        ] {
            assert!(class(path).is_some(), "{path:?}");
        }
    }

    #[test]
    fn the_configurations_patterns_protect_too_and_are_named() {
        let patterns = ["*.key", "config/prod/", "/only/here.txt", "**/deep/[A-C]*"]
            .map(str::to_owned)
            .to_vec();
        let protected = Protected::with(&[], &[], &patterns).unwrap();
        let found = |path: &str| {
            protected
                .class_of(&RelPath::parse(path).unwrap())
                .map(|(class, pattern)| (class, pattern.to_owned()))
        };
        for (path, pattern) in [
            ("a/b/tls.KEY", "*.key"),
            ("config/prod/x/y", "config/prod/"),
            ("only/here.txt", "/only/here.txt"),
            ("x/deep/Bond", "**/deep/[A-C]*"),
        ] {
            assert_eq!(found(path), Some((Class::Configured, pattern.to_owned())));
        }
        assert_eq!(found("x/config/prod/y"), None);
        assert_eq!(found("x/deep/delta"), None);
        assert_eq!(found(".env").unwrap().0, Critical);
    }

    #[test]
    fn oneacts_own_files_are_forbidden_and_its_other_outputs_are_not() {
        let own = ["data/ledger.sqlite", "var/State", "kept/Store/.incoming"];
        let own = own.map(|path| RelPath::parse(path).unwrap());
        let protected = Protected::with(&own, &["*.lock".to_owned()], &[]).unwrap();
        let by = |path: &str| {
            protected
                .class_of(&RelPath::parse(path).unwrap())
                .map(|(class, _)| class)
        };
        for path in [
            ".oneact/ledger.sqlite",
            ".OneAct/x",
            "agent_outputs/reports/1/rollback_manifest.json",
            "agent_logs/executor/x.log",
            "sub/.oneact/ledger.db",
            "sub/deep/agent_outputs/reports/.unfinished/x",
            "Sub/Agent_Outputs/Reports./1/journal",
            "sub/agent_logs/executor/x.log",
            "agent_outputs/reports",
            "data/ledger.sqlite",
            "DATA/ledger.sqlite",
            "data/ledger.sqlite.",
            "data./ledger.sqlite::$DATA",
            "var/state/outbox/x.json",
            "var/State",
            // A file there would be in the place of a directory.
            "var",
            "Data.",
            "kept",
            "kept/store",
            "kept/store/s9",
            "kept/store./s9",
            "kept/store/s9/d1.txt/x",
            "kept/store/.incoming/x",
        ] {
            assert_eq!(by(path), Some(Class::Own), "{path}");
        }
        for free in [
            "data/ledger.sqlite.md",
            "data/ledger",
            "var/States",
            "var/x",
            "va",
            "x/var/State",
            "kept/store/s9/d1.txt",
            "kept/stores",
            "kep",
        ] {
            assert_eq!(by(free), None, "{free}");
        }
        for dir in ["var", "data", "kept/store/s9"] {
            let class = protected.class_of_dir(&RelPath::parse(dir).unwrap());
            assert_eq!(class, None, "{dir}");
        }
        assert_eq!(by("a/Cargo.lock"), Some(Class::Forbidden));
        assert_eq!(by("agent_outputs/notes.md"), None);
    }

    #[test]
    fn what_is_no_pattern_is_refused_by_name() {
        for bad in ["!keep", "a\\b", "a\n", "", "/", "/**", "a[", "{a"] {
            let bad = [bad.to_owned()];
            for (forbidden, protected, class) in [
                (bad.as_slice(), [].as_slice(), Class::Forbidden),
                (&[], &bad, Class::Configured),
            ] {
                let error = Protected::with(&[], forbidden, protected).unwrap_err();
                assert_eq!((&error.pattern, error.class), (&bad[0], class));
            }
        }
    }
}
