//! A scenario's folder, read: nothing missing, nothing that would be overlooked.

use std::{collections::BTreeMap, fs};

use anyhow::{Context, Result, bail, ensure};
use camino::{Utf8Path, Utf8PathBuf};

use crate::{
    special::{self, Special},
    tree::{self, Tree},
};

/// Whether expectations are held up, or written anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Compare,
    Bless,
}

impl Mode {
    #[expect(
        clippy::disallowed_methods,
        reason = "a test has no host; this is its one switch"
    )]
    pub(crate) fn of_environment() -> Self {
        match std::env::var("ONEACT_BLESS").as_deref() {
            Ok("" | "0") | Err(_) => Self::Compare,
            Ok(_) => Self::Bless,
        }
    }
}

/// What a folder says.
#[derive(Debug)]
pub(crate) struct Folder {
    pub(crate) dir: Utf8PathBuf,
    /// Stdin, placeholders unfilled.
    pub(crate) task: Vec<u8>,
    pub(crate) args: Vec<String>,
    pub(crate) env: Vec<(String, String)>,
    pub(crate) catalog: String,
    pub(crate) before: Tree,
    pub(crate) files: Tree,
    /// What the root is given beside plain files.
    pub(crate) setup: Vec<Special>,
    /// `after/`, if something is to change.
    after: Option<Tree>,
    made: Tree,
    /// Modes and ages at the end, by path.
    pub(crate) facts: BTreeMap<Utf8PathBuf, String>,
    /// Files whose bytes depend on the machine's arithmetic, with what [`tree::size_only`] leaves.
    pub(crate) sizes: Tree,
    /// Files whose bytes depend on the machine's FFmpeg, with what [`crate::probe::seen`] sees in them.
    pub(crate) probed: Tree,
    /// Empty when it is yet to be blessed.
    pub(crate) envelope: String,
    pub(crate) exit: Option<i32>,
    pub(crate) stderr: Vec<String>,
}

const KNOWN: [&str; 17] = [
    "about",
    "after",
    "args",
    "before",
    "catalog.toml",
    "env",
    "envelope.json",
    "exit",
    "facts",
    "files",
    "made",
    "probed",
    "setup",
    "sizes",
    "stderr",
    "task.bin",
    "task.json",
];

impl Folder {
    pub(crate) fn read(dir: &Utf8Path, mode: Mode) -> Result<Self> {
        for entry in dir.read_dir_utf8()? {
            let entry = entry?;
            ensure!(
                KNOWN.contains(&entry.file_name()),
                "{} is no part of a scenario; known are {}",
                entry.path(),
                KNOWN.join(", ")
            );
        }
        let about = text(dir, "about")?.unwrap_or_default();
        ensure!(
            about.contains('(') && about.trim_end().ends_with(")."),
            "{dir}/about must say in a sentence what is shown, and in brackets what asks for it"
        );
        let written = dir.join("after");
        let after = written.is_dir().then(|| tree::read(&written)).transpose()?;
        let folder = Self {
            task: task(dir)?,
            args: lines(dir, "args")?,
            env: env(dir)?,
            catalog: catalog(dir)?,
            before: tree::read(&dir.join("before"))?,
            files: files(dir, "files")?,
            setup: special::read(dir, &lines(dir, "setup")?)?,
            after,
            made: files(dir, "made")?,
            facts: facts(dir)?,
            sizes: sizes(dir)?,
            probed: probed(dir)?,
            envelope: text(dir, "envelope.json")?.unwrap_or_default(),
            exit: exit(dir)?,
            stderr: lines(dir, "stderr")?,
            dir: dir.to_owned(),
        };
        ensure!(
            mode == Mode::Bless || !folder.envelope.is_empty() && folder.exit.is_some(),
            "{dir} lacks `envelope.json` or `exit`; `just bless` writes them"
        );
        Ok(folder)
    }

    /// Whether the task holds paths of this machine.
    pub(crate) fn names_root(&self) -> bool {
        String::from_utf8_lossy(&self.task).contains("[ROOT]")
    }

    /// The whole root at the end, if it was so at the start.
    pub(crate) fn wanted(&self, start: &Tree) -> Tree {
        let mut wanted = self.after.as_ref().unwrap_or(start).clone();
        for part in [&self.files, &self.made, &self.sizes, &self.probed] {
            wanted.extend(part.clone());
        }
        wanted
    }
}

fn text(dir: &Utf8Path, name: &str) -> Result<Option<String>> {
    let path = dir.join(name);
    if !path.exists() {
        return Ok(None);
    }
    fs::read_to_string(&path)
        .map(Some)
        .with_context(|| format!("cannot read {path}"))
}

fn lines(dir: &Utf8Path, name: &str) -> Result<Vec<String>> {
    let text = text(dir, name)?.unwrap_or_default();
    Ok(text.lines().map(str::to_owned).collect())
}

fn task(dir: &Utf8Path) -> Result<Vec<u8>> {
    match (dir.join("task.json"), dir.join("task.bin")) {
        (json, bin) if json.exists() == bin.exists() => {
            bail!("{dir} must hold either task.json or task.bin")
        }
        (json, bin) => Ok(fs::read(if json.exists() { json } else { bin })?),
    }
}

fn env(dir: &Utf8Path) -> Result<Vec<(String, String)>> {
    let pair = |line: String| {
        let pair = line
            .split_once('=')
            .with_context(|| format!("{dir}/env: {line:?} is not NAME=value"))?;
        Ok((pair.0.to_owned(), pair.1.to_owned()))
    };
    lines(dir, "env")?.into_iter().map(pair).collect()
}

fn catalog(dir: &Utf8Path) -> Result<String> {
    let shared = || text(dir.parent().unwrap_or(dir), "catalog.toml");
    text(dir, "catalog.toml")?
        .map_or_else(shared, |own| Ok(Some(own)))?
        .context("there is no catalog.toml, neither here nor above")
}

/// Lines `media/fox.mp4 store_1.mp4`: files of `fixtures/`, by their names in the root.
fn files(dir: &Utf8Path, list: &str) -> Result<Tree> {
    let file = |line: String| {
        let (from, to) = line
            .split_once(' ')
            .with_context(|| format!("{dir}/{list}: {line:?} is not FROM TO"))?;
        let path = fixtures().join(from);
        let bytes = fs::read(&path).with_context(|| format!("cannot read {path}"))?;
        Ok((Utf8PathBuf::from(to), bytes))
    };
    lines(dir, list)?.into_iter().map(file).collect()
}

/// Lines `92844 agent_outputs/…/derived_1.wav`.
fn sizes(dir: &Utf8Path) -> Result<Tree> {
    let size = |line: String| {
        let (bytes, path) = line
            .split_once(' ')
            .with_context(|| format!("{dir}/sizes: {line:?} is not BYTES PATH"))?;
        Ok((Utf8PathBuf::from(path), tree::size_only(bytes.parse()?)))
    };
    lines(dir, "sizes")?.into_iter().map(size).collect()
}

/// Lines `agent_outputs/…/derived_1.mp4 h264 64x48, aac`.
fn probed(dir: &Utf8Path) -> Result<Tree> {
    let seen = |line: String| {
        let (path, seen) = line
            .split_once(' ')
            .with_context(|| format!("{dir}/probed: {line:?} is not PATH WHAT"))?;
        Ok((Utf8PathBuf::from(path), seen.as_bytes().to_vec()))
    };
    lines(dir, "probed")?.into_iter().map(seen).collect()
}

/// Lines `0755 kept tools/run.sh`, as [`special::fact`] writes them.
fn facts(dir: &Utf8Path) -> Result<BTreeMap<Utf8PathBuf, String>> {
    let fact = |line: String| {
        let mut words = line.splitn(3, ' ');
        let path = words.nth(2);
        let path = path.with_context(|| format!("{dir}/facts: {line:?} is not MODE AGE PATH"))?;
        Ok((Utf8PathBuf::from(path), line.clone()))
    };
    lines(dir, "facts")?.into_iter().map(fact).collect()
}

/// The repository's `fixtures/`.
pub(crate) fn fixtures() -> Utf8PathBuf {
    Utf8Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

fn exit(dir: &Utf8Path) -> Result<Option<i32>> {
    text(dir, "exit")?
        .map(|text| {
            text.trim()
                .parse()
                .with_context(|| format!("{dir}/exit is no number"))
        })
        .transpose()
}
