//! Names that others give to the keys of a plan. A key of such a name is refused with the name that is
//! meant, lest the plan run without what it says.

/// Other names of a key, which count in an object that has the key `beside`.
struct Synonyms {
    beside: &'static str,
    /// What is meant.
    meant: &'static str,
    /// Without capitals, hyphens and underscores.
    names: &'static [&'static str],
}

const fn of(key: &'static str, names: &'static [&'static str]) -> Synonyms {
    among(key, key, names)
}

const fn among(
    beside: &'static str,
    meant: &'static str,
    names: &'static [&'static str],
) -> Synonyms {
    Synonyms {
        beside,
        meant,
        names,
    }
}

/// In whatever object it stands: the plan must not be carried out.
const DRY_RUN: [&str; 4] = ["dryrun", "dryrunonly", "isdryrun", "simulate"];

const SYNONYMS: [Synonyms; 31] = [
    // Of the plan itself, which has a key `action_plan`.
    among(
        "action_plan",
        "system_config",
        &[
            "systemconfig",
            "systemconfiguration",
            "config",
            "configuration",
        ],
    ),
    among(
        "action_plan",
        "protocol_validation",
        &["protocolvalidation", "validation", "approved"],
    ),
    among(
        "action_plan",
        "execution_instructions",
        &["instructions", "executionoptions", "options", "execution"],
    ),
    among(
        "action_plan",
        "execution_instructions.stop_on_error",
        &[
            "stoponerror",
            "stoponfailure",
            "failfast",
            "continueonerror",
        ],
    ),
    among(
        "action_plan",
        "execution_instructions.rollback_on_failure",
        &["rollbackonfailure", "rollbackonerror", "rollback", "atomic"],
    ),
    among(
        "action_plan",
        "execution_instructions.preserve_permissions",
        &["preservepermissions"],
    ),
    among(
        "action_plan",
        "execution_instructions.verify_hashes",
        &["verifyhashes"],
    ),
    among(
        "action_plan",
        "execution_instructions.human_approval_required",
        &[
            "humanapprovalrequired",
            "requiresapproval",
            "approvalrequired",
        ],
    ),
    among(
        "action_plan",
        "execution_instructions.timeout_seconds",
        &["timeoutseconds", "timeout", "timeoutsecs", "timeoutms"],
    ),
    among(
        "action_plan",
        "validation_rules of an action",
        &["validationrules", "validations"],
    ),
    // Of `execution_instructions`.
    of(
        "stop_on_error",
        &["stoponfailure", "failfast", "continueonerror"],
    ),
    of(
        "rollback_on_failure",
        &["rollbackonerror", "rollback", "atomic"],
    ),
    of(
        "human_approval_required",
        &["requiresapproval", "approvalrequired"],
    ),
    of("preserve_permissions", &["keeppermissions", "preservemode"]),
    of("verify_hashes", &["checkhashes", "verifyhash"]),
    of("execution_order", &["order", "mode"]),
    // Of `system_config`.
    of("execution_constraints", &["constraints", "limits"]),
    of("max_files_modified", &["maxfiles", "filelimit"]),
    of(
        "max_file_size_bytes",
        &["maxfilesize", "maxsize", "maxbytes"],
    ),
    of(
        "forbidden_patterns",
        &["forbidden", "forbiddenfiles", "forbiddenpaths"],
    ),
    of(
        "protected_files",
        &["protected", "protectedpaths", "protectedpatterns"],
    ),
    of(
        "allowed_operations",
        &["allowed", "allowedactions", "operations"],
    ),
    // Of an action and its rules.
    of(
        "validation_rules",
        &[
            "validation",
            "validations",
            "validators",
            "validate",
            "checks",
            "rules",
        ],
    ),
    of(
        "depends_on",
        &[
            "depends",
            "dependson",
            "dependencies",
            "dependency",
            "requires",
            "needs",
            "after",
        ],
    ),
    of("timeout_seconds", &["timeout", "timeoutsecs", "timeoutms"]),
    of("on_failure", &["onerror", "onfail", "severity"]),
    // Of operations.
    of(
        "document",
        &[
            "doc",
            "docs",
            "documents",
            "documentindex",
            "documentnumber",
        ],
    ),
    of(
        "count",
        &[
            "cnt",
            "occurrences",
            "times",
            "expectedcount",
            "expectedreplacements",
        ],
    ),
    among("count", "count: \"all\"", &["replaceall", "global", "all"]),
    of("regex", &["isregex", "useregex", "regexp", "isregexp"]),
    of("mode", &["permissions", "chmod", "filemode"]),
];

/// The key that one of such a name is meant for, in an object with these known keys.
pub(super) fn meant(key: &str, known: &[&'static str]) -> Option<&'static str> {
    let key = plain(key);
    if DRY_RUN.contains(&key.as_str()) {
        return Some("--dry-run");
    }
    let same = known.iter().find(|known| plain(known) == key);
    same.copied().or_else(|| {
        let mut all = SYNONYMS.iter();
        let synonyms = all.find(|it| known.contains(&it.beside) && it.names.contains(&&*key));
        synonyms.map(|synonyms| synonyms.meant)
    })
}

/// Upper and lower case, hyphens, underscores and spaces make no difference.
fn plain(name: &str) -> String {
    let letters = name.chars().filter(|c| c.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}
