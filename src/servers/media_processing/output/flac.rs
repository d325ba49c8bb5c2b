//! FLAC with 16 bits, block by block, by flacenc.

use flacenc::{
    bitsink::ByteSink,
    component::{BitRepr, Stream, StreamInfo},
    config,
    error::{Verified, Verify},
    source::{Context, Fill, FrameBuf},
};

use super::{Encoder, OutputProblem};
use crate::servers::media_processing::layout::Width;

/// Samples per channel in a block, as the reference encoder's default has it.
const BLOCK: usize = 4096;
const BITS: usize = 16;

pub(super) struct Flac {
    config: Verified<config::Encoder>,
    info: StreamInfo,
    /// Digest and sample count of what was encoded.
    context: Context,
    frame: FrameBuf,
    channels: usize,
    /// Interleaved samples that do not fill a block yet.
    pending: Vec<i32>,
    frames: usize,
}

impl Flac {
    pub(super) fn new(rate: u32, width: Width) -> Result<Self, OutputProblem> {
        let channels = usize::from(width.channels());
        let rate = usize::try_from(rate).map_err(refused)?;
        let config = config::Encoder::default()
            .into_verified()
            .map_err(|(_, error)| refused(error))?;
        let mut info = StreamInfo::new(rate, channels, BITS).map_err(refused)?;
        info.set_block_sizes(BLOCK, BLOCK).map_err(refused)?;
        let frame = FrameBuf::with_size(channels, BLOCK).map_err(refused)?;
        let context = Context::new(BITS, channels);
        Ok(Self {
            config,
            info,
            context,
            frame,
            channels,
            pending: Vec::new(),
            frames: 0,
        })
    }

    /// Encodes one block from the front of what is pending.
    fn block(&mut self, samples: usize) -> Result<Vec<u8>, OutputProblem> {
        let block: Vec<i32> = self.pending.drain(..samples).collect();
        self.frame.fill_interleaved(&block).map_err(refused)?;
        self.context.fill_interleaved(&block).map_err(refused)?;
        let frame =
            flacenc::encode_fixed_size_frame(&self.config, &self.frame, self.frames, &self.info)
                .map_err(refused)?;
        self.frames += 1;
        let mut bytes = ByteSink::new();
        frame.write(&mut bytes).map_err(refused)?;
        Ok(bytes.into_inner())
    }
}

impl Encoder for Flac {
    fn header(&self) -> Result<Vec<u8>, OutputProblem> {
        let mut info = self.info.clone();
        info.set_total_samples(self.context.total_samples());
        info.set_md5_digest(&self.context.md5_digest());
        let mut bytes = ByteSink::new();
        Stream::with_stream_info(info)
            .write(&mut bytes)
            .map_err(refused)?;
        Ok(bytes.into_inner())
    }

    fn encode(&mut self, samples: &[i16]) -> Result<Vec<u8>, OutputProblem> {
        self.pending.extend(samples.iter().copied().map(i32::from));
        let mut bytes = Vec::new();
        while self.pending.len() >= BLOCK * self.channels {
            bytes.extend(self.block(BLOCK * self.channels)?);
        }
        Ok(bytes)
    }

    fn finish(&mut self) -> Result<Vec<u8>, OutputProblem> {
        match self.pending.len() {
            0 => Ok(Vec::new()),
            left => self.block(left),
        }
    }
}

fn refused(error: impl std::fmt::Display) -> OutputProblem {
    OutputProblem::Flac(error.to_string())
}
