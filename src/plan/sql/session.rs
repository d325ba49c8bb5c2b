//! A query in the child: one statement after the other.

use std::collections::BTreeSet;

use crate::task::{Failure, Fault};

use super::{
    engine::{confine, is_supported, opened, quoted},
    job::{Answer, Form, Job, Opened},
    library::{Connection, Given, Library, Statements},
    text,
};

/// Performs a query.
pub(crate) fn work(job: &Job) -> Result<Answer, Failure> {
    confine(job)?;
    let unusable = |why: String| {
        let message = format!("DuckDB's library {} cannot be used: {why}", job.library);
        job.failure(Fault::EngineMissing, &message, None)
    };
    let library = Library::load(&job.library).map_err(unusable)?;
    let version = library.version();
    if !is_supported(&version) {
        return Err(unusable(format!(
            "it is {version}, but oneact needs 1.4 to 2.x; install 1.5.6"
        )));
    }
    let mut run = Run {
        job,
        connection: opened(library, job)?,
        used: BTreeSet::new(),
    };
    let (rows, notes) = run.all()?;
    if let Some(Opened::Written(_)) = job.database {
        let saved = run.connection.query("CHECKPOINT");
        saved.map_err(|said| job.said_of(&said, 0, usize::MAX))?;
    }
    Ok(Answer {
        rows,
        notes,
        engine: format!("DuckDB {version}"),
        ..Answer::default()
    })
}

/// The rows of the last statement, and what the results do not hold exactly.
type Last = (Option<u64>, Vec<String>);

/// Where a text is from: it is performed for the statement of that number, begins with `ahead` bytes of ours, and goes on
/// with the query file at `start`.
#[derive(Clone, Copy, Default)]
struct Origin {
    number: u64,
    start: usize,
    ahead: usize,
}

struct Run<'j> {
    job: &'j Job,
    connection: Connection,
    /// The parameters of the statements so far, in lower case.
    used: BTreeSet<String>,
}

impl Run<'_> {
    /// Performs every statement. Nothing of a query that fails is kept, so the first error ends it.
    fn all(&mut self) -> Result<Last, Failure> {
        let job = self.job;
        let statements = self.connection.statements(&job.text);
        let statements = statements.map_err(|said| job.said(&said))?;
        let count = statements.count;
        if count == 0 {
            return Err(job.failed("there is no statement in it"));
        }
        let saved = job.results.map(|form| {
            let last = text::last(self.connection, &job.text, count);
            let last = last.ok_or_else(|| {
                job.failed(
                    "the last statement gives no rows that can be saved; end the query with SELECT, FROM, WITH or VALUES \
                     (around SHOW, DESCRIBE and SUMMARIZE write `FROM (…)`; PIVOT without IN needs DuckDB 2)",
                )
            });
            last.map(|(start, body)| (form, start, body))
        });
        let saved = saved.transpose()?;
        let mut last = (None, Vec::new());
        let mut origin = Origin::default();
        for index in 0..count - u64::from(saved.is_some()) {
            origin.number = index + 1;
            last.0 = self.execute(&statements, index, origin)?.rows();
        }
        if let Some((form, start, body)) = saved {
            (origin.number, origin.start) = (count, start);
            last = self.save(form, body, origin)?;
        }
        let unused = |name: &&String| !self.used.contains(&name.to_lowercase());
        match job.parameters.keys().find(unused) {
            Some(name) => Err(job.failed(&format!(
                "the parameter `{name}` is given, but no statement has ${name}; leave it out, or correct its name"
            ))),
            None => Ok(last),
        }
    }

    /// Saves the rows of a statement, which is the last one.
    fn save(&mut self, form: Form, body: &str, origin: Origin) -> Result<Last, Failure> {
        // It performs nothing, and leaves equal names as they are.
        let mut shape = self.one(text::DESCRIBE, body, "", origin)?;
        let (mut names, mut notes) = (BTreeSet::new(), Vec::new());
        for row in 0..shape.rows().unwrap_or_default() {
            let (name, kind) = (shape.text(0, row), shape.text(1, row));
            notes.extend(inexact(form, &name, &kind));
            if !names.insert(name.to_lowercase()) {
                return Err(self.job.failed(&format!(
                    "the result has two columns named `{name}` (upper and lower case are the same); name one of them with AS"
                )));
            }
        }
        let target = quoted(self.job.out().as_str());
        let (options, reader) = form.copied();
        let into = format!(" TO {target} ({options})");
        let mut rows = self.one("COPY (", body, &into, origin)?.changed();
        if rows == 0 {
            // A COPY that the engine makes of several statements counts no rows.
            let count = format!("SELECT count(*) FROM {reader}({target})");
            let counted = self.connection.query(&count);
            let counted = counted.ok().map(|mut counted| counted.text(0, 0));
            rows = counted.and_then(|rows| rows.parse().ok()).unwrap_or(0);
        }
        Ok((Some(rows), notes))
    }

    /// Executes a statement of the query file between texts of ours.
    fn one(
        &mut self,
        ahead: &str,
        body: &str,
        behind: &str,
        origin: Origin,
    ) -> Result<Given, Failure> {
        let origin = Origin {
            ahead: ahead.len(),
            ..origin
        };
        let text = format!("{ahead}{body}\n){behind}");
        let said = |said: String| self.job.said_of(&said, origin.start, origin.ahead);
        let statements = self.connection.statements(&text).map_err(said)?;
        self.execute(&statements, 0, origin)
    }

    /// Checks the kind of a statement, binds its parameters and executes it.
    fn execute(
        &mut self,
        statements: &Statements,
        index: u64,
        origin: Origin,
    ) -> Result<Given, Failure> {
        let (job, number) = (self.job, origin.number);
        let said = |said: String| job.said_of(&said, origin.start, origin.ahead);
        let prepared = statements.prepare(index).map_err(said)?;
        if let Some(kind) = refused(prepared.kind()) {
            let message = format!(
                "statement {number} is {kind}, which a plan cannot use; leave it out (a query is one transaction over its own copy, \
                 and its settings are fixed)"
            );
            return Err(job.failure(Fault::SqlRefused, &message, None));
        }
        for (at, name) in prepared.parameters() {
            let lower = name.to_lowercase();
            let mut given = job.parameters.iter();
            let Some((given, value)) = given.find(|(given, _)| given.to_lowercase() == lower)
            else {
                let hint = match name.parse::<u64>() {
                    Ok(_) => "has a parameter without a name; write `$name`".to_owned(),
                    Err(_) => {
                        format!("has the parameter ${name}, for which the plan gives no value")
                    }
                };
                return Err(job.failed(&format!("statement {number} {hint}")));
            };
            let bound = prepared.bind(at, value);
            bound.map_err(|why| job.failed(&format!("the parameter `{given}` {why}")))?;
            self.used.insert(lower);
        }
        prepared.execute().map_err(said)
    }
}

/// What the format does not hold exactly.
fn inexact(form: Form, name: &str, kind: &str) -> Option<String> {
    if form != Form::Parquet {
        None
    } else if kind.contains("HUGEINT") {
        Some(format!(
            "Parquet has no HUGEINT, so the column `{name}` ({kind}) is stored with DOUBLE, which has 53 bits. To keep every \
             digit, cast to BIGINT or DECIMAL(38,0)"
        ))
    } else {
        kind.contains("INTERVAL").then(|| {
            format!(
                "Parquet has no microseconds in an INTERVAL, so the column `{name}` ({kind}) is stored with milliseconds. To keep \
                 them, save `epoch_us` of it or its text"
            )
        })
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
