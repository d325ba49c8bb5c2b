//! What every run owes, what a folder expects, and how the expectation is written.

use std::{fs, sync::LazyLock};

use anyhow::{Context, Result, anyhow, bail, ensure};
use camino::{Utf8Path, Utf8PathBuf};
use jsonschema::Validator;
use serde_json::Value;
use similar::TextDiff;

use crate::{
    folder::{Folder, fixtures},
    probe,
    run::Ran,
    special::Fact,
    tree::{self, Tree},
};

static SCHEMA: LazyLock<Result<Validator>> = LazyLock::new(|| {
    let path = Utf8Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas/envelope.schema.json");
    let schema: Value = serde_json::from_str(&fs::read_to_string(&path)?)?;
    jsonschema::options()
        .should_validate_formats(true)
        .build(&schema)
        .map_err(|error| anyhow!("{path} is no schema: {error}"))
});

/// One line of compact JSON that is an envelope; no process and no scratch left (R-000-09 …
/// R-000-12, R-000-136).
pub(crate) fn always(folder: &Folder, ran: &Ran) -> Result<()> {
    let line = ran
        .stdout
        .strip_suffix('\n')
        .with_context(|| format!("stdout does not end its line: {:?}", ran.stdout))?;
    let value = parse(line)?;
    let compact = serde_json::to_string(&value)?;
    ensure!(
        compact == line,
        "stdout is not one line of compact JSON: {line:?}"
    );
    let schema = SCHEMA.as_ref().map_err(|error| anyhow!("{error:#}"))?;
    let errors: Vec<String> = schema
        .iter_errors(&value)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    ensure!(
        errors.is_empty(),
        "the envelope does not fit its schema:\n{}",
        errors.join("\n")
    );
    ensure!(ran.left.is_empty(), "processes are left: {:#?}", ran.left);
    ensure!(
        ran.staging.is_empty(),
        "staging still holds {:?}",
        ran.staging
    );
    untouched(folder, ran)
}

/// What keeps its bytes stays the same file, with its mode and its time, unless the scenario states others, and no empty
/// directory is left behind (R-001-07, R-001-117).
fn untouched(folder: &Folder, ran: &Ran) -> Result<()> {
    for (path, bytes) in &ran.before {
        if ran.after.get(path) == Some(bytes) && !folder.facts.contains_key(path) {
            let (before, after) = (ran.facts_before.get(path), ran.facts.get(path));
            ensure!(before == after, "{before:?} became {after:?}");
        }
    }
    for dir in ran
        .facts
        .values()
        .filter_map(|fact| fact.line.split_once(" - "))
    {
        let new = !ran.facts_before.contains_key(Utf8Path::new(dir.1));
        let holds = |path: &Utf8PathBuf| path.starts_with(dir.1);
        ensure!(
            !new || ran.after.keys().any(holds),
            "the directory {} was left behind, empty",
            dir.1
        );
    }
    Ok(())
}

/// As the folder says: key order and the text of numbers count, white space does not.
pub(crate) fn as_written(folder: &Folder, ran: &Ran) -> Result<()> {
    let wanted = pretty(&parse(&folder.envelope).context("envelope.json")?)?;
    let got = answered(folder, ran)?;
    if wanted != got {
        let diff = TextDiff::from_lines(&wanted, &got);
        bail!(
            "another envelope (- expected, + answered; `just bless` accepts it):\n{}",
            diff.unified_diff()
        );
    }
    ensure!(
        folder.exit == Some(ran.exit),
        "exit code {} instead of {:?}; stderr:\n{}",
        ran.exit,
        folder.exit,
        ran.stderr
    );
    same_tree(&folder.wanted(&ran.before), &counted(folder, ran)?)?;
    for (path, fact) in &folder.facts {
        let got = ran
            .facts
            .get(path)
            .with_context(|| format!("{path} is missing"))?;
        ensure!(*fact == got.line, "{:?} instead of {fact:?}", got.line);
    }
    on_stderr(folder, ran)
}

/// Writes down what came out. What the folder wants of stderr holds here too.
pub(crate) fn bless(folder: &Folder, ran: &Ran) -> Result<()> {
    let dir = &folder.dir;
    fs::write(dir.join("envelope.json"), answered(folder, ran)?)?;
    fs::write(dir.join("exit"), format!("{}\n", ran.exit))?;
    for old in ["after", "made"].map(|name| dir.join(name)) {
        if old.is_dir() {
            fs::remove_dir_all(&old)?;
        } else if old.exists() {
            fs::remove_file(&old)?;
        }
    }
    if ran.before != ran.after {
        bless_tree(folder, ran)?;
    }
    if !folder.facts.is_empty() {
        let told = |path| {
            ran.facts
                .get(path)
                .with_context(|| format!("{path} is missing"))
        };
        let facts: Result<Vec<&Fact>> = folder.facts.keys().map(told).collect();
        let facts: Vec<String> = facts?
            .iter()
            .map(|fact| format!("{}\n", fact.line))
            .collect();
        fs::write(dir.join("facts"), facts.concat())?;
    }
    on_stderr(folder, ran)
}

/// `after/` holds what no fixture does; `made` names the fixtures that others are copies of.
fn bless_tree(folder: &Folder, ran: &Ran) -> Result<()> {
    let media = tree::read(&fixtures().join("media"))?;
    let (mut written, mut made, mut sizes) = (Tree::new(), Vec::new(), Vec::new());
    let mut probed = Vec::new();
    for (path, bytes) in &ran.after {
        if folder.sizes.contains_key(path) {
            sizes.push(format!("{} {path}\n", bytes.len()));
        } else if folder.probed.contains_key(path) {
            probed.push(format!("{path} {}\n", probe::seen(bytes)?));
        } else if folder.files.get(path) == Some(bytes) {
            // As it was put there.
        } else if let Some((medium, _)) = media.iter().find(|(_, medium)| *medium == bytes) {
            made.push(format!("media/{medium} {path}\n"));
        } else {
            written.insert(path.clone(), bytes.clone());
        }
    }
    for (name, lines) in [("made", made), ("probed", probed), ("sizes", sizes)] {
        if !lines.is_empty() {
            fs::write(folder.dir.join(name), lines.concat())?;
        }
    }
    tree::write(&folder.dir.join("after"), &written)
}

fn parse(text: &str) -> Result<Value> {
    serde_json::from_str(text).with_context(|| format!("not JSON: {text:?}"))
}

/// The answer, set out. A link's hash goes over paths of the root and over who ran it; a request's hash
/// does where the task names such a path.
fn answered(folder: &Folder, ran: &Ran) -> Result<String> {
    let mut envelope = parse(&ran.stdout)?;
    let mut mask = |pointer: &str| {
        if let Some(hash @ Value::String(_)) = envelope.pointer_mut(pointer) {
            *hash = Value::from("[HASH]");
        }
    };
    mask("/output/content/oneact/ledger/entry_hash");
    if folder.names_root() {
        mask("/output/content/oneact/request_hash");
    }
    pretty(&envelope)
}

fn pretty(value: &Value) -> Result<String> {
    Ok(serde_json::to_string_pretty(value)? + "\n")
}

/// The root at the end, with sizes in place of the bytes that only count, and what is seen in media
/// in place of the media.
fn counted(folder: &Folder, ran: &Ran) -> Result<Tree> {
    let mut tree = ran.after.clone();
    for (path, bytes) in &mut tree {
        if folder.sizes.contains_key(path) {
            *bytes = tree::size_only(bytes.len());
        }
        if folder.probed.contains_key(path) {
            *bytes = probe::seen(bytes)?.into_bytes();
        }
    }
    Ok(tree)
}

fn same_tree(wanted: &Tree, got: &Tree) -> Result<()> {
    let mut problems = Vec::new();
    for path in wanted.keys().filter(|path| !got.contains_key(*path)) {
        problems.push(format!("{path} is missing"));
    }
    for (path, bytes) in got {
        match wanted.get(path) {
            None => problems.push(format!("{path} is new ({} bytes)", bytes.len())),
            Some(wanted) if wanted != bytes => problems.push(format!("{path} is not as expected")),
            Some(_) => {}
        }
    }
    ensure!(problems.is_empty(), "the root:\n{}", problems.join("\n"));
    Ok(())
}

fn on_stderr(folder: &Folder, ran: &Ran) -> Result<()> {
    for line in &folder.stderr {
        let held = match line.strip_prefix('!') {
            Some(absent) => !ran.stderr.contains(absent),
            None => ran.stderr.contains(line.as_str()),
        };
        ensure!(held, "stderr does not keep {line:?}:\n{}", ran.stderr);
    }
    Ok(())
}
