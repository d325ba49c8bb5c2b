//! The built-in server `acquisition`: looks at the address of a recording, fetches it or takes an
//! upload in, and tells whether a stored file is whole and what it says of itself.
//!
//! Promises of every tool here: a file appears under its final name whole or not at all, nothing
//! that exists is overwritten, no connection goes to an address the policy refuses, and no text
//! that leaves carries a signature or a password of the URL.

mod codecs;
mod content;
mod downloader;
mod failure;
mod format;
mod integrity_checker;
mod metadata_extractor;
mod partial;
mod proxy;
mod source;
#[cfg(test)]
mod tests;
mod tracks;
mod transfer;
mod upload_registrar;
mod url_validator;
mod web;

use downloader::{Downloader, Formats};
use integrity_checker::IntegrityChecker;
use metadata_extractor::MetadataExtractor;
use upload_registrar::UploadRegistrar;
use url_validator::UrlValidator;

use super::tool::Tool;

/// The tools of the server, in the order of the catalog (CAP-ACQ-001 …). The four downloaders are
/// one implementation under the catalog's names and the specification's example (R-000-127).
pub(crate) fn tools() -> Vec<Box<dyn Tool>> {
    vec![
        Box::new(UrlValidator),
        Box::new(Downloader {
            name: "platform_a_downloader",
            title: "Download from platform A",
            formats: Formats::Choosable,
        }),
        Box::new(Downloader {
            name: "platform_b_downloader",
            title: "Download from platform B",
            formats: Formats::AsSent,
        }),
        Box::new(Downloader {
            name: "platform_c_downloader",
            title: "Download from platform C",
            formats: Formats::AsSent,
        }),
        Box::new(Downloader {
            name: "video_downloader",
            title: "Download a recording",
            formats: Formats::Choosable,
        }),
        Box::new(UploadRegistrar),
        Box::new(IntegrityChecker),
        Box::new(MetadataExtractor),
    ]
}
