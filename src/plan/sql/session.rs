//! A query in the child: one statement after the other.

use std::{collections::BTreeSet, path::Path};

use serde_json::Value;

use crate::task::Fault;

use super::{
    engine::{confine, opened, out, quoted, supported},
    job::{Access, Done, Failed, Form, Job, Reply},
    library::{Bound, Connection, Given, Library, Prepared},
    text,
    trouble::Trouble,
};

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

/// The rows of the last statement, and its columns if it is saved.
type Last = (Option<u64>, Vec<(String, String)>);

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
        // It performs nothing, and leaves equal names as they are.
        let shape = text::described(body);
        let columns = self
            .one(&shape, count, start, text::DESCRIBED.len())?
            .pairs();
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
                let integer = text.parse().map_err(|_| {
                    Trouble::failed(format!(
                        "the parameter `{name}` is an integer outside of HUGEINT, which has 127 bits and a sign; give it as a \
                         text, and write `${name}::UHUGEINT` or `${name}::DOUBLE`"
                    ))
                })?;
                Bound::Huge(integer)
            }
        }
        Value::Array(_) => return Err(wrong("an array")),
        Value::Object(_) => return Err(wrong("an object")),
    })
}
