//! The limits of a plan: the bounds of the catalog, which `system_config` can only tighten. Only this file decides
//! whether a path, an operation or a size is within them.

use std::{
    collections::BTreeSet,
    fmt::{self, Display},
    time::Duration,
};

use crate::task::{
    ActionType, Bounds, DuckDb, Failure, Fault, PathPattern, Pipeline, Protection, ProtectionRules,
    RelPath, Sanction,
};

use super::protected::{Class, Kept, Protected};

const MIB: u64 = 1 << 20;

/// What a plan may touch: the catalog's, tightened by the plan's `system_config`.
#[derive(Debug)]
pub(crate) struct Limits {
    pub(crate) operations: BTreeSet<ActionType>,
    pub(crate) max_files: usize,
    /// Bytes, before and after.
    pub(crate) max_file_bytes: u64,
    /// Bytes of all originals together.
    pub(crate) max_backup_bytes: u64,
    pub(crate) max_concurrency: usize,
    pub(crate) protected: Protected,
    /// Who set the limits, for messages.
    operations_by: Source,
    files_by: Source,
    file_bytes_by: Source,
    protection: ProtectionRules,
    pub(crate) sanction: Sanction,
    pub(crate) pipelines: Vec<Pipeline>,
    pub(crate) duckdb: DuckDb,
}

/// `system_config.execution_constraints`, where it is given.
#[derive(Debug, Clone, Default)]
pub(crate) struct Constraints {
    pub(crate) max_files: Option<u64>,
    pub(crate) operations: Option<BTreeSet<ActionType>>,
    pub(crate) max_file_bytes: Option<u64>,
    pub(crate) forbidden: Vec<PathPattern>,
    pub(crate) protected: Vec<PathPattern>,
}

const CONSTRAINTS: &str = "system_config.execution_constraints";

#[derive(Debug, Clone, Copy)]
enum Source {
    /// The catalog entry, or 001 where that is silent.
    Catalog,
    Config(&'static str),
    /// The origin's default of a key that the configuration leaves out.
    ConfigDefault(&'static str),
}

impl Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Catalog => f.write_str(
                "`file_plan` in the catalog, or by specification 001 where that is silent",
            ),
            Self::Config(key) => write!(f, "`{CONSTRAINTS}.{key}`"),
            Self::ConfigDefault(key) => write!(
                f,
                "the default of `{CONSTRAINTS}.{key}`, which the plan does not give"
            ),
        }
    }
}

impl Limits {
    /// The limits of a plan. A value of the configuration beyond the bounds has no effect; a note says so. A
    /// default of the configuration that is tighter than that of 001 applies; a note says so, too.
    pub(crate) fn of(
        bounds: &Bounds,
        kept: &Kept,
        config: Option<&Constraints>,
        notes: &mut Vec<String>,
    ) -> Result<Limits, Failure> {
        let none = Constraints::default();
        let given = config.unwrap_or(&none);
        let mut tighten = |key, bound, said, default| {
            // The defaults hold only beside a configuration.
            let default = config.map_or(u64::MAX, |_| default);
            tighter(key, bound, said, default, notes)
        };
        let (files, files_by) =
            tighten("max_files_modified", bounds.max_files, given.max_files, 10);
        let (file_bytes, file_bytes_by) = tighten(
            "max_file_size_bytes",
            bounds.max_file_bytes,
            given.max_file_bytes,
            10 * MIB,
        );
        let (operations, operations_by) = operations(&bounds.operations, config, notes);
        let (forbidden, protected) = (&given.forbidden, &given.protected);
        let protected = Protected::with(kept, &bounds.protection, forbidden, protected)
            .map_err(|problem| Failure::new(Fault::PlanInvalid, problem));
        let count = |number| usize::try_from(number).unwrap_or(usize::MAX);
        Ok(Self {
            operations,
            max_files: count(files),
            max_file_bytes: file_bytes,
            max_backup_bytes: bounds.max_backup_bytes,
            max_concurrency: count(bounds.max_concurrency),
            protected: protected?,
            operations_by,
            files_by,
            file_bytes_by,
            protection: bounds.protection.clone(),
            sanction: bounds.sanction.clone(),
            pipelines: bounds.pipelines.clone(),
            duckdb: bounds.duckdb.clone(),
        })
    }

    /// The pipeline of the catalog with this name.
    pub(crate) fn pipeline(&self, name: &RelPath) -> Option<&Pipeline> {
        let mut pipelines = self.pipelines.iter();
        pipelines.find(|pipeline| pipeline.name == name.as_str())
    }
}

/// The types of action that both the bound and the configuration allow.
fn operations(
    bound: &BTreeSet<ActionType>,
    config: Option<&Constraints>,
    notes: &mut Vec<String>,
) -> (BTreeSet<ActionType>, Source) {
    const KEY: &str = "allowed_operations";
    let Some(config) = config else {
        return (bound.clone(), Source::Catalog);
    };
    let Some(said) = &config.operations else {
        notes.push(format!(
            "`{CONSTRAINTS}` gives no `{KEY}`; its default applies: FILE_MODIFY alone"
        ));
        let default = BTreeSet::from([ActionType::FileModify]);
        return (&default & bound, Source::ConfigDefault(KEY));
    };
    let beyond = (said - bound).into_iter().map(ActionType::name);
    let beyond: Vec<&str> = beyond.collect();
    if !beyond.is_empty() {
        notes.push(format!(
            "`{CONSTRAINTS}.{KEY}` names {}, which the catalog entry does not allow; the tighter limit applies",
            beyond.join(", ")
        ));
    }
    (said & bound, Source::Config(KEY))
}

/// The tighter of a bound and the value of the configuration, or its default if the key is absent.
fn tighter(
    key: &'static str,
    bound: u64,
    said: Option<u64>,
    default: u64,
    notes: &mut Vec<String>,
) -> (u64, Source) {
    match said {
        Some(said) if said > bound => {
            notes.push(format!(
                "`{CONSTRAINTS}.{key}` is {said}, and the bound is {bound}; the tighter limit applies"
            ));
            (bound, Source::Catalog)
        }
        Some(said) => (said, Source::Config(key)),
        None if default < bound => {
            notes.push(format!(
                "`{CONSTRAINTS}` gives no `{key}`; its default applies: {default}"
            ));
            (default, Source::ConfigDefault(key))
        }
        None => (bound, Source::Catalog),
    }
}

impl Limits {
    /// Whether a plan may create, change, delete or rename this file. For the path as the plan spells it
    /// and again for where it leads.
    pub(crate) fn admits(&self, path: &RelPath) -> Result<(), Failure> {
        self.admits_under(path, &self.sanction)
    }

    /// The same under another sanction.
    pub(crate) fn admits_under(&self, path: &RelPath, sanction: &Sanction) -> Result<(), Failure> {
        if self.protected.displaces(path) {
            let message = format!(
                "a file at `{path}` would be in the place of a directory that oneact needs; no plan may put one there, approved or not"
            );
            return Err(Failure::new(Fault::ProtectedFile, message));
        }
        self.admits_dir_under(path, sanction)
    }

    /// Whether a plan may give this file an execute bit (R-001-159).
    pub(crate) fn admits_executable(&self, path: &RelPath) -> Result<(), Failure> {
        self.admits_executable_under(path, &self.sanction)
    }

    /// The same under another sanction.
    pub(crate) fn admits_executable_under(
        &self,
        path: &RelPath,
        sanction: &Sanction,
    ) -> Result<(), Failure> {
        match &self.protection.executes {
            Some(executes) if self.protected.counts(path) => {
                let what = format!("`{path}` would be executable (class executes)");
                approved(&what, executes.class.rule, sanction)
            }
            _ => Ok(()),
        }
    }

    /// Whether a plan may make or remove this directory, or put a slot there.
    pub(crate) fn admits_dir(&self, path: &RelPath) -> Result<(), Failure> {
        self.admits_dir_under(path, &self.sanction)
    }

    /// The same under another sanction.
    pub(crate) fn admits_dir_under(
        &self,
        path: &RelPath,
        sanction: &Sanction,
    ) -> Result<(), Failure> {
        let Some((class, pattern)) = self.protected.class_of(path) else {
            return Ok(());
        };
        let rules = &self.protection;
        let (class_name, rule) = match class {
            Class::Own => {
                let message = format!(
                    "`{path}` is kept for oneact's own files (`{pattern}`); no plan may touch it, approved or not"
                );
                return Err(Failure::new(Fault::ProtectedFile, message));
            }
            Class::Forbidden => {
                let message = format!(
                    "`{path}` matches `{pattern}` of `{CONSTRAINTS}.forbidden_patterns`; \
                     no plan under this configuration may touch it"
                );
                return Err(Failure::new(Fault::OperationNotAllowed, message));
            }
            Class::Critical => ("critical", rules.critical.rule),
            Class::Important => ("important", rules.important.rule),
            Class::AgentSystem => ("agent_system", rules.agent_system.rule),
            Class::Executes => {
                let executes = rules.executes.as_ref();
                let rule = executes.map(|executes| executes.class.rule);
                ("executes", rule.unwrap_or_default())
            }
            Class::Configured => ("system_config's protected_files", rules.configured),
        };
        let what = format!("`{path}` is protected (class {class_name}, pattern `{pattern}`)");
        approved(&what, rule, sanction)
    }

    /// Whether the plan may contain an action of this type (R-001-23).
    pub(crate) fn allows(&self, operation: ActionType) -> Result<(), Failure> {
        if self.operations.contains(&operation) {
            return Ok(());
        }
        let allowed = self.operations.iter().map(|operation| operation.name());
        let allowed = match allowed.collect::<Vec<_>>().as_slice() {
            [] => "nothing".to_owned(),
            allowed => allowed.join(", "),
        };
        let message = format!(
            "{operation} is not allowed; allowed is {allowed}, by {}",
            self.operations_by
        );
        Err(Failure::new(Fault::OperationNotAllowed, message))
    }

    /// Whether a plan may touch so many files (R-001-174).
    pub(crate) fn fits_files(&self, files: usize) -> Result<(), Failure> {
        let (most, by) = (self.max_files, self.files_by);
        at_most(files, most, || {
            format!(
                "the plan touches {files} files, and at most {most} are allowed by {by}; split the plan"
            )
        })
    }

    /// Whether so many bytes may be backed up (R-001-176).
    pub(crate) fn fits_backups(&self, bytes: u64) -> Result<(), Failure> {
        let (most, by) = (self.max_backup_bytes, Source::Catalog);
        at_most(bytes, most, || {
            format!(
                "the files that the plan changes have {bytes} bytes together, and at most {most} are backed up by {by}; split the plan"
            )
        })
    }

    /// Whether a file may be so large, before or after (R-001-175).
    pub(crate) fn fits_file(&self, path: &RelPath, bytes: u64) -> Result<(), Failure> {
        let (most, by) = (self.max_file_bytes, self.file_bytes_by);
        at_most(bytes, most, || {
            format!("`{path}` has {bytes} bytes, and at most {most} are allowed by {by}")
        })
    }
}

/// The most bytes of the paths of all directories that contain the files of a plan. The journal and the report name
/// each new directory.
const MOST_DIRECTORIES: usize = 2 << 20;

/// Whether the directories that contain the files of a plan may have paths of so many bytes together.
pub(crate) fn fits_directories(bytes: usize) -> Result<(), Failure> {
    at_most(bytes, MOST_DIRECTORIES, || {
        format!(
            "the directories that contain the plan's files have paths of {bytes} bytes together, and at most \
             {MOST_DIRECTORIES} are allowed; split the plan"
        )
    })
}

/// Whether a change of this kind is permitted.
fn approved(what: &str, rule: Protection, sanction: &Sanction) -> Result<(), Failure> {
    let way_out = match rule {
        Protection::Approval if *sanction != Sanction::None => return Ok(()),
        Protection::Approval => {
            "changing it needs an approval for exactly this plan, and there is none"
        }
        Protection::Never => "the catalog entry permits no approval for it",
    };
    Err(Failure::new(
        Fault::ProtectedFile,
        format!("{what}; {way_out}"),
    ))
}

fn at_most<N: PartialOrd + Copy>(
    number: N,
    most: N,
    problem: impl FnOnce() -> String,
) -> Result<(), Failure> {
    if number <= most {
        return Ok(());
    }
    Err(Failure::new(Fault::LimitExceeded, problem()))
}

/// How long an action of this type may take if the plan does not say, and at most (R-001-169 …
/// R-001-172).
pub(crate) const fn action_timeout(operation: ActionType) -> (Duration, Duration) {
    let (default, most) = match operation {
        ActionType::FileCreate
        | ActionType::FileModify
        | ActionType::FileDelete
        | ActionType::FileRename => (30, 120),
        ActionType::SchemaUpdate => (30, 60),
        ActionType::SqlExecute => (60, 300),
        ActionType::PipelineRun => (300, 3600),
    };
    (Duration::from_secs(default), Duration::from_secs(most))
}

/// The default and the maximum for the plan as a whole (R-001-173).
pub(crate) const PLAN_TIMEOUT: (Duration, Duration) =
    (Duration::from_mins(5), Duration::from_hours(1));

#[cfg(test)]
mod tests;
