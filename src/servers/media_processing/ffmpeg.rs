//! Runs `ffmpeg` and `ffprobe` with one opened input file and one output, reads what `ffprobe` finds, and translates
//! their errors.

mod film;
mod input;
mod process;
mod reason;

pub(super) use film::{Film, Sound};
pub(super) use input::{Input, Output};
pub(super) use process::{Limits, PROGRAMS, url, words};

#[cfg(test)]
mod tests;
