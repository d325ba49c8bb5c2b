//! Findings about a whole catalog, for `oneact catalog check`: what does not compile, and what compiles but is
//! probably not meant.

mod live;
mod waiting;
mod workflows;

use std::collections::BTreeMap;

use serde_json::Value;

use super::{
    check::{Wrong, check},
    code::Code,
    compile::Capability,
    document::{CatalogError, Place, Tables, nearest},
    entry::{Entry, ResultKind},
    listing::{Audience, Listed, listed},
    raw::{Described, HasSchema, described},
    schema::{Schema, Values},
};
use crate::task::{Approver, CallContext, Failure, Fault, visible};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    Error,
    Warning,
}

#[derive(Debug)]
pub(crate) struct Finding {
    pub(crate) code: Code,
    pub(crate) level: Level,
    pub(crate) place: Option<Place>,
    /// What is wrong, and what to do.
    pub(crate) text: String,
}

/// Whether an agent of this user could give an approval in an approver's place.
pub(crate) type Reachable<'f> = &'f dyn Fn(&Approver) -> bool;

/// All findings, in the order of the file, and the number of entries.
pub(crate) fn lint(
    tables: &Tables<'_>,
    reachable: Reachable<'_>,
) -> Result<(Vec<Finding>, usize), CatalogError> {
    by(&RULES.each_ref(), tables, reachable)
}

fn by(
    rules: &[&Rule],
    tables: &Tables<'_>,
    reachable: Reachable<'_>,
) -> Result<(Vec<Finding>, usize), CatalogError> {
    let wrong = check(tables, &[]).problems.into_iter();
    let mut findings: Vec<Finding> = wrong.map(|problem| Finding::of(problem.wrong)).collect();
    let ids = tables.entries()?;
    let mut names: BTreeMap<String, usize> = BTreeMap::new();
    let raws = ids.iter().filter_map(|id| described(tables, id).ok()?);
    let raws: Vec<(_, Described)> = raws.collect();
    for (named, raw) in &raws {
        let aliases = raw.aliases.iter().map(|alias| alias.to_lowercase());
        for name in aliases.chain([named.name.to_lowercase()]) {
            *names.entry(name).or_default() += 1;
        }
    }
    for (named, raw) in &raws {
        // What does not compile is a finding already.
        let Ok(Some(listed)) = listed(tables, named.name) else {
            continue;
        };
        let capability = super::compile::compile(tables, named.name)?;
        let subject = Subject {
            raw,
            listed: &listed,
            tool: match &capability {
                Some(Capability::Tool(entry)) => Some(entry),
                _ => None,
            },
            capability: capability.as_ref(),
            names: &names,
            reachable,
        };
        let found = rules.iter().flat_map(|rule| {
            let texts = (rule.finds)(&subject).into_iter();
            texts.map(|text| Finding {
                code: rule.code,
                level: rule.level,
                place: Some(named.place(named.at)),
                text: format!("{}: {text}", named.name),
            })
        });
        findings.extend(found);
    }
    findings.sort_by(|a, b| (&a.place, a.code).cmp(&(&b.place, b.code)));
    Ok((findings, ids.len()))
}

impl From<CatalogError> for Finding {
    fn from(error: CatalogError) -> Self {
        Self::of(error.into())
    }
}

impl Finding {
    pub(super) fn of(wrong: Wrong) -> Self {
        Self {
            code: wrong.code,
            level: Level::Error,
            place: wrong.place,
            text: wrong.problem,
        }
    }
}

/// An entry that compiles, and what surrounds it.
struct Subject<'a> {
    raw: &'a Described,
    listed: &'a Listed,
    /// `None` for file plans and workflows.
    tool: Option<&'a Entry>,
    capability: Option<&'a Capability>,
    /// All ids and aliases in lower case, and how often each of them occurs.
    names: &'a BTreeMap<String, usize>,
    reachable: Reachable<'a>,
}

/// A rule that an entry can break without being unusable.
struct Rule {
    code: Code,
    level: Level,
    finds: fn(&Subject<'_>) -> Vec<String>,
}

const RULES: [Rule; 17] = [
    Rule {
        code: Code::CAT002,
        level: Level::Error,
        finds: id,
    },
    Rule {
        code: Code::CAT003,
        level: Level::Error,
        finds: aliases,
    },
    Rule {
        code: Code::CAT010,
        level: Level::Error,
        finds: action_is_proposed,
    },
    Rule {
        code: Code::CAT011,
        level: Level::Error,
        finds: action_has_schema,
    },
    Rule {
        code: Code::CAT012,
        level: Level::Warning,
        finds: action_of_machines,
    },
    Rule {
        code: Code::CAT020,
        level: Level::Warning,
        finds: respelled,
    },
    Rule {
        code: Code::CAT021,
        level: Level::Error,
        finds: contradiction,
    },
    Rule {
        code: Code::CAT030,
        level: Level::Error,
        finds: waiting::never,
    },
    Rule {
        code: Code::CAT031,
        level: Level::Warning,
        finds: effects,
    },
    Rule {
        code: Code::CAT034,
        level: Level::Warning,
        finds: waiting::approvers,
    },
    Rule {
        code: Code::CAT040,
        level: Level::Error,
        finds: parameters,
    },
    Rule {
        code: Code::CAT041,
        level: Level::Error,
        finds: defaults,
    },
    Rule {
        code: Code::CAT043,
        level: Level::Error,
        finds: secrets,
    },
    Rule {
        code: Code::CAT051,
        level: Level::Error,
        finds: analysis,
    },
    Rule {
        code: Code::CAT071,
        level: Level::Error,
        finds: workflows::contexts,
    },
    Rule {
        code: Code::CAT072,
        level: Level::Error,
        finds: workflows::risk,
    },
    Rule {
        code: Code::CAT080,
        level: Level::Warning,
        finds: description,
    },
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
    let aliases = subject.listed.words.aliases.iter();
    let twice = aliases.filter(|alias| subject.names.get(&alias.to_lowercase()) > Some(&1));
    let text = |alias: &String| {
        format!(
            "the alias {alias:?} is also an id, or an alias of another entry; remove one of the two"
        )
    };
    twice.map(text).collect()
}

fn is_action(subject: &Subject<'_>) -> bool {
    subject.listed.audience == Audience::Models
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
    let plan = matches!(subject.capability, Some(Capability::FilePlan(_)));
    let lacks = subject.raw.has_schema == HasSchema::No && !plan;
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
    subject.raw.amplifiers.respelled.clone()
}

fn contradiction(subject: &Subject<'_>) -> Vec<String> {
    let effects = subject.listed.effects;
    when(
        effects.read_only == Some(true) && effects.destructive == Some(true),
        "cannot be read-only and destructive; remove one of the two from `effects`",
    )
}

fn effects(subject: &Subject<'_>) -> Vec<String> {
    let said = subject.raw.effects.unwrap_or_default();
    let settled =
        said.read_only == Some(true) || said.destructive.is_some() && said.open_world.is_some();
    when(
        subject.tool.is_some() && !settled,
        "does not state all `effects`, so the worst is assumed; state at least `destructive` and `open_world`, or \
         `read_only = true`",
    )
}

/// The parameters of the schema; `None` if the schema does not list them.
fn known<'a>(subject: &Subject<'a>) -> Option<(&'a Entry, &'a Schema, Vec<&'a str>)> {
    let entry = subject.tool?;
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
        let multiplied = rule.multiply.iter().map(|each| each.parameter.as_str());
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
        let near = nearest(name, known.iter().copied());
        let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
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
        let checked = property.check(value, Values::Shown, |problems| {
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
        let mut parts = pointer.split('/').skip(1);
        let name = parts
            .next()
            .unwrap_or_default()
            .replace("~1", "/")
            .replace("~0", "~");
        !name.is_empty() && !known.contains(&name.as_str())
    };
    let text = |pointer: &String| {
        format!("`secret` names {pointer:?}, which is no parameter of the schema")
    };
    entry.secret.iter().filter(first).map(text).collect()
}

fn analysis(subject: &Subject<'_>) -> Vec<String> {
    let result = subject.tool.map(|entry| &entry.result);
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
    let text = &subject.listed.words.description;
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

#[cfg(test)]
mod tests;
