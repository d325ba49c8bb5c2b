//! The built-in server `acquisition`: looks at the address of a recording, fetches it or takes an
//! upload in, and tells whether a stored file is whole and what it says of itself.
//!
//! Promises of every tool here: a file appears under its final name whole or not at all, nothing
//! that exists is overwritten, no connection goes to an address the policy refuses, and no text
//! that leaves carries a signature or a password of the URL.

mod content;
mod downloader;
mod integrity_checker;
mod metadata_extractor;
mod partial;
mod proxy;
mod source;
#[cfg(test)]
mod tests;
mod transfer;
mod url_validator;
mod web;

use content::formats;
use downloader::{downloader, upload_registrar};
use integrity_checker::integrity_checker;
use metadata_extractor::metadata_extractor;
use url_validator::url_validator;

use super::tool::Tool;

/// The tools of the server, in the order of the catalog (CAP-ACQ-001 …). The four downloaders are
/// one implementation under the catalog's names and the specification's example (R-000-127).
pub(super) fn tools() -> Vec<Tool> {
    let formats: Vec<_> = formats().collect();
    vec![
        url_validator(),
        downloader(
            "platform_a_downloader",
            "Download from platform A",
            &formats,
        ),
        downloader("platform_b_downloader", "Download from platform B", &[]),
        downloader("platform_c_downloader", "Download from platform C", &[]),
        downloader("video_downloader", "Download a recording", &formats),
        upload_registrar(),
        integrity_checker(),
        metadata_extractor(),
    ]
}
