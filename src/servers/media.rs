//! What the servers know of symphonia: how it opens a file, and its names of containers and codecs.

use std::{fs::File, io::ErrorKind::UnexpectedEof, os::unix::fs::FileExt, path::Path};

use symphonia::core::{
    codecs::audio::{AudioCodecId, well_known as id},
    errors::Error,
    formats::FormatReader,
    units::{Duration, TimeBase},
};

use crate::assets::format::open;

/// Detects the container of `file` and reads its headers. The name only decides which format is tried first.
pub(super) fn probe(file: File, name: &Path) -> Result<Box<dyn FormatReader>, Error> {
    let extension = name.extension().and_then(|extension| extension.to_str());
    let mut first = [0; 4];
    let is_ogg = file.read_exact_at(&mut first, 0).is_ok() && &first == b"OggS";
    match open(file, extension.unwrap_or_default()) {
        // symphonia reads to the end of an Ogg file if it knows the codec of none of its streams.
        Err(Error::IoError(error)) if error.kind() == UnexpectedEof && is_ogg => {
            Err(Error::Unsupported("ogg: the codec of its streams"))
        }
        probed => probed,
    }
}

/// Whether the error means that an MP4 has no movie header. Many programs write it last, so an incomplete file has
/// none.
pub(super) fn is_headless(error: &Error) -> bool {
    matches!(error, Error::Unsupported(what) if what.contains("missing moov"))
}

/// The name of a container in the answers of the tools, from symphonia's name.
pub(super) fn container_name(name: &'static str) -> &'static str {
    match name {
        "isomp4" => "mp4",
        "mkv" => "matroska",
        "wave" => "wav",
        name => name,
    }
}

/// FFmpeg's name of an audio codec that symphonia knows but does not decode.
pub(super) fn undecoded(codec: AudioCodecId) -> Option<&'static str> {
    Some(match codec {
        id::CODEC_ID_OPUS => "opus",
        id::CODEC_ID_AC3 => "ac3",
        id::CODEC_ID_EAC3 => "eac3",
        id::CODEC_ID_AC4 => "ac4",
        id::CODEC_ID_DCA => "dts",
        id::CODEC_ID_TRUEHD => "truehd",
        id::CODEC_ID_MP1 => "mp1",
        id::CODEC_ID_MP2 => "mp2",
        id::CODEC_ID_SPEEX => "speex",
        id::CODEC_ID_WAVPACK => "wavpack",
        id::CODEC_ID_WMA => "wma",
        _ => return None,
    })
}

/// A duration in seconds, if it is known and above 0.
pub(super) fn seconds(base: Option<TimeBase>, duration: Option<Duration>) -> Option<f64> {
    let time = base?.calc_duration(duration?)?;
    Some(time.as_secs_f64()).filter(|&seconds| seconds > 0.0)
}
