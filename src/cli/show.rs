//! `oneact show`: prints everything about one answer.

use std::process::ExitCode;

use camino::Utf8PathBuf;
use clap::Args;

use super::{
    ended::{Stop, json_line, printed},
    printing::{LedgerView, SessionArgs, columns, facts, json, title},
    terminal::{hanging, padded},
};
use crate::{
    envelope::read_response,
    host::Interrupts,
    people::{OpenError, WholeAnswer, read_anchors},
};

#[derive(Debug, Args)]
pub(super) struct ShowArgs {
    /// The number of a step, or the beginning of an operation's or a row's id
    #[arg(value_name = "STEP|ID")]
    id: String,
    /// Print a receipt of the answer, which can be checked without the ledger, as a Statement of in-toto
    #[arg(long, conflicts_with = "json")]
    receipt: bool,
    /// A file with anchors; the receipt leads to the first one that vouches for the answer
    #[arg(long, value_name = "FILE", requires = "receipt")]
    anchor: Option<Utf8PathBuf>,
    #[command(flatten)]
    of: SessionArgs,
}

pub(super) fn run(args: &ShowArgs, interrupts: Interrupts) -> Result<ExitCode, Stop> {
    let mut view = args.of.open(interrupts)?;
    let row = view.find(&args.id)?;
    if args.receipt {
        let anchors = args.anchor.as_deref().map_or(Ok(Vec::new()), read_anchors);
        let anchors = anchors.map_err(OpenError::from)?;
        let receipt = view.reading.receipt(&row, &anchors)?;
        return Ok(printed(json_line(&receipt), 0));
    }
    let whole = view.reading.whole_of(row)?;
    let document = json::whole_step(&whole);
    let form = &args.of.read.form;
    Ok(form.printed(&document, || shown(&whole, &view), 0))
}

const LABEL: usize = 7;

fn shown(whole: &WholeAnswer, view: &LedgerView) -> String {
    let row = &whole.step.row;
    let answer = row.response.as_deref().and_then(read_response);
    let columns = columns();
    let mut text = hanging(&title(row, answer.as_ref()), columns, 2) + "\n";
    for (label, lines) in facts(whole, answer.as_ref(), view) {
        for (at, line) in lines.iter().enumerate() {
            let label = if at == 0 { label } else { "" };
            let line = hanging(line, columns, 2 + LABEL + 2);
            text.extend(["  ", &padded(label, LABEL), "  ", &line, "\n"]);
        }
    }
    text
}
