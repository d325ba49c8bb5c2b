//! A plan whose paths, patterns and numbers are all valid.

use std::{collections::BTreeMap, fmt, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    edit::{Edit, Patch},
    task::{ActionType, RelPath, Risk},
};

use super::limits::Limits;

/// A validated plan (001 §3.3) with what it may touch.
#[derive(Debug)]
#[expect(
    clippy::struct_field_names,
    reason = "`plan_id` is the specification's name"
)]
pub(crate) struct Plan {
    /// Need not be a UUID (R-001-40).
    pub(crate) plan_id: String,
    /// As written, at least one; ids differ, dependencies exist and form no cycle.
    pub(crate) actions: Vec<Action>,
    pub(crate) instructions: Instructions,
    pub(crate) limits: Limits,
    pub(crate) links: Links,
    /// Sentences about assumptions and ignored keys.
    pub(crate) notes: Vec<String>,
}

/// What a path of a plan may lead through.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Links {
    /// Symbolic links inside the root.
    #[default]
    Followed,
    /// None: a diff names files by their own paths.
    Refused,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct ActionId(pub(crate) String);

impl fmt::Display for ActionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One item of `action_plan` (001 §3.3).
#[derive(Debug)]
pub(crate) struct Action {
    pub(crate) id: ActionId,
    /// The file; of a query the query file, of a pipeline its name.
    pub(crate) target: RelPath,
    pub(crate) operation: Operation,
    pub(crate) depends_on: Vec<ActionId>,
    pub(crate) risk: Risk,
    /// Run after the plan was applied (R-001-81).
    pub(crate) rules: Vec<FileRule>,
    pub(crate) timeout: Duration,
}

#[derive(Debug)]
pub(crate) enum Operation {
    Create {
        content: Vec<u8>,
        /// Permission bits; none = 0666 under the umask.
        mode: Option<u32>,
    },
    /// A new symbolic link.
    Link {
        /// Where it leads, from its own directory: inside the root.
        to: String,
    },
    Modify(Edit),
    SetMode(ModeChange),
    Delete {
        /// The diff that must remove the whole content of the file.
        diff: Option<Patch>,
    },
    Rename {
        to: RelPath,
    },
    SchemaUpdate(Edit),
    Sql(Sql),
    Pipeline {
        parameters: Map<String, Value>,
    },
}

/// Other permission bits for a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ModeChange {
    Exactly(u32),
    /// Who may read the file may execute it (`+x`).
    Executable,
    /// Nobody may execute it (`-x`).
    NotExecutable,
}

impl ModeChange {
    /// The bits of a file that has these.
    pub(crate) const fn of(self, mode: u32) -> u32 {
        match self {
            Self::Exactly(mode) => mode,
            Self::Executable => mode | (mode & 0o444) >> 2,
            Self::NotExecutable => mode & !0o111,
        }
    }
}

/// A query of DuckDB (001 §A.2).
#[derive(Debug, Default)]
pub(crate) struct Sql {
    /// Bound by name (R-001-190). No two names differ by case alone.
    pub(crate) parameters: BTreeMap<String, Value>,
    /// The files that the query may read.
    pub(crate) reads: Vec<RelPath>,
    pub(crate) database: Option<Database>,
    /// A new file for the rows of the last statement.
    pub(crate) results: Option<RelPath>,
    pub(crate) expects: Expects,
    pub(crate) order: Order,
}

#[derive(Debug)]
pub(crate) struct Database {
    pub(crate) path: RelPath,
    pub(crate) access: Access,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    /// It is made if it does not exist.
    Write,
}

/// `expect_results` (R-001-189).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Expects {
    #[default]
    Nothing,
    /// At least one row from the last statement.
    Rows,
}

/// `deterministic`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Order {
    #[default]
    Any,
    /// One thread; what differs from run to run is refused.
    Deterministic,
}

impl Sql {
    /// The files that the query changes.
    pub(crate) fn changes(&self) -> impl Iterator<Item = &RelPath> {
        let database = self.database.as_ref();
        let database = database.filter(|it| it.access == Access::Write);
        database.map(|it| &it.path).into_iter().chain(&self.results)
    }

    /// The files that the query reads, beside its own text.
    pub(crate) fn inputs(&self) -> impl Iterator<Item = &RelPath> {
        let database = self.database.as_ref();
        let database = database.filter(|it| it.access == Access::Read);
        self.reads.iter().chain(database.map(|it| &it.path))
    }
}

impl Action {
    /// Every path that it names, of files that it changes or reads.
    pub(crate) fn paths(&self) -> Vec<&RelPath> {
        let mut paths = vec![&self.target];
        match &self.operation {
            Operation::Rename { to } => paths.push(to),
            Operation::Sql(sql) => paths.extend(sql.changes().chain(sql.inputs())),
            Operation::Pipeline { .. } => paths.clear(),
            Operation::Create { .. }
            | Operation::Link { .. }
            | Operation::Modify(_)
            | Operation::SetMode(_)
            | Operation::Delete { .. }
            | Operation::SchemaUpdate(_) => {}
        }
        paths
    }

    /// Every path of a file that it changes.
    pub(crate) fn changes(&self) -> Vec<&RelPath> {
        match &self.operation {
            Operation::Sql(sql) => sql.changes().collect(),
            _ => self.paths(),
        }
    }
}

impl Operation {
    pub(crate) fn action_type(&self) -> ActionType {
        match self {
            Self::Create { .. } | Self::Link { .. } => ActionType::FileCreate,
            Self::Modify(_) | Self::SetMode(_) => ActionType::FileModify,
            Self::Delete { .. } => ActionType::FileDelete,
            Self::Rename { .. } => ActionType::FileRename,
            Self::SchemaUpdate(_) => ActionType::SchemaUpdate,
            Self::Sql(_) => ActionType::SqlExecute,
            Self::Pipeline { .. } => ActionType::PipelineRun,
        }
    }
}

/// 001 §4.2's operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(crate) enum ReportedChange {
    Create,
    Modify,
    Delete,
    Rename,
}

/// A condition for a file after the plan. `on_failure` says what happens if it does not hold.
#[derive(Debug)]
pub(crate) struct FileRule {
    pub(crate) target: RelPath,
    pub(crate) condition: Condition,
    pub(crate) on_failure: Broken,
}

#[derive(Debug)]
pub(crate) enum Condition {
    Exists,
    Absent,
    Contains(String),
    Lacks(String),
    ValidJson,
    ValidYaml,
    /// Lower-case hexadecimal.
    Sha256(String),
    /// Valid against this JSON Schema (as JSON or YAML, by the file's name).
    Schema(Value),
}

/// What happens if a rule does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Broken {
    /// The report contains a warning.
    Warn,
    /// The action fails; `rollback_on_failure` decides.
    Error,
    /// The plan is undone, whatever `rollback_on_failure` says.
    RollBack,
}

/// How the plan is applied (001 §3.3, §7.2).
#[derive(Debug, Default)]
pub(crate) struct Instructions {
    pub(crate) on_error: OnError,
    pub(crate) on_failure: OnFailure,
    pub(crate) permissions: Permissions,
    pub(crate) hashes: Hashes,
    /// For the whole plan: 300 s unless said, at most 3600 s (R-001-173).
    pub(crate) timeout: Duration,
}

/// `stop_on_error` (R-001-128).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum OnError {
    #[default]
    Stop,
    GoOn,
}

/// `rollback_on_failure` (R-001-129).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum OnFailure {
    #[default]
    RollBack,
    Keep,
}

/// `preserve_permissions` (R-001-130).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Permissions {
    #[default]
    Preserve,
    /// What a new file would get.
    Fresh,
}

/// `verify_hashes` (R-001-131, C-21).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Hashes {
    #[default]
    Verify,
    Trust,
}
