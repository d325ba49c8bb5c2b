//! Checks the database engine with a query. Only plans with SQL need it.

use crate::{
    executor::{EngineState, engine},
    task::DuckDb,
};

use super::{About, Doctor, Finding, FindingKind, Subject};

impl Doctor<'_> {
    pub(super) fn engine(&mut self, settings: &DuckDb) {
        let about = Subject::of(About::Duckdb);
        let none = "until then, plans with SQL are refused";
        self.note(match engine(settings, &self.setup.project.root) {
            EngineState::Ready(what) => Finding::good(&about, FindingKind::EngineGood, what),
            EngineState::Absent(why) => Finding::good(
                &about,
                FindingKind::EngineMissing,
                format!("not needed, unless a plan has a query ({why})"),
            ),
            EngineState::Unusable(why) => Finding::problem(
                &about,
                FindingKind::EngineUnusable,
                why,
                format!("name or install another library (docs/sql.md); {none}"),
            ),
        });
    }
}
