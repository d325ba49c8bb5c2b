//! The jail of what a plan starts: a child of this program that gives up rights before it does its work.
//!
//! The kernel refuses, by Landlock and seccomp, whatever the domain does not allow. A child without both is no jail,
//! and nothing is started in it.

use std::{
    fmt::Display,
    io::{self, BufRead as _, BufReader, Read as _, Write as _},
    os::{
        fd::OwnedFd,
        unix::{
            net::UnixStream,
            process::{CommandExt as _, ExitStatusExt as _},
        },
    },
    process::Command,
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

/// The socket to the program that started this one. It says lines, too.
pub(crate) type Link = BufReader<UnixStream>;

/// How often a caller that waits for a child asks whether to stop.
const LOOK: Duration = Duration::from_millis(20);

/// The longest answer of a child, in bytes.
const LONGEST: u64 = 1 << 20;

/// The argument with which this program is such a child.
pub(crate) const ARGUMENT: &str = "@jailed";

/// A child that is started outside the domain of the plan. It is killed, with its group, when this value is dropped.
pub(crate) struct Child(Outside);

/// Why a child did not answer.
pub(crate) enum Ended {
    Stopped(Failure),
    /// It ended by itself, or said nothing that can be read: how.
    Died(String),
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
        child.say(&json!({ kind: job }));
        child.0.link.set_read_timeout(Some(LOOK)).map_err(failed)?;
        Ok(child)
    }

    /// Waits for the one line that the child says. `stopped` is asked now and then.
    pub(crate) fn answer<T: DeserializeOwned>(
        &mut self,
        stopped: &dyn Fn() -> Option<Failure>,
    ) -> Result<T, Ended> {
        let mut said = Vec::new();
        let mut link = BufReader::new(&self.0.link).take(LONGEST);
        loop {
            if let Some(failure) = stopped() {
                return Err(Ended::Stopped(failure));
            }
            match link.read_until(b'\n', &mut said) {
                // The time until the next question is over.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                _ => break,
            }
        }
        serde_json::from_slice(&said).map_err(|_| {
            let ended = said.is_empty().then(|| self.0.child.wait().ok()).flatten();
            Ended::Died(match ended.map(|status| (status, status.signal())) {
                Some((_, Some(signal))) => format!("was ended by signal {signal}"),
                Some((status, None)) => format!("ended with {status}"),
                None => "gave no answer that can be read".to_owned(),
            })
        })
    }

    /// Says a line to the child.
    pub(crate) fn say(&mut self, line: &dyn Display) {
        // If it has ended, the answer says so.
        let _ = self.0.link.write_all(format!("{line}\n").as_bytes());
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let _ = kill_process_group(Pid::from_child(&self.0.child), Signal::KILL);
        let _ = self.0.child.wait();
    }
}

/// What a jailed process, and whatever it starts, can do.
pub(crate) enum Domain {
    /// The whole process can start no program and use no network. Nor can it change what it can only name: modes, owners,
    /// times, other processes.
    Query {
        /// Files, and directories with everything below them.
        reads: Vec<OwnedFd>,
        /// Directories, with everything below them.
        writes: Vec<OwnedFd>,
    },
    /// It reads everything and can start programs, but cannot set the limits of other processes.
    Program {
        /// Directories, with everything below them, and devices.
        writes: Vec<OwnedFd>,
        network: Network,
    },
}

impl Domain {
    fn network(&self) -> Network {
        match self {
            Self::Query { .. } => Network::Refused,
            Self::Program { network, .. } => *network,
        }
    }
}

/// Limits the process for good. A write beyond the limit of files fails.
pub(crate) fn limit(resources: &[(Resource, u64)]) -> Result<(), Failure> {
    ignore_file_size_signal();
    for (resource, most) in [(Resource::Core, 0)].iter().chain(resources) {
        let most = Some(*most);
        let limit = Rlimit {
            current: most,
            maximum: most,
        };
        setrlimit(*resource, limit).map_err(|errno| unusable(&errno))?;
    }
    Ok(())
}

/// Restricts the calling thread to the domain, and the whole process to its system calls, for good.
pub(crate) fn enter(domain: &Domain) -> Result<(), Failure> {
    let (ruleset, filters) = made(domain)?;
    restrict(ruleset, &filters).map_err(|why| unusable(&why))
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

/// It neither allocates nor takes a lock.
fn restrict(ruleset: RulesetCreated, filters: &[BpfProgram]) -> Result<(), &'static str> {
    let landlock = ruleset.restrict_self();
    if !landlock.is_ok_and(|status| status.ruleset != RulesetStatus::NotEnforced) {
        return Err("the kernel did not take the rules of Landlock");
    }
    let mut filters = filters
        .iter()
        .map(|filter| apply_filter_all_threads(filter));
    if filters.any(|applied| applied.is_err()) {
        return Err("the kernel did not take the rules of seccomp");
    }
    Ok(())
}

fn filters(domain: &Domain) -> Built<Vec<BpfProgram>> {
    // A limit of processor time ends a process, which Landlock does not prevent.
    let limits_of_others = [(0, SeccompCmpOp::Ne, 0), (2, SeccompCmpOp::Ne, 0)];
    let limits_of_others = when(libc::SYS_prlimit64, &limits_of_others)?;
    let mut filters = vec![filter(limits_of_others, libc::EPERM)?];
    if domain.network() == Network::Refused {
        // Every socket, also a local one: the services that listen on those do what the caller may not.
        let sockets = always(&[libc::SYS_socket, libc::SYS_io_uring_setup]);
        filters.push(filter(sockets, libc::EPERM)?);
    }
    if let Domain::Query { .. } = domain {
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
    let of = |abi| match domain {
        Domain::Query { .. } => AccessFs::from_all(abi),
        Domain::Program { .. } => AccessFs::from_write(abi),
    };
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(of(ABI::V1))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(of(ABI::V5))?
        .scope(Scope::from_all(ABI::V6))?;
    if domain.network() == Network::Refused {
        ruleset = ruleset.handle_access(AccessNet::from_all(ABI::V4))?;
    }
    let (reads, writes): (&[OwnedFd], _) = match domain {
        Domain::Query { reads, writes } => (reads, writes),
        Domain::Program { writes, .. } => (&[], writes),
    };
    // A device that root makes reaches everything.
    let written = of(ABI::V5) & !(AccessFs::MakeChar | AccessFs::MakeBlock);
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    let writes = writes.iter().map(|fd| (fd, written));
    let all = writes.chain(reads.iter().map(|fd| (fd, read)));
    let rule = |(fd, access)| Ok::<_, RulesetError>(PathBeneath::new(fd, access));
    ruleset.create()?.add_rules(all.map(rule))
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

/// A call with arguments of which all of these hold.
fn when(call: i64, arguments: &[(u8, SeccompCmpOp, u64)]) -> Built<Rules> {
    let conditions = arguments.iter().map(|(at, holds, value)| {
        SeccompCondition::new(*at, SeccompCmpArgLen::Qword, holds.clone(), *value)
    });
    let rule = SeccompRule::new(conditions.collect::<Result<_, _>>()?)?;
    Ok(vec![(call, vec![rule])])
}

/// What starts a program, reaches another process or the kernel's settings, and what Landlock does not restrict.
fn without_programs() -> Built<Rules> {
    let own = u64::from(std::process::id());
    let threads = libc::CLONE_THREAD.unsigned_abs().into();
    let rules = [
        always(REFUSED),
        always(REFUSED_ON_X86),
        when(libc::SYS_clone, &[(0, SeccompCmpOp::MaskedEq(threads), 0)])?,
        when(libc::SYS_tgkill, &[(0, SeccompCmpOp::Ne, own)])?,
        when(libc::SYS_prlimit64, &[(2, SeccompCmpOp::Ne, 0)])?,
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
