//! The queries of a plan. A query runs while the plan is checked: its results and the database that it changes are
//! contents of files like those of any other action (R-001-92, R-001-121).

use crate::{
    host::RangeLock,
    plan::{
        engine::Scratch,
        fold::{SqlPlaces, scratch_name},
        hash::hash,
        model::{Action, Order, Sql},
        sql::{self, Engine, Held, Query, Source},
    },
    task::{Failure, Fault, RelPath},
    tree::{Located, held_still},
};

use super::{Now, Overlay, missing, regular};

/// How much of a query a preview shows, in bytes.
const SHOWN: usize = 16 << 10;

/// A query for the people who look at a preview.
fn shown(action: &Action, sql: &Sql, text: &str) -> String {
    let parameters = serde_json::to_string(&sql.parameters).unwrap_or_default();
    let reads: Vec<&str> = sql.inputs().map(RelPath::as_str).collect();
    let reads = if reads.is_empty() {
        "nothing".to_owned()
    } else {
        reads.join(", ")
    };
    let may_differ = match sql.order {
        Order::Deterministic => "",
        Order::Any => "; the results of the run may differ from these",
    };
    let end = text.floor_char_boundary(SHOWN);
    let (text, cut) = text.split_at(end);
    let cut = if cut.is_empty() { "" } else { "\n…" };
    format!(
        "{} performs the query {} with the parameters {parameters}, reading {reads}{may_differ}:\n{}{cut}\n",
        action.id,
        action.target,
        text.trim_end()
    )
}

/// The longest query file, in bytes.
const LONGEST: u64 = 1 << 20;

impl<'a> Overlay<'a> {
    /// Performs a query, and keeps what it makes. Nothing of the tree is changed.
    pub(super) fn query(
        &mut self,
        action: &'a Action,
        sql: &'a Sql,
        (query, places): (&Located, &SqlPlaces),
        stopped: &dyn Fn() -> Option<Failure>,
    ) -> Result<String, Failure> {
        if let Some(results) = &places.results {
            self.vacant(results)?;
        }
        let written = self.database(places)?;
        let inputs = places.inputs.iter().map(|(_, located)| located);
        for located in inputs.chain([query]).chain(written) {
            self.with(&located.path, stopped, Now::settle)?;
        }
        let text = self.text(query)?;
        let inputs = places.inputs.iter();
        let asked = Query {
            path: &action.target,
            text: &text,
            sql,
            inputs: inputs
                .map(|(_, located)| self.input(located))
                .collect::<Result<_, _>>()?,
            written: match written {
                Some(located) => self.planned_bytes(&located.path)?,
                None => None,
            },
        };
        let scratch = Scratch::make(self.view.root(), &scratch_name(self.host))?;
        let engine = Engine {
            settings: &self.plan.limits.duckdb,
            root: self.view.root().path(),
            scratch: scratch.path(),
            most: self.plan.limits.max_file_bytes,
            stopped,
        };
        let answer = sql::perform(&asked, &engine)?;
        let mut said = format!("Query '{}' performed by {}", action.target, answer.engine);
        if let Some(rows) = answer.rows {
            let row = if rows == 1 { "row" } else { "rows" };
            said = format!("{said}: {rows} {row}");
        }
        self.notes.extend(answer.notes);
        self.queries.push(shown(action, sql, &text));
        let digest = hash(text.as_bytes());
        // The engine writes times and counters into a database, so its bytes cannot be foreseen.
        if let (Some(located), Some(bytes)) = (written, answer.database) {
            self.made(action, located, bytes, Some(&digest))?;
        }
        if let (Some(located), Some(bytes)) = (&places.results, answer.results) {
            said = format!("{said} saved to '{}' ({} bytes)", located.path, bytes.len());
            let digest = (sql.order == Order::Any).then_some(&*digest);
            self.made(action, located, bytes, digest)?;
        }
        Ok(said)
    }

    /// Keeps what a query has made of a file.
    fn made(
        &mut self,
        action: &Action,
        located: &Located,
        bytes: Vec<u8>,
        query: Option<&str>,
    ) -> Result<(), Failure> {
        let path = &located.path;
        self.plan.limits.fits_file(path, bytes.len() as u64)?;
        let entry = self.entry(path);
        let now = entry.now.take().unwrap_or_default();
        entry.now = Some(now.queried(bytes, query));
        entry.actions.push(action.id.clone());
        Ok(())
    }

    /// Where the database is that the query changes; it is read if it exists.
    fn database<'p>(&mut self, places: &'p SqlPlaces) -> Result<Option<&'p Located>, Failure> {
        let Some(located) = &places.database else {
            return Ok(None);
        };
        let known = self.files.get(&located.path);
        if !known.map_or(located.facts.is_some(), |entry| entry.now.is_some()) {
            self.vacant(located)?;
            return Ok(Some(located));
        }
        if known.is_none() {
            let lock = self.is_closed(located)?;
            self.held.push(lock);
        }
        self.load(located)?;
        Ok(Some(located))
    }

    /// Keeps other programs from opening the database for writing until the plan has ended: its copy could be torn, and
    /// what they write would be lost.
    fn is_closed(&self, located: &Located) -> Result<RangeLock, Failure> {
        let path = &located.path;
        let dir = self.view.parent(path)?;
        let lock = held_still(&dir, path.name())?;
        let wal = format!("{}.wal", path.name());
        let problem = match (dir.look(&wal)?, lock) {
            (None, Some(lock)) => return Ok(lock),
            (None, None) => {
                "another program has it open. Send the plan again when that program has closed it"
                    .to_owned()
            }
            (Some(_), _) => format!(
                "`{path}.wal` is beside it: it is in use, or it was not closed. Open it with DuckDB once, and close it"
            ),
        };
        let message = format!("the database `{path}` cannot be changed: {problem}");
        Err(Failure::new(Fault::InFlight, message))
    }

    /// What the plan will have put there; `None` if it names no such file so far.
    fn planned_bytes(&self, path: &RelPath) -> Result<Option<&[u8]>, Failure> {
        let Some(entry) = self.files.get(path) else {
            return Ok(None);
        };
        let gone = || {
            let message = format!("File not found: an earlier action deletes or renames `{path}`");
            Failure::new(Fault::FileNotFound, message)
        };
        let now = entry.now.as_ref().ok_or_else(gone)?;
        Ok(Some(now.content(self.original(now))))
    }

    fn text(&self, query: &Located) -> Result<String, Failure> {
        let path = &query.path;
        let bytes = if let Some(bytes) = self.planned_bytes(path)? {
            bytes.to_vec()
        } else {
            let facts = query.facts.ok_or_else(|| missing(query))?;
            regular(path, &facts)?;
            if facts.bytes > LONGEST {
                let message = format!(
                    "`{path}` has {} bytes; a query file has at most {LONGEST}",
                    facts.bytes
                );
                return Err(Failure::new(Fault::LimitExceeded, message));
            }
            self.view.parent(path)?.read(path.name(), LONGEST)?
        };
        String::from_utf8(bytes).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            let message = format!("`{path}` is not UTF-8: byte {at} is wrong");
            Failure::new(Fault::NotText, message)
        })
    }

    /// A file that the query reads.
    fn input(&self, located: &Located) -> Result<Source<'_>, Failure> {
        if let Some(bytes) = self.planned_bytes(&located.path)? {
            return Ok(Source::Planned(bytes));
        }
        let facts = located.facts.ok_or_else(|| missing(located))?;
        regular(&located.path, &facts)?;
        Ok(Source::File(Held {
            at: self.view.root().path().join(located.path.as_path()),
            device: facts.dev,
            inode: facts.ino,
        }))
    }
}
