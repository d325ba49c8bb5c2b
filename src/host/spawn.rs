//! Starting a program that dies with us, without a copy of our memory.
//!
//! What `std::process::Command` does between fork and exec, it does in a fork: the kernel copies our
//! page tables, and afterwards every page we write to is looked at once more. Here the child borrows
//! our memory, and we stand still until it is another program (`CLONE_VM | CLONE_VFORK`), as in
//! `posix_spawn`, which cannot be told that the child shall die with us.

use std::{
    ffi::{CStr, CString, c_char, c_int, c_void},
    io::{self, PipeReader, PipeWriter, pipe},
    mem::MaybeUninit,
    os::fd::{AsRawFd, OwnedFd},
    ptr,
    sync::atomic::{AtomicI32, Ordering},
};

use rustix::{
    process::{Pid, WaitId, WaitIdOptions, getpid, waitid},
    thread::{CpuSet, sched_getaffinity, sched_setaffinity},
};

use super::interrupts::Handled;

/// A program to start.
#[derive(Debug, Clone, Copy)]
pub struct Program<'a> {
    /// The program and its arguments; without a slash it is looked for in the `PATH` of `env`.
    pub argv: &'a [String],
    /// All of its environment.
    pub env: &'a [(String, String)],
    /// Where it is started.
    pub directory: &'a str,
}

/// A started program: the leader of its own group, with pipes for standard streams. Nobody waits
/// for it but whoever holds this.
#[derive(Debug)]
pub struct Spawned {
    pub pid: Pid,
    pub stdin: OwnedFd,
    pub stdout: OwnedFd,
    pub stderr: OwnedFd,
}

/// What the child runs on until it is another program; it makes system calls and no more.
const STACK: usize = 16 * 1024;

/// For a `PATH` that is not set, as in glibc.
const USUAL_PATH: &str = "/bin:/usr/bin";

/// All that the child needs; made before, since it may not allocate.
struct Plan {
    /// Tried in turn.
    places: Vec<CString>,
    /// With a null at the end, as the next two.
    argv: Vec<*const c_char>,
    env: Vec<*const c_char>,
    /// `/bin/sh`, room for a place, the arguments: for a script that does not name its interpreter.
    script: Vec<*const c_char>,
    directory: CString,
    /// What becomes 0, 1 and 2.
    streams: [c_int; 3],
    parent: Pid,
    /// The signals to be blocked in the program.
    mask: libc::sigset_t,
    /// The signals that we handle.
    handled: Handled,
    /// Those that the program may be on, where we stay on ours meanwhile.
    processors: Option<CpuSet>,
    /// Why there is no program.
    error: AtomicI32,
}

/// Starts the program. The kernel kills it when the calling *thread* ends, however that ends.
pub fn spawn(program: Program<'_>) -> io::Result<Spawned> {
    let words = |text: &str| CString::new(text).map_err(io::Error::from);
    let argv = program.argv.iter().map(|text| words(text));
    let argv: Vec<CString> = argv.collect::<Result<_, _>>()?;
    let env = program.env.iter();
    let env = env.map(|(name, value)| words(&format!("{name}={value}")));
    let env: Vec<CString> = env.collect::<Result<_, _>>()?;
    let (stdin, ours_in): (PipeReader, PipeWriter) = pipe()?;
    let (ours_out, stdout) = pipe()?;
    let (ours_err, stderr) = pipe()?;

    let mut plan = Plan {
        places: places(program)?,
        argv: pointers(argv.iter()),
        env: pointers(env.iter()),
        script: [c"/bin/sh".as_ptr(), ptr::null()]
            .into_iter()
            .chain(pointers(argv.iter().skip(1)))
            .collect(),
        directory: words(program.directory)?,
        streams: [stdin.as_raw_fd(), stdout.as_raw_fd(), stderr.as_raw_fd()],
        parent: getpid(),
        mask: block_signals()?,
        handled: Handled::now(),
        processors: stay(),
        error: AtomicI32::new(0),
    };
    let cloned = vfork(&mut plan);
    go(plan.processors);
    restore_signals(&plan.mask);
    let pid = cloned?;
    match plan.error.into_inner() {
        0 => Ok(Spawned {
            pid,
            stdin: ours_in.into(),
            stdout: ours_out.into(),
            stderr: ours_err.into(),
        }),
        error => {
            // It has ended already; nothing is to be learnt from how.
            let _ = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED);
            Err(io::Error::from_raw_os_error(error))
        }
    }
}

/// Has this thread stay on its processor; gives those on which it may be. The kernel starts a program on one that is
/// idle, where it sees that at all, and draws whoever started it there as well: woken by it, the thread would then wait
/// until the program has booted.
#[expect(unsafe_code, reason = "rustix reads the whole vDSO first")]
fn stay() -> Option<CpuSet> {
    let all = sched_getaffinity(None).ok()?;
    let mut here = CpuSet::new();
    // SAFETY: asks for a number.
    here.set(usize::try_from(unsafe { libc::sched_getcpu() }).ok()?);
    (all.count() > 1 && sched_setaffinity(None, &here).is_ok()).then_some(all)
}

/// May be on these processors again.
fn go(processors: Option<CpuSet>) {
    if let Some(all) = processors {
        // Whoever could choose one of them may have them all.
        let _ = sched_setaffinity(None, &all);
    }
}

/// Where the program may be, as `execvp` looks for it.
fn places(program: Program<'_>) -> io::Result<Vec<CString>> {
    let name = program.argv.first().map_or("", String::as_str);
    if name.is_empty() || name.contains('/') {
        return Ok(vec![CString::new(name)?]);
    }
    let path = program.env.iter().find(|(name, _)| name == "PATH");
    let path = path.map_or(USUAL_PATH, |(_, path)| path);
    let place = |dir: &str| match dir {
        "" => CString::new(name),
        dir => CString::new(format!("{dir}/{name}")),
    };
    Ok(path.split(':').map(place).collect::<Result<_, _>>()?)
}

fn pointers<'a>(texts: impl Iterator<Item = &'a CString>) -> Vec<*const c_char> {
    texts
        .map(|text| text.as_ptr())
        .chain([ptr::null()])
        .collect()
}

/// Nothing may interrupt the child while it has our memory: a handler of ours would run in it. Gives
/// what was blocked before.
#[expect(unsafe_code, reason = "the standard library knows no signal masks")]
fn block_signals() -> io::Result<libc::sigset_t> {
    let mut all = MaybeUninit::uninit();
    let mut before = MaybeUninit::uninit();
    // SAFETY: both are written before they are read: the first by `sigfillset`, the second by a
    // `pthread_sigmask` that went well.
    unsafe {
        libc::sigfillset(all.as_mut_ptr());
        match libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr()) {
            0 => Ok(before.assume_init()),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    }
}

#[expect(unsafe_code, reason = "the standard library knows no signal masks")]
fn restore_signals(mask: &libc::sigset_t) {
    // SAFETY: the mask is one that was in force.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, mask, ptr::null_mut()) };
}

#[expect(
    unsafe_code,
    reason = "the one door to a child that borrows our memory"
)]
fn vfork(plan: &mut Plan) -> io::Result<Pid> {
    let mut stack = Vec::<u128>::with_capacity(STACK / size_of::<u128>());
    let top = stack.spare_capacity_mut().as_mut_ptr_range().end;
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    // SAFETY: the stack is the child's alone, aligned and grows down from its end; stack and plan
    // outlive it, for this thread goes on only when the child has ended or is another program. The
    // child allocates nothing, takes no locks, and no handler of ours can run in it.
    let pid = unsafe { libc::clone(child, top.cast(), flags, ptr::from_mut(plan).cast()) };
    Pid::from_raw(pid)
        .filter(|_| pid > 0)
        .ok_or_else(io::Error::last_os_error)
}

#[expect(
    unsafe_code,
    reason = "the one door to a child that borrows our memory"
)]
extern "C" fn child(plan: *mut c_void) -> c_int {
    // SAFETY: `vfork` has it from a reference, and waits while it is used here.
    let plan = unsafe { &mut *plan.cast::<Plan>() };
    let error = become_program(plan).raw_os_error();
    plan.error
        .store(error.unwrap_or(libc::EINVAL), Ordering::Relaxed);
    // SAFETY: ends this process and nothing of our memory.
    unsafe { libc::_exit(127) }
}

/// Comes back only if that fails.
#[expect(
    unsafe_code,
    reason = "the one door to a child that borrows our memory"
)]
fn become_program(plan: &mut Plan) -> io::Error {
    let failed = |result: c_int| result == -1;
    // SAFETY: system calls on numbers and on texts and lists that end in a null.
    unsafe {
        for (theirs, stream) in plan.streams.into_iter().zip(0..) {
            if failed(libc::dup2(theirs, stream)) {
                return io::Error::last_os_error();
            }
        }
        if failed(libc::chdir(plan.directory.as_ptr()))
            || failed(libc::setpgid(0, 0))
            || failed(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL))
        {
            return io::Error::last_os_error();
        }
        // We may have died before it asked: then nobody will ever tell it.
        if libc::getppid() != plan.parent.as_raw_pid() {
            return io::Error::from_raw_os_error(libc::ESRCH);
        }
        forget_handlers(plan.handled);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const plan.mask, ptr::null_mut());
    }
    exec(plan)
}

/// Signals that we handle do again what they do by default, in the child alone; so does SIGPIPE, which
/// the standard library ignores. What whoever started us has us ignore, the program ignores too.
#[expect(unsafe_code, reason = "the standard library knows no signal handlers")]
fn forget_handlers(handled: Handled) {
    let default = MaybeUninit::<libc::sigaction>::zeroed();
    for signal in handled.numbers().chain([libc::SIGPIPE]) {
        // SAFETY: all zeros are an action, the default one.
        unsafe { libc::sigaction(signal, default.as_ptr(), ptr::null_mut()) };
    }
}

/// Tries each place, as `execvp` does. Of several failures, one that found something says most.
fn exec(plan: &mut Plan) -> io::Error {
    go(plan.processors);
    let mut denied = None;
    let mut last = io::Error::from_raw_os_error(libc::ENOENT);
    for place in &plan.places {
        last = exec_at(place, &plan.argv, &plan.env);
        if last.raw_os_error() == Some(libc::ENOEXEC) {
            if let Some(script) = plan.script.get_mut(1) {
                *script = place.as_ptr();
            }
            return exec_at(c"/bin/sh", &plan.script, &plan.env);
        }
        match last.raw_os_error() {
            Some(libc::EACCES) => denied = Some(libc::EACCES),
            Some(libc::ENOENT | libc::ENOTDIR | libc::ESTALE | libc::ENODEV | libc::ETIMEDOUT) => {}
            _ => return last,
        }
    }
    denied.map_or(last, io::Error::from_raw_os_error)
}

#[expect(
    unsafe_code,
    reason = "the one door to a child that borrows our memory"
)]
fn exec_at(place: &CStr, argv: &[*const c_char], env: &[*const c_char]) -> io::Error {
    // SAFETY: both lists hold texts that end in a null, and end in a null themselves.
    unsafe { libc::execve(place.as_ptr(), argv.as_ptr(), env.as_ptr()) };
    io::Error::last_os_error()
}

#[cfg(test)]
mod tests;
