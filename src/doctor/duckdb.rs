//! Checks the database engine with a query. Only plans with SQL need it.

use crate::{
    executor::{EngineState, engine},
    task::DuckDb,
};

use super::{About, Doctor, FindingKind, Subject};

impl Doctor<'_> {
    pub(super) fn engine(&mut self, settings: &DuckDb) {
        let about = Subject::of(About::Duckdb);
        self.note(match engine(settings, &self.setup.project.root) {
            EngineState::Ready(what) => about.good(FindingKind::EngineGood, what),
            EngineState::Absent(why) => about.good(FindingKind::EngineMissing,
                format!("not needed, unless a plan has a query ({why})"),
            ),
            EngineState::Unusable(why) => about.problem(FindingKind::EngineUnusable,
                why,
                "name or install another library (docs/sql.md); until then, plans with SQL are refused",
            ),
        });
    }
}
