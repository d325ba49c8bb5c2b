//! A directory as a value: paths and bytes.

use std::{collections::BTreeMap, fs, os::unix::fs::FileTypeExt};

use anyhow::{Context, Result};
use camino::{Utf8Path, Utf8PathBuf};

/// Every file below a directory, by its path from there. Empty directories do not count.
pub(crate) type Tree = BTreeMap<Utf8PathBuf, Vec<u8>>;

/// From so many bytes on, only the number of them is read.
const LARGE: usize = 16 << 20;

/// Reads a directory; one that is not there holds nothing.
pub(crate) fn read(dir: &Utf8Path) -> Result<Tree> {
    let mut tree = Tree::new();
    if dir.exists() {
        walk(dir, dir, &mut tree).with_context(|| format!("cannot read {dir}"))?;
    }
    Ok(tree)
}

fn walk(top: &Utf8Path, dir: &Utf8Path, tree: &mut Tree) -> Result<()> {
    for entry in dir.read_dir_utf8()? {
        let entry = entry?;
        let path = entry.path();
        let kind = entry.file_type()?;
        if kind.is_dir() {
            walk(top, path, tree)?;
            continue;
        }
        let bytes = if kind.is_symlink() {
            format!("-> {}", path.read_link_utf8()?).into_bytes()
        } else if kind.is_fifo() {
            b"a pipe".to_vec()
        } else if kind.is_socket() {
            b"a socket".to_vec()
        } else {
            match usize::try_from(entry.metadata()?.len())? {
                bytes @ LARGE.. => size_only(bytes),
                _ => fs::read(path)?,
            }
        };
        tree.insert(path.strip_prefix(top)?.to_owned(), bytes);
    }
    Ok(())
}

/// Writes every file, with the directories it needs.
pub(crate) fn write(dir: &Utf8Path, tree: &Tree) -> Result<()> {
    for (name, bytes) in tree {
        let path = dir.join(name);
        fs::create_dir_all(path.parent().unwrap_or(dir))?;
        fs::write(&path, bytes).with_context(|| format!("cannot write {path}"))?;
    }
    Ok(())
}

/// What stands for a file's bytes where only their number counts.
pub(crate) fn size_only(bytes: usize) -> Vec<u8> {
    format!("{bytes} bytes").into_bytes()
}
