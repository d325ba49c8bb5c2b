//! What specification 001 calls the executor. The constants stand in every report of a plan, and in
//! `oneact --version --verbose` (R-001-01).

use serde_json::{Value, json};

/// The version of specification 001 that is kept (R-001-44).
pub const SPECIFICATION: &str = "1.0.0";

/// Names and values, in the order of the specification.
const IDENTITY: [(&str, &str); 4] = [
    ("name", "agent_executor"),
    ("version", SPECIFICATION),
    ("role", "Safe Action Implementer"),
    ("trust_level", "WRITE_CONTROLLED"),
];

/// `{"name": …, "version": …, "role": …, "trust_level": …}`
pub fn identity() -> Value {
    IDENTITY
        .iter()
        .map(|(name, value)| (*name, json!(value)))
        .collect()
}

/// One constant a line: `name: agent_executor`.
pub fn identity_lines() -> String {
    let lines = IDENTITY.map(|(name, value)| format!("{name}: {value}\n"));
    lines.concat()
}
