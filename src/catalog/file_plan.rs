//! A checked capability that performs file plans: what plans may touch, and which plan a task means.
//! Specification 001 sets the limits (§11); a catalog can only tighten them.

use std::{collections::BTreeSet, time::Duration};

use serde_json::{Map, Value};
use toml::Spanned;

use crate::task::{
    ActionType, Bounds, CapabilityTask, Carried, CarriedIn, ClassRule, Effects, Executes, Failure,
    Fault, InputRef, OnDuplicate, PathPattern, ProtectionRules, RefStatus, ReviewRule, Unless,
    Validation, decided,
};

use super::{
    approval,
    code::{Code, Place},
    document::{CatalogError, Named, Tables, bytes},
    duckdb,
    entry::Access,
    identity::{self, WITHOUT_EFFECT},
    pipeline,
    raw::{RawCapability, RawFilePlan, RawProtection},
    server,
};

/// The capability id of plans that name no capability.
pub(crate) const APPLY_FILE_PLAN: &str = "apply_file_plan";

/// How the ledger names a rollback.
pub(crate) const ROLLBACK: &str = "rollback";

/// Fixed, so that `oneact rollback` and people find the reports, and no plan can touch them.
const REPORTS: &str = "agent_outputs/reports";

const MB: u64 = 1 << 20;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FilePlan {
    pub(crate) id: String,
    /// `None` for the built-in one.
    pub(crate) place: Option<Place>,
    /// A person raises it so that the same plan is performed again.
    pub(crate) version: Option<u32>,
    /// What happens to a plan that was performed before in the session.
    pub(crate) on_duplicate: OnDuplicate,
    pub(crate) access: Access,
    pub(crate) bounds: Bounds,
    pub(crate) review: Option<ReviewRule>,
}

impl FilePlan {
    /// A plan changes files below the root, and only them.
    pub(crate) const EFFECTS: Effects = Effects {
        read_only: Some(false),
        destructive: Some(true),
        idempotent: Some(false),
        open_world: Some(false),
    };

    /// The same beside the pipelines of a catalog, which plans may start, and its servers. Plans may not change the
    /// programs of both by themselves.
    pub(super) fn beside(mut self, tables: &Tables<'_>) -> Result<Self, CatalogError> {
        self.bounds.pipelines = pipeline::all(tables)?;
        self.bounds.duckdb = duckdb::settings(tables)?;
        if let Some(executes) = &mut self.bounds.protection.executes {
            executes.programs = server::programs(tables, &self.bounds.pipelines)?;
        }
        Ok(self)
    }

    /// The limits of specification 001, for a catalog without an entry.
    pub(crate) fn built_in() -> Self {
        Self {
            id: APPLY_FILE_PLAN.to_owned(),
            place: None,
            version: None,
            on_duplicate: OnDuplicate::Suppress(Unless::FilesChanged),
            access: Access::default(),
            bounds: Bounds::default(),
            review: None,
        }
    }
}

/// Checks an entry that has a `file_plan`.
pub(super) fn compile(
    named: Named<'_>,
    entry: &RawCapability,
    plan: &RawFilePlan,
) -> Result<FilePlan, CatalogError> {
    let checker = Checker(named);
    if let Some(key) = of_a_tool(named)? {
        let problem = format!(
            "applies file plans, but `{key}` is a setting of a tool; remove one of the two"
        );
        let code = if key == "mcp" {
            Code::CAT004
        } else {
            Code::CAT001
        };
        return Err(named.wrong(&problem).coded(code));
    }
    checker.fixed("root", plan.root.as_ref(), ".")?;
    checker.fixed("reports", plan.reports.as_ref(), REPORTS)?;
    let longest = entry.timeout_max.as_ref().or(entry.timeout.as_ref());
    let protected = &plan.protected;
    let most = Bounds::default();
    let unless_files_changed = OnDuplicate::Suppress(Unless::FilesChanged);
    let plan = FilePlan {
        id: named.name.to_owned(),
        place: Some(named.place(named.at)),
        version: entry.version,
        review: approval::review(named, entry)?,
        on_duplicate: match &entry.on_duplicate {
            Some(said) => match identity::duplicates(named, said, HAPPENS)? {
                OnDuplicate::Repeat => OnDuplicate::Repeat,
                OnDuplicate::Reuse { .. } | OnDuplicate::Suppress(_) => unless_files_changed,
            },
            None => unless_files_changed,
        },
        access: named.access(entry)?,
        bounds: Bounds {
            operations: checker.operations(plan.operations.as_ref(), most.operations)?,
            validation: plan.validation,
            max_files: checker.count("max_files", plan.max_files.as_ref(), most.max_files)?,
            max_file_bytes: checker.size(
                "max_file_size",
                plan.max_file_size.as_ref(),
                most.max_file_bytes,
            )?,
            max_backup_bytes: checker.size(
                "max_backup_size",
                plan.max_backup_size.as_ref(),
                most.max_backup_bytes,
            )?,
            max_concurrency: checker.count(
                "max_concurrency",
                plan.max_concurrency.as_ref(),
                most.max_concurrency,
            )?,
            longest: checker.longest(longest, most.longest)?,
            sanction: most.sanction,
            pipelines: most.pipelines,
            duckdb: most.duckdb,
            protection: ProtectionRules {
                critical: checker.fixed_class("critical", protected.critical.as_ref())?,
                important: checker.fixed_class("important", protected.important.as_ref())?,
                agent_system: checker
                    .fixed_class("agent_system", protected.agent_system.as_ref())?,
                executes: Some(checker.executes(protected.executes.as_ref())?),
                configured: most.protection.configured,
            },
        },
    };
    plan.beside(named.tables)
}

/// An old answer is never reused for a plan, because the files may have changed since.
const HAPPENS: Effects = Effects {
    read_only: Some(false),
    destructive: None,
    idempotent: Some(false),
    open_world: None,
};

/// The first key in the entry that only a tool can have.
fn of_a_tool(named: Named<'_>) -> Result<Option<String>, CatalogError> {
    let entry = named
        .tables
        .entry::<Map<String, Value>>(named.group, named.name)?;
    let mut keys = entry.into_iter().flat_map(|(_, table)| table);
    let of_a_tool = |key: &str| key != "file_plan" && !WITHOUT_EFFECT.contains(&key);
    Ok(keys.find_map(|(key, _)| of_a_tool(&key).then_some(key)))
}

struct Checker<'a>(Named<'a>);

impl Checker<'_> {
    fn wrong<T>(&self, value: &Spanned<T>, problem: &str) -> CatalogError {
        self.0.wrong_at(value.span().start, problem)
    }

    fn fixed(
        &self,
        key: &str,
        said: Option<&Spanned<String>>,
        only: &str,
    ) -> Result<(), CatalogError> {
        match said.filter(|said| said.get_ref() != only) {
            Some(said) => Err(self.wrong(
                said,
                &format!("`file_plan.{key}` can only be {only:?}; leave it out"),
            )),
            None => Ok(()),
        }
    }

    fn longest(
        &self,
        said: Option<&Spanned<String>>,
        most: Duration,
    ) -> Result<Duration, CatalogError> {
        let Some(said) = said else {
            return Ok(most);
        };
        let longest = self.0.duration(said)?;
        if longest > most {
            let problem = "a plan may take at most one hour (specification 001 §11.1); write \"3600s\" or less";
            return Err(self.wrong(said, problem));
        }
        Ok(longest)
    }

    fn operations(
        &self,
        said: Option<&Spanned<Vec<ActionType>>>,
        all: BTreeSet<ActionType>,
    ) -> Result<BTreeSet<ActionType>, CatalogError> {
        match said {
            Some(said) if said.get_ref().is_empty() => Err(self.wrong(
                said,
                "`file_plan.operations` is empty; name an operation, or leave the key out to allow all of them",
            )),
            Some(said) => Ok(said.get_ref().iter().copied().collect()),
            None => Ok(all),
        }
    }

    fn count(
        &self,
        key: &str,
        said: Option<&Spanned<u64>>,
        most: u64,
    ) -> Result<u64, CatalogError> {
        match said {
            None => Ok(most),
            Some(said) if (1..=most).contains(said.get_ref()) => Ok(*said.get_ref()),
            Some(said) => Err(self.wrong(
                said,
                &format!("`file_plan.{key}` must be 1 to {most}: the limits of specification 001 §11.2 can only be lowered"),
            )),
        }
    }

    fn size(
        &self,
        key: &str,
        said: Option<&Spanned<String>>,
        most: u64,
    ) -> Result<u64, CatalogError> {
        let Some(said) = said else {
            return Ok(most);
        };
        match bytes(said.get_ref()).filter(|bytes| (1..=most).contains(bytes)) {
            Some(bytes) => Ok(bytes),
            None => Err(self.wrong(
                said,
                &format!(
                    "`file_plan.{key}` must be a size of at most {} MB, e.g. \"10 MB\" or \"512 KB\": the \
                     limits of specification 001 §11.2 can only be lowered",
                    most / MB
                ),
            )),
        }
    }

    fn class(&self, name: &str, said: Option<&RawProtection>) -> Result<ClassRule, CatalogError> {
        let Some(said) = said else {
            return Ok(ClassRule::default());
        };
        Ok(ClassRule {
            rule: said.rule,
            paths: self.patterns(&format!("{name}.paths"), said.paths.as_ref())?,
        })
    }

    /// A class of specification 001, which a catalog can only widen.
    fn fixed_class(
        &self,
        name: &str,
        said: Option<&RawProtection>,
    ) -> Result<ClassRule, CatalogError> {
        if let Some(except) = said.and_then(|said| said.except.as_ref()) {
            let problem = format!(
                "`file_plan.protected.{name}.except` cannot be set: the paths of specification 001 §9.1 stay \
                 protected; remove it"
            );
            return Err(self.wrong(except, &problem));
        }
        self.class(name, said)
    }

    fn executes(&self, said: Option<&RawProtection>) -> Result<Executes, CatalogError> {
        let except = said.and_then(|said| said.except.as_ref());
        Ok(Executes {
            class: self.class("executes", said)?,
            except: self.patterns("executes.except", except)?,
            programs: Vec::new(),
        })
    }

    fn patterns(
        &self,
        key: &str,
        said: Option<&Spanned<Vec<String>>>,
    ) -> Result<Vec<PathPattern>, CatalogError> {
        let Some(said) = said else {
            return Ok(Vec::new());
        };
        let parsed = said.get_ref().iter().map(|text| PathPattern::parse(text));
        parsed
            .collect::<Result<_, _>>()
            .map_err(|problem| self.wrong(said, &format!("`file_plan.protected.{key}`: {problem}")))
    }
}

/// A file plan to perform, and what it may touch.
#[derive(Debug)]
pub(crate) struct PlanJob {
    pub(crate) entry: FilePlan,
    pub(crate) plan: PlanSource,
    pub(crate) system_config: Option<Value>,
    pub(crate) validation: Validation,
    pub(crate) salt: Option<String>,
    pub(crate) reasoning: Vec<String>,
}

#[derive(Debug)]
pub(crate) enum PlanSource {
    Inline(Value),
    /// In the file that this reference names.
    Ref(InputRef),
}

/// The keys that `parameters` may have in a task that performs a plan.
const PARAMETERS: &[&str] = &["task_plan", "plan", "system_config", "protocol_validation"];

pub(super) fn job(
    task: &CapabilityTask,
    entry: FilePlan,
    mut reasoning: Vec<String>,
) -> Result<PlanJob, Failure> {
    let id = &entry.id;
    let refused = |fault, problem: &str| Err(Failure::new(fault, format!("{id} {problem}")));
    if task.capability_ids.len() > 1 {
        return refused(
            Fault::InvalidShape,
            "applies a file plan, which must be a separate task; send the other capabilities in other tasks",
        );
    }
    if !task.expected.is_empty() {
        return refused(
            Fault::InvalidShape,
            "makes no assets; leave `output_refs_expected` out",
        );
    }
    let said = task.parameters.iter().flatten().map(|(name, _)| name);
    if let Some(stranger) = said
        .into_iter()
        .find(|name| !PARAMETERS.contains(&name.as_str()))
    {
        let problem = format!(
            "has no parameter `{}`; it takes {}",
            stranger.escape_debug(),
            PARAMETERS.join(", ")
        );
        return refused(Fault::ParamsInvalid, &problem);
    }
    let carried = task.carried.clone().unwrap_or_default();
    let plan = match (carried.plan, task.inputs.as_slice()) {
        (Some(plan), _) => PlanSource::Inline(plan),
        (None, [input]) => PlanSource::Ref(there(input)?),
        (None, inputs) => {
            let found = match inputs.len() {
                0 => "the task contains none".to_owned(),
                several => format!("the task has {several} input references instead of one"),
            };
            let problem = format!(
                "needs a plan, but {found}; give `task_plan` beside `capability_ids`, or one input reference to a JSON \
                 file"
            );
            return refused(Fault::InvalidShape, &problem);
        }
    };
    reasoning.push(decided(format!("Mapped {id} to the file plan executor.")));
    Ok(PlanJob {
        entry,
        plan,
        system_config: carried.system_config,
        validation: carried.validation,
        salt: task.salt.clone(),
        reasoning,
    })
}

fn there(input: &InputRef) -> Result<InputRef, Failure> {
    match input.status {
        RefStatus::Stored | RefStatus::Created => Ok(input.clone()),
        RefStatus::Reference => Err(Failure::new(
            Fault::InputUnresolved,
            format!(
                "unresolved input reference: `{}` is a source that is not stored, but a plan must be a stored file",
                input.ref_id
            ),
        )),
    }
}

/// Refuses a plan beside capabilities that are tools, because it would be ignored. Other statements about plans
/// are ignored, with a sentence that says so.
pub(super) fn none_is_meant(task: &CapabilityTask) -> Result<Option<String>, Failure> {
    match &task.carried {
        Some(Carried {
            plan: Some(_),
            place: CarriedIn::Task,
            ..
        }) => Err(Failure::new(
            Fault::InvalidShape,
            format!(
                "the task has a `task_plan`, but its capabilities call tools ({}); name a capability that \
                 applies plans, or leave `task_plan` out",
                task.capability_ids.join(", ")
            ),
        )),
        Some(Carried {
            place: CarriedIn::Task,
            ..
        }) => Ok(Some(
            "Ignored the plan settings of the task, because its capabilities call tools."
                .to_owned(),
        )),
        _ => Ok(None),
    }
}
