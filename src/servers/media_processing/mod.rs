//! The built-in server `media-processing`: audio out of media files, without ffmpeg.

use super::tool::Tool;

/// The server's tools.
pub(super) fn tools() -> Vec<Box<dyn Tool>> {
    vec![]
}
