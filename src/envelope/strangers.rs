//! Unknown keys of a message. A key that probably stands for a known one is refused. A key of the task that is
//! beside the task is refused too, because the task would be performed without it. Any other unknown key becomes a
//! note.

use serde_json::{Map, Value};

use crate::task::Failure;

use super::{
    fields::{self, is_context, shape},
    find::{Found, Shape, at},
};

struct Keys {
    of: &'static str,
    known: &'static [&'static [&'static str]],
    /// Other names that are in use for a known key.
    synonyms: &'static [(&'static str, &'static [&'static str])],
}

const PARAMETERS: &[&str] = &[
    "params",
    "args",
    "arg",
    "arguments",
    "input",
    "tool_input",
    "options",
    "opts",
    "settings",
    "config",
    "configuration",
    "payload",
    "data",
    "values",
    "variables",
];
const CAPABILITY_IDS: &[&str] = &[
    "capability_id",
    "capability",
    "capabilities",
    "tool",
    "tools",
    "tool_id",
    "tool_name",
    "action_id",
];
const INPUTS: &[&str] = &[
    "inputs",
    "input_refs",
    "input_references",
    "input_assets",
    "input_files",
    "inputs_resolved",
    "input_uris",
    "refs",
    "resolved_refs",
    "resolved_inputs",
];
const OUTPUTS: &[&str] = &[
    "output",
    "outputs",
    "output_refs",
    "output_references",
    "expected_outputs",
    "expected_output_refs",
];
const IDEMPOTENCY_KEY: &[&str] = &["idempotent_key", "dedup_key", "deduplication_key"];
const ATTEMPT: &[&str] = &["attempt_number", "attempt_no", "attempt_count"];
/// A task cannot ask for a dry run; only the command line can. A task that tries is refused.
const DRY_RUN: &[&str] = &["dry_run", "dry_run_only", "is_dry_run", "simulate"];
/// The plan can ask for an approval, in its own place for that.
const APPROVAL: &[&str] = &[
    "human_approval_required",
    "requires_approval",
    "approval_required",
];
const ASKS: &str = "task_plan.execution_instructions.human_approval_required";
const SESSION: &[&str] = &["session", "session_id"];

const TASK: Keys = Keys {
    of: "a task",
    known: &[
        &["capability_ids"],
        fields::OF_DISPATCH,
        fields::OF_QUESTIONS,
        fields::OF_PLANS,
    ],
    synonyms: &[
        ("parameters", PARAMETERS),
        ("capability_ids", CAPABILITY_IDS),
        ("input_refs_resolved", INPUTS),
        ("output_refs_expected", OUTPUTS),
        ("idempotency_key", IDEMPOTENCY_KEY),
        ("attempt", ATTEMPT),
        ("--dry-run", DRY_RUN),
        (ASKS, APPROVAL),
        ("input_responses", &["responses", "answers"]),
        ("task_plan", &["plan"]),
        ("metadata.session_id", SESSION),
        ("metadata.request_id", &["request_id"]),
    ],
};

const REQUEST: Keys = Keys {
    of: "a request",
    known: &[
        &[
            "actionId",
            "action",
            "args",
            "sessionId",
            "requestId",
            "taskId",
            "context",
            "metadata",
            "resources",
            "message_id",
        ],
        fields::OF_REQUEST_AND_DISPATCH,
    ],
    synonyms: &[
        ("args", PARAMETERS),
        ("args", &["parameters"]),
        ("actionId", CAPABILITY_IDS),
        ("input_refs_resolved", INPUTS),
        ("output_refs_expected", OUTPUTS),
        ("idempotency_key", IDEMPOTENCY_KEY),
        ("attempt", ATTEMPT),
        ("--dry-run", DRY_RUN),
        ("sessionId", SESSION),
    ],
};

const PROPOSAL: Keys = Keys {
    of: "a proposal",
    known: &[
        &["kind"],
        fields::OF_PROPOSAL,
        fields::OF_DISPATCH,
        fields::OF_QUESTIONS,
        fields::OF_PLANS,
    ],
    synonyms: &[
        ("parameters", PARAMETERS),
        ("name", CAPABILITY_IDS),
        ("name", &["capability_ids", "action_name"]),
        ("task_plan", &["plan", "action_plan"]),
        ("input_refs_resolved", INPUTS),
        ("output_refs_expected", OUTPUTS),
        ("idempotency_key", IDEMPOTENCY_KEY),
        ("attempt", ATTEMPT),
        ("--dry-run", DRY_RUN),
        (ASKS, APPROVAL),
        ("metadata.session_id", SESSION),
        ("metadata.request_id", &["request_id"]),
    ],
};

const PLAN: Keys = Keys {
    of: "a plan's message",
    known: &[
        &["task_plan", "sessionId", "requestId"],
        fields::BESIDE_A_PLAN,
    ],
    synonyms: &[
        ("system_config", &["config", "configuration"]),
        ("protocol_validation", &["validation"]),
        ("idempotency_key", IDEMPOTENCY_KEY),
        ("attempt", ATTEMPT),
        ("--dry-run", DRY_RUN),
        (ASKS, APPROVAL),
        ("metadata.session_id", SESSION),
        ("metadata.request_id", &["request_id"]),
    ],
};

/// Most keys around a task belong to other programs, so only keys that may be meant for oneact are refused.
const MESSAGE: Keys = Keys {
    of: "a message",
    known: &[&[
        "metadata",
        "resources",
        "message_id",
        "idempotency_key",
        "dispatch",
    ]],
    synonyms: &[("--dry-run", DRY_RUN)],
};
const METADATA: Keys = Keys {
    of: "`metadata`",
    known: &[&[
        "session_id",
        "request_id",
        "correlation_id",
        "idempotency_key",
        "sequence_number",
        "parent_message_id",
        "traceparent",
        "tracestate",
    ]],
    synonyms: &[("session_id", &["session"]), ("--dry-run", DRY_RUN)],
};
/// All keys between a message and its task belong to other programs; only a dry run is refused.
const BETWEEN: Keys = Keys {
    of: "a message",
    known: &[],
    synonyms: &[("--dry-run", DRY_RUN)],
};

/// Keys that only make sense in a task.
const OF_A_TASK: &[&str] = &[
    "parameters",
    "params",
    "args",
    "arguments",
    "input_refs_resolved",
    "output_refs_expected",
    "attempt",
    "salt",
];

pub(super) fn check(
    document: &Value,
    found: &Found<'_>,
    notes: &mut Vec<String>,
) -> Result<(), Failure> {
    let task = found.object;
    let around = document
        .as_object()
        .filter(|whole| !std::ptr::eq(*whole, task));
    let in_message = matches!(found.shape, Shape::Dispatch | Shape::Proposal);
    if let Some(around) = around.filter(|_| in_message) {
        let [output, content] =
            ["output", "output/content"].map(|path| at(document, path).and_then(Value::as_object));
        for object in [Some(around), content].into_iter().flatten() {
            nothing_lost(object)?;
        }
        MESSAGE.refuse(around)?;
        for object in [output, content].into_iter().flatten() {
            BETWEEN.refuse(object)?;
        }
    }
    if let Some(metadata) = document.get("metadata").and_then(Value::as_object) {
        METADATA.refuse(metadata)?;
    }
    tell_context(document, task, notes);
    let keys = match found.shape {
        Shape::Dispatch => &TASK,
        Shape::Request => &REQUEST,
        Shape::Proposal => &PROPOSAL,
        // The room `plan` checks the keys of a plan, and [`beside_plan`] those beside it.
        Shape::Plan | Shape::Protocol => return Ok(()),
    };
    let others = keys.others(task, |key| {
        let said = match key {
            "sessionId" | "session_id" => "metadata/session_id",
            "requestId" | "request_id" => "metadata/request_id",
            _ => return task.get(key).is_some_and(|value| is_context(key, value)),
        };
        // Specification 004's names are known at the top of a message. Elsewhere they may repeat the metadata.
        let known = around.is_none() && matches!(key, "sessionId" | "requestId");
        known || at(document, said).is_some_and(|said| task.get(key) == Some(said))
    })?;
    tell("fields of the task", &others, notes);
    Ok(())
}

/// Says that the kind of caller in the task, or around it, has no effect (R-003-36, C-32).
fn tell_context(document: &Value, task: &Map<String, Value>, notes: &mut Vec<String>) {
    let around = ["metadata", "output", "output/content", "payload"];
    let around = around.iter().map(|path| at(document, path));
    let objects = [Some(document)].into_iter().chain(around);
    let objects = objects.filter_map(|object| object?.as_object());
    let fields = objects.chain([task]).flatten();
    let mut keys: Vec<&str> = fields
        .filter(|(key, value)| is_context(key, value))
        .map(|(key, _)| key.as_str())
        .collect();
    keys.sort_unstable();
    keys.dedup();
    for key in keys {
        let note = format!(
            "`{key}` has no effect: the way in which oneact was started decides the context."
        );
        tracing::warn!("{note}");
        notes.push(note);
    }
}

/// Checks the keys beside a plan under `task_plan`.
pub(super) fn beside_plan(
    object: &Map<String, Value>,
    notes: &mut Vec<String>,
) -> Result<(), Failure> {
    let known = |key: &str| object.get(key).is_some_and(|value| is_context(key, value));
    tell("beside the plan", &PLAN.others(object, known)?, notes);
    Ok(())
}

/// Refuses keys of a task that are beside the task: they would be ignored.
fn nothing_lost(around: &Map<String, Value>) -> Result<(), Failure> {
    let own = OF_A_TASK.iter().chain(fields::OF_QUESTIONS);
    let mut lost = own.filter(|key| around.get(**key).is_some_and(|value| !value.is_null()));
    match lost.next() {
        None => Ok(()),
        Some(key) => Err(shape(format!(
            "`{key}` is outside the task; move it into the task, next to `task_id`"
        ))),
    }
}

const NAMED: usize = 10;

fn tell(what: &str, others: &[&String], notes: &mut Vec<String>) {
    let named = others.iter().take(NAMED).map(|key| shown(key));
    let named: Vec<String> = named.collect();
    let more = match others.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    if !others.is_empty() {
        let note = format!("Ignored {what}: {}{more}.", named.join(", "));
        tracing::warn!("{note}");
        notes.push(note);
    }
}

/// A key as notes show it: shortened, and with control characters escaped.
fn shown(key: &str) -> String {
    let start: String = key.chars().take(LONGEST).collect();
    let more = if start.len() < key.len() { "…" } else { "" };
    format!("`{}{more}`", start.escape_debug())
}

impl Keys {
    /// Refuses an object with a key that probably stands for a known one.
    fn refuse(&self, object: &Map<String, Value>) -> Result<(), Failure> {
        self.others(object, |_| false).map(|_| ())
    }

    /// The unknown keys. A key that probably stands for a known one is an error.
    fn others<'o>(
        &self,
        object: &'o Map<String, Value>,
        known: impl Fn(&str) -> bool,
    ) -> Result<Vec<&'o String>, Failure> {
        let is_known = |key: &&String| {
            let mut all = self.known.iter().copied().flatten();
            all.any(|known| *known == key.as_str()) || known(key.as_str())
        };
        let others: Vec<&String> = object.keys().filter(|key| !is_known(key)).collect();
        for key in &others {
            if let Some(meant) = self.meant(key) {
                return Err(shape(format!(
                    "{} is not a key of {}; did you mean `{meant}`?",
                    shown(key),
                    self.of
                )));
            }
        }
        Ok(others)
    }

    fn meant(&self, key: &str) -> Option<&'static str> {
        if key.chars().nth(LONGEST).is_some() {
            return None;
        }
        let key = plain(key);
        let known = self.known.iter().copied().flatten();
        let synonyms = || {
            let each = self.synonyms.iter();
            each.flat_map(|(known, all)| all.iter().map(move |synonym| (*known, *synonym)))
        };
        let known = || known.clone().map(|known| (*known, *known));
        let all = || known().chain(synonyms());
        // An exact synonym wins over a similar name.
        let same = all().find(|(_, name)| plain(name) == key);
        same.or_else(|| {
            let near = all().filter(|(known, name)| {
                let name_of = plain(name);
                is_near(&key, &name_of) || (known == name && is_longer(&key, &name_of))
            });
            near.min_by_key(|(_, name)| strsim::damerau_levenshtein(&key, &plain(name)))
        })
        .or_else(|| all().find(|(_, name)| ENDINGS.contains(name) && key.ends_with(name)))
        .map(|(known, _)| known)
    }
}

/// A key with such an ending (`tool_params`, `callArgs`) stands for the parameters.
const ENDINGS: &[&str] = &["params", "args", "arguments", "parameters"];

/// The longest key, in characters, that is compared with known ones or shown in full.
const LONGEST: usize = 40;

/// The letters and digits of a name in lower case: hyphens, underscores and spaces are ignored.
fn plain(name: &str) -> String {
    let letters = name.chars().filter(|c| c.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

/// Whether the key is a short name with one more letter: `salts`.
fn is_longer(key: &str, name: &str) -> bool {
    let length = name.chars().count();
    length <= 4 && key.chars().count() == length + 1 && strsim::damerau_levenshtein(key, name) == 1
}

/// Whether the key is the name with a few typing errors: the shorter the name, the fewer.
fn is_near(key: &str, name: &str) -> bool {
    let (key_length, length) = (key.chars().count(), name.chars().count());
    let slips = match length {
        0..=4 => return false,
        5..=7 => 1,
        8..=11 => 2,
        _ => 3,
    };
    key_length.abs_diff(length) <= 1 && strsim::damerau_levenshtein(key, name) <= slips
}
