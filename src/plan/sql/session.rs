//! A query in the child: the jail, the engine, and one statement after the other.

use std::{collections::BTreeSet, fs, path::Path};

use rustix::{
    fs::{CWD, Mode, OFlags, fstat, openat},
    process::chdir,
};
use serde_json::Value;

use crate::{
    plan::jail::{self, Ceiling, Domain, Programs, Reads},
    task::{Failure, Fault, Network},
};

use super::{
    job::{Access, DATABASE, Done, Failed, Form, Held, Job, OUT, Opened, Reply, SPILLED, VIEW},
    library::{Bound, Connection, Given, Library, Prepared},
    text,
};

/// What the loader and the engine read beside the files of a query: libraries, and the limits of the machine.
const SYSTEM: [&str; 11] = [
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
];

/// Address space beside the memory of a query: the library, the buffers that the engine does not count, and for each
/// thread its stack and its arena.
const BESIDE: u64 = 512 << 20;
const BESIDE_THREAD: u64 = 80 << 20;

/// How many times its memory a query can spill to the disk.
const SPILLS: u64 = 16;

/// Something that ends the query.
struct Trouble {
    fault: Fault,
    message: String,
    at: Option<usize>,
}

impl Trouble {
    fn new(fault: Fault, message: impl Into<String>) -> Self {
        let (message, at) = (message.into(), None);
        Self { fault, message, at }
    }

    fn failed(message: impl Into<String>) -> Self {
        Self::new(Fault::SqlFailed, message)
    }

    /// What the engine said about a text that begins with `ahead` bytes of ours, and with which the query file goes on
    /// at `start`.
    fn said(said: &str, start: usize, ahead: usize) -> Self {
        let json = said.find('{').and_then(|at| said.get(at..));
        let json = json.and_then(|json| serde_json::from_str::<Value>(json).ok());
        let Some(json) = json else {
            return Self::failed(first_line(said));
        };
        let text = |key: &str| json.get(key).and_then(Value::as_str);
        let fault = match text("exception_type") {
            // The engine does not find a file that is not in the view.
            Some("Permission" | "IO") => Fault::SqlRefused,
            Some("Out of Memory") => Fault::OutOfMemory,
            Some("INTERNAL" | "FATAL") => Fault::EngineFailed,
            _ => Fault::SqlFailed,
        };
        let at = text("position").and_then(|at| at.parse::<usize>().ok());
        Self {
            at: at.and_then(|at| Some(start + at.checked_sub(ahead)?)),
            ..Self::new(fault, first_line(text("exception_message").unwrap_or(said)))
        }
    }
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        Self::new(failure.fault, failure.message)
    }
}

/// The engine's sentence, without its snippets of the text.
fn first_line(said: &str) -> &str {
    said.lines().next().unwrap_or_default()
}

/// Performs a query.
pub(crate) fn work(job: &Job) -> Reply {
    match perform(job) {
        Ok(done) => Reply::Done(done),
        Err(Trouble { fault, message, at }) => Reply::Failed(Failed {
            fault: fault.name().to_owned(),
            message,
            at,
        }),
    }
}

fn perform(job: &Job) -> Result<Done, Trouble> {
    confine(job)?;
    let unusable = |why: String| {
        let message = format!("DuckDB's library {} cannot be used: {why}", job.library);
        Trouble::new(Fault::EngineMissing, message)
    };
    let library = Library::load(Path::new(&job.library)).map_err(unusable)?;
    let version = library.version();
    let major = supported(&version).ok_or_else(|| {
        unusable(format!(
            "it is {version}, but oneact needs 1.4 to 2.x; install 1.5.6"
        ))
    })?;
    if major == 1
        && let Some(name) = text::unlocked(&text::code(&job.text))
    {
        let message = format!("the function {name} changes the engine's settings; leave it out");
        return Err(Trouble::new(Fault::SqlRefused, message));
    }
    let connection = opened(&library, job)?;
    let mut run = Run {
        job,
        connection: &connection,
        used: BTreeSet::new(),
    };
    let (rows, columns) = run.all()?;
    if job
        .database
        .as_ref()
        .is_some_and(|opened| opened.access == Access::Write)
    {
        let saved = connection.query("CHECKPOINT");
        saved.map_err(|said| Trouble::said(&said, 0, usize::MAX))?;
    }
    Ok(Done {
        rows,
        columns,
        version,
    })
}

/// The first number of a version that oneact knows (1.4 to 2.x).
fn supported(version: &str) -> Option<u32> {
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
fn confine(job: &Job) -> Result<(), Trouble> {
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
    Ok(jail::enter(domain)?)
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
fn opened<'l>(library: &'l Library, job: &Job) -> Result<Connection<'l>, Trouble> {
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
    let database = library.open(path.as_deref(), &settings).map_err(|said| {
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
    let connection = database.connect().map_err(Trouble::failed)?;
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

fn out(job: &Job) -> String {
    format!("{}/{OUT}/results", job.scratch)
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// The rows of the last statement, and its columns if it is saved.
type Last = (Option<u64>, Vec<(String, i32)>);

struct Run<'j> {
    job: &'j Job,
    connection: &'j Connection<'j>,
    /// The parameters of the statements so far, in lower case.
    used: BTreeSet<String>,
}

impl<'j> Run<'j> {
    /// Performs every statement. Nothing of a query that fails is kept, so the first error ends it.
    fn all(&mut self) -> Result<Last, Trouble> {
        let text = &*self.job.text;
        let statements = self
            .connection
            .statements(text)
            .map_err(|said| match said {
                Some(said) => Trouble::said(&said, 0, 0),
                None => Trouble::failed("there is no statement in it"),
            })?;
        let count = statements.count();
        let saved = match self.job.results {
            Some(form) => Some((form, self.last(count)?)),
            None => None,
        };
        let mut rows = None;
        let plain = if saved.is_some() { count - 1 } else { count };
        for index in 0..plain {
            let prepared = statements
                .prepare(index)
                .map_err(|said| Trouble::said(&said, 0, 0))?;
            let mut given = self.execute(&prepared, index + 1, 0, 0)?;
            rows = given.rows();
        }
        let last = match saved {
            Some((form, (start, body))) => self.save(form, start, body, count)?,
            None => (rows, Vec::new()),
        };
        let unused = |name: &&String| !self.used.contains(&name.to_lowercase());
        match self.job.parameters.keys().find(unused) {
            Some(name) => Err(Trouble::failed(format!(
                "the parameter `{name}` is given, but no statement has ${name}; leave it out, or correct its name"
            ))),
            None => Ok(last),
        }
    }

    /// Where the statement begins whose rows are saved, and the statement.
    fn last(&self, count: u64) -> Result<(usize, &'j str), Trouble> {
        let found = text::last(self.connection, &self.job.text, count);
        found.ok_or_else(|| {
            Trouble::failed(
                "the last statement gives no rows that can be saved; end the query with SELECT, FROM, WITH or VALUES \
                 (around SHOW, DESCRIBE and SUMMARIZE write `FROM (…)`; PIVOT without IN needs DuckDB 2)",
            )
        })
    }

    fn save(&mut self, form: Form, start: usize, body: &str, count: u64) -> Result<Last, Trouble> {
        let shape = format!("({body}\n) LIMIT 0");
        let columns = self.one(&shape, count, start, 1)?.columns();
        let mut names = BTreeSet::new();
        if let Some((name, _)) = columns
            .iter()
            .find(|(name, _)| !names.insert(name.to_lowercase()))
        {
            return Err(Trouble::failed(format!(
                "the result has two columns named `{name}` (upper and lower case are the same); name one of them with AS"
            )));
        }
        let target = out(self.job);
        let copy = format!(
            "COPY ({body}\n) TO {} ({})",
            quoted(&target),
            form.options()
        );
        let mut given = self.one(&copy, count, start, "COPY (".len())?;
        let mut rows = given.changed();
        if rows == 0 {
            // A COPY that the engine makes of several statements counts no rows.
            let count = format!(
                "SELECT count(*) FROM {}({})",
                form.reader(),
                quoted(&target)
            );
            let counted = self.connection.query(&count);
            rows = counted.map_or(0, |mut counted| counted.integer().unsigned_abs());
        }
        Ok((Some(rows), columns))
    }

    /// Executes a text of one statement.
    fn one(
        &mut self,
        text: &str,
        number: u64,
        start: usize,
        ahead: usize,
    ) -> Result<Given<'j>, Trouble> {
        let said = |said: &str| Trouble::said(said, start, ahead);
        let statements = self.connection.statements(text);
        let statements = statements.map_err(|error| said(&error.unwrap_or_default()))?;
        let prepared = statements.prepare(0).map_err(|error| said(&error))?;
        self.execute(&prepared, number, start, ahead)
    }

    /// Checks the kind of a statement, binds its parameters and executes it.
    fn execute<'c>(
        &mut self,
        prepared: &Prepared<'c>,
        number: u64,
        start: usize,
        ahead: usize,
    ) -> Result<Given<'c>, Trouble> {
        if let Some(kind) = refused(prepared.kind()) {
            let message = format!(
                "statement {number} is {kind}, which a plan cannot use; leave it out (a query is one transaction over its own copy, \
                 and its settings are fixed)"
            );
            return Err(Trouble::new(Fault::SqlRefused, message));
        }
        for name in prepared.parameters() {
            let value = self.job.parameters.iter();
            let mut value = value.filter(|(given, _)| given.to_lowercase() == name.to_lowercase());
            let Some((given, value)) = value.next() else {
                let hint = match name.parse::<u64>() {
                    Ok(_) => "has a parameter without a name; write `$name`".to_owned(),
                    Err(_) => {
                        format!("has the parameter ${name}, for which the plan gives no value")
                    }
                };
                return Err(Trouble::failed(format!("statement {number} {hint}")));
            };
            let bound = bound(given, value)?;
            prepared
                .bind(&name, &bound)
                .map_err(|said| Trouble::said(&said, start, ahead))?;
            self.used.insert(name.to_lowercase());
        }
        prepared
            .execute()
            .map_err(|said| Trouble::said(&said, start, ahead))
    }
}

/// The name of a kind of statement that a query cannot have. A kind that is not known is one of them.
fn refused(kind: i32) -> Option<&'static str> {
    Some(match kind {
        1..=5 | 7 | 9 | 11 | 12 | 14 | 15 | 18 | 27 | 30 => return None,
        6 => "PREPARE",
        8 => "EXECUTE",
        10 => "BEGIN, COMMIT or ROLLBACK",
        13 | 20 => "SET, RESET or USE",
        16 => "EXPORT DATABASE",
        17 => "PRAGMA",
        19 => "CALL or CHECKPOINT",
        21 => "LOAD or INSTALL",
        25 => "ATTACH",
        26 => "DETACH",
        28 => "COPY FROM DATABASE",
        29 => "UPDATE EXTENSIONS",
        _ => "of a kind that oneact does not know",
    })
}

/// The value of a parameter. An integer is never bound as a double, which has 53 bits (R-001-190).
fn bound<'v>(name: &str, value: &'v Value) -> Result<Bound<'v>, Trouble> {
    let wrong = |what: &str| {
        Trouble::failed(format!(
            "the parameter `{name}` is {what}; give null, true, false, a number or a text"
        ))
    };
    Ok(match value {
        Value::Null => Bound::Null,
        Value::Bool(value) => Bound::Boolean(*value),
        Value::String(text) => Bound::Text(text),
        Value::Number(number) => {
            let text = number.to_string();
            if let Some(integer) = number.as_i64() {
                Bound::Integer(integer)
            } else if let Some(integer) = number.as_u64() {
                Bound::Unsigned(integer)
            } else if text.contains(['.', 'e', 'E']) {
                let double = number.as_f64().filter(|double| double.is_finite());
                Bound::Double(double.ok_or_else(|| wrong("a number out of range"))?)
            } else {
                let integer = text
                    .parse()
                    .map_err(|_| wrong("an integer of more than 128 bits"))?;
                Bound::Huge(integer)
            }
        }
        Value::Array(_) => return Err(wrong("an array")),
        Value::Object(_) => return Err(wrong("an object")),
    })
}
