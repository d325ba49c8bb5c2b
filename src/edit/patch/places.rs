//! Where the hunks of a diff fit, and what is said of one that does not fit.

use std::collections::HashMap;

use crate::{
    edit::{
        EditError,
        hunks::Hunk,
        nearest::{Edges, nearest},
    },
    task::Hiding,
};

/// The index of the line at which each hunk begins.
///
/// The stated lines count if every hunk fits at its own. Otherwise they prove nothing, and each hunk must fit at one place
/// only of what the hunk before it has left.
pub(super) fn places(file: &[&str], hunks: &[Hunk]) -> Result<Vec<usize>, EditError> {
    let proves_nothing = |hunk: &Hunk| hunk.old.is_empty() && !file.is_empty();
    if let Some(at) = hunks.iter().position(proves_nothing) {
        return Err(EditError::NotFound(format!(
            "hunk {} adds lines without a line around them, so nothing proves where they belong; make the diff with \
             context lines",
            at + 1
        )));
    }
    let stated = |hunk: &Hunk| {
        let place = hunk.start?.saturating_sub(1);
        fits(file, hunk, place).then_some(place)
    };
    if let Some(places) = hunks.iter().map(stated).collect() {
        return Ok(places);
    }
    let index = Index::of(file);
    let mut from = 0;
    let places = (1..).zip(hunks).map(|(number, hunk)| {
        let place = index.only(number, hunk, from)?;
        from = place + hunk.old.len();
        Ok(place)
    });
    places.collect()
}

fn fits(file: &[&str], hunk: &Hunk, place: usize) -> bool {
    let end = place + hunk.old.len();
    let here = file.get(place..end);
    here.is_some_and(|here| *here == *hunk.old) && (!hunk.ends_file || end == file.len())
}

/// The lines of a file by their text.
struct Index<'f> {
    file: &'f [&'f str],
    at: HashMap<&'f str, Vec<usize>>,
}

/// The places that a message names.
const TOLD: usize = 5;

impl<'f> Index<'f> {
    fn of(file: &'f [&'f str]) -> Self {
        let mut at: HashMap<&str, Vec<usize>> = HashMap::new();
        for (place, line) in file.iter().enumerate() {
            at.entry(line).or_default().push(place);
        }
        Self { file, at }
    }

    /// The only place from there on at which the hunk fits. If there are several, it is not the first of them: who wrote
    /// the diff may have meant another.
    fn only(&self, number: usize, hunk: &Hunk, from: usize) -> Result<usize, EditError> {
        // Each landmark is at its first place below the one before it.
        let below = hunk.landmarks.iter().try_fold(from, |below, landmark| {
            let mut rest = self.file.iter().skip(below);
            let place = rest.position(|line| line.trim() == landmark.trim());
            place.map(|place| below + place + 1).ok_or_else(|| {
                EditError::NotFound(format!(
                    "hunk {number} is to be below the line `{landmark}`, which the file does not have"
                ))
            })
        })?;
        let places = self.all(hunk).filter(|place| *place >= below);
        let places: Vec<usize> = places.take(TOLD).collect();
        match places.as_slice() {
            [place] => Ok(*place),
            [] => Err(EditError::NotFound(format!(
                "hunk {number} {}",
                self.misfit(hunk)
            ))),
            several => {
                let lines: Vec<String> = several
                    .iter()
                    .map(|place| (place + 1).to_string())
                    .collect();
                let why = match hunk.start {
                    Some(_) => "and the stated lines of this diff are not right",
                    None if hunk.landmarks.is_empty() => "and the hunk states no line",
                    None => "also below the line that its header names",
                };
                Err(EditError::Ambiguous(format!(
                    "hunk {number} fits at several places (lines {}), {why}; give it more lines of context",
                    lines.join(", ")
                )))
            }
        }
    }

    /// Every place at which the hunk fits. The rarest of its old lines is looked up.
    fn all(&self, hunk: &Hunk) -> impl Iterator<Item = usize> {
        let seats = hunk.old.iter().enumerate().map(|(offset, line)| {
            let seats = self.at.get(line.as_str());
            (offset, seats.map_or(&[][..], Vec::as_slice))
        });
        let rarest = seats.min_by_key(|(_, seats)| seats.len());
        let (offset, seats) = rarest.unwrap_or_default();
        let places = seats
            .iter()
            .filter_map(move |seat| seat.checked_sub(offset));
        places.filter(move |place| fits(self.file, hunk, *place))
    }

    /// Why a hunk fits nowhere below the one before it.
    fn misfit(&self, hunk: &Hunk) -> String {
        let is_new = |line| !hunk.old.contains(line);
        let adds = hunk.new.len() >= hunk.old.len() || hunk.new.iter().any(is_new);
        let made = Hunk {
            old: hunk.new.clone(),
            ..hunk.clone()
        };
        if let Some(place) = self.all(&made).next().filter(|_| adds) {
            return format!(
                "does not fit: its new lines are in the file already, from line {} on; the diff is applied already, or \
                 reversed",
                place + 1
            );
        }
        if let Some(place) = self.all(hunk).next() {
            return format!(
                "fits only at line {}, above the hunk before it; put the hunks in the order of the file",
                place + 1
            );
        }
        let file: Vec<&str> = self.file.iter().map(|line| bare(line)).collect();
        let old: Vec<&str> = hunk.old.iter().map(|line| bare(line)).collect();
        if file.windows(old.len().max(1)).any(|lines| lines == old) {
            return "does not fit: its old lines are there, but either the file or the diff has no line feed at its end \
                    (`\\ No newline at end of file`)"
                .to_owned();
        }
        let hiding = Hiding::of(&self.file.concat(), &old.concat());
        match nearest(&old, &file, hunk.start, Edges::Whole) {
            Some(near) => format!("does not fit: {}", near.told("the diff", hiding)),
            None => format!(
                "does not fit: none of its {} old lines is in the file; the diff may be for another file",
                old.len()
            ),
        }
    }
}

fn bare(line: &str) -> &str {
    line.strip_suffix('\n').unwrap_or(line)
}
