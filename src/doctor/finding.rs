//! The findings of an examination: a closed list of kinds. Each finding has a level, a text and a remedy.

use std::fmt;

use serde::Serialize;

use crate::{catalog::Code, task::Secrets};

#[derive(Debug, Serialize)]
pub(crate) struct Finding {
    pub(crate) level: Level,
    #[serde(rename = "finding")]
    pub(super) kind: FindingKind,
    pub(crate) subject: Subject,
    /// The text, without the subject.
    pub(crate) what: String,
    /// What the user can do; none at [`Level::Good`].
    pub(crate) remedy: Option<String>,
    /// Lines that help to understand it, such as the server's stderr.
    pub(crate) detail: Vec<String>,
}

impl Finding {
    /// Whether it says only that an entry of the catalog is as it should be.
    pub(crate) fn is_of_a_good_entry(&self) -> bool {
        self.level == Level::Good && self.subject.kind == About::Capability
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Level {
    /// As it should be.
    Good,
    /// Runs work, but not always or not as well as they could.
    Warning,
    /// Some runs cannot succeed.
    Problem,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Subject {
    pub(super) kind: About,
    /// The name of a server in the catalog, or the id of a capability.
    pub(super) name: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum About {
    Catalog,
    Ledger,
    /// The places in which file plans write.
    Plans,
    /// The asset store.
    Storage,
    /// The state directory.
    Scratch,
    Server,
    Capability,
    Pipeline,
    /// The database engine.
    Duckdb,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize))]
#[serde(rename_all = "snake_case")]
pub(super) enum FindingKind {
    CatalogGood,
    /// The file is missing, unreadable, or not a catalog.
    CatalogUnusable,
    /// One entry is invalid. The text names its place in the file.
    EntryUnusable,
    /// An id from the command line is not in the catalog.
    CapabilityUnknown,
    LedgerGood,
    /// The ledger is foreign, damaged, of a newer version, unreachable, or read-only.
    LedgerUnusable,
    /// The head of the ledger cannot be signed.
    SignKeyUnusable,
    /// The entry demands a review, and nothing is recorded.
    ReviewUnrecorded,
    /// No plan can make its report directory.
    PlansUnusable,
    /// No plan can change files directly in the root.
    RootUnwritable,
    /// The file system of the root lacks something, without which plans guarantee less.
    PlansLimited,
    StoreGood,
    StoreUnusable,
    StoreNearlyFull,
    /// The server of the bucket ignores conditions.
    StoreUnconditional,
    ScratchGood,
    ScratchUnusable,
    /// Other users have access.
    ScratchOpen,
    /// Directories of runs that were killed.
    ScratchLeftOver,
    VariableUnset,
    DirectoryMissing,
    CommandMissing,
    CommandNotExecutable,
    /// The command may fetch its package at each start.
    ColdStart,
    ServerGood,
    /// It is kept between runs.
    ServerWarm,
    ServerFailed,
    Slow,
    Noise,
    /// The server does not exit when its stdin is closed.
    EndIgnored,
    LeftBehind,
    ToolGood,
    ToolMissing,
    /// The tool's pin. It matches the entry's pin, if there is one.
    ToolPin,
    /// The tool does not match the entry's pin.
    ToolChanged,
    /// Only the tool's description does not match the entry's pin.
    DescriptionChanged,
    /// The tool's input schema is unusable, and the entry has no schema.
    ToolSchemaUnusable,
    ParameterUnknown,
    ParameterMissing,
    EffectsBetter,
    /// The server's `PATH` lacks a program that the tool declares.
    ProgramMissing,
    PipelineGood,
    EngineGood,
    /// No engine was named, and none was found.
    EngineMissing,
    EngineUnusable,
}

impl Subject {
    /// The table of the catalog that describes it, e.g. `capability` and `CAP-AUD-001`.
    pub(crate) fn table(&self) -> Option<(&'static str, &str)> {
        let group = match self.kind {
            About::Server => "server",
            About::Capability => "capability",
            About::Pipeline => "pipeline",
            About::Catalog
            | About::Ledger
            | About::Plans
            | About::Storage
            | About::Scratch
            | About::Duckdb => {
                return None;
            }
        };
        Some((group, self.name.as_deref()?))
    }

    /// The header of that table, e.g. `[capability.CAP-AUD-001]`.
    pub(super) fn entry(&self) -> String {
        let table = self.table();
        table.map_or_else(String::new, |(group, name)| format!("[{group}.{name}]"))
    }

    pub(super) fn of(kind: About) -> Self {
        Self { kind, name: None }
    }

    pub(super) fn named(kind: About, name: &str) -> Self {
        let name = Some(name.to_owned());
        Self { kind, name }
    }

    pub(super) fn good(&self, kind: FindingKind, what: impl Into<String>) -> Finding {
        Finding {
            level: Level::Good,
            kind,
            subject: self.clone(),
            what: what.into(),
            remedy: None,
            detail: Vec::new(),
        }
    }

    pub(super) fn warning(
        &self,
        kind: FindingKind,
        what: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Finding {
        Finding {
            level: Level::Warning,
            remedy: Some(remedy.into()),
            ..self.good(kind, what)
        }
    }

    pub(super) fn problem(
        &self,
        kind: FindingKind,
        what: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Finding {
        self.warning(kind, what, remedy).at(Level::Problem)
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The name of the variant, as in JSON.
        self.kind.serialize(&mut *f)?;
        match &self.name {
            Some(name) => write!(f, " {name}"),
            None => Ok(()),
        }
    }
}

impl Finding {
    pub(super) fn at(self, level: Level) -> Self {
        Self { level, ..self }
    }

    pub(super) fn with(self, detail: Vec<String>) -> Self {
        Self { detail, ..self }
    }

    /// The code by which `oneact catalog check --live` reports it, if the catalog and the servers do not fit each other.
    pub(crate) fn code(&self) -> Option<Code> {
        match (self.kind, self.subject.kind, self.level) {
            (_, _, Level::Good) => None,
            (FindingKind::EffectsBetter, ..) => Some(Code::CAT061),
            (FindingKind::DescriptionChanged, ..) => Some(Code::CAT062),
            (
                FindingKind::ToolMissing
                | FindingKind::ToolChanged
                | FindingKind::ToolSchemaUnusable
                | FindingKind::ParameterUnknown
                | FindingKind::ParameterMissing
                | FindingKind::ScratchUnusable,
                ..,
            )
            | (_, About::Server, Level::Problem) => Some(Code::CAT060),
            _ => None,
        }
    }

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

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn the_schema_lists_the_kinds() {
        // The error of an unknown word names every word, each between two backticks.
        let error = serde_json::from_value::<FindingKind>(Value::from("?")).expect_err("unknown");
        let error = error.to_string();
        let kinds: Vec<&str> = error.split('`').skip(3).step_by(2).collect();
        let schema: Value =
            serde_json::from_str(include_str!("../../schemas/doctor.schema.json")).unwrap();
        let listed = &schema["$defs"]["finding"]["properties"]["finding"]["enum"];
        assert_eq!(*listed, Value::from(kinds));
    }
}
