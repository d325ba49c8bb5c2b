//! `oneact init`: writes a starter catalog, and the documents that every answer names.

use std::{
    fs::{self, File, TryLockError},
    io,
    process::ExitCode,
};

use camino::{Utf8Path, Utf8PathBuf};
use clap::Args;
use serde_json::json;

use crate::{
    catalog::{Application, Catalog},
    host,
    task::visible,
};

use super::{
    ended::{Stop, json_line, printed, stop},
    manual, owner, settings,
};

#[derive(Debug, Args)]
pub(super) struct InitArgs {
    /// The directory for the catalog; created if it does not exist [default: `$ONEACT_ROOT`, or the working
    /// directory]
    #[arg(long, value_name = "DIR")]
    root: Option<Utf8PathBuf>,
    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
}

const STARTER: &str = include_str!("starter.toml");

/// The application document, which is written from the catalog.
const APPLICATION: &str = "context/application.md";

/// The other documents that every answer names (R-000-135), and the schema that the catalog names for editors.
const PAGES: [(&str, &str); 4] = [
    (
        "context/governance/message_format.md",
        include_str!("../../context/governance/message_format.md"),
    ),
    (
        "context/governance/audit.md",
        include_str!("../../context/governance/audit.md"),
    ),
    (
        "agent/executional/action.md",
        include_str!("../../agent/executional/action.md"),
    ),
    ("context/catalog.schema.json", manual::CATALOG),
];

/// The directories of [`PAGES`] and of the document of the application, each after the one that it is in.
const DIRECTORIES: [&str; 4] = [
    "context",
    "context/governance",
    "agent",
    "agent/executional",
];

/// Writes the starter catalog and prints the next steps; exit code 2 if a catalog exists already.
pub(super) fn run(args: &InitArgs) -> Result<ExitCode, Stop> {
    let here = host::working_directory().map_err(stop(1))?;
    let named = settings::named_root(args.root.as_deref(), &here).map_err(stop(1))?;
    if named.is_none() {
        let name_it = "--root DIR, or $ONEACT_ROOT";
        owner::ours(&here, "the working directory", name_it).map_err(stop(1))?;
    }
    let root = named.unwrap_or_else(|| here.clone());
    let (new, kept) = write(&root)?;
    let text = if args.json {
        let catalog = root.join("catalog.toml");
        json_line(&json!({"catalog": catalog.as_str(), "written": new, "kept": kept}))
    } else {
        next((&new, &kept), &root, &here)
    };
    Ok(printed(text, 0))
}

/// Writes the catalog, never over an existing file and never through a symbolic link, and before it what belongs to it.
/// Returns the documents that were written, and those in whose place something stood already.
fn write(root: &Utf8Path) -> Result<(Vec<&'static str>, Vec<&'static str>), Stop> {
    let path = root.join("catalog.toml");
    let exists = || {
        stop(2)(format!(
            "{path} exists already and was not changed; edit it, or give another --root"
        ))
    };
    if path.symlink_metadata().is_ok() {
        return Err(exists());
    }
    // All directories are checked before the first write.
    DIRECTORIES
        .iter()
        .try_for_each(|name| may_be_directory(&root.join(name)))?;
    fs::create_dir_all(root).map_err(|error| failed("make the directory", root, &error))?;
    // Two commands that write the same file would use the same name for the new one.
    let lock = File::open(root).map_err(|error| failed("open", root, &error))?;
    lock.try_lock().map_err(|error| match error {
        TryLockError::WouldBlock => stop(1)(format!(
            "another command is changing files in {root}; nothing was written. Try again later"
        )),
        TryLockError::Error(error) => failed("lock", root, &error),
    })?;
    let page = Catalog::from_bytes(Utf8Path::new("catalog.toml"), STARTER.into())
        .and_then(|catalog| Application::of(&catalog.tables()?));
    let page = page.map_err(stop(1))?.to_markdown();
    for name in DIRECTORIES {
        let path = root.join(name);
        fs::create_dir_all(&path).map_err(|error| failed("make the directory", &path, &error))?;
    }
    let create = |name: &str, text: &str| {
        let path = root.join(name);
        host::place_new(&path, text.as_bytes()).map_err(|error| failed("write", &path, &error))
    };
    let (mut new, mut kept) = (Vec::new(), Vec::new());
    for (name, text) in PAGES.into_iter().chain([(APPLICATION, page.as_str())]) {
        // A page of the project itself stays as it is.
        let is_new = create(name, text)?;
        if is_new { &mut new } else { &mut kept }.push(name);
    }
    if create("catalog.toml", STARTER)? {
        Ok((new, kept))
    } else {
        Err(exists())
    }
}

/// Fails if something other than a directory is in the place of a directory, also a symbolic link to a directory.
fn may_be_directory(path: &Utf8Path) -> Result<(), Stop> {
    let what = match path.symlink_metadata() {
        Ok(found) if found.is_symlink() => "a symbolic link",
        Ok(found) if !found.is_dir() => "not a directory",
        _ => return Ok(()),
    };
    Err(stop(1)(format!(
        "{path} is {what}, but `init` writes documents into a directory of this name; nothing was written. Move it to another place, or give another --root"
    )))
}

fn failed(operation: &str, path: &Utf8Path, error: &io::Error) -> Stop {
    stop(1)(format!("cannot {operation} {path}: {error}"))
}

fn next((new, kept): (&[&str], &[&str]), root: &Utf8Path, here: &Utf8Path) -> String {
    let enter = if root == here {
        String::new()
    } else {
        let root = visible(root.as_str()).replace('\'', r"'\''");
        format!("  cd '{root}'\n")
    };
    let catalog = root.join("catalog.toml");
    let path = visible(catalog.as_str());
    let line = |what: &str, names: &[&str]| match names {
        [] => String::new(),
        names => format!("{what}: {}\n", names.join(", ")),
    };
    let new = line("Wrote its documents", new);
    let kept = line("Kept what stood there already", kept);
    format!(
        r#"Wrote {path} with three capabilities and built-in servers.
{new}{kept}
Check the setup, then make a first call:
{enter}  oneact doctor
  oneact call task_create task_text="Call Ada"

Comments in catalog.toml explain its keys. An example of your own server is at its end.
"#
    )
}
