//! The one HTTP stack: the client and the sentences about its errors, the guard that decides which hosts are contacted on
//! behalf of a task, and the runtime on which a thread waits for its requests.

mod address;
mod client;
mod guard;
mod waiting;

pub(crate) use address::{HostRefused, Policy};
pub(crate) use client::{cause, causes, client, look, trusting, within};
pub(crate) use guard::Guard;
pub(crate) use waiting::Waiting;
