//! A transaction: what its steps have in common. Each step is one small query or change, written once for both databases
//! beside the record that it reads or writes.

use std::{cell::RefCell, rc::Rc};

use super::{
    columns::{self, Payloads, Record, RuleResult},
    ends::Ends,
    error::{Result, StoreError, Trouble},
    sql::{Durability, Engine, Question, Seq, Sql, Value},
};

pub(crate) struct Tx<'a> {
    pub(in crate::ledger) engine: Engine,
    pub(in crate::ledger) place: &'a str,
    pub(in crate::ledger) db: Box<dyn Sql + 'a>,
    /// What the next link follows, of the session that was asked about last.
    pub(in crate::ledger) ends: Option<Ends>,
}

impl<'a> Tx<'a> {
    pub(super) fn new(engine: Engine, place: &'a str, db: impl Sql + 'a) -> Self {
        Self {
            engine,
            place,
            db: Box::new(db),
            ends: None,
        }
    }

    /// Gets the answers to these questions in one round trip, if the database is behind a network. Each is asked again where
    /// its answer is needed.
    pub(crate) fn expect(
        &mut self,
        questions: impl FnOnce(&mut Tx<'_>) -> Result<()>,
    ) -> Result<()> {
        if self.engine == Engine::Sqlite {
            return Ok(());
        }
        let asked = Rc::new(RefCell::default());
        let list = Listed(Rc::clone(&asked));
        questions(&mut Tx::new(self.engine, self.place, list))?;
        self.db.expect(asked.take())
    }

    pub(super) fn commit(self, durability: Durability) -> Result<()> {
        self.db.commit(durability)
    }

    /// Whether each link has the number that follows that of the link before.
    pub(crate) fn is_gapless(&self) -> bool {
        self.engine == Engine::Sqlite
    }

    pub(crate) fn place(&self) -> &str {
        self.place
    }

    /// The first difference from a database that this program makes, if it can be found.
    pub(crate) fn flaw(&mut self) -> Result<Option<String>> {
        self.db.flaw()
    }

    /// The error that something in the ledger is not what was recorded.
    pub(crate) fn damaged(&self, why: String) -> StoreError {
        Trouble::Corrupt.with(self.place, why)
    }

    /// The table of a record.
    pub(in crate::ledger) fn table<R: Record>(&self) -> &'static str {
        self.engine.choose(R::TABLE)
    }

    /// The records that a condition and an order select.
    pub(in crate::ledger) fn all<R: Record>(
        &mut self,
        rest: &str,
        values: &[Value],
    ) -> Result<Vec<R>> {
        let columns = columns::list::<R>(self.engine, Payloads::Read);
        let text = format!("SELECT {columns} FROM {} {rest}", self.table::<R>());
        let found = self.db.run(&text, values)?;
        self.records(found)
    }

    pub(in crate::ledger) fn one<R: Record>(
        &mut self,
        rest: &str,
        values: &[Value],
    ) -> Result<Option<R>> {
        Ok(self.all(rest, values)?.into_iter().next())
    }

    /// The record of that link.
    pub(crate) fn of<R: Record>(&mut self, seq: Seq) -> Result<Option<R>> {
        self.one("WHERE seq = ?1", &[seq.into()])
    }

    /// Up to `most` records, from the link `from` on, in ascending order.
    pub(crate) fn page<R: Record>(&mut self, from: Seq, most: usize) -> Result<Vec<R>> {
        self.all(
            "WHERE seq >= ?1 ORDER BY seq LIMIT ?2",
            &[Value::since(from), Value::limit(most)],
        )
    }

    /// The number of all records.
    pub(crate) fn count<R: Record>(&mut self) -> Result<u64> {
        let text = format!("SELECT count(*) FROM {}", self.table::<R>());
        self.number(&text, &[])
    }

    /// The number that a statement finds, or 0.
    pub(in crate::ledger) fn number(&mut self, statement: &str, values: &[Value]) -> Result<u64> {
        let found = self.db.run(statement, values)?;
        let number = found.iter().flatten().next().and_then(Value::number);
        Ok(number.unwrap_or_default())
    }

    pub(in crate::ledger) fn records<R: Record>(&self, found: Vec<Vec<Value>>) -> Result<Vec<R>> {
        let record = |values| columns::record(self.engine, values).map_err(|why| self.damaged(why));
        found.into_iter().map(record).collect()
    }

    pub(crate) fn put<R: Record>(&mut self, record: &R) -> Result<()> {
        self.keeps(record.rule())?;
        let (text, values) = columns::insert(self.engine, record);
        self.db.add(&text, &values)
    }

    pub(in crate::ledger) fn keeps(&self, rule: RuleResult) -> Result<()> {
        rule.map_err(|why| Trouble::Refused.with(self.place, why))
    }
}

/// Lists the statements, and finds nothing.
struct Listed(Rc<RefCell<Vec<Question>>>);

impl Sql for Listed {
    fn run(&mut self, statement: &str, values: &[Value]) -> Result<Vec<Vec<Value>>> {
        let asked = (statement.to_owned(), values.to_vec());
        self.0.borrow_mut().push(asked);
        Ok(Vec::new())
    }

    fn commit(self: Box<Self>, _: Durability) -> Result<()> {
        Ok(())
    }
}
