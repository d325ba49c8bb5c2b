//! The rules that an entry can break without being unusable.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{finding::Level, listing::Listed};
use crate::{
    catalog::{
        entry::{
            bind::first_part,
            compile::{Capability, Gated},
            rules::ResultKind,
            schema::{Schema, Values},
            tool::Entry,
            workflow::Workflow,
        },
        file::code::Code,
    },
    task::{Approver, Assessment, CallContext, Failure, Fault, Risk, When, assess, hint, visible},
};

/// Whether an agent of this user could give an approval in an approver's place.
pub(crate) type Reachable<'f> = &'f dyn Fn(&Approver) -> bool;

/// An entry that compiles, and what surrounds it.
pub(crate) struct Subject<'a> {
    pub(crate) listed: &'a Listed,
    pub(crate) capability: &'a Capability,
    /// All ids and aliases in lower case, and how often each of them occurs.
    pub(crate) names: &'a BTreeMap<String, usize>,
    pub(crate) reachable: Reachable<'a>,
}

impl<'a> Subject<'a> {
    /// None for file plans and workflows.
    fn tool(&self) -> Option<&'a Entry> {
        match self.capability {
            Capability::Tool(entry) => Some(entry),
            Capability::FilePlan(_) | Capability::Workflow(_) => None,
        }
    }

    fn workflow(&self) -> Option<&'a Workflow> {
        match self.capability {
            Capability::Workflow(workflow) => Some(workflow),
            Capability::Tool(_) | Capability::FilePlan(_) => None,
        }
    }
}

/// A rule that an entry can break without being unusable.
pub(crate) struct LintRule {
    pub(crate) code: Code,
    pub(crate) level: Level,
    pub(crate) finds: fn(&Subject<'_>) -> Vec<String>,
}

impl LintRule {
    const fn new(code: Code, level: Level, finds: fn(&Subject<'_>) -> Vec<String>) -> Self {
        Self { code, level, finds }
    }
}

pub(crate) const RULES: [LintRule; 17] = [
    LintRule::new(Code::CAT002, Level::Error, id),
    LintRule::new(Code::CAT003, Level::Error, aliases),
    LintRule::new(Code::CAT010, Level::Error, action_is_proposed),
    LintRule::new(Code::CAT011, Level::Error, action_has_schema),
    LintRule::new(Code::CAT012, Level::Warning, action_of_machines),
    LintRule::new(Code::CAT020, Level::Warning, respelled),
    LintRule::new(Code::CAT021, Level::Error, contradiction),
    LintRule::new(Code::CAT030, Level::Error, never_asked),
    LintRule::new(Code::CAT031, Level::Warning, effects),
    LintRule::new(Code::CAT034, Level::Warning, approvers),
    LintRule::new(Code::CAT040, Level::Error, parameters),
    LintRule::new(Code::CAT041, Level::Error, defaults),
    LintRule::new(Code::CAT043, Level::Error, secrets),
    LintRule::new(Code::CAT051, Level::Error, analysis),
    LintRule::new(Code::CAT071, Level::Error, contexts),
    LintRule::new(Code::CAT072, Level::Error, workflow_risk),
    LintRule::new(Code::CAT080, Level::Warning, description),
];

fn one(text: impl Into<String>) -> Vec<String> {
    vec![text.into()]
}

fn when(holds: bool, text: &str) -> Vec<String> {
    if holds { one(text) } else { Vec::new() }
}

/// `CAP-AUD-R001`, or a name such as `send_email`.
fn id(subject: &Subject<'_>) -> Vec<String> {
    let id = &subject.listed.id;
    let digits = |text: &str| text.len() == 3 && text.bytes().all(|b| b.is_ascii_digit());
    let capability = id
        .strip_prefix("CAP-")
        .and_then(|rest| rest.split_once('-'));
    let is_capability = capability.is_some_and(|(family, number)| {
        let upper = |text: &str| text.bytes().all(|b| b.is_ascii_uppercase());
        let number = number
            .strip_prefix(|c: char| c.is_ascii_uppercase())
            .unwrap_or(number);
        family.len() == 3 && upper(family) && digits(number)
    });
    let mut letters = id.bytes();
    let is_name = (2..=64).contains(&id.len())
        && letters.next().is_some_and(|b| b.is_ascii_lowercase())
        && letters.all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
    when(
        !is_capability && !is_name,
        "the id is neither like CAP-AUD-001 nor like send_email; rename it",
    )
}

fn aliases(subject: &Subject<'_>) -> Vec<String> {
    let aliases = subject.listed.common.aliases.iter();
    let twice = aliases.filter(|alias| subject.names.get(&alias.to_lowercase()) > Some(&1));
    let text = |alias: &String| {
        format!(
            "the alias {alias:?} is also an id, or an alias of another entry; remove one of the two"
        )
    };
    twice.map(text).collect()
}

fn is_action(subject: &Subject<'_>) -> bool {
    subject.listed.common.is_action
}

fn action_is_proposed(subject: &Subject<'_>) -> Vec<String> {
    let proposed = subject
        .listed
        .available_in
        .contain(CallContext::ActionProposal);
    when(
        is_action(subject) && !proposed,
        "is an action, but `available_in` lacks ACTION_PROPOSAL, so no model is offered it; add the context, or \
         remove is_action",
    )
}

fn action_has_schema(subject: &Subject<'_>) -> Vec<String> {
    let lacks = match subject.capability {
        Capability::Tool(entry) => entry.schema.is_none(),
        Capability::Workflow(workflow) => workflow.schema.value.get("properties").is_none(),
        Capability::FilePlan(_) => false,
    };
    when(
        is_action(subject) && lacks,
        "is an action without parameters that a model could read; add `parameter_schema_for_action`",
    )
}

fn action_of_machines(subject: &Subject<'_>) -> Vec<String> {
    let machines = subject
        .listed
        .available_in
        .contain(CallContext::FsmInternal);
    when(
        is_action(subject) && machines,
        "is an action and is available in FSM_INTERNAL; a step of a state machine is usually not offered to models",
    )
}

fn respelled(subject: &Subject<'_>) -> Vec<String> {
    subject.listed.common.intrinsic_amplifiers.respelled.clone()
}

fn contradiction(subject: &Subject<'_>) -> Vec<String> {
    let effects = subject.listed.effects;
    when(
        effects.read_only == Some(true) && effects.destructive == Some(true),
        "cannot be read-only and destructive; remove one of the two from `effects`",
    )
}

fn effects(subject: &Subject<'_>) -> Vec<String> {
    let said = subject.listed.common.effects.unwrap_or_default();
    let settled =
        said.read_only == Some(true) || said.destructive.is_some() && said.open_world.is_some();
    when(
        subject.tool().is_some() && !settled,
        "does not state all `effects`, so the worst is assumed; state at least `destructive` and `open_world`, or \
         `read_only = true`",
    )
}

/// The parameters of the schema; `None` if the schema does not list them.
fn known<'a>(subject: &Subject<'a>) -> Option<(&'a Entry, &'a Schema, Vec<&'a str>)> {
    let entry = subject.tool()?;
    let schema = entry.schema.as_ref()?;
    let names: Vec<&str> = schema.properties().map(String::as_str).collect();
    (!names.is_empty()).then_some((entry, schema, names))
}

fn parameters(subject: &Subject<'_>) -> Vec<String> {
    let Some((entry, _, known)) = known(subject) else {
        return Vec::new();
    };
    let of_extract = entry.extract.iter();
    let of_extract = of_extract.flat_map(|pattern| pattern.capture_names().flatten());
    let of_retry = entry.retry.iter().flat_map(|rule| {
        let multiplied = rule.multiply.iter().map(|(name, _)| name.as_str());
        rule.set.keys().map(String::as_str).chain(multiplied)
    });
    let defaults = entry
        .defaults
        .keys()
        .map(|name| ("defaults", name.as_str()));
    let bound = entry
        .bind
        .iter()
        .map(|bound| (bound.key(), bound.parameter.as_str()));
    let named = defaults.chain(bound);
    let named = named.chain(of_retry.map(|name| ("retry", name)));
    let shown = subject.listed.approval.show.iter();
    let named = named.chain(shown.map(|name| ("approval.show", name.as_str())));
    let named = named.chain(of_extract.map(|name| ("extract", name)));
    let strange = named.filter(|(_, name)| !known.contains(name));
    let text = |(key, name): (&str, &str)| {
        let near = hint(name, known.iter().copied());
        format!("`{key}` names `{name}`, which is not a parameter of the schema{near}")
    };
    strange.map(text).collect()
}

fn defaults(subject: &Subject<'_>) -> Vec<String> {
    let Some((entry, schema, _)) = known(subject) else {
        return Vec::new();
    };
    let misfit = |(name, value): (&String, &Value)| {
        let property = Schema {
            value: schema.property(name)?.clone(),
            place: schema.place.clone(),
        };
        let checked = property.check_readable("", value, Values::Shown, |problems| {
            Failure::new(Fault::ParamsInvalid, problems)
        });
        let failure = checked.err()?;
        Some(format!(
            "the default of `{name}` does not fit the schema: {}",
            failure.message
        ))
    };
    entry.defaults.iter().filter_map(misfit).collect()
}

fn secrets(subject: &Subject<'_>) -> Vec<String> {
    let Some((entry, _, known)) = known(subject) else {
        return Vec::new();
    };
    let first = |pointer: &&String| {
        let name = first_part(pointer);
        !name.is_empty() && !known.contains(&name.as_str())
    };
    let text = |pointer: &String| {
        format!("`secret` names {pointer:?}, which is no parameter of the schema")
    };
    entry.secret.iter().filter(first).map(text).collect()
}

fn analysis(subject: &Subject<'_>) -> Vec<String> {
    let result = subject.tool().map(|entry| &entry.result);
    let unchecked = result.is_some_and(|result| {
        let required = result
            .schema
            .as_ref()
            .and_then(|schema| schema.value.get("required"));
        let named = required
            .and_then(Value::as_array)
            .is_some_and(|names| !names.is_empty());
        result.kind == ResultKind::Analysis && !named
    });
    when(
        unchecked,
        "makes an analysis, but `result.schema` requires no field, so an incomplete result would pass; add `required`",
    )
}

fn description(subject: &Subject<'_>) -> Vec<String> {
    let text = &subject.listed.common.description;
    let first = text.split(". ").next().unwrap_or_default();
    let why = if text.trim().is_empty() {
        "has no `description`; describe in one sentence what it does"
    } else if first.chars().count() > 160 {
        "has a `description` whose first sentence is longer than 160 characters; shorten it"
    } else if text.contains('\n') || visible(text) != text.as_str() {
        "has a `description` with a line break or a control character; write one line"
    } else if text.starts_with(['#', '>', '-', '*', '+', '`']) {
        "has a `description` that begins like a Markdown heading or list; begin with a word"
    } else {
        return Vec::new();
    };
    one(why)
}

fn never_asked(subject: &Subject<'_>) -> Vec<String> {
    let risk = subject.listed.assessment.risk;
    let never = subject.listed.approval.when == When::Never;
    when(
        never && risk >= Risk::High,
        &format!(
            "has a {risk} risk, but `approval.when` is \"never\"; write e.g. \"risk >= critical\""
        ),
    )
}

fn approvers(subject: &Subject<'_>) -> Vec<String> {
    let rule = &subject.listed.approval;
    let waits = rule.when.holds(subject.listed.assessment.risk);
    when(
        waits
            && rule
                .approvers
                .iter()
                .all(|approver| (subject.reachable)(approver)),
        "waits for an approval that the user of the agent can give as well; name keys in `approval.approvers` \
         (ssh:SHA256:…), or other users",
    )
}

/// A context that only some steps are available in would be refused when the workflow is called.
fn contexts(subject: &Subject<'_>) -> Vec<String> {
    let said = subject
        .workflow()
        .and_then(|workflow| workflow.common.available_in.as_ref());
    let Some(said) = said else {
        return Vec::new();
    };
    let common = subject.listed.available_in.names();
    let mut wider = said.names();
    wider.retain(|name| !common.contains(name));
    when(
        !wider.is_empty(),
        &format!(
            "is available in {}, where one of its steps is not; remove the context, or add it to the step",
            wider.join(", ")
        ),
    )
}

fn workflow_risk(subject: &Subject<'_>) -> Vec<String> {
    let said = subject
        .workflow()
        .and_then(|workflow| workflow.common.effects);
    let gated = subject.capability.gated();
    let (Some(_), Some((own, steps))) = (said, gated.split_last()) else {
        return Vec::new();
    };
    let of = |gated: &Gated<'_>| assess(&gated.hazards);
    let steps = steps.iter().map(of).reduce(Assessment::max);
    let (own, steps) = (of(own).risk, steps.unwrap_or_default().risk);
    when(
        own < steps,
        &format!(
            "declares `effects` of {own} risk, but a step has {steps} risk; remove `effects`, which follow from the steps"
        ),
    )
}
