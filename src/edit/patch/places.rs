//! Where the hunks of a diff fit.

use std::collections::HashMap;

use crate::edit::hunks::{End, Hunk, Line};

/// With which line ends the lines of a diff are compared and written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ends {
    /// As they stand in the diff.
    Plain,
    /// With a carriage return before each line feed.
    Returns,
}

impl Ends {
    pub(super) const fn text(self) -> &'static str {
        match self {
            Self::Plain => "\n",
            Self::Returns => "\r\n",
        }
    }

    /// Whether every line of the file ends so, and no line of the hunks has such an end of its own.
    pub(super) fn are_all(self, file: &[&str], hunks: &[Hunk]) -> bool {
        let mut lines = hunks.iter().flat_map(|hunk| &hunk.lines);
        let mut ended = file.iter().filter(|line| line.ends_with('\n'));
        ended.all(|line| line.ends_with(self.text()))
            && !lines.any(|line| line.text.ends_with('\r'))
    }

    /// Whether the line of the file is that of the diff.
    fn same(self, file: &str, line: &Line) -> bool {
        match line.end {
            End::Feed => file.strip_suffix(self.text()) == Some(&line.text),
            End::Nothing => file == line.text,
        }
    }

    /// The line of the file without the end that it would have.
    fn bare(self, file: &str) -> &str {
        file.strip_suffix(self.text()).unwrap_or(file)
    }
}

/// Why a hunk does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Problem {
    /// It adds lines, and no old line says where.
    NoContext,
    Nowhere,
    /// The lines at which it would fit, counted from 1.
    Several(Vec<usize>),
    NoLandmark(String),
}

/// The index of the line at which each hunk begins, or the number of the first hunk that does not fit, and why.
///
/// The stated lines count if every hunk fits at its own. Otherwise they prove nothing, and each hunk must fit at one place
/// only of what the hunk before it has left.
pub(super) fn places(
    file: &[&str],
    hunks: &[Hunk],
    ends: Ends,
) -> Result<Vec<usize>, (usize, Problem)> {
    let unsaid = |hunk: &Hunk| hunk.old_lines().next().is_none();
    if let Some(at) = hunks
        .iter()
        .position(|hunk| unsaid(hunk) && !file.is_empty())
    {
        return Err((at + 1, Problem::NoContext));
    }
    if let Some(places) = stated(file, hunks, ends) {
        return Ok(places);
    }
    let index = Index::of(file, ends);
    let mut from = 0;
    let mut places = Vec::with_capacity(hunks.len());
    for (number, hunk) in (1..).zip(hunks) {
        let place = index
            .only(hunk, from)
            .map_err(|problem| (number, problem))?;
        from = place + hunk.old_lines().count();
        places.push(place);
    }
    Ok(places)
}

/// The places that the headers state, if every hunk fits there.
fn stated(file: &[&str], hunks: &[Hunk], ends: Ends) -> Option<Vec<usize>> {
    let place = |hunk: &Hunk| {
        let place = hunk.start?.saturating_sub(1);
        fits(file, hunk, place, ends).then_some(place)
    };
    hunks.iter().map(place).collect()
}

fn fits(file: &[&str], hunk: &Hunk, place: usize, ends: Ends) -> bool {
    let mut here = file.get(place..).unwrap_or_default().iter();
    hunk.old_lines()
        .all(|line| here.next().is_some_and(|file| ends.same(file, line)))
        && (!hunk.ends_file() || here.next().is_none())
}

/// The lines of a file by their text.
pub(super) struct Index<'f> {
    file: &'f [&'f str],
    ends: Ends,
    at: HashMap<&'f str, Vec<usize>>,
}

/// The places that a message names.
const TOLD: usize = 5;

impl<'f> Index<'f> {
    pub(super) fn of(file: &'f [&'f str], ends: Ends) -> Self {
        let mut at: HashMap<&str, Vec<usize>> = HashMap::new();
        for (place, line) in file.iter().enumerate() {
            at.entry(ends.bare(line)).or_default().push(place);
        }
        Self { file, ends, at }
    }

    /// Whether these lines follow each other somewhere.
    pub(super) fn has(&self, lines: &[&str]) -> bool {
        let first = lines.first().and_then(|line| self.at.get(line));
        let mut places = first.into_iter().flatten();
        places.any(|place| self.file.get(*place..place + lines.len()) == Some(lines))
    }

    fn only(&self, hunk: &Hunk, from: usize) -> Result<usize, Problem> {
        let below = self.below_landmarks(hunk, from)?;
        let mut places = self.all(hunk, below);
        match (places.next(), places.next()) {
            (None, _) => Err(Problem::Nowhere),
            (Some(place), None) => Ok(place),
            // Not the first of them: who wrote the diff may have meant another.
            (Some(_), Some(_)) => {
                let places = self.all(hunk, below).take(TOLD);
                Err(Problem::Several(places.map(|place| place + 1).collect()))
            }
        }
    }

    /// Every place from there on at which the hunk fits. The rarest of its old lines is looked up.
    pub(super) fn all(&self, hunk: &Hunk, from: usize) -> impl Iterator<Item = usize> {
        let none: &[usize] = &[];
        let seats = hunk.old_lines().enumerate().map(|(offset, line)| {
            let seats = self.at.get(line.text.as_str());
            (offset, seats.map_or(none, Vec::as_slice))
        });
        let (offset, seats) = seats
            .min_by_key(|(_, seats)| seats.len())
            .unwrap_or((0, none));
        let places = seats
            .iter()
            .filter_map(move |seat| seat.checked_sub(offset));
        places.filter(move |place| *place >= from && fits(self.file, hunk, *place, self.ends))
    }

    /// The line below those that a bare header names, each at its first place.
    fn below_landmarks(&self, hunk: &Hunk, from: usize) -> Result<usize, Problem> {
        hunk.landmarks.iter().try_fold(from, |below, landmark| {
            let mut rest = self.file.iter().skip(below);
            let place = rest.position(|line| line.trim() == landmark.trim());
            let place = place.ok_or_else(|| Problem::NoLandmark(landmark.clone()))?;
            Ok(below + place + 1)
        })
    }
}
