//! The jail of what a plan starts: a child of this program that gives up rights before it does its work.
//!
//! The kernel refuses, by Landlock and seccomp, whatever the domain does not allow. A child without both is no jail,
//! and nothing is started in it.

use std::{
    fmt::Display,
    io::{self, Read, Write},
    os::{
        fd::{AsFd, OwnedFd},
        unix::process::CommandExt as _,
    },
    process::{Command, ExitStatus},
    time::Duration,
};

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, PathBeneath, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};
use nix::libc;
use rustix::{
    io::Errno,
    process::{
        DumpableBehavior, Pid, Resource, Rlimit, Signal, kill_process_group, set_dumpable_behavior,
        setrlimit,
    },
};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, apply_filter_all_threads,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::json;

use crate::{
    host::{Outside, ignore_file_size_signal, spawn_outside},
    task::{Failure, Fault, Network},
};

/// How often a caller that waits for a child asks whether to stop.
const LOOK: Duration = Duration::from_millis(20);

/// The longest answer of a child, in bytes.
const LONGEST: usize = 1 << 20;

/// The argument with which this program is such a child.
pub(crate) const ARGUMENT: &str = "@jailed";

/// A child that is started outside the domain of the plan. It is killed, with its group, when this value is dropped.
pub(crate) struct Child(Outside);

/// Why a child did not answer.
pub(crate) enum Ended {
    Stopped(Failure),
    /// It ended by itself.
    Died(ExitStatus),
    /// What it said cannot be read.
    Garbled,
}

impl Child {
    /// Starts a child and gives it its job (`{"KIND": JOB}`, one line).
    pub(crate) fn start(kind: &str, job: &impl Serialize) -> Result<Self, Failure> {
        #[cfg(not(test))]
        let arguments = [ARGUMENT];
        // The program of the unit tests has no verbs, but it can run one test.
        #[cfg(test)]
        let arguments = [
            "--exact",
            "plan::child::tests::is_the_child_of_another_test",
            "--ignored",
        ];
        let failed = |error: io::Error| {
            if error.kind() == io::ErrorKind::Unsupported {
                return unusable(&error);
            }
            let message = format!(
                "a child of oneact could not be started: {error}. Raise the limit of processes or of memory, and send the task again"
            );
            Failure::new(Fault::OutOfMemory, message)
        };
        let mut child = Self(spawn_outside(&arguments).map_err(failed)?);
        let line = format!("{}\n", json!({ kind: job }));
        // If it has ended, the answer says so.
        let _ = child.0.link.write_all(line.as_bytes());
        child.0.link.set_read_timeout(Some(LOOK)).map_err(failed)?;
        Ok(child)
    }

    /// Waits for the one line that the child says. `stopped` is asked now and then.
    pub(crate) fn answer<T: DeserializeOwned>(
        &mut self,
        stopped: &dyn Fn() -> Option<Failure>,
    ) -> Result<T, Ended> {
        let (mut said, mut block) = (Vec::new(), [0; 4096]);
        while said.last() != Some(&b'\n') {
            if let Some(failure) = stopped() {
                return Err(Ended::Stopped(failure));
            }
            match self.0.link.read(&mut block) {
                Ok(0) => break,
                Ok(more) => said.extend(block.iter().take(more)),
                Err(error) if is_a_pause(&error) => {}
                Err(_) => break,
            }
            if said.len() > LONGEST {
                return Err(Ended::Garbled);
            }
        }
        if said.is_empty() {
            return Err(self.0.child.wait().map_or(Ended::Garbled, Ended::Died));
        }
        serde_json::from_slice(&said).map_err(|_| Ended::Garbled)
    }

    /// Says a line to the child.
    pub(crate) fn say(&mut self, line: &str) {
        // If it has ended, the answer says so.
        let _ = self.0.link.write_all(format!("{line}\n").as_bytes());
    }
}

fn is_a_pause(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), Interrupted | TimedOut | WouldBlock)
}

impl Drop for Child {
    fn drop(&mut self) {
        let _ = kill_process_group(Pid::from_child(&self.0.child), Signal::KILL);
        let _ = self.0.child.wait();
    }
}

/// What a jailed process, and whatever it starts, can do.
pub(crate) struct Domain {
    pub(crate) reads: Reads,
    /// Directories, with everything below them, and devices.
    pub(crate) writes: Vec<OwnedFd>,
    pub(crate) programs: Programs,
    pub(crate) network: Network,
}

/// What can be read.
pub(crate) enum Reads {
    Everything,
    /// These files, and these directories with everything below them.
    Only(Vec<OwnedFd>),
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Programs {
    /// The whole process can start none. Nor can it change what it can only name: modes, owners, times, other
    /// processes.
    Refused,
    /// It can start programs, but cannot set the limits of other processes.
    Allowed,
}

/// Limits of the process, in bytes.
pub(crate) struct Ceiling {
    pub(crate) address_space: u64,
    pub(crate) file: u64,
}

/// Limits the process for good. A write beyond the limit of files fails.
pub(crate) fn limit(ceiling: &Ceiling) -> Result<(), Failure> {
    ignore_file_size_signal();
    for (resource, most) in [
        (Resource::Core, 0),
        (Resource::As, ceiling.address_space),
        (Resource::Fsize, ceiling.file),
    ] {
        let limit = Rlimit {
            current: Some(most),
            maximum: Some(most),
        };
        setrlimit(resource, limit).map_err(|errno| unusable(&errno))?;
    }
    Ok(())
}

/// Restricts the calling thread to the domain, and the whole process to its system calls, for good.
pub(crate) fn enter(domain: &Domain) -> Result<(), Failure> {
    let (ruleset, filters) = made(domain)?;
    restrict(ruleset, &filters).map_err(|error| unusable(&error))
}

/// Starts the command in the domain. This process stays outside: the kernel lets a program signal every thread of a
/// process that has one thread in its domain. An error of the kind `Unsupported` means that the domain was not entered.
#[expect(
    unsafe_code,
    reason = "the standard library has no safe way to act between fork and exec"
)]
pub(crate) fn confine(command: &mut Command, domain: &Domain) -> Result<(), Failure> {
    let (ruleset, filters) = made(domain)?;
    let mut ruleset = Some(ruleset);
    let enter = move || {
        let entered = ruleset.take().map(|ruleset| restrict(ruleset, &filters));
        entered
            .and_then(Result::ok)
            .ok_or_else(|| Errno::NOSYS.into())
    };
    // SAFETY: the closure makes system calls with what was made before. It neither allocates nor takes a lock.
    unsafe { command.pre_exec(enter) };
    Ok(())
}

/// What the kernel is to enforce. From here on, no other process of the user can read or trace this one.
fn made(domain: &Domain) -> Result<(RulesetCreated, Vec<BpfProgram>), Failure> {
    set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(|errno| unusable(&errno))?;
    let ruleset = landlocked(domain).map_err(|error| unusable(&error))?;
    let filters = filters(domain).map_err(|error| unusable(&error))?;
    Ok((ruleset, filters))
}

#[derive(Debug, thiserror::Error)]
enum Unrestricted {
    #[error("this kernel has no Landlock")]
    NoLandlock,
    #[error(transparent)]
    Landlock(#[from] RulesetError),
    #[error(transparent)]
    Seccomp(#[from] seccompiler::Error),
}

fn restrict(ruleset: RulesetCreated, filters: &[BpfProgram]) -> Result<(), Unrestricted> {
    if ruleset.restrict_self()?.ruleset == RulesetStatus::NotEnforced {
        return Err(Unrestricted::NoLandlock);
    }
    Ok(filters
        .iter()
        .try_for_each(|filter| apply_filter_all_threads(filter))?)
}

fn filters(domain: &Domain) -> Built<Vec<BpfProgram>> {
    let mut filters = vec![filter(without_limits_of_others()?, libc::EPERM)?];
    if domain.network == Network::Refused {
        filters.push(filter(without_network(), libc::EPERM)?);
    }
    if domain.programs == Programs::Refused {
        // A filter cannot see what `clone3` is asked to start. Without it, the C library uses `clone`.
        filters.push(filter(always(&[libc::SYS_clone3]), libc::ENOSYS)?);
        filters.push(filter(without_programs()?, libc::EPERM)?);
    }
    Ok(filters)
}

pub(crate) fn unusable(why: &dyn Display) -> Failure {
    let message = format!(
        "no jail can be made on this machine: {why}. oneact starts SQL and pipelines only where the kernel has Landlock and seccomp; use Linux 5.13 or later, with both enabled"
    );
    Failure::new(Fault::JailUnavailable, message)
}

/// The first version of Landlock is required, and what later ones add is used where the kernel has it.
fn landlocked(domain: &Domain) -> Result<RulesetCreated, RulesetError> {
    let of = |abi| match &domain.reads {
        Reads::Everything => AccessFs::from_write(abi),
        Reads::Only(_) => AccessFs::from_all(abi),
    };
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(of(ABI::V1))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(of(ABI::V5))?
        .scope(Scope::from_all(ABI::V6))?;
    if domain.network == Network::Refused {
        ruleset = ruleset.handle_access(AccessNet::from_all(ABI::V4))?;
    }
    let mut created = ruleset.create()?;
    // A device that root makes reaches everything.
    let given = of(ABI::V5) & !(AccessFs::MakeChar | AccessFs::MakeBlock);
    for each in &domain.writes {
        created = created.add_rule(PathBeneath::new(each.as_fd(), given))?;
    }
    if let Reads::Only(these) = &domain.reads {
        let read = AccessFs::ReadFile | AccessFs::ReadDir;
        for each in these {
            created = created.add_rule(PathBeneath::new(each.as_fd(), read))?;
        }
    }
    Ok(created)
}

type Rules = Vec<(i64, Vec<SeccompRule>)>;
type Built<T> = Result<T, seccompiler::BackendError>;

/// These system calls fail with that error.
fn filter(rules: Rules, errno: i32) -> Built<BpfProgram> {
    // The kernel may know the same calls by the numbers of x32.
    #[cfg(target_arch = "x86_64")]
    let rules = rules.into_iter().flat_map(|(call, rules)| {
        let number = match call {
            libc::SYS_execve => 520,
            libc::SYS_ptrace => 521,
            libc::SYS_rt_sigqueueinfo => 524,
            libc::SYS_process_vm_readv => 539,
            libc::SYS_process_vm_writev => 540,
            libc::SYS_execveat => 545,
            same => same,
        };
        [(call, rules.clone()), (0x4000_0000 | number, rules)]
    });
    let filter = SeccompFilter::new(
        rules.into_iter().collect(),
        SeccompAction::Allow,
        SeccompAction::Errno(errno.unsigned_abs()),
        std::env::consts::ARCH.try_into()?,
    )?;
    filter.try_into()
}

fn always(calls: &[i64]) -> Rules {
    calls.iter().map(|call| (*call, Vec::new())).collect()
}

/// A call with an argument of which this holds.
fn when(call: i64, argument: u8, holds: SeccompCmpOp, value: u64) -> Built<Rules> {
    let condition = SeccompCondition::new(argument, SeccompCmpArgLen::Qword, holds, value)?;
    Ok(vec![(call, vec![SeccompRule::new(vec![condition])?])])
}

/// A limit of processor time ends a process, which Landlock does not prevent.
fn without_limits_of_others() -> Built<Rules> {
    let given =
        |argument| SeccompCondition::new(argument, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, 0);
    let rule = SeccompRule::new(vec![given(0)?, given(2)?])?;
    Ok(vec![(libc::SYS_prlimit64, vec![rule])])
}

/// Every socket, also a local one: the services that listen on those do what the caller may not.
fn without_network() -> Rules {
    always(&[libc::SYS_socket, libc::SYS_io_uring_setup])
}

/// What starts a program, reaches another process or the kernel's settings, and what Landlock does not restrict.
fn without_programs() -> Built<Rules> {
    let own = u64::from(std::process::id());
    let threads = libc::CLONE_THREAD.unsigned_abs().into();
    let rules = [
        always(REFUSED),
        always(REFUSED_ON_X86),
        when(libc::SYS_clone, 0, SeccompCmpOp::MaskedEq(threads), 0)?,
        when(libc::SYS_tgkill, 0, SeccompCmpOp::Ne, own)?,
        when(libc::SYS_prlimit64, 2, SeccompCmpOp::Ne, 0)?,
    ];
    Ok(rules.concat())
}

/// Older calls, which newer machines do not have.
#[cfg(target_arch = "x86_64")]
const REFUSED_ON_X86: &[i64] = &[
    libc::SYS_fork,
    libc::SYS_vfork,
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
];
#[cfg(not(target_arch = "x86_64"))]
const REFUSED_ON_X86: &[i64] = &[];

const REFUSED: &[i64] = &[
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_socketpair,
    libc::SYS_kill,
    libc::SYS_tkill,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
    libc::SYS_pidfd_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_pidfd_send_signal,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_setrlimit,
    libc::SYS_setpriority,
    libc::SYS_truncate,
    libc::SYS_fchmodat,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsmount,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_open_by_handle_at,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_add_key,
    libc::SYS_keyctl,
    libc::SYS_request_key,
];

#[cfg(test)]
pub(crate) mod tests;
