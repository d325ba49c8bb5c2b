//! Facts about reading and answering that need no process.

mod answering;
mod reading;
mod strictness;
