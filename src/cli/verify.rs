//! `oneact verify`: checks that the ledger is unchanged, and prints the verdict as text or JSON.

use std::process::ExitCode;

use camino::Utf8PathBuf;
use clap::Args;
use serde_json::{Value, json};

use crate::{
    host::{Host, Interrupts},
    people::{self, Broken, HeadSays, Verdict},
};

use super::{
    ended::{Stop, json_line, printed},
    printing::{columns, grouped, words},
    settings::FormArgs,
    terminal::hanging,
};

// Beside what it is held.
#[derive(Debug, Args)]
pub(super) struct VerifyArgs {
    /// A file with anchors: lines of --anchor-out, envelopes, or both
    #[arg(long, value_name = "FILE")]
    anchor: Option<Utf8PathBuf>,
    /// Print anchors of all links, one line of JSON each, to be kept elsewhere (git, mail, a log)
    #[arg(long, conflicts_with = "json")]
    anchor_out: bool,
    /// An allowed-signers file (man ssh-keygen) or a public key. The head must be signed by one of these keys
    /// [default: the public half of `[ledger] sign_key`, if the catalog has one]
    #[arg(long, value_name = "FILE")]
    signers: Option<Utf8PathBuf>,
    #[command(flatten)]
    form: FormArgs,
}

pub(super) fn run(args: &VerifyArgs, interrupts: Interrupts) -> Result<ExitCode, Stop> {
    let host = Host::new(None, None, interrupts);
    examine(args, &host).map_err(Stop::refused)
}

fn examine(args: &VerifyArgs, host: &Host) -> Result<ExitCode, Stop> {
    let project = args.form.places.project()?;
    let (anchors, signers) = (args.anchor.as_deref(), args.signers.as_deref());
    let (mut ledger, verdict) = people::verify(anchors, signers, &project, host)?;
    let code = u8::from(verdict.broken.is_some());
    let told = || told(&verdict, host);
    if !args.anchor_out {
        return Ok(args.form.printed(&document(&verdict), told, code));
    }
    let mut anchors = String::new();
    if verdict.broken.is_some() {
        told().lines().for_each(|line| tracing::error!("{line}"));
    } else {
        for (note, unsigned) in ledger.anchors()? {
            if let Some(why) = unsigned {
                tracing::warn!("the anchor is not signed: {why}");
            }
            anchors += &json_line(&note);
        }
    }
    Ok(printed(anchors, code))
}

fn told(verdict: &Verdict, host: &Host) -> String {
    let mut lines = match &verdict.broken {
        Some(broken) => broken_lines(broken),
        None => whole_lines(verdict, host),
    };
    for (count, what) in [
        (
            verdict.unknown,
            "operations with an unknown outcome, which `oneact resolve` settles",
        ),
        (
            verdict.outside,
            "rows recorded before oneact, which no link seals",
        ),
    ] {
        lines.extend((count > 0).then(|| format!("{what}: {}", grouped(count))));
    }
    let columns = columns();
    let folded = lines.iter().map(|line| hanging(line, columns, 2) + "\n");
    folded.collect()
}

fn broken_lines(broken: &Broken) -> Vec<String> {
    // The text quotes ids of a ledger that somebody may have changed.
    let what = words::line(&broken.what.to_string());
    let first = match broken.link {
        Some(link) => format!("BROKEN at link {link}: {what}"),
        None => format!("BROKEN: {what}"),
    };
    let good = match broken.good {
        Some(1) => "link 1 is good".to_owned(),
        Some(good) => format!("links 1–{good} are good"),
        None => "no link is known to be good".to_owned(),
    };
    vec![first, good]
}

fn whole_lines(verdict: &Verdict, host: &Host) -> Vec<String> {
    if verdict.links == 0 {
        return vec!["nothing is recorded yet".to_owned()];
    }
    let pruned = match verdict.pruned {
        0 => String::new(),
        pruned => format!(", {} pruned", grouped(pruned)),
    };
    let mut lines = vec![format!(
        "{} links, chain unbroken, {} payloads match{pruned}",
        grouped(verdict.links),
        grouped(verdict.payloads)
    )];
    if let Some(seq) = verdict.anchored {
        lines.push(format!("anchored to {} (the anchor given)", grouped(seq)));
    }
    lines.push(match &verdict.head {
        HeadSays::Signed {
            seq,
            at,
            fingerprint,
        } => {
            let at = at.as_ref().and_then(|at| at.parse().ok());
            let at = at.map(|at| host.local(at).strftime("%Y-%m-%d %H:%M, ").to_string());
            let (seq, at) = (grouped(*seq), at.unwrap_or_default());
            let key = words::line(fingerprint);
            format!("anchored to {seq} (signed head, {at}ssh:{key})")
        }
        said => unsigned(said).to_owned(),
    });
    if verdict.alone > 0 {
        lines.push(format!(
            "links that no anchor confirms: {}; anyone who can write to the ledger can remove or rewrite them",
            grouped(verdict.alone)
        ));
    }
    lines
}

/// A head file that does not confirm the ledger.
const fn unsigned(head: &HeadSays) -> &'static str {
    match head {
        HeadSays::Unsigned { .. } => {
            "the head file agrees, but it is not signed: anyone who can write to the ledger can also write to it"
        }
        HeadSays::Unchecked { .. } => {
            "the head file agrees, but its signature was not checked: name a public key with --signers"
        }
        HeadSays::Nothing | HeadSays::Signed { .. } => "there is no head file",
        HeadSays::Unreadable => {
            "the head file cannot be read, so the newest link that it named is not known. Unless the file is empty, requests with effects are refused until it is removed"
        }
    }
}

fn document(verdict: &Verdict) -> Value {
    let broken = verdict.broken.as_ref().map(|broken| {
        json!({
            "link": broken.link, "what": broken.what.name(), "sentence": broken.what.to_string(),
            "good_to": broken.good,
        })
    });
    let last = verdict.last.as_ref();
    json!({
        "whole": verdict.broken.is_none(),
        "ledger": verdict.place,
        "links": verdict.links,
        "last": last.map(|head| json!({"seq": head.seq, "entry_hash": head.entry_hash})),
        "rows": verdict.rows,
        "payloads": verdict.payloads,
        "pruned": verdict.pruned,
        "outside": verdict.outside,
        "at_work": verdict.at_work,
        "unknown": verdict.unknown,
        "broken": broken,
        "anchored": {"to": verdict.vouched(), "by_anchor": verdict.anchored, "head": verdict.head},
        "not_anchored": verdict.alone,
    })
}
