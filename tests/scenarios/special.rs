//! What a tree of names and bytes cannot say: links, pipes, permissions, ages.

use std::{
    collections::BTreeMap,
    fs::{self, File, Metadata, Permissions},
    os::unix::{
        fs::{MetadataExt, PermissionsExt, symlink},
        net::UnixListener,
    },
    time::SystemTime,
};

use anyhow::{Context, Result, bail};
use camino::{Utf8Path, Utf8PathBuf};
use rustix::fs::{AtFlags, CWD, Mode, Timespec, Timestamps, mkfifoat, utimensat};

/// One line of `setup`.
#[derive(Debug)]
pub(crate) enum Special {
    /// `mode 0755 path`
    Mode(u32, Utf8PathBuf),
    /// `link target path`
    Link(Utf8PathBuf, Utf8PathBuf),
    /// `hardlink of path`
    HardLink(Utf8PathBuf, Utf8PathBuf),
    /// `dir path`
    Dir(Utf8PathBuf),
    /// `fifo path`
    Fifo(Utf8PathBuf),
    /// `socket path`
    Socket(Utf8PathBuf),
    /// `size bytes path`: a file of zeros that takes no space.
    Size(u64, Utf8PathBuf),
}

pub(crate) fn read(dir: &Utf8Path, lines: &[String]) -> Result<Vec<Special>> {
    let special = |line: &String| {
        let words: Vec<&str> = line.split(' ').collect();
        Ok(match words.as_slice() {
            ["mode", mode, path] => Special::Mode(u32::from_str_radix(mode, 8)?, path.into()),
            ["link", target, path] => Special::Link(target.into(), path.into()),
            ["hardlink", of, path] => Special::HardLink(of.into(), path.into()),
            ["dir", path] => Special::Dir(path.into()),
            ["fifo", path] => Special::Fifo(path.into()),
            ["socket", path] => Special::Socket(path.into()),
            ["size", bytes, path] => Special::Size(bytes.parse()?, path.into()),
            _ => bail!("{dir}/setup: {line:?} is no line of a setup"),
        })
    };
    lines.iter().map(special).collect()
}

impl Special {
    /// Brings it about in a root.
    pub(crate) fn furnish(&self, root: &Utf8Path) -> Result<()> {
        let path = match self {
            Self::Mode(_, path)
            | Self::Link(_, path)
            | Self::HardLink(_, path)
            | Self::Dir(path)
            | Self::Fifo(path)
            | Self::Socket(path)
            | Self::Size(_, path) => root.join(path),
        };
        fs::create_dir_all(path.parent().unwrap_or(root))?;
        match self {
            Self::Mode(mode, _) => fs::set_permissions(&path, Permissions::from_mode(*mode)),
            Self::Link(target, _) => symlink(target, &path),
            Self::HardLink(of, _) => fs::hard_link(root.join(of), &path),
            Self::Dir(_) => fs::create_dir_all(&path),
            Self::Fifo(_) => {
                mkfifoat(CWD, path.as_str(), Mode::from_raw_mode(0o644)).map_err(Into::into)
            }
            Self::Socket(_) => UnixListener::bind(&path).map(drop),
            Self::Size(bytes, _) => File::create(&path).and_then(|file| file.set_len(*bytes)),
        }
        .with_context(|| format!("cannot bring about {self:?}"))
    }
}

/// What is known of something, beside what is in it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fact {
    /// `0755 kept tools/run.sh`.
    pub(crate) line: String,
    inode: u64,
}

/// What is known of everything in a root, but for what a run itself keeps there.
pub(crate) type Facts = BTreeMap<Utf8PathBuf, Fact>;

/// Makes everything as old as `then`, and tells of it.
pub(crate) fn age(root: &Utf8Path, then: SystemTime) -> Result<Facts> {
    let since = then.duration_since(SystemTime::UNIX_EPOCH)?;
    let time = Timespec {
        tv_sec: i64::try_from(since.as_secs())?,
        tv_nsec: 0,
    };
    let times = Timestamps {
        last_access: time,
        last_modification: time,
    };
    each(root, &mut |path, _| {
        if !path.is_dir() || path.is_symlink() {
            utimensat(CWD, path.as_str(), &times, AtFlags::SYMLINK_NOFOLLOW)?;
        }
        Ok(())
    })?;
    facts(root, then)
}

pub(crate) fn facts(root: &Utf8Path, then: SystemTime) -> Result<Facts> {
    let mut facts = Facts::new();
    each(root, &mut |path, metadata| {
        let path = path.strip_prefix(root)?;
        let age = match metadata.modified()? == then {
            _ if metadata.is_dir() => "-",
            true => "kept",
            false => "new",
        };
        let fact = Fact {
            line: format!("{:04o} {age} {path}", metadata.mode() & 0o7777),
            inode: metadata.ino(),
        };
        facts.insert(path.to_owned(), fact);
        Ok(())
    })?;
    Ok(facts)
}

fn each(dir: &Utf8Path, told: &mut dyn FnMut(&Utf8Path, &Metadata) -> Result<()>) -> Result<()> {
    for entry in dir.read_dir_utf8()? {
        let entry = entry?;
        let (path, metadata) = (entry.path(), entry.metadata()?);
        if OURS.contains(&entry.file_name()) {
            continue;
        }
        told(path, &metadata)?;
        if metadata.is_dir() {
            each(path, told)?;
        }
    }
    Ok(())
}

/// What a run writes beside what it is asked for, and what the harness put there.
const OURS: [&str; 5] = [
    ".oneact",
    "agent_logs",
    "agent_outputs",
    "catalog.toml",
    "servers",
];
