//! File systems of our own: images on loop devices and in memory. Only root can mount them.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::{Duration, Instant},
};

use tempfile::TempDir;

use super::lab::{all, memory};

/// A kind of file system on a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Ext4,
    Xfs,
    Btrfs,
}

impl Kind {
    pub(crate) const ALL: [Self; 3] = [Self::Ext4, Self::Xfs, Self::Btrfs];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Ext4 => "ext4",
            Self::Xfs => "xfs",
            Self::Btrfs => "btrfs",
        }
    }
}

/// A mounted file system; gone with this value.
pub(crate) struct Mounted {
    dir: TempDir,
    kind: Option<Kind>,
}

/// Says it to whoever runs the tests, even where they all pass.
pub(crate) fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// What cannot be tested here is said; where everything was asked for, it is an error.
pub(crate) fn tested<T>(what: &str, made: Result<T, String>) -> Option<T> {
    match made {
        Ok(made) => Some(made),
        Err(reason) => {
            say(&format!("NOT TESTED: {what}: {reason}"));
            assert!(!all(), "{what} cannot be tested here: {reason}");
            None
        }
    }
}

/// A command to its end, or what it said.
pub(crate) fn done(program: &str, arguments: &[&str]) -> Result<(), String> {
    let output = Command::new(program).args(arguments).output();
    let output = output.map_err(|error| {
        format!("{program}: {error} (scripts/setup-tests installs what is missing)")
    })?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!(
        "{program} {}: {}",
        arguments.join(" "),
        said.trim()
    ))
}

/// Unmounts what is there. A program that another test is just starting has everything open that this process has, for a moment.
fn unmounted(path: &Path) -> Result<(), String> {
    let path = path.to_str().unwrap();
    let begun = Instant::now();
    loop {
        match done("umount", &[path]) {
            Err(said) if said.contains("busy") && begun.elapsed() < Duration::from_secs(10) => {
                thread::sleep(Duration::from_millis(20));
            }
            unmounted => return unmounted,
        }
    }
}

pub(crate) fn as_root() -> Result<(), String> {
    if rustix::process::geteuid().is_root() {
        Ok(())
    } else {
        Err("only root can mount a file system".to_owned())
    }
}

impl Mounted {
    /// A new, empty file system on an image in memory.
    pub(crate) fn disk(kind: Kind) -> Result<Self, String> {
        as_root()?;
        let dir = TempDir::with_prefix_in("oneact-disk-", memory()).map_err(|e| e.to_string())?;
        let mounted = Self {
            dir,
            kind: Some(kind),
        };
        let image = mounted.image();
        let image = image.to_str().unwrap();
        done("truncate", &["-s", "320M", image])?;
        let maker = format!("mkfs.{}", kind.name());
        let quiet: &[&str] = match kind {
            Kind::Ext4 => &["-q", "-F"],
            Kind::Xfs | Kind::Btrfs => &["-q", "-f"],
        };
        done(&maker, &[quiet, &[image]].concat())?;
        fs::create_dir(mounted.path()).unwrap();
        mounted.mount()?;
        Ok(mounted)
    }

    /// A small one in memory.
    pub(crate) fn memory(options: &str) -> Result<Self, String> {
        as_root()?;
        let dir = TempDir::with_prefix_in("oneact-disk-", memory()).map_err(|e| e.to_string())?;
        let mounted = Self { dir, kind: None };
        fs::create_dir(mounted.path()).unwrap();
        let path = mounted.path();
        done(
            "mount",
            &["-t", "tmpfs", "-o", options, "none", path.to_str().unwrap()],
        )?;
        Ok(mounted)
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.dir.path().join("mounted")
    }

    fn image(&self) -> PathBuf {
        self.dir.path().join("image")
    }

    fn mount(&self) -> Result<(), String> {
        let (image, path) = (self.image(), self.path());
        done(
            "mount",
            &[
                "-o",
                "loop",
                image.to_str().unwrap(),
                path.to_str().unwrap(),
            ],
        )
    }

    fn unmount(&self) -> Result<(), String> {
        unmounted(&self.path())
    }

    /// Everything so far is on the disk.
    pub(crate) fn sync(&self) {
        let opened = fs::File::open(self.path()).unwrap();
        rustix::fs::syncfs(opened).unwrap();
    }

    /// The power goes, and comes again. Somebody else waits for the disk just before: else ext4 would
    /// lose all of the last seconds together, and hide what is wrong with their order.
    pub(crate) fn cut(&self) {
        let path = self.path();
        let mut other = fs::File::create(path.join("other")).unwrap();
        other.write_all(b"of somebody else").unwrap();
        other.sync_all().unwrap();
        drop(other);
        match self.kind.unwrap() {
            Kind::Ext4 | Kind::Xfs => {
                // Without `-f`: the log is not flushed.
                done("xfs_io", &["-x", "-c", "shutdown", path.to_str().unwrap()]).unwrap();
                self.unmount().unwrap();
            }
            Kind::Btrfs => {
                let (image, left) = (self.image(), self.dir.path().join("left"));
                let (from, to) = (image.to_str().unwrap(), left.to_str().unwrap());
                done("cp", &["--sparse=always", from, to]).unwrap();
                self.unmount().unwrap();
                fs::rename(left, image).unwrap();
            }
        }
        self.mount().unwrap();
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = self.unmount();
    }
}

/// One place of the tree shown at another, until this value is gone.
pub(crate) struct Bound {
    from: PathBuf,
    to: PathBuf,
}

/// How a mount is not as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Absence {
    Unmounted,
    /// Something else is mounted over it.
    Covered,
}

impl Bound {
    pub(crate) fn new(from: &Path, to: &Path, options: &str) -> Result<Self, String> {
        as_root()?;
        let bound = Self {
            from: from.to_owned(),
            to: to.to_owned(),
        };
        bound.mount()?;
        if !options.is_empty() {
            let options = format!("remount,bind,{options}");
            done("mount", &["-o", &options, to.to_str().unwrap()])?;
        }
        Ok(bound)
    }

    fn mount(&self) -> Result<(), String> {
        let (from, to) = (self.from.to_str().unwrap(), self.to.to_str().unwrap());
        done("mount", &["--bind", from, to])
    }

    fn unmount(&self) -> Result<(), String> {
        unmounted(&self.to)
    }

    /// What happens while it is not mounted as it was.
    pub(crate) fn without<T>(&self, absence: Absence, work: impl FnOnce() -> T) -> T {
        if absence == Absence::Unmounted {
            self.unmount().unwrap();
            let result = work();
            self.mount().unwrap();
            return result;
        }
        let beside = TempDir::with_prefix_in("oneact-disk-", memory()).unwrap();
        let file = beside.path().join("file");
        fs::write(&file, "of somebody else\n").unwrap();
        let from = if self.to.is_dir() {
            beside.path()
        } else {
            &file
        };
        let _cover = Self::new(from, &self.to, "").unwrap();
        work()
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        let _ = self.unmount();
    }
}
