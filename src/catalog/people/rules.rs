//! The rules that an entry can break without being unusable.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{
    finding::Level::{self, Error, Warning},
    listing::Listed,
};
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

impl Subject<'_> {
    /// Each rule that the entry breaks, and what to do.
    pub(crate) fn findings(&self) -> Vec<(Code, Level, String)> {
        let Listed {
            common,
            assessment,
            approval,
            ..
        } = self.listed;
        let broken = self.rules().into_iter().filter(|(_, _, broken, _)| *broken);
        let mut found: Vec<_> = broken
            .map(|(code, level, _, text)| (code, level, text.to_owned()))
            .collect();
        let mut add = |code, level, texts: Vec<String>| {
            found.extend(texts.into_iter().map(|text| (code, level, text)));
        };
        let twice = |alias: &&String| self.names.get(&alias.to_lowercase()) > Some(&1);
        let aliases = common.aliases.iter().filter(twice).map(|alias| {
            format!("the alias {alias:?} is also an id, or an alias of another entry; remove one of the two")
        });
        add(Code::CAT003, Error, aliases.collect());
        let respelled = common.intrinsic_amplifiers.respelled.clone();
        add(Code::CAT020, Warning, respelled);
        let described = description(&common.description).map(str::to_owned);
        add(Code::CAT080, Warning, Vec::from_iter(described));
        let risk = assessment.risk;
        let never = (approval.when == When::Never && risk >= Risk::High).then(|| {
            format!("has a {risk} risk, but `approval.when` is \"never\"; write e.g. \"risk >= critical\"")
        });
        add(Code::CAT030, Error, Vec::from_iter(never));
        if let Capability::Tool(entry) = self.capability
            && let Some(schema) = &entry.schema
        {
            let known: Vec<&str> = schema.properties().map(String::as_str).collect();
            // A schema need not list the parameters.
            if !known.is_empty() {
                let show = &approval.show;
                add(Code::CAT040, Error, parameters(entry, show, &known));
                add(Code::CAT041, Error, defaults(entry, schema));
                add(Code::CAT043, Error, secrets(entry, &known));
            }
        }
        if let Capability::Workflow(workflow) = self.capability {
            let wider = self.wider_contexts(workflow);
            add(Code::CAT071, Error, Vec::from_iter(wider));
            add(
                Code::CAT072,
                Error,
                Vec::from_iter(self.lower_risk(workflow)),
            );
        }
        found
    }

    /// The rules that need no more words: whether the entry breaks each, and what to do then.
    fn rules(&self) -> [(Code, Level, bool, &'static str); 8] {
        let (tool, lacks_schema) = match self.capability {
            Capability::Tool(entry) => (Some(entry), entry.schema.is_none()),
            Capability::Workflow(workflow) => {
                (None, workflow.schema.value.get("properties").is_none())
            }
            Capability::FilePlan(_) => (None, false),
        };
        let Listed {
            common,
            available_in,
            effects,
            approval,
            ..
        } = self.listed;
        let stated = common.effects.unwrap_or_default();
        let states_all = stated.read_only == Some(true)
            || stated.destructive.is_some() && stated.open_world.is_some();
        [
            (
                Code::CAT002,
                Error,
                !is_id(&self.listed.id),
                "the id is neither like CAP-AUD-001 nor like send_email; rename it",
            ),
            (
                Code::CAT010,
                Error,
                common.is_action && !available_in.contain(CallContext::ActionProposal),
                "is an action, but `available_in` lacks ACTION_PROPOSAL, so no model is offered it; add the context, or \
                 remove is_action",
            ),
            (
                Code::CAT011,
                Error,
                common.is_action && lacks_schema,
                "is an action without parameters that a model could read; add `parameter_schema_for_action`",
            ),
            (
                Code::CAT012,
                Warning,
                common.is_action && available_in.contain(CallContext::FsmInternal),
                "is an action and is available in FSM_INTERNAL; a step of a state machine is usually not offered to models",
            ),
            (
                Code::CAT021,
                Error,
                effects.read_only == Some(true) && effects.destructive == Some(true),
                "cannot be read-only and destructive; remove one of the two from `effects`",
            ),
            (
                Code::CAT031,
                Warning,
                tool.is_some() && !states_all,
                "does not state all `effects`, so the worst is assumed; state at least `destructive` and `open_world`, or \
                 `read_only = true`",
            ),
            (
                Code::CAT034,
                Warning,
                approval.when.holds(self.listed.assessment.risk)
                    && approval.approvers.iter().all(self.reachable),
                "waits for an approval that the user of the agent can give as well; name keys in `approval.approvers` \
                 (ssh:SHA256:…), or other users",
            ),
            (
                Code::CAT051,
                Error,
                tool.is_some_and(|entry| has_open_analysis(entry)),
                "makes an analysis, but `result.schema` requires no field, so an incomplete result would pass; add `required`",
            ),
        ]
    }

    /// A context that only some steps are available in would be refused when the workflow is called.
    fn wider_contexts(&self, workflow: &Workflow) -> Option<String> {
        let common = self.listed.available_in.names();
        let mut wider = workflow.common.available_in.as_ref()?.names();
        wider.retain(|name| !common.contains(name));
        (!wider.is_empty()).then(|| {
            format!(
                "is available in {}, where one of its steps is not; remove the context, or add it to the step",
                wider.join(", ")
            )
        })
    }

    fn lower_risk(&self, workflow: &Workflow) -> Option<String> {
        workflow.common.effects?;
        let gated = self.capability.gated();
        let (own, steps) = gated.split_last()?;
        let of = |gated: &Gated<'_>| assess(&gated.hazards);
        let steps = steps.iter().map(of).reduce(Assessment::max);
        let (own, steps) = (of(own).risk, steps.unwrap_or_default().risk);
        (own < steps).then(|| {
            format!(
                "declares `effects` of {own} risk, but a step has {steps} risk; remove `effects`, which follow from the steps"
            )
        })
    }
}

/// `CAP-AUD-R001`, or a name such as `send_email`.
fn is_id(id: &str) -> bool {
    let all = |text: &str, is: fn(&u8) -> bool| text.bytes().all(|byte| is(&byte));
    let capability = id
        .strip_prefix("CAP-")
        .and_then(|rest| rest.split_once('-'));
    let is_capability = capability.is_some_and(|(family, number)| {
        let rest = number.strip_prefix(|c: char| c.is_ascii_uppercase());
        let number = rest.unwrap_or(number);
        (family.len(), number.len()) == (3, 3)
            && all(family, u8::is_ascii_uppercase)
            && all(number, u8::is_ascii_digit)
    });
    let is_name = (2..=64).contains(&id.len())
        && id.starts_with(|c: char| c.is_ascii_lowercase())
        && all(id, |b| {
            b.is_ascii_lowercase() || b.is_ascii_digit() || *b == b'_'
        });
    is_capability || is_name
}

fn parameters(entry: &Entry, show: &[String], known: &[&str]) -> Vec<String> {
    let of_extract = entry.extract.iter();
    let of_extract = of_extract.flat_map(|pattern| pattern.capture_names().flatten());
    let of_retry = entry.retry.iter().flat_map(|rule| {
        let multiplied = rule.multiply.iter().map(|(name, _)| name);
        rule.set.keys().chain(multiplied)
    });
    let named = entry.defaults.keys().map(|name| ("defaults", name));
    let bound = entry.bind.iter();
    let named = named.chain(bound.map(|bound| (bound.key(), &bound.parameter)));
    let named = named.chain(of_retry.map(|name| ("retry", name)));
    let named = named.chain(show.iter().map(|name| ("approval.show", name)));
    let named = named.map(|(key, name)| (key, name.as_str()));
    let named = named.chain(of_extract.map(|name| ("extract", name)));
    let strange = named.filter(|(_, name)| !known.contains(name));
    let text = |(key, name): (&str, &str)| {
        let near = hint(name, known.iter().copied());
        format!("`{key}` names `{name}`, which is not a parameter of the schema{near}")
    };
    strange.map(text).collect()
}

fn defaults(entry: &Entry, schema: &Schema) -> Vec<String> {
    let misfit = |(name, value): (&String, &Value)| {
        let property = Schema {
            value: schema.property(name)?.clone(),
            place: schema.place.clone(),
        };
        let checked = property.check_readable("", value, Values::Shown, |problems| {
            Failure::new(Fault::ParamsInvalid, problems)
        });
        let why = checked.err()?.message;
        Some(format!(
            "the default of `{name}` does not fit the schema: {why}"
        ))
    };
    entry.defaults.iter().filter_map(misfit).collect()
}

fn secrets(entry: &Entry, known: &[&str]) -> Vec<String> {
    let strange = entry.secret.iter().filter(|pointer| {
        let name = first_part(pointer);
        !name.is_empty() && !known.contains(&name.as_str())
    });
    let text = |pointer| format!("`secret` names {pointer:?}, which is no parameter of the schema");
    strange.map(text).collect()
}

/// Whether the tool makes an analysis in which no field is required.
fn has_open_analysis(entry: &Entry) -> bool {
    let schema = entry.result.schema.as_ref();
    let required = schema.and_then(|schema| schema.value.get("required")?.as_array());
    entry.result.kind == ResultKind::Analysis && required.is_none_or(Vec::is_empty)
}

fn description(text: &str) -> Option<&'static str> {
    let first = text.split(". ").next().unwrap_or_default();
    if text.trim().is_empty() {
        Some("has no `description`; describe in one sentence what it does")
    } else if first.chars().count() > 160 {
        Some("has a `description` whose first sentence is longer than 160 characters; shorten it")
    } else if text.contains('\n') || visible(text) != text {
        Some("has a `description` with a line break or a control character; write one line")
    } else if text.starts_with(['#', '>', '-', '*', '+', '`']) {
        Some("has a `description` that begins like a Markdown heading or list; begin with a word")
    } else {
        None
    }
}
