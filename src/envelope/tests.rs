//! Facts about reading and answering that need no process.

mod answering;
mod asking;
mod carrying;
mod kinds;
mod planning;
mod reading;
mod strangers;
mod strictness;
