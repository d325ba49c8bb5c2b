//! Which rows of `agent_actions` are asked for, and the condition and order by which a database finds them.

use uuid::Uuid;

use super::sql::{Engine, Value};
use crate::ledger::record::Seq;

/// Which rows of `agent_actions`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Which<'a> {
    /// Answers to the same delivery, the newest first: not those that only repeat another, nor those of
    /// which nothing came.
    Delivery(Delivery<'a>),
    /// All answers for a task, the newest first.
    Task {
        session_id: &'a str,
        task_id: &'a str,
    },
    /// What came of its attempts, where they ran to an end, the newest first.
    Runs {
        session_id: &'a str,
        task_id: &'a str,
    },
    /// By operation id: the one that is no longer first, then the newest first.
    Operation(Begin<'a>),
    /// By row id, in their order.
    Id(Begin<'a>),
    /// Of a session, by step.
    Session(&'a str),
    /// Of a session, the last step first.
    Latest(&'a str),
    /// One answer.
    Step {
        session_id: &'a str,
        step_index: u64,
    },
    /// The row of a link.
    Seq(Seq),
    /// From that link on, ascending: for a walk over everything.
    From(Seq),
    /// What was answered before that link, the newest first.
    Earlier {
        than: Seq,
        session_id: &'a str,
        what: Earlier<'a>,
    },
    /// Rows that reuse that row, the newest first: without request and response, for they can be many.
    ReusesOf(&'a str),
    /// The newest first.
    Newest,
}

impl<'a> Which<'a> {
    /// By operation id, whole or its beginning, of any session.
    pub(crate) const fn operation(text: &'a str) -> Self {
        Self::Operation(Begin {
            text,
            session_id: None,
        })
    }

    /// By row id, whole or its beginning, of any session.
    pub(crate) const fn id(text: &'a str) -> Self {
        Self::Id(Begin {
            text,
            session_id: None,
        })
    }
}

/// An id, or the beginning of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Begin<'a> {
    pub(crate) text: &'a str,
    /// None where it may be of any session.
    pub(crate) session_id: Option<&'a str>,
}

/// What is looked for among earlier answers of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Earlier<'a> {
    /// A success (`done`, `partial`) of the same request.
    Success {
        action_type: &'a str,
        request_hash: &'a str,
    },
    /// A failure of that task.
    Failure { task_id: &'a str },
}

/// What makes two deliveries the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Delivery<'a> {
    /// The caller's own key.
    Key {
        session_id: &'a str,
        idempotency_key: &'a str,
    },
    /// The task of a request. `attempt` is none where the caller counts none: every attempt fits.
    Task {
        session_id: &'a str,
        request_id: Option<&'a str>,
        task_id: &'a str,
        attempt: Option<u32>,
    },
}

/// How a question is asked: condition, order, and the values of both.
pub(super) struct Query {
    /// For SQLite, which index is used.
    pub(super) hint: String,
    pub(super) filter: String,
    pub(super) order: String,
    pub(super) values: Vec<Value>,
}

impl Query {
    fn in_order(self, order: &str) -> Self {
        let order = order.to_owned();
        Self { order, ..self }
    }

    /// The statement that reads `columns` of up to `most` rows, and its values.
    pub(super) fn statement(
        mut self,
        table: &str,
        columns: &str,
        most: usize,
    ) -> (String, Vec<Value>) {
        self.values.push(Value::limit(most));
        let Self {
            hint,
            filter,
            order,
            values,
        } = self;
        let count = values.len();
        let text = format!(
            "SELECT {columns} FROM {table} {hint} WHERE {filter} ORDER BY {order} LIMIT ?{count}"
        );
        (text, values)
    }
}

impl Which<'_> {
    /// None where nothing can fit.
    pub(super) fn query(&self, engine: Engine) -> Option<Query> {
        let session = engine.session();
        let newest = engine.choose(
            "seq DESC, rowid DESC",
            "seq DESC NULLS LAST, timestamp DESC NULLS LAST, step_index DESC, id DESC",
        );
        let by = |filter: String, values: Vec<Value>| Query {
            hint: String::new(),
            filter,
            order: newest.to_owned(),
            values,
        };
        Some(match *self {
            Self::Delivery(delivery) => Query {
                hint: engine.indexed_by(delivery.index()),
                ..delivery.condition(engine, by)
            },
            Self::Task {
                session_id,
                task_id,
            } => by(
                format!("{session} = ?1 AND task_id = ?2"),
                vec![session_id.into(), task_id.into()],
            ),
            Self::Runs {
                session_id,
                task_id,
            } => by(
                format!(
                    "{session} = ?1 AND task_id = ?2 \
                     AND state IN ('done', 'partial', 'failed', 'rolled_back', 'cancelled')"
                ),
                vec![session_id.into(), task_id.into()],
            ),
            Self::Operation(begin) => {
                // No text that begins so comes after it with the last character behind.
                let last = engine.choose("char(1114111)", "chr(1114111)");
                let filter = format!(
                    "operation_id >= ?1 AND operation_id < ?1 || {last} AND ({session} = ?2 OR ?2 IS NULL)"
                );
                Query {
                    order: format!("operation_id <> ?1, {newest}"),
                    ..by(filter, vec![begin.text.into(), begin.session_id.into()])
                }
            }
            Self::Id(begin) => {
                let (range, first, last) = begin.range(engine)?;
                let values = vec![first, last, begin.session_id.into()];
                by(
                    format!("{range} AND ({session} = ?3 OR ?3 IS NULL)"),
                    values,
                )
                .in_order("id")
            }
            // Rows of other programs need no step.
            Self::Session(session_id) => by(format!("{session} = ?1"), vec![session_id.into()])
                .in_order(engine.choose("step_index", "step_index NULLS FIRST, timestamp, id")),
            Self::Latest(session_id) => by(format!("{session} = ?1"), vec![session_id.into()])
                .in_order(engine.choose(
                    "step_index DESC",
                    "step_index DESC NULLS LAST, timestamp DESC, id DESC",
                )),
            Self::Step {
                session_id,
                step_index,
            } => by(
                format!("{session} = ?1 AND step_index = ?2"),
                vec![session_id.into(), step_index.into()],
            ),
            Self::Seq(seq) => by("seq = ?1".to_owned(), vec![seq.into()]).in_order("seq"),
            Self::From(seq) => by("seq >= ?1".to_owned(), vec![Value::since(seq)])
                .in_order(engine.choose("seq", "seq NULLS FIRST")),
            Self::Earlier {
                than,
                session_id,
                what,
            } => {
                let (filter, values) = what.condition(engine);
                let of = [session_id.into(), than.into()];
                by(filter, values.into_iter().chain(of).collect())
            }
            Self::ReusesOf(id) => {
                if engine == Engine::Postgres && Uuid::try_parse(id).is_err() {
                    return None;
                }
                let filter = engine.choose("reused_from = ?1", "reused_from = ?1::uuid");
                by(filter.to_owned(), vec![id.into()])
            }
            Self::Newest => by("TRUE".to_owned(), Vec::new()),
        })
    }
}

impl Begin<'_> {
    /// The row ids that begin so: the condition, and the two values between which they are.
    fn range(self, engine: Engine) -> Option<(&'static str, Value, Value)> {
        Some(match engine {
            Engine::Sqlite => (
                "id >= ?1 AND id < ?2 || char(1114111)",
                self.text.into(),
                self.text.into(),
            ),
            Engine::Postgres => (
                "id BETWEEN ?1::uuid AND ?2::uuid",
                Value::Text(filled(self.text, '0')?),
                Value::Text(filled(self.text, 'f')?),
            ),
        })
    }
}

impl Delivery<'_> {
    /// The index in SQLite that has only what says something new of a delivery.
    fn index(&self) -> &'static str {
        match self {
            Self::Key { .. } => "agent_actions_key",
            Self::Task { .. } => "agent_actions_delivery",
        }
    }

    fn condition(self, engine: Engine, by: impl Fn(String, Vec<Value>) -> Query) -> Query {
        let session = engine.session();
        // As the indexes have it, or they are not used.
        let told = engine.choose(
            "instr('|done|partial|failed|rolled_back|reused|suppressed|', state)",
            "state IN ('done', 'partial', 'failed', 'rolled_back', 'reused', 'suppressed')",
        );
        match self {
            Self::Key {
                session_id,
                idempotency_key,
            } => by(
                format!("{session} = ?1 AND idempotency_key = ?2 AND {told}"),
                vec![session_id.into(), idempotency_key.into()],
            ),
            Self::Task {
                session_id,
                request_id,
                task_id,
                attempt,
            } => by(
                format!(
                    "{session} = ?1 AND task_id = ?2 AND request_id IS NOT DISTINCT FROM ?3 \
                     AND (attempt = ?4 OR ?4 IS NULL) AND {told}"
                ),
                vec![
                    session_id.into(),
                    task_id.into(),
                    request_id.into(),
                    attempt.map(u64::from).into(),
                ],
            ),
        }
    }
}

impl Earlier<'_> {
    /// The condition, and its values but for the session and the link.
    fn condition(self, engine: Engine) -> (String, Vec<Value>) {
        let session = engine.session();
        match self {
            Self::Success {
                action_type,
                request_hash,
            } => (
                format!(
                    "request_hash = ?1 AND action_type = ?2 AND {session} = ?3 AND seq < ?4 \
                     AND outcome = 'success' AND state IN ('done', 'partial')"
                ),
                vec![request_hash.into(), action_type.into()],
            ),
            Self::Failure { task_id } => (
                format!(
                    "task_id = ?1 AND {session} = ?2 AND (seq IS NULL OR seq < ?3) \
                     AND outcome IS DISTINCT FROM 'success'"
                ),
                vec![task_id.into()],
            ),
        }
    }
}

/// The first or the last UUID with that beginning.
fn filled(beginning: &str, digit: char) -> Option<String> {
    let beginning = beginning.to_ascii_lowercase();
    let dashes = [8, 13, 18, 23];
    let rest =
        (beginning.chars().count()..36).map(|at| if dashes.contains(&at) { '-' } else { digit });
    let whole: String = beginning.chars().chain(rest).collect();
    (whole.len() == 36 && Uuid::try_parse(&whole).is_ok()).then_some(whole)
}
