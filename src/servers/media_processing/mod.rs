//! The built-in server `media-processing`: audio out of media files without any other program, and
//! what is done to pictures with FFmpeg's.
//!
//! The way of a block of audio: `source` (file → packets → `decode` → `window`) → `convert` (`layout`,
//! `resample`) → `output`. The way of a video: `request` → `ffmpeg` (look, then make, by the rules of
//! `encoding`) → `film_file`, or `bundle`. Both end in a `place`.

mod audio_extractor;
mod bundle;
mod container;
mod convert;
mod decode;
mod encoding;
mod ffmpeg;
mod film_file;
mod frame_extractor;
mod layout;
mod output;
mod place;
mod request;
mod resample;
mod signal;
mod source;
mod video_segmenter;
mod window;

use super::tool::Tool;

/// The server's tools.
pub(super) fn tools() -> Vec<Tool> {
    vec![
        audio_extractor::audio_extractor(),
        film_file::format_converter(),
        frame_extractor::frame_extractor(),
        video_segmenter::video_segmenter(),
        film_file::resolution_normalizer(),
    ]
}

#[cfg(test)]
mod tests;
