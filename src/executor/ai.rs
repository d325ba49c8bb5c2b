//! What a tool says of the model that it asked, whatever becomes of its result (R-004-14, R-004-15).

use crate::task::{Ai, AiPrompt, AiResponse};

use super::{document::Document, hidden::Hidden, spill::INLINE_MAX};

/// `aiPrompt` and `aiResponse` of a document, where they have the shape that specification 004 gives them.
pub(super) fn of(document: &Document, hidden: &Hidden) -> Ai {
    let text = |pointer: &str| {
        let found = document.pointer(pointer)?;
        found.as_str().map(|text| hidden.text(text))
    };
    let prompt = || {
        Some(AiPrompt {
            system: text("/aiPrompt/system")?,
            user: text("/aiPrompt/user")?,
        })
    };
    let response = || {
        Some(AiResponse {
            summary: text("/aiResponse/summary")?,
            raw: text("/aiResponse/raw")?,
        })
    };
    // What is too long for an answer is in the result, and that in a file.
    Ai {
        prompt: prompt().filter(|said| said.system.len() + said.user.len() <= INLINE_MAX),
        response: response().filter(|said| said.summary.len() + said.raw.len() <= INLINE_MAX),
    }
}
