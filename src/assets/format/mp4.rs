//! MP4 and `QuickTime`: the outermost boxes (ISO/IEC 14496-12).

use super::source::{Flaw, Source, broken};

/// The first boxes of an old `QuickTime` movie, which has no `ftyp` box.
const OLD: [&[u8; 4]; 6] = [b"moov", b"mdat", b"free", b"skip", b"wide", b"pnot"];

/// The brands of still images, which have the same boxes.
const STILL: [&[u8; 4]; 7] = [
    b"heic", b"heix", b"mif1", b"msf1", b"avif", b"avis", b"crx ",
];

/// Checks an MP4 file of any brand of movies.
pub(super) fn check(source: &mut Source) -> Result<(), Flaw> {
    match source.peek::<12>()? {
        Some([_, _, _, _, b'f', b't', b'y', b'p', brand @ ..])
            if &brand != b"qt  " && !STILL.contains(&&brand) =>
        {
            boxes(source)
        }
        _ => Err(Flaw::Other),
    }
}

/// Checks a `QuickTime` movie.
pub(super) fn check_mov(source: &mut Source) -> Result<(), Flaw> {
    match source.peek::<12>()? {
        Some([_, _, _, _, b'f', b't', b'y', b'p', b'q', b't', b' ', b' ']) => boxes(source),
        Some([_, _, _, _, k0, k1, k2, k3, ..]) if OLD.contains(&&[k0, k1, k2, k3]) => boxes(source),
        _ => Err(Flaw::Other),
    }
}

/// Checks that every outermost box lies within the file, and that there are a movie header and media.
fn boxes(source: &mut Source) -> Result<(), Flaw> {
    let (mut has_header, mut has_media) = (false, false);
    while !is_trailer(source)? {
        let start = source.at();
        let size = u32::from_be_bytes(source.exact("a box header")?);
        let kind: [u8; 4] = source.exact("a box header")?;
        let end = match size {
            0 => source.len(),
            1 => start.saturating_add(u64::from_be_bytes(source.exact("a box header")?)),
            size => start + u64::from(size),
        };
        if end < source.at() || end > source.len() {
            return broken(format!(
                "the box `{}` at byte {start} needs {} bytes, but only {} are left",
                kind.escape_ascii(),
                end.saturating_sub(start),
                source.len() - start
            ));
        }
        has_header |= &kind == b"moov";
        has_media |= &kind == b"mdat" && end > source.at();
        source.move_to(end, "a box")?;
    }
    match (has_header, has_media) {
        (false, _) => broken("it has no movie header (moov): it was never finished"),
        (_, false) => broken("it has no media data (mdat)"),
        _ => Ok(()),
    }
}

/// Whether the rest of the file is no box: nothing, four zero bytes, or an ID3 tag. Some programs append them.
fn is_trailer(source: &mut Source) -> Result<bool, Flaw> {
    Ok(match source.left() {
        0 => true,
        4 => source.peek()? == Some([0; 4]),
        128 => source.peek()? == Some(*b"TAG"),
        _ => false,
    })
}
