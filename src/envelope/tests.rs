//! Facts about reading and answering that need no process.

mod answering;
mod asking;
mod reading;
mod strictness;
