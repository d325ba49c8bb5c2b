//! The strict reader (`serde_json`), which decides whether a text is JSON.

use std::{borrow::Cow, ops::Range};

use serde::de::{DeserializeOwned, IgnoredAny};

use crate::edit::{EditError, Language};

/// Reads a text strictly. In place of its `loose` parts, which are comments and trailing commas, there are blanks.
pub(super) fn read<T: DeserializeOwned>(
    body: &str,
    loose: &[Range<usize>],
) -> Result<T, EditError> {
    let mut blanked = Cow::Borrowed(body.as_bytes());
    for part in loose {
        let part = blanked.to_mut().get_mut(part.clone());
        let bytes = part.unwrap_or_default().iter_mut();
        let kept = |byte: &u8| matches!(byte, b'\n' | b'\r');
        bytes.for_each(|byte| *byte = if kept(byte) { *byte } else { b' ' });
    }
    serde_json::from_slice(&blanked).map_err(|error| {
        let text = error.to_string();
        let (problem, _) = text.rsplit_once(" at line ").unwrap_or((&text, ""));
        let lines = body
            .split_inclusive('\n')
            .take(error.line().saturating_sub(1));
        let at = lines.map(str::len).sum::<usize>() + error.column().saturating_sub(1);
        EditError::invalid(Language::Json, problem, body, at)
    })
}

/// The error for a text with comments or trailing commas where strict JSON is required.
pub(super) fn not_strict(body: &str) -> EditError {
    const WHERE: &str = " (comments and trailing commas are allowed in .jsonc files and in files whose names are known \
                         for them, such as tsconfig.json)";
    let mut error = read::<IgnoredAny>(body, &[]).err();
    if let Some(EditError::Invalid { problem, .. }) = &mut error {
        problem.push_str(WHERE);
    }
    error.unwrap_or_else(|| EditError::invalid(Language::Json, "comments", body, None))
}
