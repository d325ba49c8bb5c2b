//! The file the audio goes to: encoded block by block into a draft.

mod flac;
mod wav;

use std::io::{BufWriter, Seek, SeekFrom, Write};

use super::{
    layout::Width,
    place::{Draft, Place, PlaceError, Written},
};
use crate::servers::tool::ToolError;
use flac::Flac;
use wav::Wav;

const BUFFER: usize = 64 << 10;

/// What the audio is written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Wav,
    Flac,
}

impl Format {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Wav => "wav",
            Self::Flac => "flac",
        }
    }
}

/// Why the audio could not be written.
#[derive(Debug, thiserror::Error)]
pub(super) enum OutputProblem {
    #[error(transparent)]
    Place(#[from] PlaceError),
    #[error("cannot encode FLAC: {0}")]
    Flac(String),
    #[error("a WAV file cannot hold {0} samples per second; ask for a lower sample_rate")]
    Rate(u32),
    #[error("the audio is longer than a WAV file can hold (4 GiB); ask for flac")]
    TooLong,
}

impl From<OutputProblem> for ToolError {
    fn from(problem: OutputProblem) -> Self {
        match problem {
            OutputProblem::Place(problem) => problem.into(),
            problem => Self::Failed(problem.to_string()),
        }
    }
}

/// How a format is written: a header, the samples, and the header again once all is known.
trait Encoder: Send {
    /// The header of a file that holds what was written so far. Its length never changes.
    fn header(&self) -> Result<Vec<u8>, OutputProblem>;

    /// The bytes that interleaved samples complete.
    fn encode(&mut self, samples: &[i16]) -> Result<Vec<u8>, OutputProblem>;

    /// The bytes still owed at the end.
    fn finish(&mut self) -> Result<Vec<u8>, OutputProblem>;
}

/// A file being written. Dropped unfinished, it leaves nothing behind.
pub(super) struct Output {
    encoder: Box<dyn Encoder>,
    draft: BufWriter<Draft>,
}

impl Output {
    /// Begins a file for `rate` samples per second.
    pub(super) fn create(
        place: &Place,
        format: Format,
        rate: u32,
        width: Width,
    ) -> Result<Self, OutputProblem> {
        let encoder: Box<dyn Encoder> = match format {
            Format::Wav => Box::new(Wav::new(rate, width)),
            Format::Flac => Box::new(Flac::new(rate, width)?),
        };
        let draft = Draft::create(place, format.name())?;
        let mut output = Self {
            encoder,
            draft: BufWriter::with_capacity(BUFFER, draft),
        };
        let header = output.encoder.header()?;
        output.append(&header)?;
        Ok(output)
    }

    /// Appends interleaved samples.
    pub(super) fn write(&mut self, samples: &[i16]) -> Result<(), OutputProblem> {
        let bytes = self.encoder.encode(samples)?;
        self.append(&bytes)
    }

    /// Writes what is owed, makes the file durable, and moves it to its place.
    pub(super) fn finish(mut self) -> Result<Written, OutputProblem> {
        let owed = self.encoder.finish()?;
        self.append(&owed)?;
        let header = self.encoder.header()?;
        let flushed = self.draft.flush();
        let (mut draft, _) = self.draft.into_parts();
        let file = draft.file();
        flushed
            .and_then(|()| file.seek(SeekFrom::Start(0)))
            .and_then(|_| file.write_all(&header))
            .map_err(|source| draft.failed(source))?;
        Ok(draft.publish()?)
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), OutputProblem> {
        let written = self.draft.write_all(bytes);
        Ok(written.map_err(|source| self.draft.get_ref().failed(source))?)
    }
}

#[cfg(test)]
mod tests;
