//! `oneact replay`: a session, or one answer of it, as it was recorded; and on demand done again, to see
//! whether it comes out the same.

use std::{fs, io, io::Write as _, os::unix::fs::PermissionsExt as _, process::ExitCode};

use camino::{Utf8Path, Utf8PathBuf};
use clap::Args;
use serde_json::json;

use crate::{
    host::{self, Interrupts},
    perform::{Acts, Comparison, Most, Repeated, Row, repeat},
};

use super::{
    print,
    record::{Desk, LookArgs, LookFailure, desk, failed, json, page, told, words},
    tame::fit,
};

/// What is replayed.
#[derive(Debug, Args)]
pub(super) struct ReplayArgs {
    /// Print that stored answer, byte for byte: the number of a step, or the beginning of an id
    /// [default: the whole session, as one JSON document]
    #[arg(value_name = "STEP|ID")]
    id: Option<String>,
    /// Do the step again in a session of its own, and compare; never what happens in the world
    #[arg(long, requires = "id")]
    execute: bool,
    /// Write the session as one web page that needs nothing else
    #[arg(long, value_name = "FILE", conflicts_with_all = ["id", "execute"])]
    html: Option<Utf8PathBuf>,
    #[command(flatten)]
    look: LookArgs,
}

pub(super) const EXIT_CODES: &str = "\
Exit codes:
  0    printed; with --execute: it came out the same
  1    nothing to print; with --execute: it came out otherwise
  2    refused: nothing ran";

impl ReplayArgs {
    /// Whether a tool may be called, which a signal should cancel.
    pub(super) fn executes(&self) -> bool {
        self.execute
    }
}

/// Tells.
pub(super) fn run(args: &ReplayArgs, interrupts: Interrupts) -> ExitCode {
    match (&args.id, &args.html) {
        (Some(id), _) if args.execute => execute(id, args, interrupts),
        (Some(id), _) => told(&args.look, interrupts, |desk| stored(id, args, desk)),
        (None, Some(file)) => told(&args.look, interrupts, |desk| html(file, args, desk)),
        (None, None) => told(&args.look, interrupts, |desk| session(args, desk)),
    }
}

/// The stored answer and a newline.
fn stored(id: &str, args: &ReplayArgs, desk: &mut Desk) -> Result<String, LookFailure> {
    let row = desk.reading.find(id, args.look.session.as_deref())?;
    if args.look.json {
        let whole = desk.reading.whole_of(row)?;
        return Ok(json::line(&json::whole_step(&whole)));
    }
    if let Some(response) = row.response {
        return Ok(response + "\n");
    }
    let why = if words::pruned(&row) {
        format!("was pruned; its SHA-256 was {}", row.response_sha256)
    } else {
        "is not in the record".to_owned()
    };
    let step = row.step_index;
    Err(LookFailure::Said(format!("the answer of #{step} {why}")))
}

/// The whole session (R-004-59).
fn session(args: &ReplayArgs, desk: &mut Desk) -> Result<String, LookFailure> {
    let session = desk.reading.session(args.look.session.as_deref())?;
    let page = desk.reading.page(&session, Most::All, &|_| true)?;
    let whole = desk.reading.whole(&session, page.steps.clone())?;
    Ok(json::line(&json::document(&page, &whole)))
}

fn html(file: &Utf8Path, args: &ReplayArgs, desk: &mut Desk) -> Result<String, LookFailure> {
    let session = desk.reading.session(args.look.session.as_deref())?;
    let page = desk.reading.page(&session, Most::All, &|_| true)?;
    let whole = desk.reading.whole(&session, page.steps.clone())?;
    let text = page::page(&page, &whole, desk);
    let here = host::working_directory().map_err(LookFailure::Usage)?;
    let path = here.join(file);
    write(&path, text.as_bytes())
        .map_err(|error| LookFailure::Said(format!("cannot write {path}: {error}")))?;
    Ok(if args.look.json {
        json!({"file": path.as_str(), "session_id": session, "steps": whole.len()}).to_string()
            + "\n"
    } else {
        format!(
            "Wrote {path}: {}, {} steps.\n",
            words::line(&session),
            whole.len()
        )
    })
}

/// Whole or not at all.
fn write(path: &Utf8Path, bytes: &[u8]) -> io::Result<()> {
    let dir = path.parent().unwrap_or(Utf8Path::new("."));
    let mode = fs::Permissions::from_mode(0o666);
    let mut file = tempfile::Builder::new()
        .permissions(mode)
        .tempfile_in(dir)?;
    file.write_all(bytes)?;
    file.persist(path)?;
    Ok(())
}

fn execute(id: &str, args: &ReplayArgs, interrupts: Interrupts) -> ExitCode {
    let found = desk(&args.look, interrupts).and_then(|mut desk| {
        let row = desk.reading.find(id, args.look.session.as_deref())?;
        Ok((desk, row))
    });
    let (desk, row) = match found {
        Ok(found) => found,
        Err(failure) => return failed(&failure),
    };
    let repeated = repeat(&row, &desk.settings, &desk.host);
    desk.host.interrupts().stand_down();
    let (text, code) = match &repeated {
        Repeated::Refused(_) => (refused_or_compared(&row, &repeated, args), 2),
        Repeated::Compared(found) => {
            let code = u8::from(!found.differs.is_empty());
            (refused_or_compared(&row, &repeated, args), code)
        }
    };
    match print(text.as_bytes()) {
        Ok(()) => ExitCode::from(code),
        Err(_) => ExitCode::FAILURE,
    }
}

fn refused_or_compared(row: &Row, repeated: &Repeated, args: &ReplayArgs) -> String {
    match (repeated, args.look.json) {
        (Repeated::Refused(why), false) => format!("refused: {}\n", words::line(why)),
        (Repeated::Compared(found), false) => compared(row, found),
        (Repeated::Refused(why), true) => {
            let document = json!({
                "step_index": row.step_index, "operation_id": row.operation_id, "verdict": "refused", "why": why,
            });
            document.to_string() + "\n"
        }
        (Repeated::Compared(found), true) => {
            let differs: Vec<_> = found
                .differs
                .iter()
                .map(|differing| json!({"what": differing.what, "then": differing.then, "now": differing.now}))
                .collect();
            let verdict = if differs.is_empty() {
                "same"
            } else {
                "differs"
            };
            let document = json!({
                "step_index": row.step_index, "operation_id": row.operation_id, "verdict": verdict,
                "session_id": found.session_id, "same": found.same, "differs": differs,
            });
            document.to_string() + "\n"
        }
    }
}

/// The longest that something equal is before its middle is left out, in columns.
const SAME: usize = 60;
/// The longest that a value is before its middle is left out, in columns.
const VALUE: usize = 120;

fn compared(row: &Row, found: &Comparison) -> String {
    let acts = match found.acts {
        Acts::ReadOnly => "changes nothing",
        Acts::Idempotent | Acts::Once => "is idempotent",
    };
    let action = words::line(row.action_type.as_deref().unwrap_or("the step"));
    let mut lines = vec![format!(
        "{action} {acts}; done again in the session {}",
        found.session_id
    )];
    let same: Vec<String> = found
        .same
        .iter()
        .map(|same| fit(&words::line(same), SAME))
        .collect();
    lines.push(match same.as_slice() {
        [] => "same: nothing".to_owned(),
        same => format!("same: {}", same.join("; ")),
    });
    if found.differs.is_empty() {
        lines.push("differs: nothing".to_owned());
    }
    for differing in &found.differs {
        lines.push(format!("differs: {}", words::line(&differing.what)));
        for (when, value) in [("then", &differing.then), ("now ", &differing.now)] {
            lines.push(format!("  {when}  {}", fit(&words::line(value), VALUE)));
        }
    }
    lines.join("\n") + "\n"
}
