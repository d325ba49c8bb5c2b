//! Facts about reading and answering that need no process.

mod answering;
mod asking;
mod planning;
mod reading;
mod strictness;
