//! Other names for the keys of a plan. A key with such a name is refused, and the message proposes the right name,
//! so that no plan is applied without an option that its author intended.

use crate::task::{APPROVAL, DRY_RUN};

/// What a plan may have been meant to say, with the path from the plan or its `system_config`. The last part of the path
/// may be meant in every object that has this key.
#[rustfmt::skip]
const OF_THE_PLAN: [(&str, &str); 11] = [
    ("protocol_validation", "validation approved"),
    ("system_config", "system_configuration config configuration"),
    ("execution_instructions", "instructions execution_options options execution"),
    ("execution_instructions.stop_on_error", "stop_on_failure fail_fast continue_on_error"),
    ("execution_instructions.rollback_on_failure", "rollback_on_error rollback atomic"),
    ("execution_instructions.preserve_permissions", "keep_permissions preserve_mode"),
    ("execution_instructions.verify_hashes", "check_hashes verify_hash"),
    ("execution_instructions.human_approval_required", APPROVAL),
    ("execution_instructions.timeout_seconds", "timeout timeout_secs timeout_ms"),
    ("action_plan[…].validation_rules", "validations"),
    ("system_config.execution_constraints", "constraints limits"),
];

/// The limits of a plan. Directly in the plan or in its `system_config`, only their own names are refused.
#[rustfmt::skip]
const LIMITS: [(&str, &str); 5] = [
    ("system_config.execution_constraints.max_files_modified", "max_files file_limit"),
    ("system_config.execution_constraints.max_file_size_bytes", "max_file_size max_size max_bytes"),
    ("system_config.execution_constraints.forbidden_patterns", "forbidden forbidden_files forbidden_paths"),
    ("system_config.execution_constraints.protected_files", "protected protected_paths protected_patterns"),
    ("system_config.execution_constraints.allowed_operations", "allowed allowed_actions operations"),
];

/// What an object may have been meant to say that has this key.
#[rustfmt::skip]
const OF_ANY: [(&str, &str); 15] = [
    ("execution_order", "order mode"),
    ("validation_rules", "validation validations validators validate checks rules"),
    ("depends_on", "depends dependencies dependency requires needs after"),
    ("on_failure", "on_error on_fail severity"),
    ("document", "doc docs documents document_index document_number"),
    ("count", "cnt occurrences times expected_count expected_replacements"),
    ("count: \"all\"", "replace_all global all"),
    ("pattern", "old_string old_str old_text search find"),
    ("replacement", "new_string new_str new_text replace"),
    ("old_string", "old_str old_text search find pattern"),
    ("new_string", "new_str new_text replace replacement"),
    ("replace_all", "all global multiple"),
    ("create", "create_missing create_if_missing upsert add_missing"),
    ("regex", "is_regex use_regex regexp is_regexp"),
    ("mode", "permissions chmod file_mode"),
];

/// What a key can be meant for in an object with these known keys, each with its names.
pub(super) fn of<'k>(
    known: &'k [&'static str],
) -> impl Iterator<Item = (&'static str, &'static str)> + 'k {
    let is_plan = known.contains(&"action_plan");
    let is_config = known.contains(&"execution_constraints");
    let has = |meant: &str| known.contains(&meant);
    let last = |path: &'static str| path.rsplit('.').next().unwrap_or(path);
    let of_the_plan = OF_THE_PLAN.iter().filter_map(move |(path, names)| {
        let meant = if is_plan { path } else { last(path) };
        (is_plan || has(meant)).then_some([(meant, last(path)), (meant, *names)])
    });
    let limits = LIMITS.iter().filter_map(move |(path, names)| {
        let last = last(path);
        if has(last) {
            return Some([(last, last), (last, *names)]);
        }
        (is_plan || is_config).then_some([(*path, last), (*path, last)])
    });
    let of_any = OF_ANY.iter().filter(move |(meant, _)| {
        let beside = meant.split(':').next().unwrap_or(meant);
        has(beside)
    });
    let anywhere = [
        DRY_RUN,
        ("execution_instructions.human_approval_required", APPROVAL),
    ];
    let own = known.iter().map(|known| (*known, *known));
    own.chain(of_the_plan.flatten())
        .chain(limits.flatten())
        .chain(of_any.copied())
        .chain(anywhere)
}
