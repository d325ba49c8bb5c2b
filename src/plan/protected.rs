//! Files that a plan may not touch: some need an approval (001 §9.1, and what other programs run), and for others
//! there is no approval. Names are also read as Windows reads them.

use std::path::PathBuf;

use globset::{Glob, GlobSet, GlobSetBuilder};

use crate::task::{Executes, PathPattern, ProtectionRules, RelPath, displaces, folded};

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
    /// What other programs run without being asked to.
    Executes,
    /// Named by `protected_files` of the configuration.
    Configured,
}

/// What oneact itself writes, in every directory, since every directory can be a root: its ledger and locks, and the
/// records of what plans did.
const OWN: (Class, &str) = (
    Class::Own,
    "**/.oneact/** **/agent_outputs/reports/** **/agent_logs/executor/**",
);

/// 001 §9.1 (R-001-154 … R-001-156), with the file that says what oneact may do.
const CRITICAL: (Class, &str) = (
    Class::Critical,
    ".git/** .env .env.* credentials.json secrets.*",
);
const IMPORTANT: (Class, &str) = (
    Class::Important,
    "requirements.txt pyproject.toml setup.py .pre-commit-config.yaml",
);
const AGENT_SYSTEM: (Class, &str) = (
    Class::AgentSystem,
    "agent/agent_rules.md agent_inspector/agent_inspector.md agent_executor/agent_executor.md catalog.toml",
);
/// What other programs run.
const EXECUTES: (Class, &str) = (
    Class::Executes,
    "**/.github/workflows/** .gitlab-ci.yml .husky/** .githooks/** .envrc **/.vscode/tasks.json .mcp.json .claude/** \
     .cursor/** .ssh/** .gitmodules",
);

/// Which files a plan may not touch.
#[derive(Debug)]
pub(crate) struct Protected {
    /// Two globs for each pattern.
    globs: GlobSet,
    /// As written. The first that matches decides.
    patterns: Vec<(String, Class)>,
    /// Two globs for each pattern, as it is spelled; `None` if the class `executes` does not count.
    except: Option<GlobSet>,
    kept: Kept,
}

/// Paths below the root that settings name.
#[derive(Debug, Clone, Default)]
pub(crate) struct Kept {
    /// Files and directories of oneact.
    pub(crate) own: Vec<RelPath>,
    /// What the commands of the servers name.
    pub(crate) programs: Vec<RelPath>,
}

impl Protected {
    /// oneact's own files, there or where its settings put them, the configuration's `forbidden`, the built-in
    /// patterns, those that the catalog adds, and the configuration's `protected`. The error says what is wrong
    /// with all patterns together.
    pub(crate) fn with(
        kept: &Kept,
        rules: &ProtectionRules,
        forbidden: &[PathPattern],
        protected: &[PathPattern],
    ) -> Result<Self, String> {
        let built_in = |(class, texts): (Class, &str)| {
            let parsed = texts.split(' ').map(PathPattern::parse);
            let parsed = parsed.map(|pattern| Ok((pattern?, class)));
            parsed.collect::<Result<Vec<_>, String>>()
        };
        let of = |patterns: &[PathPattern], class| {
            let patterns = patterns.iter().cloned();
            patterns.map(|pattern| (pattern, class)).collect()
        };
        let executes = rules.executes.as_ref();
        let added = executes.map_or(&[][..], |executes| &executes.class.paths);
        let all = [
            built_in(OWN)?,
            of(forbidden, Class::Forbidden),
            built_in(CRITICAL)?,
            built_in(IMPORTANT)?,
            built_in(AGENT_SYSTEM)?,
            built_in(EXECUTES)?,
            of(&rules.critical.paths, Class::Critical),
            of(&rules.important.paths, Class::Important),
            of(&rules.agent_system.paths, Class::AgentSystem),
            of(added, Class::Executes),
            of(protected, Class::Configured),
        ]
        .concat();
        let except = executes.map(|Executes { except, .. }| -> Result<_, String> {
            let spelled: Result<Vec<_>, _> = except.iter().map(PathPattern::spelled).collect();
            set(spelled?.iter().flatten())
        });
        let text = |(pattern, class): &(PathPattern, Class)| (pattern.text().to_owned(), *class);
        Ok(Self {
            globs: set(all.iter().flat_map(|(pattern, _)| pattern.globs()))?,
            patterns: all.iter().map(text).collect(),
            except: except.transpose()?,
            kept: kept.clone(),
        })
    }

    /// What oneact keeps where its settings put it.
    pub(crate) fn own(&self) -> &[RelPath] {
        &self.kept.own
    }

    /// Whether a file of that path would be in the place of a directory that oneact needs.
    pub(crate) fn displaces(&self, path: &RelPath) -> bool {
        let own = self.kept.own.iter().map(|own| folded(own.as_str()).into());
        let own: Vec<PathBuf> = own.collect();
        let mut readings = readings(path).into_iter();
        readings.any(|reading| displaces(reading.as_ref(), &own))
    }

    /// The class of a file or directory, and the pattern or the place that says so, in one of the ways its names can
    /// be read.
    pub(crate) fn class_of(&self, path: &RelPath) -> Option<(Class, &str)> {
        if let Some(own) = self.kept.own.iter().find(|own| is_or_is_in(path, own)) {
            return Some((Class::Own, own.as_str()));
        }
        let readings = readings(path);
        let first = readings.iter().filter_map(|reading| {
            let matches = self.globs.matches(reading).into_iter();
            matches.filter(|at| self.counts_at(at / 2, path)).min()
        });
        if let Some((pattern, class)) = first.min().and_then(|at| self.patterns.get(at / 2)) {
            return Some((*class, pattern));
        }
        let is_it = |program: &&RelPath| readings.contains(&folded(program.as_str()));
        let program = self.kept.programs.iter().find(is_it);
        let program = program.filter(|_| self.counts(path));
        program.map(|program| (Class::Executes, program.as_str()))
    }

    fn counts_at(&self, pattern: usize, path: &RelPath) -> bool {
        let class = self.patterns.get(pattern).map(|(_, class)| *class);
        class != Some(Class::Executes) || self.counts(path)
    }

    /// Whether the class `executes` can contain this file, by the catalog. It contains what gets an execute bit. An
    /// exception holds only as it is spelled, because a reading too many would free a file too many.
    pub(crate) fn counts(&self, path: &RelPath) -> bool {
        let except = self.except.as_ref();
        except.is_some_and(|except| !except.is_match(path.as_str()))
    }
}

fn set<'g>(globs: impl Iterator<Item = &'g Glob>) -> Result<GlobSet, String> {
    let mut all = GlobSetBuilder::new();
    for glob in globs {
        all.add(glob.clone());
    }
    all.build().map_err(|error| error.to_string())
}

/// The path as it is read, and in the other way in which a file system may read it, if there is one. A
/// reading too many protects a file too many, never one too few.
fn readings(path: &RelPath) -> Vec<String> {
    let plain = folded(path.as_str());
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
    let other = folded(other.as_str());
    let within = |reading: &String| {
        let rest = reading.strip_prefix(other.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    readings(path).iter().any(within)
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

#[cfg(test)]
mod tests;
