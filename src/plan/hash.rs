//! The hashes of files in journals and reports.

use sha2::{Digest, Sha256};

use crate::task::hexadecimal;

/// SHA-256 in lower-case hexadecimal (R-001-102).
pub(crate) fn hash(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

/// The hash of a symbolic link: that of where it leads, with its digits in reverse. Nobody can make a file that has it.
pub(crate) fn hash_of_link(to: &str) -> String {
    hash(to.as_bytes()).chars().rev().collect()
}
