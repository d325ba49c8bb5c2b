//! `oneact approvals`, `approve` and `deny`: the requests that wait for people, and their decisions, also
//! of the user of the gateway's host. Nothing is performed, unless `approve --run` says so.

mod request;

use std::process::ExitCode;

use camino::{Utf8Path, Utf8PathBuf};
use clap::Args;
use serde_json::{Value, json};

use super::{
    ended::{Stop, json_line, printed, stop},
    printing::{LedgerView, SessionArgs},
    run::run,
    settings::{FormArgs, PlaceArgs, RunArgs, TaskArgs},
    streams::tell,
    terminal,
    watched::AnswerForm,
};
use crate::{
    gateway::Requests,
    host::{self, Interrupts, at_our_terminal, read_plain},
    people::{Gesture, RequestedCall, Voted},
    task::{Answer, Failure, IMPROVISED},
};

use request::{ValueLength, document, reminder, shown, with_diff};

/// The largest file of a signature, in bytes.
const MOST_SIGNATURE: u64 = 64 << 10;

#[derive(Debug, Args)]
pub(super) struct ApprovalsArgs {
    /// The id of a request (apr_…), or its first characters
    #[arg(value_name = "ID")]
    id: Option<String>,
    /// Print long values completely
    #[arg(long, requires = "id")]
    full: bool,
    /// Print the text that a signature of this decision must cover
    #[arg(long, requires = "id", value_name = "DECISION", num_args = 0..=1, require_equals = true,
          default_missing_value = "approve", value_parser = answer)]
    statement: Option<Answer>,
    /// List the requests that were decided, used or expired, too
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    of: SessionArgs,
}

#[derive(Debug, Args)]
pub(super) struct ApproveArgs {
    #[command(flatten)]
    vote: VoteArgs,
    /// Then perform the stored call, as `oneact run --approved ID` does, and print its envelope
    #[arg(long, conflicts_with = "json")]
    pub(super) run: bool,
}

#[derive(Debug, Args)]
pub(super) struct VoteArgs {
    /// The id of the request (apr_…), or its first characters
    #[arg(value_name = "ID")]
    id: String,
    /// The reason for the decision, in at most 500 characters
    #[arg(short, long, value_name = "WHY", value_parser = super::decide::note)]
    message: Option<String>,
    /// A signature of what `oneact approvals ID --statement` prints, made with
    /// `ssh-keygen -Y sign -n oneact-approval` [default: ask at the terminal]
    #[arg(long, value_name = "FILE")]
    signature: Option<Utf8PathBuf>,
    /// Sign the decision with this private key, or with the key in an agent whose `.pub` file this is: `ssh-keygen`
    /// asks for the passphrase, the PIN or the touch
    #[arg(long, value_name = "FILE", conflicts_with = "signature")]
    key: Option<Utf8PathBuf>,
    #[command(flatten)]
    form: FormArgs,
}

fn answer(text: &str) -> Result<Answer, String> {
    match text {
        "approve" | "approved" => Ok(Answer::Approved),
        "deny" | "denied" => Ok(Answer::Denied),
        _ => Err("write --statement, --statement=approve or --statement=deny".to_owned()),
    }
}

fn refused(failure: Failure) -> Stop {
    stop(2)(failure.message)
}

pub(super) fn list(args: &ApprovalsArgs, interrupts: Interrupts) -> Result<ExitCode, Stop> {
    let mut view = args.of.open(interrupts)?;
    let form = &args.of.read.form;
    let Some(id) = &args.id else {
        let mut requests = view.reading.requested(&view.project)?;
        let session = args.of.session.as_deref();
        requests.retain(|request| {
            let is_open = || matches!(request.state(&view.host), "waiting" | "approved");
            session.is_none_or(|session| request.case.session_id == session)
                && (args.all || is_open())
        });
        let documents = requests.iter();
        let documents: Vec<Value> = documents.map(|each| document(each, &view.host)).collect();
        let text = || {
            let short = |each| shown(each, &view, ValueLength::Short);
            match requests.as_slice() {
                [] => "Nothing waits for an approval.\n".to_owned(),
                all => all.iter().map(short).collect::<Vec<_>>().join("\n"),
            }
        };
        return Ok(form.printed(&json!({"approvals": documents}), text, 0));
    };
    let request = view.reading.requested_as(id, &view.project);
    let request = request.map_err(refused)?;
    if let Some(answer) = args.statement {
        return Ok(printed(request.case.statement(answer) + "\n", 0));
    }
    let text = || {
        let values = if args.full {
            ValueLength::Whole
        } else {
            ValueLength::Short
        };
        with_diff(&request, &view, values)
    };
    Ok(form.printed(&document(&request, &view.host), text, 0))
}

pub(super) fn approve(args: &ApproveArgs, interrupts: Interrupts) -> Result<ExitCode, Stop> {
    let vote = &args.vote;
    let Some((told, id)) = decided(vote, Answer::Approved, interrupts.clone())? else {
        return Ok(printed(NOTHING, 1));
    };
    if !args.run {
        return Ok(printed(told, 0));
    }
    // stdout belongs to the envelope. What could be done next is done now.
    tell(&format!("{}\n", told.lines().next().unwrap_or_default()));
    let task = TaskArgs {
        approved: Some(id),
        run: RunArgs {
            places: vote.form.places.clone(),
            ..RunArgs::default()
        },
        file: None,
    };
    Ok(run(&task, AnswerForm::of_call(None), interrupts))
}

pub(super) fn deny(args: &VoteArgs, interrupts: Interrupts) -> Result<ExitCode, Stop> {
    if args.message.is_none() {
        return Err(stop(2)("a denial needs a reason: add -m TEXT"));
    }
    let told = decided(args, Answer::Denied, interrupts)?;
    Ok(told.map_or_else(|| printed(NOTHING, 1), |(told, _)| printed(told, 0)))
}

const NOTHING: &str = "Nothing was recorded.\n";

/// Records the decision. Returns what is printed about it, and the id of the request; none if the person did not agree.
fn decided(
    args: &VoteArgs,
    answer: Answer,
    interrupts: Interrupts,
) -> Result<Option<(String, String)>, Stop> {
    let (view, request) = find(&args.id, &args.form.places, interrupts)?;
    let id = &request.case.id;
    let is_terminal = host::input_is_a_terminal();
    let signature = match (&args.signature, &args.key) {
        (Some(path), _) => Some(signature(path)?),
        // Without a terminal, the person has read the request before, as with --signature.
        (None, Some(_)) if is_terminal && !agreed(&request, answer, &view) => return Ok(None),
        (None, Some(key)) => Some(signed(key.as_str(), &request.case.statement(answer))?),
        (None, None) => None,
    };
    let gesture = match &signature {
        Some(text) => Gesture::Signed(text),
        None if answer == Answer::Approved && request.is_approved_by_us() => Gesture::Before,
        None if !is_terminal => {
            return Err(stop(2)(format!(
                "there is no terminal to ask at. Sign the decision: use --key KEY, or \
                 `oneact approvals {id} --statement > s`, `ssh-keygen -Y sign -n oneact-approval -f KEY s`, then \
                 --signature s.sig"
            )));
        }
        None if !agreed(&request, answer, &view) => return Ok(None),
        None => Gesture::Terminal,
    };
    let why = args.message.as_deref();
    let voted = request.decide((answer, gesture), why, &view.project, &view.host);
    let voted = voted.map_err(refused)?;
    let told = if args.form.json {
        json_line(&json!({
            "approval_id": voted.case.id, "decision": answer, "by": voted.person.to_string(), "why": why,
            "missing": voted.missing, "before": voted.before,
            "link": voted.link.seq, "entry_hash": voted.link.entry_hash,
        }))
    } else {
        told(&voted, answer, &request, &view)
    };
    Ok(Some((told, voted.case.request.id)))
}

/// What was recorded, and what follows from it.
fn told(voted: &Voted, answer: Answer, request: &RequestedCall, view: &LedgerView) -> String {
    let until = view.clock(&voted.case.asked.expires_at);
    let (word, next) = match (answer, voted.missing) {
        (Answer::Approved, 0) => {
            let stored = format!("; so does `oneact run --approved {}`", voted.case.id);
            let stored = if request.is_stored() { &stored } else { "" };
            let next = format!(
                "The next run of the same task performs it, once, before {until}{stored}.\n"
            );
            ("approved", next)
        }
        (Answer::Approved, missing) => {
            let next = format!(
                "It is not performed yet: {missing} more approvals are needed before {until}, each of another person.\n"
            );
            ("approved", next)
        }
        (Answer::Denied, _) => ("denied", String::new()),
    };
    let (person, link) = (&voted.person, voted.link.seq);
    match &voted.before {
        Some(at) => {
            let at = view.clock(at);
            format!("already approved by you ({person}) at {at}; nothing was added\n{next}")
        }
        None => format!("{word} by {person}, link {link}\n{next}"),
    }
}

/// The request whose id begins with this text.
fn find(
    id: &str,
    places: &PlaceArgs,
    interrupts: Interrupts,
) -> Result<(LedgerView, RequestedCall), Stop> {
    let mut view = LedgerView::open(places, None, interrupts).map_err(Stop::refused)?;
    let request = view.reading.requested_as(id, &view.project);
    Ok((view, request.map_err(refused)?))
}

fn signature(path: &Utf8Path) -> Result<String, Stop> {
    let bytes = read_plain(path, MOST_SIGNATURE)
        .map_err(|error| stop(2)(format!("{path} cannot be read: {error}")))?;
    String::from_utf8(bytes).map_err(|_| stop(2)(format!("{path} is not a signature")))
}

/// The signature of a statement with a key that only the person, an agent or a security key can use.
fn signed(key: &str, statement: &str) -> Result<String, Stop> {
    let sign = ["-q", "-Y", "sign", "-n", "oneact-approval", "-f", key];
    // Its stdin is the statement, so it would ask in a window, even if no program is there for that.
    let never = ("SSH_ASKPASS_REQUIRE", "never");
    let variable = host::input_is_a_terminal().then_some(never);
    let bytes = at_our_terminal("ssh-keygen", &sign, variable, statement.as_bytes());
    String::from_utf8(bytes.map_err(stop(2))?).map_err(|_| stop(2)("ssh-keygen wrote no signature"))
}

/// Asks at the terminal.
fn agreed(request: &RequestedCall, answer: Answer, view: &LedgerView) -> bool {
    let mut text = with_diff(request, view, ValueLength::Short);
    if answer == Answer::Denied {
        text.push_str("Deny? [y/N] ");
        return terminal::agreed(&text, view.host.interrupts());
    }
    text.extend(reminder(request).map(|reminder| reminder + "\n"));
    let what = if request.action == IMPROVISED {
        "It lets the agent make these calls."
    } else {
        "It is performed once."
    };
    let hash = &request.case.asked.intent_hash;
    let intent = hash.strip_prefix("sha256:").unwrap_or(hash);
    let intent = intent.get(..12).unwrap_or(intent);
    text.extend([what, " intent ", intent, "\n"]);
    let mut why = request.about.why.iter();
    if request.about.diff.is_none() && why.any(|why| why.contains("cannot be undone")) {
        text.push_str("This cannot be undone. ");
    }
    text.push_str("Approve? [y/N] ");
    terminal::agreed(&text, view.host.interrupts())
}

/// The requests of one project, for the gateway: it asks the user of its host where the catalog allows that.
#[derive(Debug)]
pub(crate) struct HostedRequests {
    pub(crate) root: Utf8PathBuf,
    pub(crate) catalog: Utf8PathBuf,
    pub(crate) interrupts: Interrupts,
}

impl HostedRequests {
    /// The request with this id for exactly this call.
    fn find(&self, id: &str, intent_hash: &str) -> Result<(LedgerView, RequestedCall), String> {
        let places = PlaceArgs {
            root: Some(self.root.clone()),
            catalog: Some(self.catalog.clone()),
        };
        let found = find(id, &places, self.interrupts.clone());
        let (view, request) = found.map_err(|stop| stop.why)?;
        if request.case.asked.intent_hash == intent_hash {
            Ok((view, request))
        } else {
            Err(format!("{id} is a request for another call"))
        }
    }
}

impl Requests for HostedRequests {
    fn shown(&self, id: &str, intent_hash: &str) -> Result<String, String> {
        let (view, request) = self.find(id, intent_hash)?;
        Ok(with_diff(&request, &view, ValueLength::Whole))
    }

    fn decide(
        &self,
        (id, intent_hash): (&str, &str),
        answer: Answer,
        host: &str,
    ) -> Result<(), String> {
        let (view, request) = self.find(id, intent_hash)?;
        let decision = (answer, Gesture::Told(host));
        let voted = request.decide(decision, None, &view.project, &view.host);
        voted.map(drop).map_err(|failure| failure.message)
    }
}
