//! What an examination can find: a closed list, each with its weight, its words and what to do about it.

use std::{fmt, time::Duration};

use serde::Serialize;

use crate::task::Secrets;

/// One thing that was looked at, and what was seen.
#[derive(Debug, Serialize)]
pub(crate) struct Finding {
    pub(crate) level: Level,
    #[serde(rename = "finding")]
    pub(super) kind: Kind,
    pub(crate) subject: Subject,
    /// What was seen, without the subject.
    pub(crate) what: String,
    /// What to do about it; nothing where all is well.
    pub(crate) remedy: Option<String>,
    /// Lines from elsewhere that help to understand it.
    pub(crate) detail: Vec<String>,
}

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Level {
    /// As it should be.
    Good,
    /// Runs will do, though not as well as they could, or not always.
    Warning,
    /// Some runs are bound to fail.
    Problem,
}

/// What a finding is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Subject {
    pub(super) kind: About,
    /// Of a server its name in the catalog, of a capability its id.
    pub(super) name: Option<String>,
}

/// The kind of thing that a finding is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum About {
    Catalog,
    /// What runs record in.
    Ledger,
    /// Where assets are kept.
    Storage,
    /// Where runs work: the state directory.
    Scratch,
    Server,
    Capability,
}

/// What was seen, for machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    CatalogGood,
    /// Not there, unreadable, or no catalog at all.
    CatalogUnusable,
    /// One entry, with its place in the file.
    EntryUnusable,
    /// Asked for, and not in the catalog.
    CapabilityUnknown,
    LedgerGood,
    /// Another program's, damaged, of a newer oneact, out of reach, or not to be written.
    LedgerUnusable,
    StoreGood,
    StoreUnusable,
    StoreNearlyFull,
    ScratchGood,
    ScratchUnusable,
    /// Others can look in.
    ScratchOpen,
    /// Directories of runs that were killed.
    ScratchLeftOver,
    VariableUnset,
    DirectoryMissing,
    CommandMissing,
    CommandNotExecutable,
    /// It may fetch its package at each start.
    ColdStart,
    ServerGood,
    ServerFailed,
    /// It does not speak what its entry says, but something else that is known here.
    ProtocolWrong,
    Slow,
    Noise,
    /// The end of stdin does not end it.
    EndIgnored,
    LeftBehind,
    ToolGood,
    ToolMissing,
    /// What it is now; as pinned, if it is.
    ToolPin,
    /// It is not as the entry pins it.
    ToolChanged,
    /// Its input schema cannot be used, and the entry has none of its own.
    ToolSchemaUnusable,
    ParameterUnknown,
    ParameterMissing,
    EffectsBetter,
    /// The tool says that it starts this one.
    ProgramMissing,
}

impl Subject {
    pub(super) fn of(kind: About) -> Self {
        Self { kind, name: None }
    }

    pub(super) fn server(name: &str) -> Self {
        Self {
            kind: About::Server,
            name: Some(name.to_owned()),
        }
    }

    pub(super) fn capability(id: &str) -> Self {
        Self {
            kind: About::Capability,
            name: Some(id.to_owned()),
        }
    }
}

impl fmt::Display for About {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Catalog => "catalog",
            Self::Ledger => "ledger",
            Self::Storage => "storage",
            Self::Scratch => "scratch",
            Self::Server => "server",
            Self::Capability => "capability",
        })
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.fmt(f)?;
        match &self.name {
            Some(name) => write!(f, " {name}"),
            None => Ok(()),
        }
    }
}

impl Finding {
    pub(super) fn good(subject: &Subject, kind: Kind, what: impl Into<String>) -> Self {
        Self {
            level: Level::Good,
            kind,
            subject: subject.clone(),
            what: what.into(),
            remedy: None,
            detail: Vec::new(),
        }
    }

    pub(super) fn warning(
        subject: &Subject,
        kind: Kind,
        what: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            level: Level::Warning,
            remedy: Some(remedy.into()),
            ..Self::good(subject, kind, what)
        }
    }

    pub(super) fn problem(
        subject: &Subject,
        kind: Kind,
        what: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            level: Level::Problem,
            ..Self::warning(subject, kind, what, remedy)
        }
    }

    pub(super) fn with(self, detail: Vec<String>) -> Self {
        Self { detail, ..self }
    }

    /// Without what the server that it is about was given in secret.
    pub(super) fn without(self, secrets: &Secrets) -> Self {
        let shown = |text: String| secrets.shown(&text);
        Self {
            what: shown(self.what),
            remedy: self.remedy.map(shown),
            detail: self.detail.into_iter().map(shown).collect(),
            ..self
        }
    }
}

pub(super) fn count(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

pub(super) fn time(duration: Duration) -> String {
    if duration < Duration::from_secs(10) {
        format!("{} ms", duration.as_millis())
    } else {
        format!("{} s", duration.as_secs())
    }
}
