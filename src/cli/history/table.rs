//! The table of steps: of one session by their numbers, of several sessions by the ids of their operations.

use std::collections::BTreeSet;

use crate::{
    cli::{
        printing::{Desk, task, words},
        terminal::{fit, padded, width, wrapped},
    },
    people::{Row, Step},
};

/// By what the steps of a list are named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Numbers {
    OfSession,
    OfOperations,
}

/// The widest columns for the names of tasks and actions; the middle of a longer name is left out.
const TASK: usize = 18;
const ACTION: usize = 24;
/// The narrowest columns for these names and for notes.
const LEAST: usize = 8;
/// The widest columns of a time and of a duration: rows that oneact did not write may hold any text there.
const TIME: usize = 19;
const TOOK: usize = 12;
/// The narrowest column in which a note is wrapped, unless the note is shorter.
const NOTE: usize = 16;

pub(super) fn table(steps: &[Step], desk: &Desk, columns: usize, numbers: Numbers) -> String {
    if steps.is_empty() {
        return String::new();
    }
    let days = steps
        .iter()
        .filter_map(|step| Some(desk.moment(&step.row.timestamp)?.date()));
    let days: BTreeSet<_> = days.collect();
    let years: BTreeSet<_> = days.iter().map(|day| day.year()).collect();
    // The first line names the day of the first step. Beside ids, there is less room.
    let cut = |instant: &str, from, to| {
        let date = desk.date(instant);
        date.chars().take(to).skip(from).collect()
    };
    let time = |instant: &str| match (days.len(), years.len(), numbers) {
        (0 | 1, _, _) => desk.clock(instant),
        (_, 1, Numbers::OfSession) => cut(instant, 5, TIME),
        (_, 1, Numbers::OfOperations) => cut(instant, 5, 16),
        (_, _, Numbers::OfSession) => desk.date(instant),
        (_, _, Numbers::OfOperations) => cut(instant, 0, 10),
    };
    let name = match numbers {
        Numbers::OfSession => "#",
        Numbers::OfOperations => "id",
    };
    let mut lines =
        vec![[name, "time", "task", "action", "state", "took", "note"].map(str::to_owned)];
    let digits = distinct(steps);
    lines.extend(steps.iter().map(|step| {
        let row = &step.row;
        let action = row.action_type.as_deref().unwrap_or("–");
        let note = words::note(step, |at| desk.date(at));
        let (name, note) = match numbers {
            Numbers::OfSession => (row.step_index.to_string(), note),
            Numbers::OfOperations => {
                let own = Some(note).filter(|note| !note.is_empty());
                let notes: Vec<String> = of_session(row).into_iter().chain(own).collect();
                (short_id(row, digits), notes.join("; "))
            }
        };
        [
            name,
            fit(&time(&row.timestamp), TIME),
            fit(&words::line(&called(step, numbers)), TASK),
            fit(&words::line(action), ACTION),
            words::state(row),
            fit(&words::took(row).unwrap_or_default(), TOOK),
            note,
        ]
    }));
    let mut widths = [0; 7];
    for line in &lines {
        for (widest, cell) in widths.iter_mut().zip(line) {
            *widest = width(cell).max(*widest);
        }
    }
    let widths = shrunk(widths, columns);
    let lines = lines.iter();
    lines
        .map(|line| told_line(line, widths, columns, numbers))
        .collect()
}

/// The name of the task. Among those of all sessions, the random name that `oneact call` makes says nothing.
fn called(step: &Step, numbers: Numbers) -> String {
    let name = task(step);
    let random = name
        .strip_prefix("call_")
        .filter(|_| numbers == Numbers::OfOperations);
    let is_random =
        |text: &str| text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if random.is_some_and(is_random) {
        return "call".to_owned();
    }
    name
}

/// The widest name of a session in a note.
const SESSION: usize = 30;

/// The name of the row's session, unless it is that of this task alone.
fn of_session(row: &Row) -> Option<String> {
    let own = row.operation_id.strip_prefix("op_");
    let is_own = own.is_some() && row.session_id.strip_prefix("sess-") == own;
    (!is_own).then(|| format!("in {}", fit(&words::line(&row.session_id), SESSION)))
}

/// The beginning of the operation's id, by which `oneact show` finds it.
fn short_id(row: &Row, digits: usize) -> String {
    let id = match (row.operation_id.as_str(), &row.parent) {
        (_, Some(_)) => "",
        ("", None) => &row.id,
        (operation, None) => operation,
    };
    words::line(&id.chars().take(digits).collect::<String>())
}

/// The fewest characters of an id: the kind, the time, and two more for runs of the same millisecond.
const FEWEST: usize = 15;

/// How many characters distinguish the operations.
fn distinct(steps: &[Step]) -> usize {
    // The beginning of the id of a step of a task names the task.
    let tasks = steps.iter().filter(|step| step.row.parent.is_none());
    let ids = tasks.map(|step| step.row.operation_id.as_str());
    let mut ids: Vec<&str> = ids.collect();
    ids.sort_unstable();
    let common = |pair: &[&str]| match pair {
        [one, next] if one != next => {
            let pairs = one.chars().zip(next.chars());
            pairs.take_while(|(one, next)| one == next).count()
        }
        _ => 0,
    };
    let most = ids.windows(2).map(common).max().unwrap_or_default();
    FEWEST.max(most + 1)
}

/// The widths after the names of actions, then of tasks, were shortened to make room for notes.
fn shrunk(widths: [usize; 7], columns: usize) -> [usize; 7] {
    let [number, time, task, action, state, took, note] = widths;
    let used = number + time + task + action + state + took + 6 * 2;
    let wanted = (used + note.min(NOTE)).saturating_sub(columns);
    let of_action = wanted.min(action.saturating_sub(LEAST));
    let of_task = (wanted - of_action).min(task.saturating_sub(LEAST));
    let (task, action) = (task - of_task, action - of_action);
    [number, time, task, action, state, took, note]
}

/// One line of the table, or several if its note is long.
fn told_line(cells: &[String; 7], widths: [usize; 7], columns: usize, numbers: Numbers) -> String {
    let [rest @ .., note] = cells;
    let mut used = 0;
    let mut text = String::new();
    for (at, (cell, wide)) in rest.iter().zip(widths).enumerate() {
        let cell = fit(cell, wide);
        // Numbers are aligned to the right.
        let cell = match (at, numbers) {
            (0, Numbers::OfSession) | (5, _) => {
                format!("{}{cell}", " ".repeat(wide.saturating_sub(width(&cell))))
            }
            _ => padded(&cell, wide),
        };
        text.extend([&cell, "  "]);
        used += wide + 2;
    }
    let room = columns.saturating_sub(used).max(LEAST);
    let lines = if width(note) <= room {
        vec![note.clone()]
    } else {
        let each = note.split("; ");
        each.flat_map(|note| wrapped(note, room)).collect()
    };
    text += &lines.join(&format!("\n{}", " ".repeat(used)));
    text.truncate(text.trim_end().len());
    text + "\n"
}
