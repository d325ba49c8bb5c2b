//! Findings that only the running servers show.

use serde::de::IgnoredAny;

use super::{Finding, Level};
use crate::catalog::{code::Code, document::Tables};

impl Finding {
    /// A finding about a table of the file, e.g. about `[server.NAME]`.
    pub(crate) fn about(
        tables: &Tables<'_>,
        table: Option<(&str, &str)>,
        (code, level): (Code, Level),
        text: &str,
    ) -> Self {
        let named = table.and_then(|(group, name)| {
            let found = tables.entry::<IgnoredAny>(group, name).ok()??;
            Some(found.0.place(found.0.at))
        });
        let name = table.map_or_else(String::new, |(_, name)| format!("{name}: "));
        Self {
            code,
            level,
            place: named,
            text: format!("{name}{text}"),
        }
    }
}
