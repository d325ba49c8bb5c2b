//! The engine in the child: its jail, and its settings, which are locked before a query is seen.

use std::fs;

use camino::Utf8Path;
use rustix::{
    fs::{CWD, Mode, OFlags, fstat, openat},
    process::{Resource, chdir},
};

use crate::{
    plan::jail::{self, Domain},
    task::{Failure, Fault, RelPath},
};

use super::{
    job::{DATABASE, Held, Job, OUT, Opened, SPILLED, VIEW, understood},
    library::{Connection, Library},
};

/// What the loader and the engine read beside the files of a query: libraries, and the limits of the machine.
const SYSTEM: [&str; 12] = [
    "/lib",
    "/lib64",
    "/usr/lib",
    "/usr/lib64",
    "/usr/local/lib",
    "/nix/store",
    "/gnu/store",
    "/etc/ld.so.cache",
    "/proc/self/cgroup",
    "/sys/fs/cgroup",
    "/sys/devices/system/cpu",
    // Without it, the engine's allocator is slower by a fifth.
    "/proc/sys/vm/overcommit_memory",
];

/// Address space beside the memory of a query: the library, the buffers that the engine does not count, and for each
/// thread its stack and its arena.
const BESIDE: u64 = 512 << 20;
const BESIDE_THREAD: u64 = 80 << 20;

/// How many times its memory a query can spill to the disk.
const SPILLS: u64 = 16;

/// Whether oneact knows the version (1.4 to 2.x).
pub(super) fn is_supported(version: &str) -> bool {
    let numbers = version.trim_start_matches('v').split('.');
    let numbers: Vec<u32> = numbers.map_while(|number| number.parse().ok()).collect();
    matches!(*numbers, [1, minor, ..] if minor >= 4) || matches!(*numbers, [2, _, ..])
}

/// Enters the jail of a query: it reads what is listed and writes to its scratch directory.
pub(super) fn confine(job: &Job) -> Result<(), Failure> {
    let open = |path: &Utf8Path| {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        openat(CWD, path.as_std_path(), flags, Mode::empty())
    };
    let in_scratch = |name: &str| {
        let path = job.scratch.join(name);
        open(&path).map_err(|errno| job.failed(&format!("{path} cannot be opened: {errno}")))
    };
    let mut reads = vec![in_scratch(VIEW)?];
    for Held { at, device, inode } in &job.held {
        let file = open(at).and_then(|file| Ok((fstat(&file)?, file)));
        match file {
            Ok((facts, file)) if (facts.st_dev, facts.st_ino) == (*device, *inode) => {
                reads.push(file);
            }
            _ => {
                let message = format!(
                    "{at} was replaced or removed after it was checked; send the task again"
                );
                return Err(job.failure(Fault::HashMismatch, &message, None));
            }
        }
    }
    let beside = ["libstdc++.so.6", "libgcc_s.so.1"].map(|name| job.library.with_file_name(name));
    let system = SYSTEM.iter().map(Utf8Path::new);
    let all = system
        .chain(beside.iter().map(|path| &**path))
        .chain([&*job.library]);
    reads.extend(all.filter_map(|path| open(path).ok()));
    let writes = [OUT, SPILLED, DATABASE].map(in_scratch);
    let writes = writes.into_iter().collect::<Result<_, _>>()?;
    let view = job.scratch.join(VIEW);
    chdir(view.as_std_path())
        .map_err(|errno| job.failed(&format!("{view} cannot be entered: {errno}")))?;
    let pages = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = pages.split(' ').next().and_then(|it| it.parse().ok());
    let now = pages.unwrap_or(0) * rustix::param::page_size() as u64;
    let threads = u64::from(job.threads);
    jail::limit(&[
        (
            Resource::As,
            now + job.memory + BESIDE + threads * BESIDE_THREAD,
        ),
        (Resource::Fsize, SPILLS * job.memory),
    ])?;
    jail::enter(&Domain::Query { reads, writes })
}

/// Opens the database, and locks the engine's settings (C-22).
pub(super) fn opened(library: &'static Library, job: &Job) -> Result<Connection, Failure> {
    let refused = || "false".to_owned();
    let mut settings = vec![
        ("threads", job.threads.to_string()),
        ("memory_limit", format!("{}B", job.memory)),
        ("temp_directory", job.scratch.join(SPILLED).into_string()),
        ("autoinstall_known_extensions", refused()),
        ("autoload_known_extensions", refused()),
        ("allow_community_extensions", refused()),
        ("allow_persistent_secrets", refused()),
    ];
    let (path, what) = match &job.database {
        None => (None, "DuckDB"),
        Some(Opened::Written(path)) => (Some(&**path), "the database"),
        Some(Opened::Read(path)) => {
            settings.push(("access_mode", "READ_ONLY".to_owned()));
            (Some(&**path), "the database")
        }
    };
    let connection = library.open(path, &settings).map_err(|said| {
        let (_, message, _) = understood(&said);
        job.failed(&format!(
            "{what} cannot be opened: {message} (with DuckDB {})",
            library.version()
        ))
    })?;
    let view = job.scratch.join(VIEW);
    let reads = job.reads.iter().map(RelPath::as_path);
    let mut paths: Vec<String> = reads
        .flat_map(|path| [path.as_str().to_owned(), view.join(path).into_string()])
        .collect();
    paths.extend(job.results.map(|_| job.out().into_string()));
    let paths: Vec<String> = paths.iter().map(|path| quoted(path)).collect();
    // Each is one of the names that are refused later. With the directory, a pattern finds the listed files.
    let first = format!(
        "SET errors_as_json = true; SET TimeZone = 'UTC'; SET max_temp_directory_size = '{}B';
         SET allowed_directories = [{}]; SET allowed_paths = [{}]; SET enable_external_access = false;
         SET lock_configuration = true",
        SPILLS * job.memory,
        quoted(&format!("{view}/")),
        paths.join(", "),
    );
    let first = connection.query(&first);
    first.map_err(|said| job.said_of(&said, 0, usize::MAX))?;
    Ok(connection)
}

pub(super) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
