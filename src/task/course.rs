//! How far a run has come, for whoever has to answer in its place.

use std::sync::atomic::{AtomicU8, Ordering};

/// Shared by a run and by what watches it.
#[derive(Debug, Default)]
pub struct Course(AtomicU8);

/// What may have happened by now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reach {
    /// Nothing that anybody could see.
    Nothing,
    /// A tool was begun that may be called again.
    Begun,
    /// A tool was begun that must not be called twice.
    BegunOnce,
    /// The files of a plan are made or taken back right now: from APPLY to DONE.
    Changing,
    /// A plan is done.
    Changed,
}

impl Course {
    pub fn now(&self) -> Reach {
        let all = [
            Reach::Begun,
            Reach::BegunOnce,
            Reach::Changing,
            Reach::Changed,
        ];
        let now = self.0.load(Ordering::Acquire);
        let found = all.into_iter().find(|reach| *reach as u8 == now);
        found.unwrap_or(Reach::Nothing)
    }

    pub fn set(&self, reach: Reach) {
        self.0.store(reach as u8, Ordering::Release);
    }

    /// The graver of what was and of what is.
    pub fn raise(&self, reach: Reach) {
        self.0.fetch_max(reach as u8, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_of_several_tools_has_come_as_far_as_the_gravest() {
        let course = Course::default();
        assert_eq!(course.now(), Reach::Nothing);
        course.raise(Reach::BegunOnce);
        course.raise(Reach::Begun);
        assert_eq!(course.now(), Reach::BegunOnce);
        for reach in [Reach::Changing, Reach::Changed, Reach::Nothing] {
            course.set(reach);
            assert_eq!(course.now(), reach);
        }
    }
}
