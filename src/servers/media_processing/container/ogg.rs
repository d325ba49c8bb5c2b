//! Whether an Ogg file is all there: its last page is marked as one (RFC 3533, 6).

use super::{Bytes, ContainerProblem, ReadError};

/// The largest a page can be: a header of 27 bytes, 255 lengths, and as many segments of 255 bytes.
const LARGEST_PAGE: u64 = 27 + 255 + 255 * 255;
const END_OF_STREAM: u8 = 0x04;

/// Fails unless the file ends with a whole page that ends its stream.
pub(super) fn check_end(bytes: &mut Bytes) -> Result<(), ContainerProblem> {
    let start = bytes.length.saturating_sub(LARGEST_PAGE);
    let tail = tail(bytes, start)?;
    let last = tail.windows(4).rposition(|at| at == b"OggS");
    let page = last
        .and_then(|at| tail.get(at..))
        .ok_or(ContainerProblem::Missing("last page"))?;
    let [_, _, _, _, _version, flags, ..] = page else {
        return Err(ContainerProblem::Malformed("last page"));
    };
    let segments = page.get(26).map_or(0, |&count| usize::from(count));
    let lengths = page
        .get(27..27 + segments)
        .ok_or(ContainerProblem::Malformed("last page"))?;
    let whole = 27
        + segments
        + lengths
            .iter()
            .map(|&length| usize::from(length))
            .sum::<usize>();
    if page.len() < whole {
        return Err(ContainerProblem::Truncated {
            part: "last page",
            missing: (whole - page.len()) as u64,
        });
    }
    if flags & END_OF_STREAM == 0 {
        return Err(ContainerProblem::Missing("page that ends its stream"));
    }
    Ok(())
}

fn tail(bytes: &mut Bytes, start: u64) -> Result<Vec<u8>, ReadError> {
    bytes.seek(start)?;
    let mut tail = Vec::new();
    while bytes.at < bytes.length {
        let [byte] = bytes.read()?;
        tail.push(byte);
    }
    Ok(tail)
}
