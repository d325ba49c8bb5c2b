//! A checked capability that performs file plans: what plans may touch. Specification 001 sets the limits (§11); a catalog
//! can only tighten them.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::{
    common::{Access, COMMON, Common, Defaults},
    identity, pipeline, server,
};
use crate::{
    catalog::file::{
        code::{Code, FileLine},
        document::{CatalogError, Named, Tables},
        settings::{bytes, duckdb},
    },
    task::{
        ActionType, Bounds, ClassRule, Effects, Executes, OnDuplicate, PathPattern, Protection,
        ProtectionRules, ReviewRule, Unless, ValidationRule,
    },
};

/// The capability id of plans that name no capability.
pub(crate) const APPLY_FILE_PLAN: &str = "apply_file_plan";

/// How the ledger names a rollback.
pub(crate) const ROLLBACK: &str = "rollback";

/// Fixed, so that `oneact rollback` and people find the reports, and no plan can touch them.
const REPORTS: &str = "agent_outputs/reports";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FilePlan {
    pub(crate) id: String,
    /// `None` for the built-in one.
    pub(crate) place: Option<FileLine>,
    pub(crate) common: Common,
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
    pub(crate) fn beside(mut self, tables: &Tables<'_>) -> Result<Self, CatalogError> {
        self.bounds.pipelines = pipeline::all(tables)?;
        self.bounds.duckdb = duckdb(tables)?;
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
            common: Common::default(),
            on_duplicate: OnDuplicate::Suppress(Unless::FilesChanged),
            access: Access::default(),
            bounds: Bounds::default(),
            review: None,
        }
    }
}

/// `[capability.ID.file_plan]`. Missing keys have the values of specification 001.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct FilePlanKeys {
    root: Option<String>,
    reports: Option<String>,
    operations: Option<BTreeSet<ActionType>>,
    validation: ValidationRule,
    max_files: Option<u64>,
    max_file_size: Option<String>,
    max_backup_size: Option<String>,
    max_concurrency: Option<u64>,
    protected: ProtectedKeys,
}

/// The classes of protected files (001 §9.1), and `executes`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ProtectedKeys {
    critical: ClassKeys,
    important: ClassKeys,
    agent_system: ClassKeys,
    executes: ClassKeys,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ClassKeys {
    rule: Protection,
    paths: Vec<String>,
    except: Option<Vec<String>>,
}

/// The keys that only an entry with a `file_plan` can have.
#[derive(Debug, Deserialize)]
struct PlanKeys {
    file_plan: FilePlanKeys,
}

/// Reads an entry that has a `file_plan`.
pub(crate) fn read(named: &Named<'_>) -> Result<FilePlan, CatalogError> {
    let keys = named.keys()?;
    let is_of_a_tool = |key: &&String| *key != "file_plan" && !COMMON.contains(&key.as_str());
    if let Some(key) = keys.keys().find(is_of_a_tool) {
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
    let (common, PlanKeys { file_plan: plan }): (Common, PlanKeys) = named.read_apart(&COMMON)?;
    let limits = Limits(named);
    limits.fixed("root", plan.root.as_deref(), ".")?;
    limits.fixed("reports", plan.reports.as_deref(), REPORTS)?;
    let operations = plan.operations;
    if operations.as_ref().is_some_and(BTreeSet::is_empty) {
        let problem = "`file_plan.operations` is empty; name an operation, or leave the key out to allow all of them";
        return Err(named.wrong_in("file_plan.operations", problem));
    }
    let most = Bounds::default();
    let (key, longest) = match (common.timeout_max, common.timeout) {
        (Some(time), _) => ("timeout_max", time.0),
        (None, Some(time)) => ("timeout", time.0),
        (None, None) => ("", most.longest),
    };
    if longest > most.longest {
        let problem =
            "a plan may take at most one hour (specification 001 §11.1); write \"3600s\" or less";
        return Err(named.wrong_in(key, problem));
    }
    // An old answer is never reused for a plan, because the files may have changed since.
    let said = common.on_duplicate.as_ref();
    let said = said.map(|said| said.rule(FilePlan::EFFECTS, named));
    let on_duplicate = match said.transpose()? {
        Some(OnDuplicate::Repeat) => OnDuplicate::Repeat,
        _ => OnDuplicate::Suppress(Unless::FilesChanged),
    };
    let protected = &plan.protected;
    let bounds = Bounds {
        operations: operations.unwrap_or(most.operations),
        validation: plan.validation,
        max_files: limits.count("max_files", plan.max_files, most.max_files)?,
        max_file_bytes: limits.size("max_file_size", plan.max_file_size, most.max_file_bytes)?,
        max_backup_bytes: limits.size(
            "max_backup_size",
            plan.max_backup_size,
            most.max_backup_bytes,
        )?,
        max_concurrency: limits.count(
            "max_concurrency",
            plan.max_concurrency,
            most.max_concurrency,
        )?,
        longest,
        protection: ProtectionRules {
            critical: limits.fixed_class("critical", &protected.critical)?,
            important: limits.fixed_class("important", &protected.important)?,
            agent_system: limits.fixed_class("agent_system", &protected.agent_system)?,
            executes: Some(Executes {
                class: limits.class("executes", &protected.executes)?,
                except: limits.patterns(
                    "executes.except",
                    protected.executes.except.as_deref().unwrap_or_default(),
                )?,
                programs: Vec::new(),
            }),
            ..most.protection
        },
        sanction: most.sanction,
        pipelines: most.pipelines,
        duckdb: most.duckdb,
    };
    let plan = FilePlan {
        id: named.name.to_owned(),
        place: Some(named.place()),
        review: common.review(named)?,
        on_duplicate,
        access: common.access(
            Defaults::of(named.tables)?.approval,
            identity::whole(named, None)?,
            named,
        )?,
        bounds,
        common,
    };
    plan.beside(named.tables)
}

/// Reads the keys that can only lower the limits of specification 001.
struct Limits<'a>(&'a Named<'a>);

impl Limits<'_> {
    fn wrong(&self, key: &str, problem: &str) -> CatalogError {
        let key = format!("file_plan.{key}");
        self.0.wrong_in(&key, &format!("`{key}` {problem}"))
    }

    fn fixed(&self, key: &str, said: Option<&str>, only: &str) -> Result<(), CatalogError> {
        match said.filter(|said| *said != only) {
            Some(_) => Err(self.wrong(key, &format!("can only be {only:?}; leave it out"))),
            None => Ok(()),
        }
    }

    fn count(&self, key: &str, said: Option<u64>, most: u64) -> Result<u64, CatalogError> {
        let count = said.unwrap_or(most);
        if (1..=most).contains(&count) {
            return Ok(count);
        }
        let problem = format!(
            "must be 1 to {most}: the limits of specification 001 §11.2 can only be lowered"
        );
        Err(self.wrong(key, &problem))
    }

    fn size(&self, key: &str, said: Option<String>, most: u64) -> Result<u64, CatalogError> {
        let size = said.map_or(Some(most), |said| bytes(&said));
        let size = size.filter(|size| (1..=most).contains(size));
        size.ok_or_else(|| {
            let problem = format!(
                "must be a size of at most {} MB, e.g. \"10 MB\" or \"512 KB\": the limits of specification 001 §11.2 \
                 can only be lowered",
                most >> 20
            );
            self.wrong(key, &problem)
        })
    }

    fn class(&self, name: &str, said: &ClassKeys) -> Result<ClassRule, CatalogError> {
        Ok(ClassRule {
            rule: said.rule,
            paths: self.patterns(&format!("{name}.paths"), &said.paths)?,
        })
    }

    /// A class of specification 001, which a catalog can only widen.
    fn fixed_class(&self, name: &str, said: &ClassKeys) -> Result<ClassRule, CatalogError> {
        if said.except.is_some() {
            let problem =
                "cannot be set: the paths of specification 001 §9.1 stay protected; remove it";
            return Err(self.wrong(&format!("protected.{name}.except"), problem));
        }
        self.class(name, said)
    }

    fn patterns(&self, key: &str, said: &[String]) -> Result<Vec<PathPattern>, CatalogError> {
        let parsed = said.iter().map(|text| PathPattern::parse(text));
        parsed.collect::<Result<_, _>>().map_err(|problem| {
            self.wrong(
                &format!("protected.{key}"),
                &format!("is not usable: {problem}"),
            )
        })
    }
}
