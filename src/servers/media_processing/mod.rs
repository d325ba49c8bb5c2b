//! The built-in server `media-processing`: audio out of media files without any other program, and
//! what is done to pictures with FFmpeg's.
//!
//! The way of a block of audio: `source` (file → packets → `decode` → `window`) → `convert` (`layout`,
//! `resample`) → `output`. The way of a video: `request` → `ffmpeg` (look, then make, by the rules of
//! `encoding`) → `film_file`, or `series` and `bundle`. Both end in a `place`.

mod arguments;
mod audio_extractor;
mod bundle;
mod claims;
mod container;
mod convert;
mod decode;
mod encoding;
mod ffmpeg;
mod film_file;
mod format_converter;
mod frame_extractor;
mod layout;
mod opus;
mod output;
mod place;
mod request;
mod resample;
mod resolution_normalizer;
mod samples;
mod series;
mod source;
mod video_segmenter;
mod window;

use super::tool::Tool;

/// The server's tools.
pub(super) fn tools() -> Vec<Box<dyn Tool>> {
    vec![
        Box::new(audio_extractor::AudioExtractor),
        Box::new(format_converter::FormatConverter),
        Box::new(frame_extractor::FrameExtractor),
        Box::new(video_segmenter::VideoSegmenter),
        Box::new(resolution_normalizer::ResolutionNormalizer),
    ]
}

#[cfg(test)]
mod tests;
