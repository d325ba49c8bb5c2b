//! `oneact approvals`, `approve` and `deny`: the requests that wait for people, and their decisions, also
//! of the user of the gateway's host. Nothing is performed, unless `approve --run` says so.

mod request;

use std::{
    io::{self, IsTerminal, Write as _},
    process::ExitCode,
};

use camino::{Utf8Path, Utf8PathBuf};
use clap::Args;
use serde_json::{Value, json};

use crate::{
    gateway::Requests,
    host::{Interrupts, at_our_terminal, read_plain},
    people::{Approval, Gesture, Row, Voted, Wish, allowed_signers, approvers},
    task::{Answer, IMPROVISED},
};

use super::{
    Stop, printed,
    printing::{Desk, ReadArgs, columns, json::line},
    run,
    settings::PlaceArgs,
    stop,
    streams::Stderr,
    terminal::{self, readable},
};

use request::{Request, Values, shown};

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
    read: ReadArgs,
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
    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    places: PlaceArgs,
}

fn answer(text: &str) -> Result<Answer, String> {
    match text {
        "approve" | "approved" => Ok(Answer::Approved),
        "deny" | "denied" => Ok(Answer::Denied),
        _ => Err("write --statement, --statement=approve or --statement=deny".to_owned()),
    }
}

pub(super) fn list(args: &ApprovalsArgs, interrupts: Interrupts) -> Result<ExitCode, Stop> {
    let mut desk = Desk::open(&args.read, interrupts)?;
    let Some(id) = &args.id else {
        return listed(args, &mut desk);
    };
    let (case, row) = desk.reading.approval(id).map_err(stop(2))?;
    if let Some(answer) = args.statement {
        return Ok(printed(case.statement(answer) + "\n", 0));
    }
    let request = request_of(case, row.as_ref(), &desk)?;
    let text = if args.read.json {
        line(&request.document(&desk.host))
    } else {
        let mut text = shown(
            &request,
            &desk,
            if args.full {
                Values::Whole
            } else {
                Values::Short
            },
        );
        text.extend(
            request
                .diff
                .iter()
                .map(|diff| format!("\n{}", readable(diff, columns()))),
        );
        text
    };
    Ok(printed(text, 0))
}

fn request_of(case: Approval, row: Option<&Row>, desk: &Desk) -> Result<Request, Stop> {
    let id = case.id.clone();
    Request::of(case, row, &allowed_signers(&desk.project)).ok_or_else(|| {
        stop(2)(format!(
            "the row of {id} was changed, so its parameters cannot be believed; see `oneact verify`"
        ))
    })
}

fn listed(args: &ApprovalsArgs, desk: &mut Desk) -> Result<ExitCode, Stop> {
    let cases = desk.reading.approvals()?;
    let session = args.read.session.as_deref();
    let signers = allowed_signers(&desk.project);
    let requests = cases
        .into_iter()
        .filter_map(|(case, row)| Request::of(case, row.as_ref(), &signers));
    let requests =
        requests.filter(|request| session.is_none_or(|session| request.case.session_id == session));
    let open = |request: &Request| matches!(request.state(&desk.host), "waiting" | "approved");
    let requests: Vec<Request> = requests
        .filter(|request| args.all || open(request))
        .collect();
    if args.read.json {
        let documents: Vec<Value> = requests
            .iter()
            .map(|request| request.document(&desk.host))
            .collect();
        return Ok(printed(line(&json!({"approvals": documents})), 0));
    }
    if requests.is_empty() {
        return Ok(printed("Nothing waits for an approval.\n", 0));
    }
    let texts = requests
        .iter()
        .map(|request| shown(request, desk, Values::Short));
    Ok(printed(texts.collect::<Vec<_>>().join("\n"), 0))
}

pub(super) fn approve(args: &ApproveArgs, interrupts: Interrupts) -> Result<ExitCode, Stop> {
    let said = vote(&args.vote, Answer::Approved, interrupts.clone())?;
    match said {
        Said::Decided(text, id) if args.run => {
            // stdout belongs to the envelope. What could be done next is done now.
            let text = text.lines().next().unwrap_or_default();
            Stderr.write_all(format!("{text}\n").as_bytes())?;
            Ok(run::approved(&id, args.vote.places.clone(), interrupts))
        }
        said => Ok(said.printed()),
    }
}

pub(super) fn deny(args: &VoteArgs, interrupts: Interrupts) -> Result<ExitCode, Stop> {
    if args.message.is_none() {
        return Err(stop(2)("a denial needs a reason: add -m TEXT"));
    }
    vote(args, Answer::Denied, interrupts).map(Said::printed)
}

/// Records the decision, and returns what is printed about it.
fn vote(args: &VoteArgs, answer: Answer, interrupts: Interrupts) -> Result<Said, Stop> {
    let (desk, request) = find(&args.id, args.places.clone(), interrupts)?;
    let id = &request.case.id;
    let signature = match (&args.signature, &args.key) {
        (Some(path), _) => Some(signature(path)?),
        // Without a terminal, the person has read the request before, as with --signature.
        (None, Some(_)) if io::stdin().is_terminal() && !agreed(&request, answer, &desk) => {
            return Ok(Said::Nothing);
        }
        (None, Some(key)) => Some(signed(key.as_str(), &request.case.statement(answer))?),
        (None, None) => None,
    };
    let gesture = match &signature {
        Some(text) => Gesture::Signed(text),
        None if answer == Answer::Approved && request.is_approved_by_us() => Gesture::Before,
        None if !io::stdin().is_terminal() => {
            return Err(stop(2)(format!(
                "there is no terminal to ask at. Sign the decision: use --key KEY, or \
                 `oneact approvals {id} --statement > s`, `ssh-keygen -Y sign -n oneact-approval -f KEY s`, then \
                 --signature s.sig"
            )));
        }
        None if !agreed(&request, answer, &desk) => {
            return Ok(Said::Nothing);
        }
        None => Gesture::Terminal,
    };
    let why = args.message.as_deref();
    let voted = record(&desk, &request, answer, gesture, why)?;
    let word = match answer {
        Answer::Approved => "approved",
        Answer::Denied => "denied",
    };
    if args.json {
        let document = json!({
            "approval_id": voted.case.id, "decision": answer, "by": voted.person.to_string(), "why": why,
            "missing": voted.missing, "before": voted.before,
            "link": voted.link.seq, "entry_hash": voted.link.entry_hash,
        });
        return Ok(Said::Decided(line(&document), voted.case.request.id));
    }
    let until = desk.clock(&voted.case.asked.expires_at);
    let next = match (answer, voted.missing) {
        (Answer::Approved, 0) => {
            let once = format!("The next run of the same task performs it, once, before {until}");
            if request.is_stored {
                format!(
                    "{once}; so does `oneact run --approved {}`.\n",
                    voted.case.id
                )
            } else {
                once + ".\n"
            }
        }
        (Answer::Approved, missing) => format!(
            "It is not performed yet: {missing} more approvals are needed before {until}, each of another person.\n"
        ),
        (Answer::Denied, _) => String::new(),
    };
    let text = match &voted.before {
        Some(at) => format!(
            "already approved by you ({}) at {}; nothing was added\n{next}",
            voted.person,
            desk.clock(at)
        ),
        None => format!(
            "{word} by {}, link {}\n{next}",
            voted.person, voted.link.seq
        ),
    };
    Ok(Said::Decided(text, voted.case.request.id))
}

/// What is printed about a decision.
enum Said {
    /// The person did not agree.
    Nothing,
    /// With the id of the request.
    Decided(String, String),
}

impl Said {
    fn printed(self) -> ExitCode {
        match self {
            Self::Nothing => printed("Nothing was recorded.\n", 1),
            Self::Decided(text, _) => printed(text, 0),
        }
    }
}

/// The request whose id begins with this text.
fn find(id: &str, places: PlaceArgs, interrupts: Interrupts) -> Result<(Desk, Request), Stop> {
    let read = ReadArgs {
        session: None,
        json: false,
        utc: false,
        places,
    };
    let mut desk = Desk::open(&read, interrupts).map_err(Stop::refused)?;
    let (case, row) = desk.reading.approval(id).map_err(stop(2))?;
    let request = request_of(case, row.as_ref(), &desk)?;
    Ok((desk, request))
}

/// Records a decision about the request as it was shown.
fn record(
    desk: &Desk,
    request: &Request,
    answer: Answer,
    gesture: Gesture<'_>,
    why: Option<&str>,
) -> Result<Voted, Stop> {
    let who =
        approvers(&desk.project, &request.entries).map_err(|failure| stop(2)(failure.message))?;
    let (mut ledger, _) = desk
        .project
        .open(Wish::Decide, &desk.host)
        .map_err(stop(2))?;
    ledger
        .vote(&request.case, answer, gesture, who, why)
        .map_err(stop(2))
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
    let variable = io::stdin().is_terminal().then_some(never);
    let bytes = at_our_terminal("ssh-keygen", &sign, variable, statement.as_bytes());
    String::from_utf8(bytes.map_err(stop(2))?).map_err(|_| stop(2)("ssh-keygen wrote no signature"))
}

/// Asks at the terminal.
fn agreed(request: &Request, answer: Answer, desk: &Desk) -> bool {
    let mut text = shown(request, desk, Values::Short);
    if let Some(diff) = &request.diff {
        text.push_str(&readable(diff, columns()));
    }
    let intent: String = request
        .case
        .asked
        .intent_hash
        .chars()
        .skip("sha256:".len())
        .take(12)
        .collect();
    let question = match answer {
        Answer::Approved => {
            text.extend(request.reminder().map(|reminder| reminder + "\n"));
            let what = if request.action == IMPROVISED {
                "It lets the agent make these calls. intent "
            } else {
                "It is performed once. intent "
            };
            text.extend([what, &intent, "\n"]);
            if request.diff.is_none()
                && request
                    .why
                    .iter()
                    .any(|why| why.contains("cannot be undone"))
            {
                text.push_str("This cannot be undone. ");
            }
            "Approve? [y/N] "
        }
        Answer::Denied => "Deny? [y/N] ",
    };
    terminal::agreed(&(text + question), desk.host.interrupts())
}

/// The requests of one project, for the gateway: it asks the user of its host where the catalog allows that.
#[derive(Debug)]
pub(in crate::cli) struct Hosted {
    pub(in crate::cli) root: Utf8PathBuf,
    pub(in crate::cli) catalog: Utf8PathBuf,
    pub(in crate::cli) interrupts: Interrupts,
}

impl Hosted {
    /// The request with this id for exactly this call.
    fn find(&self, id: &str, intent_hash: &str) -> Result<(Desk, Request), Stop> {
        let places = PlaceArgs {
            root: Some(self.root.clone()),
            catalog: Some(self.catalog.clone()),
        };
        let (desk, request) = find(id, places, self.interrupts.clone())?;
        if request.case.asked.intent_hash == intent_hash {
            Ok((desk, request))
        } else {
            Err(stop(2)(format!("{id} is a request for another call")))
        }
    }
}

impl Requests for Hosted {
    fn shown(&self, id: &str, intent_hash: &str) -> Result<String, String> {
        let (desk, request) = self.find(id, intent_hash).map_err(|stop| stop.why)?;
        let mut text = shown(&request, &desk, Values::Whole);
        let diff = request.diff.as_deref();
        text.extend(diff.map(|diff| readable(diff, columns())));
        Ok(text)
    }

    fn decide(
        &self,
        (id, intent_hash): (&str, &str),
        answer: Answer,
        host: &str,
    ) -> Result<(), String> {
        let found = self.find(id, intent_hash);
        let voted = found
            .and_then(|(desk, request)| record(&desk, &request, answer, Gesture::Told(host), None));
        voted.map(drop).map_err(|stop| stop.why)
    }
}
