//! Unknown keys of a message. A key that probably stands for a known one is refused. A key of the task that is
//! beside the task is refused too, because the task would be performed without it. Any other unknown key becomes a
//! note.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::task::{APPROVAL, DRY_RUN, Failure, few, meant, printable};

use super::{
    fields::{self, is_context, names, shape},
    find::{Sent, Shape, at},
};

struct Keys {
    of: &'static str,
    /// The lists of the known keys.
    known: &'static [&'static str],
    /// Known keys with other names that are in use for them.
    synonyms: &'static [&'static [Synonyms]],
}

type Synonyms = (&'static str, &'static str);

const PARAMETERS: &str = "params args arg arguments input tool_input options opts settings config configuration payload data \
    values variables *params *args *arguments *parameters";
const CAPABILITY_IDS: &str =
    "capability_id capability capabilities tool tools tool_id tool_name action_id";
const SESSION: &str = "session session_id";

const OF_ALL: &[Synonyms] = &[
    (
        "idempotency_key",
        "idempotent_key dedup_key deduplication_key",
    ),
    ("attempt", "attempt_number attempt_no attempt_count"),
    DRY_RUN,
];
const OF_REFS: &[Synonyms] = &[
    (
        "input_refs_resolved",
        "inputs input_refs input_references input_assets input_files inputs_resolved input_uris refs resolved_refs \
         resolved_inputs",
    ),
    (
        "output_refs_expected",
        "output outputs output_refs output_references expected_outputs expected_output_refs",
    ),
];
/// What stands elsewhere: around the task, or in the plan.
const ELSEWHERE: &[Synonyms] = &[
    (
        "task_plan.execution_instructions.human_approval_required",
        APPROVAL,
    ),
    ("metadata.session_id", SESSION),
    ("metadata.request_id", "request_id"),
];
/// Most keys around a task belong to other programs.
const OF_OTHERS: &[Synonyms] = &[DRY_RUN];

const TASK: Keys = Keys {
    of: "a task",
    known: &[
        "capability_ids",
        fields::OF_DISPATCH,
        fields::OF_QUESTIONS,
        fields::OF_PLANS,
    ],
    synonyms: &[
        &[
            ("parameters", PARAMETERS),
            ("capability_ids", CAPABILITY_IDS),
            ("input_responses", "responses answers"),
            ("task_plan", "plan"),
        ],
        OF_ALL,
        OF_REFS,
        ELSEWHERE,
    ],
};

const REQUEST: Keys = Keys {
    of: "a request",
    known: &[
        "actionId action args sessionId requestId taskId context metadata resources message_id",
        fields::OF_REQUEST_AND_DISPATCH,
    ],
    synonyms: &[
        &[
            ("args", PARAMETERS),
            ("args", "parameters"),
            ("actionId", CAPABILITY_IDS),
            ("sessionId", SESSION),
        ],
        OF_ALL,
        OF_REFS,
    ],
};

const PROPOSAL: Keys = Keys {
    of: "a proposal",
    known: &[
        "kind",
        fields::OF_PROPOSAL,
        fields::OF_DISPATCH,
        fields::OF_QUESTIONS,
        fields::OF_PLANS,
    ],
    synonyms: &[
        &[
            ("parameters", PARAMETERS),
            ("name", CAPABILITY_IDS),
            ("name", "capability_ids action_name"),
            ("task_plan", "plan action_plan"),
        ],
        OF_ALL,
        OF_REFS,
        ELSEWHERE,
    ],
};

const PLAN: Keys = Keys {
    of: "a plan's message",
    known: &["task_plan sessionId requestId", fields::BESIDE_A_PLAN],
    synonyms: &[
        &[
            ("system_config", "config configuration"),
            ("protocol_validation", "validation"),
        ],
        OF_ALL,
        ELSEWHERE,
    ],
};

const MESSAGE: Keys = Keys {
    of: "a message",
    known: &["metadata resources message_id idempotency_key dispatch"],
    synonyms: &[OF_OTHERS],
};

const METADATA: Keys = Keys {
    of: "`metadata`",
    known: &[
        "session_id request_id correlation_id idempotency_key sequence_number parent_message_id traceparent tracestate",
    ],
    synonyms: &[&[("session_id", "session")], OF_OTHERS],
};

/// The keys between a message and its task.
const BETWEEN: Keys = Keys {
    of: "a message",
    known: &[],
    synonyms: &[OF_OTHERS],
};

/// Keys that only make sense in a task.
const OF_A_TASK: &str =
    "parameters params args arguments input_refs_resolved output_refs_expected attempt salt";

pub(super) fn check(
    document: &Value,
    found: &Sent<'_>,
    notes: &mut Vec<String>,
) -> Result<(), Failure> {
    let task = found.object;
    let around = document.as_object();
    let around = around.filter(|whole| !std::ptr::eq(*whole, task));
    let inner = |path| at(document, path)?.as_object();
    if let (Some(around), Shape::Dispatch | Shape::Proposal) = (around, found.shape) {
        let (output, content) = (inner("output"), inner("output/content"));
        nothing_lost(around)?;
        content.map_or(Ok(()), nothing_lost)?;
        MESSAGE.refuse(around)?;
        for object in output.into_iter().chain(content) {
            BETWEEN.refuse(object)?;
        }
    }
    inner("metadata").map_or(Ok(()), |metadata| METADATA.refuse(metadata))?;
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
    let around = around
        .iter()
        .filter_map(|path| at(document, path)?.as_object());
    let objects = document.as_object().into_iter().chain(around).chain([task]);
    let fields = objects
        .flatten()
        .filter(|(key, value)| is_context(key, value));
    let keys: BTreeSet<&String> = fields.map(|(key, _)| key).collect();
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
    let own = |key: &str| names(OF_A_TASK, key) || names(fields::OF_QUESTIONS, key);
    let mut lost = around
        .iter()
        .filter(|(key, value)| own(key) && !value.is_null());
    lost.next().map_or(Ok(()), |(key, _)| {
        Err(shape(format!(
            "`{key}` is outside the task; move it into the task, next to `task_id`"
        )))
    })
}

/// How many unknown keys a note names.
const NAMED: usize = 10;

fn tell(what: &str, others: &[&str], notes: &mut Vec<String>) {
    if !others.is_empty() {
        let others = others.iter().map(|key| format!("`{}`", printable(key)));
        let note = format!("Ignored {what}: {}.", few(others, NAMED, ", "));
        tracing::warn!("{note}");
        notes.push(note);
    }
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
    ) -> Result<Vec<&'o str>, Failure> {
        let is_known = |key: &str| self.known.iter().any(|list| names(list, key)) || known(key);
        let others = object.keys().map(String::as_str);
        let others: Vec<&str> = others.filter(|key| !is_known(key)).collect();
        for key in &others {
            let known = self.known.iter().flat_map(|list| list.split(' '));
            let known = known.map(|known| (known, known));
            if let Some(meant) = meant(
                key,
                known.chain(self.synonyms.iter().copied().flatten().copied()),
            ) {
                return Err(shape(format!(
                    "`{}` is not a key of {}; did you mean `{meant}`?",
                    printable(key),
                    self.of
                )));
            }
        }
        Ok(others)
    }
}
