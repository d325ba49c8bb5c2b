//! Answers that are not what the tool itself says that its answers are (R-000-84, R-000-102).

use crate::{
    catalog::Entry,
    mcp::OutputCheck,
    task::{Failure, Fault},
};

use super::{document::Document, spill::INLINE_MAX, tool::End};

/// More places that do not fit help nobody.
const MISFITS: usize = 5;

/// Fails what breaks the tool's own output schema, and keeps the answer for whoever has to find out
/// why. A schema that cannot be used is no fault of the answer.
pub(super) fn check(
    entry: &Entry,
    document: Option<&Document>,
    output: OutputCheck,
    end: &mut End,
) -> Result<(), Failure> {
    let tool = &entry.tool;
    let misfits = match output {
        OutputCheck::None | OutputCheck::Fits => return Ok(()),
        OutputCheck::Unusable(reason) => {
            end.notes.push(format!(
                "The output schema of {tool} cannot be used, so its answer was not checked against it: {reason}."
            ));
            return Ok(());
        }
        OutputCheck::Breaks(misfits) => misfits,
    };
    let kept = match document.map(|document| (document, document.to_string().len())) {
        None => String::new(),
        Some((Document::Read(value), ..=INLINE_MAX)) => {
            end.unfit_result = Some(value.clone());
            "; it is kept as `unfit_result`".to_owned()
        }
        Some((_, bytes)) => format!("; with {bytes} bytes it is too large to be kept here"),
    };
    let misfits: Vec<String> = misfits
        .iter()
        .take(MISFITS)
        .map(|misfit| match misfit.pointer.as_str() {
            "" => misfit.message.clone(),
            pointer => format!("{pointer}: {}", misfit.message),
        })
        .collect();
    let message = format!(
        "the result of {tool} breaks the output schema that the tool itself publishes: {}{kept}. Report it to the \
         server's author; `output_schema = \"ignore\"` in [capability.{}] takes such results",
        misfits.join("; "),
        entry.id
    );
    Err(Failure::new(Fault::ResultInvalid, message))
}
