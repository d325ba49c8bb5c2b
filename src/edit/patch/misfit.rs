//! What is said of a hunk that does not fit: the first line that differs, and where the rest fits.

use crate::{
    edit::{
        EditError,
        hunks::{Hunk, Line, Mark},
        nearest::nearest,
    },
    task::Hiding,
};

use super::places::{Ends, Index, Problem};

/// The error for the hunk of that number.
pub(super) fn misfit(file: &[&str], hunks: &[Hunk], number: usize, problem: Problem) -> EditError {
    let Some(hunk) = number.checked_sub(1).and_then(|at| hunks.get(at)) else {
        return EditError::Misfit("the diff has no hunk".to_owned());
    };
    let lines = |lines: &[usize]| {
        let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
        lines.join(", ")
    };
    let said = match problem {
        Problem::NoContext => format!(
            "hunk {number} adds lines without a line around them, so nothing proves where they belong; make the diff \
             with context lines"
        ),
        Problem::NoLandmark(landmark) => {
            format!(
                "hunk {number} is to be below the line `{landmark}`, which the file does not have"
            )
        }
        Problem::Several(at) => {
            let why = match hunk.start {
                Some(_) => "and the stated lines of this diff are not right",
                None if hunk.landmarks.is_empty() => "and the hunk states no line",
                None => "also below the line that its header names",
            };
            return EditError::MisfitOften(format!(
                "hunk {number} fits at several places (lines {}), {why}; give it more lines of context",
                lines(&at)
            ));
        }
        Problem::Nowhere => nowhere(file, hunk, number),
    };
    EditError::Misfit(said)
}

fn nowhere(file: &[&str], hunk: &Hunk, number: usize) -> String {
    if let Some(place) = applied(file, hunk) {
        return format!(
            "hunk {number} does not fit: its new lines are in the file already, from line {place} on; the diff is \
             applied already, or reversed"
        );
    }
    let index = Index::of(file, Ends::Plain);
    if let Some(place) = index.all(hunk, 0).next() {
        return format!(
            "hunk {number} fits only at line {}, above the hunk before it; put the hunks in the order of the file",
            place + 1
        );
    }
    let bare: Vec<&str> = file
        .iter()
        .map(|line| line.strip_suffix('\n').unwrap_or(line))
        .collect();
    let old: Vec<&str> = hunk.old_lines().map(|line| line.text.as_str()).collect();
    let whole = Index::of(&bare, Ends::Plain);
    if whole.has(&old) {
        return format!(
            "hunk {number} does not fit: its old lines are there, but either the file or the diff has no line feed at its \
             end (`\\ No newline at end of file`)"
        );
    }
    let hiding = Hiding::of(&file.concat(), &old.concat());
    match nearest(&old, &bare, hunk.start) {
        Some(near) => format!(
            "hunk {number} does not fit: {}",
            near.told("the diff", hiding)
        ),
        None => format!(
            "hunk {number} does not fit: none of its {} old lines is in the file; the diff may be for another file",
            old.len()
        ),
    }
}

/// The line, counted from 1, from which on the new lines of a hunk are there.
fn applied(file: &[&str], hunk: &Hunk) -> Option<usize> {
    let adds = hunk.lines.iter().any(|line| line.mark == Mark::Added);
    let new = hunk.new_lines().cloned();
    let result = Hunk {
        lines: new
            .map(|line| Line {
                mark: Mark::Kept,
                ..line
            })
            .collect(),
        ..hunk.clone()
    };
    let mut found = [Ends::Plain, Ends::Returns].into_iter().filter_map(|ends| {
        let index = Index::of(file, ends);
        index.all(&result, 0).collect::<Vec<_>>().first().copied()
    });
    found.next().filter(|_| adds).map(|place| place + 1)
}
