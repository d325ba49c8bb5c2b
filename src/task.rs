//! The words of a run. Pure: no I/O.

pub mod uri;

pub use uri::{Uri, UriError};
