//! The flags of a run, the flags that other verbs share with it, and the places that flags and environment name.

use std::{process::ExitCode, str::FromStr, time::Duration};

use camino::{Utf8Path, Utf8PathBuf};
use clap::Args;
use jiff::Zoned;
use serde::Serialize;

use crate::{
    host,
    perform::{Mode, Project, Reply, Reuse, Settings, Through},
    task::{NamedSession, SessionFrom, Trace, duration_or_seconds},
};

use super::{
    ended::{Stop, json_line, printed, stop},
    owner,
    signs::ProgressChannel,
};

// Where everything is.
#[derive(Debug, Clone, Default, PartialEq, Args)]
pub(super) struct PlaceArgs {
    /// The directory for relative paths and outputs [default: `$ONEACT_ROOT`, or the nearest directory upwards
    /// that contains catalog.toml, or the working directory]
    #[arg(long, value_name = "DIR")]
    pub(super) root: Option<Utf8PathBuf>,
    /// The catalog [default: ROOT/catalog.toml]
    #[arg(long, value_name = "FILE")]
    pub(super) catalog: Option<Utf8PathBuf>,
}

// How a command that performs nothing prints its result.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct FormArgs {
    /// Print one JSON document instead of text
    #[arg(long)]
    pub(super) json: bool,
    #[command(flatten)]
    pub(super) places: PlaceArgs,
}

impl FormArgs {
    /// Prints the document if `--json` was given, otherwise the text.
    pub(super) fn printed(
        &self,
        document: &impl Serialize,
        text: impl FnOnce() -> String,
        code: u8,
    ) -> ExitCode {
        let text = if self.json {
            json_line(document)
        } else {
            text()
        };
        printed(text, code)
    }
}

#[derive(Debug, Default, Args)]
pub(super) struct TaskArgs {
    /// The file with the task [default: stdin, as with `-`]
    #[arg(value_name = "FILE")]
    pub(super) file: Option<Utf8PathBuf>,
    /// Perform the stored call of this approved request (apr_…, or its first characters) instead of a task
    #[arg(long, value_name = "APR_ID", conflicts_with_all = ["file", "dry_run", "expect", "clock"])]
    pub(super) approved: Option<String>,
    #[command(flatten)]
    pub(super) run: RunArgs,
}

// Flags of a run.
#[derive(Debug, Default, Args)]
pub(super) struct RunArgs {
    #[command(flatten)]
    pub(super) places: PlaceArgs,
    /// Resolve and check everything, print what a run would do, and start nothing
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Apply a file plan only if it makes exactly the change that `--dry-run` showed with this hash
    #[arg(long, value_name = "HASH", conflicts_with = "dry_run", value_parser = preview_hash)]
    pub(super) expect: Option<String>,
    /// The form of the answer [default: adl]
    #[arg(long, value_enum, value_name = "FORM")]
    pub(super) reply: Option<Reply>,
    /// Perform the request even if the ledger has an answer that could be reused. A call with effects is not repeated all
    /// the same, unless its task has another `salt`
    #[arg(long)]
    pub(super) no_reuse: bool,
    /// The calling context: a [profile.NAME] of the catalog
    #[arg(long, value_name = "NAME")]
    pub(super) profile: Option<String>,
    /// The longest duration of the run: 90s, 500ms, 2m, or a number of seconds
    #[arg(long, value_name = "DURATION", value_parser = duration_or_seconds)]
    pub(super) timeout: Option<Duration>,
    /// Report signs of life every 5 seconds, and the progress of tools, as one JSON object per line: `jsonl` on stderr,
    /// `jsonl:FD` on an open descriptor, 3 or higher
    #[arg(long, value_name = "FORM")]
    pub(super) progress: Option<ProgressChannel>,
    /// If the task needs an approval, wait in this run for at most this long: 10m, 90s
    #[arg(long, value_name = "DURATION", value_parser = duration_or_seconds)]
    pub(super) wait: Option<Duration>,
    /// Report this time (RFC 9557, e.g. 2026-02-24T10:00:00+08:00[Asia/Singapore]) and durations of 0, for
    /// reproducible output. Timeouts use the real clock
    #[arg(long, value_name = "RFC9557", value_parser = moment)]
    pub(super) clock: Option<Zoned>,
    /// Derive all ids from this number; with --clock, every byte of the output is reproducible
    #[arg(long, value_name = "N", value_parser = number::<u64>)]
    pub(super) seed: Option<u64>,
    /// Of a process of `oneact serve catalog`: the session of its calls, if the client names none
    #[arg(long, value_name = "ID", hide = true)]
    pub(super) served: Option<String>,
    /// Of a process of `oneact serve catalog --session`: the session of which the approved request must be
    #[arg(long, value_name = "ID", hide = true)]
    pub(super) within: Option<String>,
}

impl RunArgs {
    /// The settings of a run. The error says what is wrong with the flags or the environment.
    pub(super) fn settings(&self) -> Result<Settings, Stop> {
        let project = self.places.project()?;
        let mut notes = Vec::from_iter(self.places.temporary(&project.root));
        let trace = trace_of_environment(&mut notes);
        Ok(Settings {
            notes,
            trace,
            mode: if self.dry_run {
                Mode::DryRun
            } else {
                Mode::Run
            },
            budget: self.timeout,
            expect: self.expect.clone(),
            reply: self.reply.unwrap_or_default(),
            reuse: if self.no_reuse {
                Reuse::Off
            } else {
                Reuse::Allowed
            },
            profile: self.profile.clone(),
            wait: self.wait,
            session: self.session()?,
            through: match self.served {
                Some(_) => Through::Gateway,
                None => Through::Command,
            },
            ..Settings::of(project)
        })
    }

    /// The session of tasks that name none, if it is known.
    fn session(&self) -> Result<Option<NamedSession>, Stop> {
        let (id, from) = match &self.served {
            Some(id) => (Some(id.clone()), SessionFrom::Process),
            None => (
                session_of_environment().map_err(stop(2))?,
                SessionFrom::Caller,
            ),
        };
        Ok(id.map(|id| NamedSession { id, from }))
    }
}

impl PlaceArgs {
    /// Tells that nobody has named the root, and that it lies in a temporary directory, as the working directories
    /// that some callers make for each run.
    pub(super) fn temporary(&self, root: &Utf8Path) -> Option<String> {
        let is_named = self.root.is_some() || said("ONEACT_ROOT").ok().flatten().is_some();
        let dir = (!is_named).then(|| host::temporary_directory_of(root))??;
        let note = format!(
            "temporary_root: the root {root} was not named explicitly, and it is in the temporary directory {}, so \
             files and records may disappear; name it with --root DIR or $ONEACT_ROOT.",
            dir.display()
        );
        tracing::warn!("{note}");
        Some(note)
    }

    /// The places of a run. The error says what is wrong with the flags or the environment.
    pub(super) fn project(&self) -> Result<Project, Stop> {
        self.find().map_err(stop(2))
    }

    fn find(&self) -> Result<Project, String> {
        let here = host::working_directory()?;
        let named = named_root(self.root.as_deref(), &here)?;
        let found = named.is_none();
        let root = named.unwrap_or_else(|| nearest(&here));
        // The path has no `..` and no links, so that the URIs of assets do not depend on how the root was named.
        let root = root.canonicalize_utf8().unwrap_or(root);
        if found {
            owner::ours(&root, "the root", "--root DIR or $ONEACT_ROOT")?;
        }
        let (catalog, why) = match &self.catalog {
            Some(path) => (here.join(path), "as --catalog says"),
            None => (root.join("catalog.toml"), "in the root"),
        };
        if found && self.catalog.is_none() {
            owner::ours(&catalog, "the catalog", "--catalog FILE")?;
        }
        tracing::info!("The catalog is {catalog}, {why}.");
        let (state_dir, why) = match said("ONEACT_STATE_DIR")? {
            Some(dir) => (here.join(dir), "as ONEACT_STATE_DIR says"),
            None => (own_state(&root, found)?, "in the root"),
        };
        tracing::info!("The state directory is {state_dir}, {why}.");
        Ok(Project {
            catalog,
            state_dir,
            root,
            ledger: said("ONEACT_LEDGER")?.map(Utf8PathBuf::into_string),
        })
    }
}

/// The state directory of a root. A symbolic link is refused, because it could lead anywhere.
fn own_state(root: &Utf8Path, found: bool) -> Result<Utf8PathBuf, String> {
    const NAME_IT: &str = "$ONEACT_STATE_DIR";
    let dir = root.join(".oneact");
    if dir.is_symlink() {
        return Err(format!(
            "the state directory {dir} is a symbolic link; name its target with {NAME_IT}"
        ));
    }
    if found {
        owner::ours(&dir, "the state directory", NAME_IT)?;
    }
    Ok(dir)
}

/// The session that the environment names. It counts as given by the caller.
pub(super) fn session_of_environment() -> Result<Option<String>, String> {
    const NAME: &str = "ONEACT_SESSION";
    let session = host::variable(NAME).filter(|session| !session.is_empty());
    match session.as_deref().and_then(NamedSession::unusable) {
        Some(why) => Err(format!("the session of ${NAME} {why}")),
        None => Ok(session),
    }
}

/// The trace that the environment names.
fn trace_of_environment(notes: &mut Vec<String>) -> Option<Trace> {
    let said = |name| host::variable(name).filter(|text| !text.is_empty());
    let state = said("TRACESTATE");
    Trace::read(&said("TRACEPARENT")?, state.as_deref(), notes)
}

/// The root that the flag or the environment names.
pub(super) fn named_root(
    flag: Option<&Utf8Path>,
    here: &Utf8Path,
) -> Result<Option<Utf8PathBuf>, String> {
    let (named, who) = match flag {
        Some(root) => (Some(root.to_owned()), "--root"),
        None => (said("ONEACT_ROOT")?, "ONEACT_ROOT"),
    };
    Ok(named.map(|root| {
        let root = here.join(root);
        tracing::info!("The root is {root}, as {who} says.");
        root
    }))
}

/// A path or a URI in the environment. An empty value counts as unset.
fn said(name: &str) -> Result<Option<Utf8PathBuf>, String> {
    let path = host::path_variable(name)?;
    Ok(path.filter(|path| !path.as_str().is_empty()))
}

/// The nearest directory upwards that contains a catalog, otherwise `here`.
fn nearest(here: &Utf8Path) -> Utf8PathBuf {
    let mut upwards = here.ancestors();
    if let Some(found) = upwards.find(|dir| dir.join("catalog.toml").is_file()) {
        tracing::info!("The root is {found}, the nearest directory upwards with a catalog.toml.");
        return found.to_owned();
    }
    tracing::info!(
        "The root is {here}, where oneact was started: no directory upwards has a catalog.toml."
    );
    here.to_owned()
}

/// Reads `sha256:` and 64 hexadecimal digits.
fn preview_hash(text: &str) -> Result<String, String> {
    let digits = text.strip_prefix("sha256:").unwrap_or_default();
    if digits.len() == 64 && digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok(text.to_ascii_lowercase());
    }
    Err("give the hash that `oneact --dry-run` printed, `sha256:` and 64 digits".to_owned())
}

/// A number, with an error for people.
pub(super) fn number<N: FromStr>(text: &str) -> Result<N, String> {
    let most = u64::MAX;
    text.parse()
        .map_err(|_| format!("give a whole number from 0 to {most}"))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_a_number_and_a_time_are_read_strictly() {
        let digits = "Ab".repeat(32);
        let hash = preview_hash(&format!("sha256:{digits}"));
        assert_eq!(hash.unwrap(), format!("sha256:{}", digits.to_lowercase()));
        for wrong in ["", &digits, "sha256:ab", "sha256:zz"] {
            assert!(preview_hash(wrong).is_err(), "{wrong}");
        }
        assert_eq!(number::<u64>("7"), Ok(7));
        assert!(number::<u64>("-1").is_err());
        assert!(moment("2026-02-24T10:00:00+08:00[Asia/Singapore]").is_ok());
        assert!(
            moment("2026-02-24").is_err() && moment("-000001-01-01T00:00:00+00:00[UTC]").is_err()
        );
    }

    #[test]
    fn the_nearest_directory_with_a_catalog_is_the_root() {
        let dir = tempfile::tempdir().unwrap();
        let root = Utf8Path::from_path(dir.path()).unwrap();
        let below = root.join("a/b");
        std::fs::create_dir_all(&below).unwrap();
        assert_eq!(nearest(&below), below);
        std::fs::write(root.join("catalog.toml"), "").unwrap();
        assert_eq!(nearest(&below), root);
    }
}
