//! The system calls of a thread that is stopped: what they do, to what, and what they return.

use std::{fs, os::unix::fs::FileExt as _};

use camino::{Utf8Path, Utf8PathBuf};
use nix::{
    libc::{self, c_int, c_long, user_regs_struct},
    sys::ptrace,
    unistd::Pid,
};

use super::{Call, Kind};

/// `ioctl`s that share the blocks of another file.
const FICLONE: u64 = 0x4004_9409;
const FICLONERANGE: u64 = 0x4020_940d;

/// The call that the thread is about to make, if it is one that tests decide about.
pub(super) fn of(thread: Pid) -> Option<Call> {
    let registers = ptrace::getregs(thread).ok()?;
    Stopped { thread, registers }.call()
}

/// Has the thread make no call.
pub(super) fn skip(thread: Pid) {
    if let Ok(mut registers) = ptrace::getregs(thread) {
        registers.orig_rax = u64::MAX;
        let _ = ptrace::setregs(thread, registers);
    }
}

/// After a call that was not made: what it returns.
pub(super) fn returns(thread: Pid, result: i64) {
    if let Ok(mut registers) = ptrace::getregs(thread) {
        registers.rax = result.cast_unsigned();
        let _ = ptrace::setregs(thread, registers);
    }
}

struct Stopped {
    thread: Pid,
    registers: user_regs_struct,
}

impl Stopped {
    fn call(&self) -> Option<Call> {
        let number = c_long::try_from(self.registers.orig_rax).ok()?;
        let [a, b, c, d, ..] = self.arguments();
        let to = |kind, path: Option<Utf8PathBuf>| {
            let from = None;
            Some(Call {
                kind,
                path: path?,
                from,
            })
        };
        let moved = |kind, old: Option<Utf8PathBuf>, new: Option<Utf8PathBuf>| {
            Some(Call {
                kind,
                path: new?,
                from: old,
            })
        };
        match number {
            libc::SYS_openat if makes(c) => to(Kind::Create, self.at(a, b)),
            libc::SYS_openat2 if makes(self.word(c)?) => to(Kind::Create, self.at(a, b)),
            libc::SYS_open if makes(b) => to(Kind::Create, self.here(a)),
            libc::SYS_write
            | libc::SYS_writev
            | libc::SYS_sendto
            | libc::SYS_sendmsg
            | libc::SYS_sendfile => self.written(a),
            libc::SYS_pwrite64 | libc::SYS_pwritev | libc::SYS_ftruncate | libc::SYS_fallocate => {
                to(Kind::Write, self.file(a))
            }
            libc::SYS_ioctl if [FICLONE, FICLONERANGE].contains(&b) => {
                to(Kind::Write, self.file(a))
            }
            libc::SYS_copy_file_range => to(Kind::Write, self.file(c)),
            libc::SYS_truncate => to(Kind::Write, self.here(a)),
            libc::SYS_linkat => moved(Kind::Link, self.at(a, b), self.at(c, d)),
            libc::SYS_link => moved(Kind::Link, self.here(a), self.here(b)),
            libc::SYS_symlinkat => to(Kind::Link, self.at(b, c)),
            libc::SYS_symlink => to(Kind::Link, self.here(b)),
            libc::SYS_renameat2 | libc::SYS_renameat => {
                moved(Kind::Rename, self.at(a, b), self.at(c, d))
            }
            libc::SYS_rename => moved(Kind::Rename, self.here(a), self.here(b)),
            libc::SYS_mkdirat => to(Kind::MakeDir, self.at(a, b)),
            libc::SYS_mkdir => to(Kind::MakeDir, self.here(a)),
            libc::SYS_unlinkat => to(Kind::Remove, self.at(a, b)),
            libc::SYS_unlink | libc::SYS_rmdir => to(Kind::Remove, self.here(a)),
            libc::SYS_fchmod | libc::SYS_fchown | libc::SYS_fsetxattr | libc::SYS_fremovexattr => {
                to(Kind::Attributes, self.file(a))
            }
            libc::SYS_utimensat if b == 0 => to(Kind::Attributes, self.file(a)),
            libc::SYS_fchmodat | libc::SYS_fchownat | libc::SYS_utimensat => {
                to(Kind::Attributes, self.at(a, b))
            }
            libc::SYS_chmod => to(Kind::Attributes, self.here(a)),
            libc::SYS_fsync | libc::SYS_fdatasync | libc::SYS_syncfs => {
                to(Kind::Sync, self.file(a))
            }
            libc::SYS_fork | libc::SYS_vfork => to(Kind::Start, Some("".into())),
            libc::SYS_clone if !is_thread(a) => to(Kind::Start, Some("".into())),
            libc::SYS_clone3 if !is_thread(self.word(a)?) => to(Kind::Start, Some("".into())),
            _ => None,
        }
    }

    fn arguments(&self) -> [u64; 6] {
        let user_regs_struct {
            rdi,
            rsi,
            rdx,
            r10,
            r8,
            r9,
            ..
        } = self.registers;
        [rdi, rsi, rdx, r10, r8, r9]
    }

    /// What a write to an open file, a pipe or a socket is; other files of the kernel do not matter.
    fn written(&self, fd: u64) -> Option<Call> {
        let path = self.open(fd)?;
        let text = path.as_str();
        let kind = match text.split_once(':') {
            _ if text.starts_with('/') => Kind::Write,
            Some(("pipe" | "socket", _)) if descriptor(fd) > 2 => Kind::Say,
            _ => return None,
        };
        let from = None;
        Some(Call { kind, path, from })
    }

    /// An open file or directory.
    fn file(&self, fd: u64) -> Option<Utf8PathBuf> {
        self.open(fd).filter(|path| path.is_absolute())
    }

    /// What a descriptor is of, as the kernel calls it.
    fn open(&self, fd: u64) -> Option<Utf8PathBuf> {
        let fd = descriptor(fd);
        link(&format!("/proc/{}/fd/{fd}", self.thread))
    }

    /// A name in an open directory, or in the working directory.
    fn at(&self, dir: u64, name: u64) -> Option<Utf8PathBuf> {
        if descriptor(dir) == libc::AT_FDCWD {
            return self.here(name);
        }
        Some(self.open(dir)?.join(self.text(name)?))
    }

    fn here(&self, name: u64) -> Option<Utf8PathBuf> {
        let name = self.text(name)?;
        if name.is_absolute() {
            return Some(name);
        }
        Some(link(&format!("/proc/{}/cwd", self.thread))?.join(name))
    }

    /// A path in the memory of the thread.
    fn text(&self, at: u64) -> Option<Utf8PathBuf> {
        let mut bytes = vec![0; usize::try_from(libc::PATH_MAX).unwrap()];
        let read = self.memory(at, &mut bytes)?;
        bytes.truncate(read);
        let end = bytes.iter().position(|byte| *byte == 0)?;
        bytes.truncate(end);
        Some(Utf8PathBuf::from(String::from_utf8(bytes).ok()?))
    }

    /// A number in the memory of the thread.
    fn word(&self, at: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        let read = self.memory(at, &mut bytes)?;
        (read == bytes.len()).then(|| u64::from_ne_bytes(bytes))
    }

    fn memory(&self, at: u64, bytes: &mut [u8]) -> Option<usize> {
        let memory = fs::File::open(format!("/proc/{}/mem", self.thread)).ok()?;
        memory.read_at(bytes, at).ok()
    }
}

fn link(at: &str) -> Option<Utf8PathBuf> {
    Utf8Path::new(at).read_link_utf8().ok()
}

/// The kernel looks at the lower half of the register only.
#[expect(clippy::cast_possible_truncation, reason = "as the kernel does")]
fn descriptor(register: u64) -> c_int {
    (register as u32).cast_signed()
}

/// Whether an open file is made or emptied.
fn makes(flags: u64) -> bool {
    let has = |flag: c_int| {
        let flag = u64::from(flag.cast_unsigned());
        flags & flag == flag
    };
    has(libc::O_CREAT) || has(libc::O_TRUNC) || has(libc::O_TMPFILE)
}

/// Whether a clone is a thread of its process.
fn is_thread(flags: u64) -> bool {
    flags & u64::from(libc::CLONE_THREAD.cast_unsigned()) != 0
}
