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

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use crate::task::{
    Bounds, Fault, MAX_ACTIONS, PlanOrder, Risk, Validation, ValidationRule, too_many_actions,
};

use super::{
    graph,
    limits::{self, Limits},
    model::{Action, ActionId, Links, Operation, Plan},
    parts::{changed_twice, parts},
    protected::Kept,
};

use self::{
    fields::{Found, LIST, OBJECT, TEXT, quoted},
    findings::{Findings, Subject},
    instructions::{Asked, Config},
    rules::Files,
};

pub(crate) use findings::PlanError;

/// Reads a plan within the bounds of its catalog entry. Pure, except for a warning about unknown keys.
pub(crate) fn read(order: &PlanOrder, bounds: &Bounds, kept: &Kept) -> Result<Plan, PlanError> {
    let rejected = |plan_id, actions, problems| PlanError {
        plan_id,
        actions,
        problems,
    };
    let findings = Findings::under(&bounds.sanction);
    let plan_id = order.plan.get("plan_id").and_then(action::fit_id);
    let plan_id = plan_id.map(str::to_owned);
    let items = order.plan.get("action_plan").and_then(Value::as_array);
    let items = items.map_or(&[] as &[Value], Vec::as_slice);
    if items.len() > MAX_ACTIONS {
        findings.failure(too_many_actions(items.len()));
        return Err(rejected(plan_id, Vec::new(), findings.ended().0));
    }
    let names = names(items);

    validated(&order.validation, bounds.validation, &findings);
    if !findings.is_clean() {
        return Err(rejected(plan_id, names, findings.ended().0));
    }
    let files = files(items);
    let document = document(&order.plan, &files, &findings);
    findings.about(Subject::default());
    let config = Config::read(order.system_config.as_ref(), &files, &findings);
    let mut notes = Vec::new();
    let limits = Limits::of(bounds, kept, config.constraints.as_ref(), &mut notes)
        .map_err(|failure| findings.failure(failure))
        .ok();
    for note in notes {
        findings.note_in_any_case(note);
    }
    let instructions = document.asked.under(&config, &findings);

    if let Some(limits) = &limits {
        for (at, action) in &document.actions {
            within(limits, *at, action, &findings);
        }
    }
    dependencies(&document.actions, &names, &findings);
    let links = document.links;
    let all = document.actions.len() == names.len();
    let mut actions: Vec<Action> = document
        .actions
        .into_iter()
        .map(|(_, action)| action)
        .collect();
    if let (true, Some(limits)) = (all, &limits) {
        together(&actions, limits, &findings);
    }
    for rule in config.rules {
        let last = actions
            .iter_mut()
            .rev()
            .find(|action| touches(action, rule.target.as_str()));
        if let Some(action) = last {
            action.rules.push(rule);
        }
    }

    if let Some(risk) = actions.iter().map(|action| action.risk).max()
        && risk >= Risk::High
    {
        findings.note_in_any_case(format!("The author of this plan states the risk {risk}."));
    }
    if let Some(strangers) = findings.strangers().filter(|_| findings.is_clean()) {
        tracing::warn!("{strangers}");
    }
    let (problems, notes) = findings.ended();
    match (problems.is_empty(), plan_id, limits) {
        (true, Some(plan_id), Some(limits)) => Ok(Plan {
            plan_id,
            actions,
            instructions,
            limits,
            links,
            notes,
        }),
        (_, plan_id, _) => Err(rejected(plan_id, names, problems)),
    }
}

/// Checks that the plan is approved. No catalog entry permits a plan that the protocol layer refused.
fn validated(said: &Validation, rule: ValidationRule, findings: &Findings) {
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
#[derive(Default)]
struct Document {
    /// With their places in `action_plan`.
    actions: Vec<(usize, Action)>,
    asked: Asked,
    links: Links,
}

fn document(plan: &Value, files: &Files<'_>, findings: &Findings) -> Document {
    let place = if plan.is_object() { "" } else { "task_plan" };
    let Some(mut fields) = Found::new(place, plan, findings).fields() else {
        return Document::default();
    };
    action::id(&mut fields, "plan_id", "a name for the plan");
    let mut document = Document::default();
    let items = fields.required("action_plan", "the array of actions", Found::list);
    if let Some(items) = items {
        document.actions = actions(items, files, findings);
    }
    findings.about(Subject::default());
    if let Some(inner) = fields.optional("execution_instructions", Found::fields) {
        document.asked = Asked::read(inner);
    }
    if fields
        .optional("made_from", |found| found.word(&[("diff", ())]))
        .is_some()
    {
        document.links = Links::Refused;
        findings.note_in_any_case(
            "The plan was made from a diff. Whoever applied the diff vouched for it; that counts as its protocol validation."
                .to_owned(),
        );
    }
    // The envelope has already read this key.
    fields.get("protocol_validation");
    fields.descriptive(&[
        ("version", TEXT),
        ("created_at", TEXT),
        ("inspector_version", TEXT),
        ("task_summary", TEXT),
        ("context_files_used", LIST),
        ("decisions", LIST),
        ("task_decomposition", LIST),
        ("risk_assessment", OBJECT),
    ]);
    fields.finish();
    document
}

fn actions<'a>(
    items: impl ExactSizeIterator<Item = Found<'a>>,
    files: &Files<'_>,
    findings: &Findings,
) -> Vec<(usize, Action)> {
    if items.len() == 0 {
        findings.invalid("`action_plan` is empty; a plan has at least one action");
    }
    let mut actions = Vec::with_capacity(items.len());
    let mut places: HashMap<&str, usize> = HashMap::new();
    for (at, item) in items.enumerate() {
        let action = action::read(&item, files);
        if let Some(id) = item.value.get("action_id").and_then(Value::as_str) {
            if let Some(first) = places.get(id) {
                findings.invalid(format!(
                    "`action_plan[{at}].action_id` is {}, as `action_plan[{first}].action_id` is; give each action \
                     an id of its own",
                    quoted(id)
                ));
            } else {
                places.insert(id, at);
            }
        }
        actions.extend(action.map(|action| (at, action)));
    }
    actions
}

fn within(limits: &Limits, at: usize, action: &Action, findings: &Findings) {
    findings.about(Subject::of(action));
    let place = action::place(at);
    let kind = action.operation.action_type();
    findings.within(&place, "action_type", limits.allows(kind));
    if !matches!(action.operation, Operation::Pipeline { .. }) {
        findings.within(&place, "target", limits.admits(&action.target));
    }
    match &action.operation {
        Operation::Rename { to } => {
            findings.within(&place, "operation.new_path", limits.admits(to));
        }
        Operation::Create { content, mode } => {
            if mode.is_some_and(|mode| mode & 0o111 != 0) {
                let admitted = limits.admits_executable(&action.target);
                findings.within(&place, "operation.mode", admitted);
            }
            let bytes = u64::try_from(content.len()).unwrap_or(u64::MAX);
            let fits = limits.fits_file(&action.target, bytes);
            findings.within(&place, "operation.content", fits);
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
    findings.about(Subject::default());
}

fn dependencies(actions: &[(usize, Action)], names: &[ActionId], findings: &Findings) {
    let names: HashSet<&ActionId> = names.iter().collect();
    for (at, action) in actions {
        findings.about(Subject::of(action));
        for id in action.depends_on.iter().filter(|id| !names.contains(id)) {
            findings.problem(
                Fault::UnknownDependency,
                format!(
                    "`action_plan[{at}].depends_on` names {}, and no action of the plan has this id",
                    quoted(&id.0)
                ),
            );
        }
    }
    findings.about(Subject::default());
}

/// The checks that concern all actions together.
fn together(actions: &[Action], limits: &Limits, findings: &Findings) {
    match graph::order(actions) {
        Ok(order) => {
            if let Ok(parts) = parts(actions)
                && let Some((action, path)) = changed_twice(&parts)
            {
                findings.about(Subject::of(action));
                findings.problem(
                    Fault::PlanConflict,
                    format!(
                        "{} changes `{path}`, which an action before a pipeline changes, too; change a file either before or after the pipeline",
                        action.id
                    ),
                );
            }
            let extent = conflicts::check(actions, &order, findings);
            findings.about(Subject::default());
            let fits = [
                limits.fits_files(extent.files),
                limits::fits_directories(extent.directories),
            ];
            for failure in fits.into_iter().filter_map(Result::err) {
                findings.failure(failure);
            }
        }
        Err(cycle) => {
            let first = actions
                .iter()
                .find(|action| Some(&action.id) == cycle.0.first());
            if let Some(first) = first {
                findings.about(Subject::of(first));
            }
            findings.problem(
                Fault::PlanCycle,
                format!(
                    "the actions wait for each other: {cycle}; remove one of these dependencies"
                ),
            );
        }
    }
    findings.about(Subject::default());
}

/// Every action's id, or its place.
fn names(items: &[Value]) -> Vec<ActionId> {
    let name = |(at, item): (usize, &Value)| {
        let id = item.get("action_id").and_then(action::fit_id);
        ActionId(id.map_or_else(|| action::place(at), str::to_owned))
    };
    items.iter().enumerate().map(name).collect()
}

/// Every path that the plan names as one of its files.
fn files(items: &[Value]) -> Files<'_> {
    let named = |item| {
        [
            "/target",
            "/operation/new_path",
            "/operation/details/new_path",
            "/operation/database",
            "/operation/details/database",
            "/operation/save_results_to",
            "/operation/details/save_results_to",
        ]
        .into_iter()
        .filter_map(move |place| Value::pointer(item, place)?.as_str())
    };
    items.iter().flat_map(named).collect()
}

fn touches(action: &Action, path: &str) -> bool {
    action.paths().iter().any(|named| named.as_str() == path)
}

#[cfg(test)]
mod tests;
