//! The changes themselves: made ready, made, or taken back.

mod entry;
mod journal;
