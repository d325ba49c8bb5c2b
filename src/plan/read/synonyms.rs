//! Other names for the keys of a plan. A key with such a name is refused, and the message proposes the right name,
//! so that no plan is applied without an option that its author intended.

/// In every object: the plan must not be applied.
const DRY_RUN: [&str; 4] = ["dryrun", "dryrunonly", "isdryrun", "simulate"];

/// In every object: a person has to approve the plan.
const APPROVAL: [&str; 3] = [
    "humanapprovalrequired",
    "requiresapproval",
    "approvalrequired",
];

/// What the plan itself may have been meant to say, and its other names without capitals, hyphens and underscores.
/// They are other names of the last part in every object that has that key, too.
const OF_THE_PLAN: [(&str, &str); 11] = [
    ("system_config.execution_constraints", "constraints limits"),
    ("system_config", "systemconfiguration config configuration"),
    ("protocol_validation", "validation approved"),
    (
        "execution_instructions",
        "instructions executionoptions options execution",
    ),
    (
        "execution_instructions.stop_on_error",
        "stoponfailure failfast continueonerror",
    ),
    (
        "execution_instructions.rollback_on_failure",
        "rollbackonerror rollback atomic",
    ),
    (
        "execution_instructions.preserve_permissions",
        "keeppermissions preservemode",
    ),
    (
        "execution_instructions.verify_hashes",
        "checkhashes verifyhash",
    ),
    (
        "execution_instructions.human_approval_required",
        "requiresapproval approvalrequired",
    ),
    (
        "execution_instructions.timeout_seconds",
        "timeout timeoutsecs timeoutms",
    ),
    (
        "validation_rules of an action",
        "validationrules validations",
    ),
];

/// The limits of a plan, and their other names. A limit directly in the plan or in its `system_config` has no effect.
const LIMITS: [(&str, &str); 5] = [
    (
        "system_config.execution_constraints.max_files_modified",
        "maxfiles filelimit",
    ),
    (
        "system_config.execution_constraints.max_file_size_bytes",
        "maxfilesize maxsize maxbytes",
    ),
    (
        "system_config.execution_constraints.forbidden_patterns",
        "forbidden forbiddenfiles forbiddenpaths",
    ),
    (
        "system_config.execution_constraints.protected_files",
        "protected protectedpaths protectedpatterns",
    ),
    (
        "system_config.execution_constraints.allowed_operations",
        "allowed allowedactions operations",
    ),
];

/// Of every object that has the key which is meant.
const OF_ANY: [(&str, &str); 15] = [
    ("execution_order", "order mode"),
    // Of an action and its rules.
    (
        "validation_rules",
        "validation validations validators validate checks rules",
    ),
    (
        "depends_on",
        "depends dependson dependencies dependency requires needs after",
    ),
    ("on_failure", "onerror onfail severity"),
    // Of operations.
    (
        "document",
        "doc docs documents documentindex documentnumber",
    ),
    (
        "count",
        "cnt occurrences times expectedcount expectedreplacements",
    ),
    ("count: \"all\"", "replaceall global all"),
    ("pattern", "oldstring oldstr oldtext search find"),
    ("replacement", "newstring newstr newtext replace"),
    ("old_string", "oldstr oldtext search find pattern"),
    ("new_string", "newstr newtext replace replacement"),
    ("replace_all", "all global multiple"),
    ("create", "createmissing createifmissing upsert addmissing"),
    ("regex", "isregex useregex regexp isregexp"),
    ("mode", "permissions chmod filemode"),
];

/// The key that one of such a name is meant for, in an object with these known keys.
pub(super) fn meant(key: &str, known: &[&'static str]) -> Option<&'static str> {
    let key = plain(key);
    if DRY_RUN.contains(&key.as_str()) {
        return Some("--dry-run");
    }
    let called =
        |meant: &str, names: &str| plain(meant) == key || names.split(' ').any(|name| name == key);
    let same = known.iter().copied().find(|known| plain(known) == key);
    let is_plan = known.contains(&"action_plan");
    let of_the_plan = || {
        OF_THE_PLAN.iter().find_map(|(meant, names)| {
            let last = meant.rsplit('.').next().unwrap_or(meant);
            let meant = if is_plan { meant } else { last };
            ((is_plan || known.contains(&last)) && called(last, names)).then_some(meant)
        })
    };
    let limit = || {
        LIMITS.iter().find_map(|(meant, names)| {
            let last = meant.rsplit('.').next().unwrap_or(meant);
            let is_outside = is_plan || known.contains(&"execution_constraints");
            if known.contains(&last) {
                called(last, names).then_some(last)
            } else {
                (is_outside && plain(last) == key).then_some(*meant)
            }
        })
    };
    let of_any = || {
        OF_ANY.iter().find_map(|(meant, names)| {
            let beside = meant.split(':').next().unwrap_or(meant);
            (known.contains(&beside) && called(beside, names)).then_some(*meant)
        })
    };
    let asks = || {
        APPROVAL
            .contains(&key.as_str())
            .then_some("execution_instructions.human_approval_required")
    };
    same.or_else(of_the_plan)
        .or_else(limit)
        .or_else(of_any)
        .or_else(asks)
}

/// Upper and lower case, hyphens, underscores and spaces make no difference.
fn plain(name: &str) -> String {
    let letters = name.chars().filter(|c| c.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}
