//! What codecs are called, in FFmpeg's words.

use symphonia::{
    core::codecs::{
        audio::{AudioCodecId, well_known as audio_id},
        video::{VideoCodecId, well_known as video_id},
    },
    default::get_codecs,
};

/// The name of an audio codec: symphonia's for those it decodes, else ours.
pub(super) fn audio(codec: AudioCodecId) -> Option<&'static str> {
    if let Some(known) = get_codecs().get_audio_decoder(codec) {
        return Some(known.codec.info.short_name);
    }
    Some(match codec {
        audio_id::CODEC_ID_OPUS => "opus",
        audio_id::CODEC_ID_AC3 => "ac3",
        audio_id::CODEC_ID_EAC3 => "eac3",
        audio_id::CODEC_ID_AC4 => "ac4",
        audio_id::CODEC_ID_DCA => "dts",
        audio_id::CODEC_ID_TRUEHD => "truehd",
        audio_id::CODEC_ID_MP1 => "mp1",
        audio_id::CODEC_ID_MP2 => "mp2",
        audio_id::CODEC_ID_SPEEX => "speex",
        audio_id::CODEC_ID_WAVPACK => "wavpack",
        audio_id::CODEC_ID_WMA => "wma",
        _ => return None,
    })
}

/// The name of a video codec.
pub(super) fn video(codec: VideoCodecId) -> Option<&'static str> {
    Some(match codec {
        video_id::CODEC_ID_AV1 => "av1",
        video_id::CODEC_ID_FLV => "flv1",
        video_id::CODEC_ID_H263 => "h263",
        video_id::CODEC_ID_H264 => "h264",
        video_id::CODEC_ID_HEVC => "hevc",
        video_id::CODEC_ID_MJPEG => "mjpeg",
        video_id::CODEC_ID_MPEG1 => "mpeg1video",
        video_id::CODEC_ID_MPEG2 => "mpeg2video",
        video_id::CODEC_ID_MPEG4 => "mpeg4",
        video_id::CODEC_ID_THEORA => "theora",
        video_id::CODEC_ID_VC1 => "vc1",
        video_id::CODEC_ID_VP8 => "vp8",
        video_id::CODEC_ID_VP9 => "vp9",
        video_id::CODEC_ID_VVC => "vvc",
        _ => return None,
    })
}
