//! The flags of a run, as they are typed; and those it shares with other verbs.

use std::time::Duration;

use camino::Utf8PathBuf;
use clap::{Args, ValueEnum};
use jiff::Zoned;

use crate::{perform::Reply, task::duration_or_seconds};

/// Where everything is.
#[derive(Debug, Default, Args)]
pub(super) struct PlaceArgs {
    /// Where relative paths start and outputs go [default: `$ONEACT_ROOT`, else the nearest
    /// directory upwards that holds catalog.toml, else the current one]
    #[arg(long, value_name = "DIR")]
    pub(super) root: Option<Utf8PathBuf>,
    /// The catalog [default: ROOT/catalog.toml]
    #[arg(long, value_name = "FILE")]
    pub(super) catalog: Option<Utf8PathBuf>,
}

/// What is behind `run`.
#[derive(Debug, Default, Args)]
pub(super) struct TaskArgs {
    /// The task [default: from stdin, as with `-`]
    #[arg(value_name = "FILE")]
    pub(super) file: Option<Utf8PathBuf>,
    #[command(flatten)]
    pub(super) run: RunArgs,
}

/// Flags of a run.
#[derive(Debug, Default, Args)]
pub(super) struct RunArgs {
    #[command(flatten)]
    pub(super) places: PlaceArgs,
    /// Resolve and check everything, print what would be done, start nothing
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Carry a file plan out only if it does exactly what `--dry-run` showed under this hash
    #[arg(long, value_name = "HASH", conflicts_with = "dry_run", value_parser = preview_hash)]
    pub(super) expect: Option<String>,
    /// What is printed
    #[arg(long, value_enum, default_value_t = ReplyForm::Adl, value_name = "FORM")]
    pub(super) reply: ReplyForm,
    /// Do it, also where the ledger has a good answer from before
    #[arg(long)]
    pub(super) no_reuse: bool,
    /// Who calls: a [profile.NAME] of the catalog
    #[arg(long, value_name = "NAME")]
    pub(super) profile: Option<String>,
    /// The longest the run may take: 90s, 500ms, 2m, or a number of seconds
    #[arg(long, value_name = "DURATION", value_parser = duration_or_seconds)]
    pub(super) timeout: Option<Duration>,
    /// Let the clock stand still at this moment (RFC 9557, e.g.
    /// 2026-02-24T10:00:00+08:00[Asia/Singapore]): durations are 0, output is reproducible
    #[arg(long, value_name = "RFC9557", value_parser = moment)]
    pub(super) clock: Option<Zoned>,
    /// Make all ids from this number: with --clock, every byte of output is reproducible
    #[arg(long, value_name = "N")]
    pub(super) seed: Option<u64>,
}

/// What is printed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum ReplyForm {
    /// The ADL envelope
    #[default]
    Adl,
    /// The execution report of a file plan alone
    Report,
    /// The `MCPResponse` alone, as the ledger stores it
    Mcp,
}

impl From<ReplyForm> for Reply {
    fn from(form: ReplyForm) -> Self {
        match form {
            ReplyForm::Adl => Self::Adl,
            ReplyForm::Report => Self::Report,
            ReplyForm::Mcp => Self::Mcp,
        }
    }
}

/// `sha256:` and 64 hexadecimal digits.
fn preview_hash(text: &str) -> Result<String, String> {
    let digits = text.strip_prefix("sha256:").unwrap_or_default();
    if digits.len() == 64 && digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok(text.to_ascii_lowercase());
    }
    Err("give the hash that `oneact --dry-run` printed, `sha256:` and 64 digits".to_owned())
}

pub(super) fn moment(text: &str) -> Result<Zoned, String> {
    let moment: Zoned = text.parse().map_err(|error| {
        format!("{error}; write e.g. 2026-02-24T10:00:00+08:00[Asia/Singapore]")
    })?;
    if (1..=9999).contains(&moment.year()) {
        return Ok(moment);
    }
    Err("give a year from 1 to 9999".to_owned())
}
