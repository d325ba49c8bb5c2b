//! `[workflow.ID]`: a fixed list of capabilities that run as the steps of one task, and what each of them gets. The steps
//! that an improvised action declares are performed in the same way.

use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use toml::Spanned;

use super::{
    bind::pointer,
    common::{COMMON, Common, OF_STEPS},
    identity,
    schema::Schema,
    tool::Entry,
    workflow_step::{Earlier, Given, StepKeys, Whence, WorkflowStep},
};
use crate::{
    catalog::file::{
        code::{Code, FileLine},
        document::{CatalogError, Named},
    },
    task::{
        Backup, Declared, DeclaredStep, Effects, Failure, Fault, Hazards, IMPROVISED, hexadecimal,
    },
};

/// The most steps of a workflow.
const MOST: usize = 16;

#[derive(Debug)]
pub(crate) struct Workflow {
    pub(crate) id: String,
    /// What the entry itself declares. The gate asks for every step as well.
    pub(crate) common: Common,
    pub(crate) schema: Schema,
    pub(crate) steps: Vec<WorkflowStep>,
    pub(crate) digest: String,
}

/// The keys that only a workflow can have.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct WorkflowKeys {
    parameter_schema_for_action: Option<Value>,
    step: Vec<Spanned<StepKeys>>,
    /// Where a workflow came from that `oneact catalog promote` made. Nothing reads it.
    #[serde(rename = "provenance")]
    _provenance: Option<IgnoredAny>,
}

/// The steps of an improvised action (R-003-06): they are performed like those of a workflow, but no entry of the
/// catalog is made of them (R-003-07). `entry` finds the capability of a step.
pub(crate) fn declared(
    declared: &Declared,
    entry: &dyn Fn(&str) -> Result<Entry, Failure>,
) -> Result<Workflow, Failure> {
    let schema = Schema {
        value: json!({}),
        place: FileLine::default(),
    };
    let mut steps: Vec<WorkflowStep> = Vec::new();
    for DeclaredStep {
        id,
        entry: run,
        parameters,
    } in &declared.steps
    {
        let keys = StepKeys {
            id: id.clone(),
            run: run.clone(),
            with: parameters.clone(),
            depends_on: Vec::new(),
        };
        let earlier = Earlier {
            schema: &schema,
            steps: &steps,
        };
        let compiled = earlier.and(keys, entry(run)?);
        let compiled = compiled.and_then(WorkflowStep::of_task);
        steps.push(compiled.map_err(|why| {
            let message = format!("step `{id}` of the improvised action {why}");
            Failure::new(Fault::ParamsInvalid, message)
        })?);
    }
    Ok(Workflow {
        id: IMPROVISED.to_owned(),
        common: Common::default(),
        schema,
        steps,
        digest: String::new(),
    })
}

/// The capability that a step runs, or what is in its place.
pub(crate) type Runs<'r> = &'r dyn Fn(&str) -> Result<Result<Entry, String>, CatalogError>;

/// Reads a workflow. `runs` finds the capability of a step.
pub(crate) fn read(named: &Named<'_>, runs: Runs<'_>) -> Result<Workflow, CatalogError> {
    if let Some(key) = OF_STEPS.iter().find(|key| named.has(key)) {
        let problem = format!("`{key}` belongs to the capabilities that the steps run; remove it");
        return Err(named.wrong_in(key, &problem));
    }
    let (common, keys): (Common, WorkflowKeys) = named.read_apart(&COMMON)?;
    let wrong = |problem: &str| named.wrong(problem).coded(Code::CAT070);
    if !(1..=MOST).contains(&keys.step.len()) {
        return Err(wrong(&format!(
            "has {} steps; a workflow has 1 to {MOST}",
            keys.step.len()
        )));
    }
    let schema = keys.parameter_schema_for_action;
    let schema = schema.unwrap_or_else(|| json!({"type": "object", "additionalProperties": false}));
    let schema = Schema::of(named, "parameter_schema_for_action", schema);
    let mut steps: Vec<WorkflowStep> = Vec::new();
    for step in keys.step {
        let (at, step) = (step.span().start, step.into_inner());
        let id = step.id.clone();
        let wrong = |problem: String| {
            let problem = format!("step `{id}` {problem}");
            named.wrong_at(at, &problem).coded(Code::CAT070)
        };
        let run = &step.run;
        let entry = runs(run)?.map_err(|why| wrong(format!("runs `{run}`, {why}")))?;
        let earlier = Earlier {
            schema: &schema,
            steps: &steps,
        };
        let compiled = earlier.and(step, entry).map_err(wrong)?;
        steps.push(compiled);
    }
    Ok(Workflow {
        id: named.name.to_owned(),
        common,
        digest: hexadecimal(&Sha256::digest(identity::entry(named, None)?)),
        schema,
        steps,
    })
}

impl Workflow {
    /// What it declares itself. `effects` are those that it does not declare.
    pub(crate) fn hazards(&self, effects: Effects) -> Hazards {
        Hazards {
            effects: self.common.effects.unwrap_or(effects),
            amplifiers: self.common.intrinsic_amplifiers.clone(),
            backup: Backup::Unknown,
        }
    }

    /// JSON Pointers to the parameters, or parts of them, whose values become secrets of a step.
    pub(crate) fn secret_parameters(&self) -> Vec<String> {
        let given = self.steps.iter().flat_map(|step| {
            let secret = &step.entry.secret;
            let within = |pointer: &str, outer: &str| {
                let rest = pointer.strip_prefix(outer);
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            };
            let is_secret = move |given: &&Given| {
                let mut secret = secret.iter();
                secret.any(|pointer| within(&given.to, pointer) || within(pointer, &given.to))
            };
            step.given.iter().filter(is_secret)
        });
        let names = given.filter_map(|given| match &given.whence {
            Whence::Parameter(name) => Some(pointer(name)),
            _ => None,
        });
        let declared = self.steps.iter().enumerate();
        let declared = declared.filter(|_| self.id == IMPROVISED);
        let own = declared.flat_map(|(at, step)| {
            let secret = step.entry.secret.iter();
            secret.map(move |within| format!("/steps/{at}/parameters{within}"))
        });
        names.chain(own).collect()
    }

    /// The parameters that name a ref of the task.
    pub(crate) fn refs(&self) -> Vec<String> {
        let given = self.steps.iter().flat_map(|step| &step.given);
        let refs = given.filter_map(|given| match &given.whence {
            Whence::Ref(name, _) => Some(name.clone()),
            _ => None,
        });
        refs.collect()
    }

    /// The ids of the steps, and what they run.
    pub(crate) fn told_steps(&self) -> Vec<(String, String)> {
        let steps = self.steps.iter();
        steps
            .map(|step| (step.id.clone(), step.entry.id.clone()))
            .collect()
    }
}
