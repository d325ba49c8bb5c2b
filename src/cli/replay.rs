//! `oneact replay`: a session, or one answer of it, as it was recorded; and on demand done again, to see
//! whether it comes out the same.

use std::{
    fs::{self, File},
    io,
    io::Write as _,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    process::ExitCode,
};

use camino::{Utf8Path, Utf8PathBuf};
use clap::Args;
use rustix::fs::fstat;
use serde_json::{Value, json};

use crate::{
    host::{self, Interrupt, Interrupts},
    perform::{Acts, Comparison, Most, Repeated, Row, repeat},
};

use super::{
    print,
    record::{Desk, LookArgs, LookFailure, columns, desk, failed, json, page, told, words},
    tame::{fit, hanging},
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
    /// Write the session as one web page that needs nothing else; /dev/stdout prints it
    #[arg(long, value_name = "FILE", conflicts_with_all = ["id", "execute"])]
    html: Option<Utf8PathBuf>,
    #[command(flatten)]
    look: LookArgs,
}

pub(super) const EXIT_CODES: &str = "\
Exit codes:
  0    printed; with --execute: it came out the same
  1    nothing to print; with --execute: it came out otherwise
  2    with --execute: refused, or there is no such step; nothing ran
  128 + n   with --execute: cancelled by signal n; nothing was compared";

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
    if is_stdout(&path) {
        // What is printed besides would stand in the page.
        return Ok(text);
    }
    write(&path, text.as_bytes())
        .map_err(|error| LookFailure::Said(format!("cannot write {path}: {error}")))?;
    Ok(if args.look.json {
        json::line(&json!({"file": path.as_str(), "session_id": session, "steps": whole.len()}))
    } else {
        format!(
            "Wrote {path}: {}, {} steps.\n",
            words::line(&session),
            whole.len()
        )
    })
}

/// Whether a path names what stdout is, e.g. `/dev/stdout`.
fn is_stdout(path: &Utf8Path) -> bool {
    let (Ok(there), Ok(stdout)) = (fs::metadata(path), fstat(io::stdout())) else {
        return false;
    };
    (there.dev(), there.ino()) == (stdout.st_dev, stdout.st_ino)
}

/// Whole or not at all, where a link leads as well; into what is no file, e.g. a pipe, as it is.
fn write(path: &Utf8Path, bytes: &[u8]) -> io::Result<()> {
    let there = fs::metadata(path).map(|there| there.is_file());
    if there.is_ok_and(|is_file| !is_file) {
        return File::options().write(true).open(path)?.write_all(bytes);
    }
    let path = led_to(path)?;
    let dir = path.parent().unwrap_or(Utf8Path::new("."));
    let mode = fs::Permissions::from_mode(0o666);
    let mut file = tempfile::Builder::new()
        .permissions(mode)
        .tempfile_in(dir)?;
    file.write_all(bytes)?;
    file.persist(&path)?;
    Ok(())
}

/// Where a link leads, also if there is nothing yet.
fn led_to(path: &Utf8Path) -> io::Result<Utf8PathBuf> {
    // As many as the kernel follows.
    const LINKS: usize = 40;
    let mut path = path.to_owned();
    for _ in 0..LINKS {
        match path.read_link_utf8() {
            Ok(target) => path = path.parent().unwrap_or(Utf8Path::new("/")).join(target),
            // It is none, or not there.
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::other("too many links"))
}

fn execute(id: &str, args: &ReplayArgs, interrupts: Interrupts) -> ExitCode {
    let found = desk(&args.look, interrupts).and_then(|mut desk| {
        let row = desk.reading.find(id, args.look.session.as_deref())?;
        Ok((desk, row))
    });
    let (desk, row) = match found {
        Ok(found) => found,
        // Nothing ran, whatever the reason.
        Err(failure) => {
            failed(&failure);
            return ExitCode::from(2);
        }
    };
    let repeated = repeat(&row, &desk.settings, &desk.host);
    desk.host.interrupts().stand_down();
    let code = match &repeated {
        Repeated::Refused(_) => 2,
        Repeated::Cancelled(interrupt) => 128 + interrupt.number(),
        Repeated::Compared(found) => u8::from(!found.differs.is_empty()),
    };
    let text = if args.look.json {
        json::line(&document(&row, &repeated))
    } else {
        outcome(&row, &repeated)
    };
    match print(text.as_bytes()) {
        Ok(()) => ExitCode::from(code),
        Err(_) => ExitCode::FAILURE,
    }
}

/// For people.
fn outcome(row: &Row, repeated: &Repeated) -> String {
    match repeated {
        Repeated::Refused(why) => {
            let refused = format!("refused: {}", words::line(why));
            hanging(&refused, columns(), 2) + "\n"
        }
        Repeated::Cancelled(interrupt) => format!("{}\n", cancelled(*interrupt)),
        Repeated::Compared(found) => compared(row, found),
    }
}

fn cancelled(interrupt: Interrupt) -> String {
    format!("cancelled by {}: nothing was compared", interrupt.name())
}

/// For programs.
fn document(row: &Row, repeated: &Repeated) -> Value {
    let mut document = json!({
        "step_index": row.step_index, "operation_id": row.operation_id,
    });
    let more = match repeated {
        Repeated::Refused(why) => json!({"verdict": "refused", "why": why}),
        Repeated::Cancelled(interrupt) => {
            json!({"verdict": "cancelled", "why": cancelled(*interrupt)})
        }
        Repeated::Compared(found) => {
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
            json!({
                "verdict": verdict, "session_id": found.session_id, "same": found.same, "differs": differs,
            })
        }
    };
    if let (Value::Object(document), Value::Object(more)) = (&mut document, more) {
        document.extend(more);
    }
    document
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
    let columns = columns();
    let title = format!(
        "{action} {acts}; done again in the session {}",
        found.session_id
    );
    let mut lines = vec![hanging(&title, columns, 2)];
    let same: Vec<String> = found
        .same
        .iter()
        .map(|same| fit(&words::line(same), SAME))
        .collect();
    lines.push(match same.as_slice() {
        [] => "same: nothing".to_owned(),
        same => hanging(&format!("same: {}", same.join("; ")), columns, 2),
    });
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
