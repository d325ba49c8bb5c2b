//! The engine in the child: its jail, and its settings, which are locked before a query is seen.

use std::{fs, path::Path};

use rustix::{
    fs::{CWD, Mode, OFlags, fstat, openat},
    process::chdir,
};

use crate::{
    plan::jail::{self, Ceiling, Domain, Programs, Reads},
    task::{Fault, Network},
};

use super::{
    job::{Access, DATABASE, Held, Job, OUT, Opened, SPILLED, VIEW},
    library::{Connection, Library},
    trouble::Trouble,
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

/// The first number of a version that oneact knows (1.4 to 2.x).
pub(super) fn supported(version: &str) -> Option<u32> {
    let mut numbers = version
        .trim_start_matches('v')
        .split('.')
        .map(str::parse::<u32>);
    match (numbers.next()?.ok()?, numbers.next()?.ok()?) {
        (1, 4..) => Some(1),
        (2, _) => Some(2),
        _ => None,
    }
}

/// Enters the jail of a query: it reads what is listed and writes to its scratch directory.
pub(super) fn confine(job: &Job) -> Result<(), Trouble> {
    let open = |path: &str| openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
    let in_scratch = |name: &str| {
        let path = format!("{}/{name}", job.scratch);
        open(&path).map_err(|errno| Trouble::failed(format!("{path} cannot be opened: {errno}")))
    };
    let mut reads = vec![in_scratch(VIEW)?];
    for Held { at, device, inode } in &job.held {
        let changed = |why: &str| {
            let message = format!("{at} was {why} after it was checked; send the task again");
            Trouble::new(Fault::HashMismatch, message)
        };
        let file = open(at).map_err(|_| changed("removed"))?;
        let facts = fstat(&file).map_err(|_| changed("removed"))?;
        if (facts.st_dev, facts.st_ino) != (*device, *inode) {
            return Err(changed("replaced"));
        }
        reads.push(file);
    }
    let library = Path::new(&job.library);
    let beside = ["libstdc++.so.6", "libgcc_s.so.1"];
    let beside = beside.map(|name| library.with_file_name(name).to_string_lossy().into_owned());
    let system = SYSTEM.iter().map(ToString::to_string);
    let all = system.chain(beside).chain([job.library.clone()]);
    reads.extend(all.filter_map(|path| open(&path).ok()));
    let domain = Domain {
        reads: Reads::Only(reads),
        writes: vec![
            in_scratch(OUT)?,
            in_scratch(SPILLED)?,
            in_scratch(DATABASE)?,
        ],
        programs: Programs::Refused,
        network: Network::Refused,
    };
    let view = format!("{}/{VIEW}", job.scratch);
    chdir(view).map_err(|errno| Trouble::failed(format!("no working directory: {errno}")))?;
    let threads = u64::from(job.threads);
    jail::limit(&Ceiling {
        address_space: address_space() + job.memory + BESIDE + threads * BESIDE_THREAD,
        file: SPILLS * job.memory,
    })?;
    Ok(jail::enter(&domain)?)
}

/// The address space of this process, in bytes.
fn address_space() -> u64 {
    let pages = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = pages
        .split(' ')
        .next()
        .and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or_default() * rustix::param::page_size() as u64
}

/// Opens the database, and locks the engine's settings (C-22).
pub(super) fn opened<'l>(library: &'l Library, job: &Job) -> Result<Connection<'l>, Trouble> {
    let mut settings = vec![
        ("threads", job.threads.to_string()),
        ("memory_limit", format!("{}B", job.memory)),
        ("temp_directory", format!("{}/{SPILLED}", job.scratch)),
    ];
    settings.extend(
        [
            "autoinstall_known_extensions",
            "autoload_known_extensions",
            "allow_community_extensions",
            "allow_persistent_secrets",
        ]
        .map(|name| (name, "false".to_owned())),
    );
    let path = job.database.as_ref().map(|Opened { path, access }| {
        if *access == Access::Read {
            settings.push(("access_mode", "READ_ONLY".to_owned()));
        }
        format!("{}/{path}", job.scratch)
    });
    let connection = library.open(path.as_deref(), &settings).map_err(|said| {
        let Trouble { message, .. } = Trouble::said(&said, 0, 0);
        let what = if path.is_some() {
            "the database"
        } else {
            "DuckDB"
        };
        Trouble::failed(format!(
            "{what} cannot be opened: {message} (with DuckDB {})",
            library.version()
        ))
    })?;
    let view = format!("{}/{VIEW}", job.scratch);
    let mut paths: Vec<String> = job
        .reads
        .iter()
        .flat_map(|path| [path.clone(), format!("{view}/{path}")])
        .collect();
    paths.extend(job.results.map(|_| out(job)));
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
    connection
        .query(&first)
        .map_err(|said| Trouble::said(&said, 0, usize::MAX))?;
    Ok(connection)
}

pub(super) fn out(job: &Job) -> String {
    format!("{}/{OUT}/results", job.scratch)
}

pub(super) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
