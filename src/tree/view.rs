//! A view of the tree while nothing is changed. Each directory is opened and resolved only once.
//!
//! A view may be outdated. This is harmless: a handle stays inside the root, and code that changes files opens the
//! directory again.

use std::{cell::RefCell, collections::BTreeMap, rc::Rc};

use rustix::io::Errno;

use crate::task::RelPath;

use super::{Dir, Facts, FileError, FileKind, Root, joined, there};

#[derive(Debug)]
pub(crate) struct View<'a> {
    root: &'a Root,
    dirs: RefCell<BTreeMap<Option<RelPath>, Rc<Dir<'a>>>>,
    /// Directories as they are spelled → as they are: `None` = the root.
    real: RefCell<BTreeMap<RelPath, Option<RelPath>>>,
}

/// Where a path of a plan really leads: without links, inside the root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Located {
    pub(crate) path: RelPath,
    /// `None` where nothing is.
    pub(crate) facts: Option<Facts>,
    /// The link that stands at the end of the path, if one does.
    pub(crate) link: Option<RelPath>,
}

/// How many links may follow each other, as in Linux.
const MOST_LINKS: u32 = 40;

/// How many directories are kept open. The limit of open files may be low.
const MOST_OPEN: usize = 32;

impl<'a> View<'a> {
    pub(crate) fn of(root: &'a Root) -> Self {
        Self {
            root,
            dirs: RefCell::default(),
            real: RefCell::default(),
        }
    }

    pub(crate) fn root(&self) -> &'a Root {
        self.root
    }

    /// A directory; no link on the way is followed.
    pub(crate) fn dir(&self, path: Option<&RelPath>) -> Result<Rc<Dir<'a>>, FileError> {
        let path = path.cloned();
        if let Some(dir) = self.dirs.borrow().get(&path) {
            return Ok(Rc::clone(dir));
        }
        let dir = Rc::new(self.root.dir(path.as_ref())?);
        let mut dirs = self.dirs.borrow_mut();
        if dirs.len() >= MOST_OPEN {
            dirs.clear();
        }
        dirs.insert(path, Rc::clone(&dir));
        Ok(dir)
    }

    pub(crate) fn parent(&self, path: &RelPath) -> Result<Rc<Dir<'a>>, FileError> {
        self.dir(path.parent().as_ref())
    }

    /// What is at a path without links; `None` where nothing is.
    pub(crate) fn look(&self, path: &RelPath) -> Result<Option<Facts>, FileError> {
        there(self.parent(path))?.map_or(Ok(None), |dir| dir.look(path.name()))
    }

    /// Follows links as far as they stay inside, and says where the path really leads: rules about
    /// names hold for that.
    pub(crate) fn locate(&self, path: &RelPath) -> Result<Located, FileError> {
        let mut here = path.clone();
        let mut link = None;
        for _ in 0..MOST_LINKS {
            let real = self.real(&here)?;
            let facts = self.look(&real)?;
            if facts.is_none_or(|facts| facts.kind != FileKind::Link) {
                let path = real;
                return Ok(Located { path, facts, link });
            }
            here = self.root.target_of(&real, path)?;
            link.get_or_insert(real);
        }
        Err(FileError::of("follow the links of", path)(Errno::LOOP))
    }

    /// The path with the directories on its way resolved.
    fn real(&self, path: &RelPath) -> Result<RelPath, FileError> {
        let Some(parent) = path.parent() else {
            return Ok(path.clone());
        };
        let known = self.real.borrow().get(&parent).cloned();
        if let Some(real) = known {
            let whole = match real {
                Some(dir) => format!("{dir}/{}", path.name()),
                None => path.name().to_owned(),
            };
            return joined("resolve", &whole);
        }
        let real = self.root.real(path)?;
        self.real.borrow_mut().insert(parent, real.parent());
        Ok(real)
    }
}
