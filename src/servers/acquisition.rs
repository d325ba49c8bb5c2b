//! The built-in server `acquisition`: checks URLs, downloads recordings, registers uploads, and examines files.
//!
//! A file appears under its final name completely or not at all. An existing file is never overwritten. No
//! connection goes to an address that the policy refuses. No answer or message contains a signature or password of
//! a URL.

mod content;
mod downloader;
mod integrity_checker;
mod metadata_extractor;
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

/// The tools of the server, in the order of the catalog (CAP-ACQ-001 …). The downloaders are one implementation
/// under four names (R-000-127).
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
