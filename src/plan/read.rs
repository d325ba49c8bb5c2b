//! Reads a plan: checks every key and value, and returns a [`Plan`]. Nothing is guessed.
//!
//! The checks, in this order: the validation (R-001-30, R-001-133); the schema (R-001-26), with every operation,
//! path and rule; `system_config` (R-001-27); the limits for each action (R-001-22 … R-001-25); the dependencies
//! (R-001-94); conflicts between actions. All problems are reported at once; the first decides the fault.

mod action;
mod conflicts;
mod fields;
mod findings;
mod instructions;
mod programs;
mod rules;
mod synonyms;

use std::{
    cell::RefCell,
    collections::{HashMap, HashSet},
};

use serde_json::Value;

use crate::task::{
    Bounds, Fault, Found, MAX_ACTIONS, PlanOrder, RelPath, Risk, Validation, ValidationRule,
    quoted, too_many_actions,
};

use super::{
    graph,
    limits::{self, Limits},
    model::{Action, ActionId, FileRule, Links, Operation, Plan},
    parts::{changed_twice, parts},
    protected::Kept,
};

use self::{
    fields::{Fields, LIST, OBJECT, TEXT},
    findings::{Collected, Findings},
    instructions::{Asked, Config},
};

pub(crate) use findings::{Named, PlanError};

/// Reads a plan within the bounds of its catalog entry. Pure, except for a warning about unknown keys.
pub(crate) fn read(order: &PlanOrder, bounds: &Bounds, kept: &Kept) -> Result<Plan, PlanError> {
    let collected = RefCell::default();
    let findings = Findings::of(&collected, &bounds.sanction);
    let items = order.plan.get("action_plan").and_then(Value::as_array);
    let mut items = items.map_or(&[] as &[Value], Vec::as_slice);
    if items.len() > MAX_ACTIONS {
        findings.failure(too_many_actions(items.len()));
        items = &[];
    } else {
        validated(&order.validation, bounds.validation, findings);
    }
    let named: Vec<Named> = items.iter().enumerate().map(action::named).collect();
    let plan = if findings.is_clean() {
        whole(order, bounds, kept, &named, findings)
    } else {
        None
    };
    let strangers = collected.borrow().strangers();
    let Collected {
        problems, notes, ..
    } = collected.into_inner();
    match plan {
        Some(plan) if problems.is_empty() => {
            if let Some(strangers) = strangers {
                tracing::warn!("{strangers}");
            }
            Ok(Plan { notes, ..plan })
        }
        _ => Err(PlanError {
            plan_id: order
                .plan
                .get("plan_id")
                .and_then(action::fit_id)
                .map(str::to_owned),
            actions: named,
            problems,
        }),
    }
}

/// Reads the whole plan, except for its notes; `None` if the findings contain a problem that leaves no plan.
fn whole(
    order: &PlanOrder,
    bounds: &Bounds,
    kept: &Kept,
    named: &[Named],
    findings: Findings<'_>,
) -> Option<Plan> {
    let document = document(&order.plan, findings);
    let config = Config::read(order.system_config.as_ref(), findings).unwrap_or_default();
    let mut notes = Vec::new();
    let limits = Limits::of(bounds, kept, config.constraints.as_ref(), &mut notes);
    for note in notes {
        findings.note_in_any_case(note);
    }
    let (document, limits) = (document?, findings.good(limits)?);
    let instructions = document.asked.under(&config, findings);
    for (at, action) in &document.actions {
        within(&limits, *at, action, findings.about(*at));
    }
    dependencies(&document.actions, named, findings);
    if document.actions.len() < named.len() {
        return None;
    }
    let actions = document.actions.into_iter().map(|(_, action)| action);
    let mut actions: Vec<Action> = actions.collect();
    together(&actions, &limits, findings);
    ruled(&mut actions, config.rules, findings);
    let risk = actions.iter().map(|action| action.risk).max();
    if let Some(risk) = risk.filter(|risk| *risk >= Risk::High) {
        findings.note_in_any_case(format!("The author of this plan states the risk {risk}."));
    }
    Some(Plan {
        plan_id: document.plan_id?,
        actions,
        instructions,
        limits,
        links: document.links,
        notes: Vec::new(),
    })
}

/// Checks that the plan is approved. No catalog entry permits a plan that the protocol layer refused.
fn validated(said: &Validation, rule: ValidationRule, findings: Findings<'_>) {
    match (said, rule) {
        (Validation::Approved, _) | (Validation::Unsaid, ValidationRule::None) => {}
        (Validation::Unsaid, ValidationRule::Required) => findings.problem(
            Fault::NotValidated,
            "the plan is not validated: nothing says that the protocol layer approved it. Give \
             `\"protocol_validation\": true` beside the plan, or let the catalog entry's `file_plan` say \
             `validation = \"none\"`",
        ),
        (Validation::Refused(why), _) => {
            findings.problem(Fault::NotValidated, format!("the plan is not validated: {why}"));
        }
    }
}

/// The valid parts of the plan's document.
struct Document {
    plan_id: Option<String>,
    /// With their places in `action_plan`.
    actions: Vec<(usize, Action)>,
    asked: Asked,
    links: Links,
}

fn document<'a>(plan: &'a Value, findings: Findings<'a>) -> Option<Document> {
    let place = if plan.is_object() { "" } else { "task_plan" };
    let found = Found::new(place, plan, Fault::PlanInvalid);
    let mut fields = Fields::of(&found, findings)?;
    let meaning = "a name for the plan";
    let plan_id = fields.required("plan_id", meaning, |found| action::id(found, meaning));
    let items = fields.required("action_plan", "the array of actions", Found::list);
    if items.as_ref().is_some_and(Vec::is_empty) {
        findings.invalid("`action_plan` is empty; a plan has at least one action");
    }
    let items = items.iter().flatten().enumerate();
    let actions = items.filter_map(|(at, item)| {
        let action = action::read(item, findings.about(at))?;
        Some((at, action))
    });
    let actions = actions.collect();
    let asked = fields.inner("execution_instructions").map(Asked::read);
    let diff = |found: &Found<'_>| found.word(&[("diff", Links::Refused)]);
    let links = fields.optional("made_from", diff).unwrap_or_default();
    if links == Links::Refused {
        findings.note_in_any_case(
            "The plan was made from a diff. Whoever applied the diff vouched for it; that counts as its protocol validation.",
        );
    }
    // The envelope has already read this key.
    fields.get("protocol_validation");
    fields.descriptive("version created_at inspector_version task_summary", TEXT);
    fields.descriptive("context_files_used decisions task_decomposition", LIST);
    fields.descriptive("risk_assessment", OBJECT);
    fields.finish();
    Some(Document {
        plan_id,
        actions,
        asked: asked.unwrap_or_default(),
        links,
    })
}

fn within(limits: &Limits, at: usize, action: &Action, findings: Findings<'_>) {
    let place = action::place(at);
    let within = |key: &str, answer| findings.within(&format!("{place}.{key}"), answer);
    within("action_type", limits.allows(action.operation.action_type()));
    if !matches!(action.operation, Operation::Pipeline { .. }) {
        within("target", limits.admits(&action.target));
    }
    match &action.operation {
        Operation::Rename { to } => within("operation.new_path", limits.admits(to)),
        Operation::Create { content, mode } => {
            if mode.is_some_and(|mode| mode & 0o111 != 0) {
                within("operation.mode", limits.admits_executable(&action.target));
            }
            let bytes = u64::try_from(content.len()).unwrap_or(u64::MAX);
            within("operation.content", limits.fits_file(&action.target, bytes));
        }
        Operation::Sql(sql) => programs::sql_within(limits, &place, sql, findings),
        Operation::Pipeline { parameters } => {
            programs::pipeline_within(limits, &place, &action.target, parameters, findings);
        }
        Operation::Link { .. }
        | Operation::Modify(_)
        | Operation::SetMode(_)
        | Operation::SchemaUpdate(_)
        | Operation::Delete { .. } => {}
    }
}

/// Every action has an id of its own, and waits for actions of the plan.
fn dependencies(actions: &[(usize, Action)], named: &[Named], findings: Findings<'_>) {
    let mut known: HashMap<&ActionId, usize> = HashMap::new();
    for (at, Named { id, .. }) in named.iter().enumerate() {
        let first = *known.entry(id).or_insert(at);
        if first != at {
            let id = quoted(&id.0);
            findings.about(at).invalid(format!(
                "`action_plan[{at}].action_id` is {id}, as `action_plan[{first}].action_id` is; give each action \
                 an id of its own"
            ));
        }
    }
    for (at, action) in actions {
        for id in action
            .depends_on
            .iter()
            .filter(|id| !known.contains_key(id))
        {
            let id = quoted(&id.0);
            findings.about(*at).problem(
                Fault::UnknownDependency,
                format!("`action_plan[{at}].depends_on` names {id}, and no action of the plan has this id"),
            );
        }
    }
}

/// The checks that concern all actions together.
fn together(actions: &[Action], limits: &Limits, findings: Findings<'_>) {
    let about = |id: Option<&ActionId>| {
        let at = actions.iter().position(|action| Some(&action.id) == id);
        at.map_or(findings, |at| findings.about(at))
    };
    let order = match graph::order(actions) {
        Ok(order) => order,
        Err(cycle) => {
            return about(cycle.0.first()).problem(
                Fault::PlanCycle,
                format!(
                    "the actions wait for each other: {cycle}; remove one of these dependencies"
                ),
            );
        }
    };
    if let Ok(parts) = parts(actions)
        && let Some((action, path)) = changed_twice(&parts)
    {
        about(Some(&action.id)).problem(
            Fault::PlanConflict,
            format!(
                "{} changes `{path}`, which an action before a pipeline changes, too; change a file either before or after the pipeline",
                action.id
            ),
        );
    }
    let extent = conflicts::check(actions, &order, findings);
    findings.good(limits.fits_files(extent.files));
    findings.good(limits::fits_directories(extent.directories));
}

/// Gives the rules of the configuration to the last action on their file. Every rule is about a file of the plan.
fn ruled(actions: &mut [Action], configured: Vec<FileRule>, findings: Findings<'_>) {
    let strange = |place: &str, rule: &FileRule| {
        let target = quoted(rule.target.as_str());
        format!("`{place}` has a rule about {target}, which is no file of the plan")
    };
    let files: HashSet<&RelPath> = actions.iter().flat_map(Action::paths).collect();
    for (at, action) in actions.iter().enumerate() {
        let place = format!("{}.validation_rules", action::place(at));
        for rule in action.rules.iter().filter(|it| !files.contains(&it.target)) {
            findings.about(at).invalid(strange(&place, rule));
        }
    }
    for rule in configured {
        let touches = |action: &&mut Action| action.paths().contains(&&rule.target);
        match actions.iter_mut().rev().find(touches) {
            Some(last) => last.rules.push(rule),
            None => findings.invalid(strange("system_config", &rule)),
        }
    }
}

#[cfg(test)]
mod tests;
