//! Servers that live longer than a run, because their entry says `keep_alive = "DURATION"`. Each has a process of oneact
//! that holds it, its holder. A run reaches the holder by a socket in the state directory, borrows the server's pipes, and
//! gives them back when its calls are answered. A server that is not given back is ended: nobody knows what it still does.
//!
//! No process id is trusted and no symbolic link is followed: the socket lies in a directory that only its user may enter,
//! both sides check the user of the other one, and the pipes arrive as open files.

mod holder;
mod lease;
mod list;
mod packet;
mod place;
mod start;

pub(crate) use holder::Order;
pub(super) use lease::{Borrowed, Lease, borrow};
pub(crate) use list::{Stopping, list, stop};
pub(crate) use start::{About, HOLD};
