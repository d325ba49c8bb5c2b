//! `oneact replay`: prints a recorded session or answer; with `--execute`, performs a step again and compares the
//! results.

use std::process::ExitCode;

use camino::{Utf8Path, Utf8PathBuf};
use clap::Args;
use serde_json::{Value, json};

use crate::{
    host::{Interrupt, Interrupts},
    people::{Comparison, Effects, Ran, Repeated, Row, repeat},
    perform::{Reuse, Settings},
};

use super::{
    ended::{Stop, json_line, printed, stop},
    printing::{LedgerView, SessionArgs, columns, counted, json, page, page_file::written, words},
    run::unwatched,
    terminal::{fit, hanging},
};

#[derive(Debug, Args)]
pub(super) struct ReplayArgs {
    /// The answer to print, byte for byte: the number of a step, or a prefix of an id [default: the whole
    /// session, as one JSON document]
    #[arg(value_name = "STEP|ID")]
    id: Option<String>,
    /// Perform the step again in a new session, and compare. Only for steps that are read-only or idempotent
    #[arg(long, requires = "id")]
    pub(super) execute: bool,
    /// Write the session to FILE as one self-contained page; /dev/stdout prints it
    #[arg(long, value_name = "FILE", conflicts_with_all = ["id", "execute"])]
    html: Option<Utf8PathBuf>,
    #[command(flatten)]
    of: SessionArgs,
}

pub(super) fn run(args: &ReplayArgs, interrupts: Interrupts) -> Result<ExitCode, Stop> {
    let opened = args.of.open(interrupts);
    match (&args.id, &args.html) {
        // An error means that nothing ran.
        (Some(id), _) if args.execute => execute(id, args, opened).map_err(Stop::refused),
        (Some(id), _) => stored(id, args, &mut opened?),
        (None, Some(file)) => html(file, args, &mut opened?),
        (None, None) => {
            // The whole session (R-004-59).
            let (answers, whole) = opened?.whole()?;
            let document = json::document(&answers, &whole);
            Ok(printed(json_line(&document), 0))
        }
    }
}

/// Prints the stored answer and a newline.
fn stored(id: &str, args: &ReplayArgs, view: &mut LedgerView) -> Result<ExitCode, Stop> {
    let row = view.find(id)?;
    if args.of.read.form.json {
        let whole = view.reading.whole_of(row)?;
        return Ok(printed(json_line(&json::whole_step(&whole)), 0));
    }
    let step = row.step_index;
    if let Some(response) = row.response {
        return Ok(printed(response + "\n", 0));
    }
    let why = if words::pruned(&row) {
        format!("was pruned; its SHA-256 was {}", row.response_sha256)
    } else {
        "is not in the ledger".to_owned()
    };
    Err(stop(1)(format!("the answer of #{step} {why}")))
}

fn html(file: &Utf8Path, args: &ReplayArgs, view: &mut LedgerView) -> Result<ExitCode, Stop> {
    let (answers, whole) = view.whole()?;
    let page = page::page(&answers, &whole, view);
    let session = answers.session.map(|session| session.session_id);
    let session = session.unwrap_or_default();
    let facts = [
        ("session_id", json!(session)),
        ("steps", json!(whole.len())),
    ];
    let about = format!("{session}, {}", counted(whole.len() as u64, "step"));
    let project = (&view.project, view.host.interrupts());
    written((file, &page), project, &args.of.read.form, (facts, &about))
}

fn execute(
    id: &str,
    args: &ReplayArgs,
    opened: Result<LedgerView, Stop>,
) -> Result<ExitCode, Stop> {
    let mut view = opened?;
    let row = view.find(id)?;
    let whole = view.reading.whole_of(row)?;
    let row = &whole.step.row;
    let host = &view.host;
    let settings = Settings {
        reuse: Reuse::Off,
        ..Settings::of(view.project.clone())
    };
    let run = |task| {
        let (answer, operation) = unwatched(task, &settings, host);
        Ran {
            outcome: answer.into_outcome(),
            operation,
        }
    };
    let repeated = if whole.sealed || row.state.is_none() {
        repeat(row, &view.project, host, run)
    } else {
        let why = "no link of the ledger seals this step; see `oneact verify`";
        Repeated::Refused(why.to_owned())
    };
    host.interrupts().stand_down();
    let code = match &repeated {
        Repeated::Refused(_) => 2,
        Repeated::Cancelled(interrupt) => 128 + interrupt.number(),
        Repeated::Compared(found) => u8::from(!found.differs.is_empty()),
    };
    let text = || match &repeated {
        Repeated::Refused(why) => {
            let refused = format!("refused: {}", words::line(why));
            hanging(&refused, columns(), 2) + "\n"
        }
        Repeated::Cancelled(interrupt) => cancelled(*interrupt) + "\n",
        Repeated::Compared(found) => compared(row, found),
    };
    let form = &args.of.read.form;
    Ok(form.printed(&document(row, &repeated), text, code))
}

fn cancelled(interrupt: Interrupt) -> String {
    format!("cancelled by {}: nothing was compared", interrupt.name())
}

fn document(row: &Row, repeated: &Repeated) -> Value {
    let (step, operation) = (row.step_index, &row.operation_id);
    let ended = |verdict: &str, why: &str| json!({"step_index": step, "operation_id": operation, "verdict": verdict, "why": why});
    match repeated {
        Repeated::Refused(why) => ended("refused", why),
        Repeated::Cancelled(interrupt) => ended("cancelled", &cancelled(*interrupt)),
        Repeated::Compared(found) => json!({
            "step_index": step, "operation_id": operation,
            "verdict": if found.differs.is_empty() { "same" } else { "differs" },
            "session_id": found.session_id, "same": found.same, "differs": found.differs,
        }),
    }
}

/// The widest text for an equal part, in columns; the middle of a longer one is left out.
const SAME: usize = 60;
const VALUE: usize = 120;

fn compared(row: &Row, found: &Comparison) -> String {
    let acts = match found.effects {
        Effects::None => "is read-only",
        Effects::Idempotent | Effects::Once => "is idempotent",
    };
    let action = words::line(words::action(row));
    let columns = columns();
    let title = format!(
        "{action} {acts}; it was performed again in the session {}",
        found.session_id
    );
    let same: Vec<String> = found
        .same
        .iter()
        .map(|same| fit(&words::line(same), SAME))
        .collect();
    let same = match same.as_slice() {
        [] => "nothing".to_owned(),
        same => same.join("; "),
    };
    let mut lines = vec![
        hanging(&title, columns, 2),
        hanging(&format!("same: {same}"), columns, 2),
    ];
    if found.differs.is_empty() {
        lines.push("differs: nothing".to_owned());
    }
    for differing in &found.differs {
        let what = format!("differs: {}", words::line(&differing.what));
        lines.push(hanging(&what, columns, 2));
        for (when, value) in [("then", &differing.then), ("now ", &differing.now)] {
            let value = fit(&words::line(value), VALUE);
            lines.push(hanging(&format!("  {when}  {value}"), columns, 8));
        }
    }
    lines.join("\n") + "\n"
}
