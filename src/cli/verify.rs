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
    Stop, printed,
    printing::{columns, grouped, json::line, words},
    settings::PlaceArgs,
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
    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    places: PlaceArgs,
}

pub(super) fn run(args: &VerifyArgs, interrupts: Interrupts) -> Result<ExitCode, Stop> {
    let host = Host::new(None, None, interrupts);
    let (verdict, text) = examine(args, &host).map_err(Stop::refused)?;
    Ok(printed(text, u8::from(verdict.broken.is_some())))
}

fn examine(args: &VerifyArgs, host: &Host) -> Result<(Verdict, String), Stop> {
    let project = args.places.project()?;
    let (anchors, signers) = (args.anchor.as_deref(), args.signers.as_deref());
    let (mut ledger, verdict) = people::verify(anchors, signers, &project, host)?;
    let text = match (args.anchor_out, &verdict.broken) {
        (true, None) => {
            let mut anchors = String::new();
            for (note, unsigned) in ledger.anchors()? {
                if let Some(why) = unsigned {
                    tracing::warn!("the anchor is not signed: {why}");
                }
                anchors += &line(&note);
            }
            anchors
        }
        (true, Some(_)) => {
            let told = told(&verdict, host);
            told.lines().for_each(|line| tracing::error!("{line}"));
            String::new()
        }
        (false, _) if args.json => line(&document(&verdict)),
        (false, _) => told(&verdict, host),
    };
    Ok((verdict, text))
}

fn told(verdict: &Verdict, host: &Host) -> String {
    let mut lines = match &verdict.broken {
        Some(broken) => broken_lines(broken),
        None => whole_lines(verdict, host),
    };
    if verdict.unknown > 0 {
        lines.push(format!(
            "operations with an unknown outcome, which `oneact resolve` settles: {}",
            grouped(verdict.unknown)
        ));
    }
    if verdict.outside > 0 {
        lines.push(format!(
            "rows recorded before oneact, which no link seals: {}",
            grouped(verdict.outside)
        ));
    }
    let columns = columns();
    let folded: Vec<String> = lines.iter().map(|line| hanging(line, columns, 2)).collect();
    folded.join("\n") + "\n"
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
    match &verdict.head {
        HeadSays::Signed {
            seq,
            at,
            fingerprint,
        } => {
            let at = at.as_ref().and_then(|at| at.parse().ok());
            let at = at.map(|at| host.local(at).strftime("%Y-%m-%d %H:%M, ").to_string());
            let at = at.unwrap_or_default();
            let seq = grouped(*seq);
            lines.push(format!(
                "anchored to {seq} (signed head, {at}ssh:{})",
                words::line(fingerprint)
            ));
        }
        HeadSays::Unsigned { .. } => lines.push(
            "the head file agrees, but it is not signed: anyone who can write to the ledger can also write to it"
                .to_owned(),
        ),
        HeadSays::Unchecked { .. } => lines.push(
            "the head file agrees, but its signature was not checked: name a public key with --signers"
                .to_owned(),
        ),
        HeadSays::Nothing => lines.push("there is no head file".to_owned()),
        HeadSays::Unreadable => lines.push(
            "the head file cannot be read, so the newest link that it named is not known. Unless the file is empty, requests with effects are refused until it is removed"
                .to_owned(),
        ),
    }
    let alone = verdict.alone;
    if alone == verdict.links {
        lines.push(
            "no anchor confirms the ledger: anyone who can write to it could have removed its newest links or rewritten all of it"
                .to_owned(),
        );
    } else if alone == 1 {
        lines.push(
            "no anchor confirms one of the links yet: anyone who can write to the ledger could still remove it"
                .to_owned(),
        );
    } else if alone > 1 {
        lines.push(format!(
            "no anchor confirms {} of the links yet: anyone who can write to the ledger could still remove them",
            grouped(alone)
        ));
    }
    lines
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
        "anchored": {"to": verdict.vouched(), "by_anchor": verdict.anchored, "head": head(&verdict.head)},
        "not_anchored": verdict.alone,
    })
}

fn head(head: &HeadSays) -> Value {
    match head {
        HeadSays::Nothing => json!({"state": "missing"}),
        HeadSays::Unreadable => json!({"state": "unreadable"}),
        HeadSays::Unsigned { seq } => json!({"state": "unsigned", "seq": seq}),
        HeadSays::Unchecked { seq } => json!({"state": "not_checked", "seq": seq}),
        HeadSays::Signed {
            seq,
            at,
            fingerprint,
        } => json!({"state": "signed", "seq": seq, "at": at, "fingerprint": fingerprint}),
    }
}
