//! The built-in server `media-processing`: audio out of media files, without ffmpeg.
//!
//! The way of a block: `source` (file → packets → `decode` → `window`) → `convert` (`layout`,
//! `resample`) → `output`.

mod arguments;
mod audio_extractor;
mod claims;
mod container;
mod convert;
mod decode;
mod layout;
mod opus;
mod output;
mod resample;
mod samples;
mod source;
mod window;

use super::tool::Tool;

/// The server's tools.
pub(super) fn tools() -> Vec<Box<dyn Tool>> {
    vec![Box::new(audio_extractor::AudioExtractor)]
}

#[cfg(test)]
mod tests;
