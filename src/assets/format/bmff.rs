//! MP4 and `QuickTime`: boxes in boxes (ISO/IEC 14496-12).

use super::source::{Flaw, Source, broken};

/// The expected member of the format family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Brand {
    Mp4,
    /// Old files have no `ftyp` box.
    QuickTime,
}

/// The parts of a movie that were found so far.
#[derive(Debug, Default)]
struct Seen {
    movie_header: bool,
    track: bool,
    media_data: bool,
    movies: u32,
    form: Form,
    /// The first box outside all others whose type is none of [`OUTERMOST`], and its start.
    foreign: Option<([u8; 4], u64)>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Form {
    #[default]
    Whole,
    /// The media is in fragments, as in a live recording.
    Fragmented,
}

pub(crate) struct BoxHeader {
    pub(crate) kind: [u8; 4],
    /// The start of its content.
    pub(crate) body: u64,
    /// The start of the next box, as the header gives it. It may be beyond the end of the file.
    pub(crate) end: u64,
}

/// Boxes that contain boxes, as far as they are checked.
const CONTAINERS: [&[u8; 4]; 7] = [
    b"moov", b"trak", b"mdia", b"minf", b"stbl", b"moof", b"traf",
];
/// The boxes outside all others. Readers silently leave out other ones, and so a fragment whose type is damaged.
const OUTERMOST: &[&[u8; 4]] = &[
    b"ftyp", b"styp", b"etyp", b"otyp", b"moov", b"moof", b"mdat", b"imda", b"mfra", b"sidx",
    b"ssix", b"prft", b"emsg", b"pdin", b"meta", b"meco", b"udta", b"uuid", b"free", b"skip",
    b"wide", b"junk", b"pnot", b"PICT", b"afra", b"abst", b"sefd",
];
/// The boxes of a fragment, and of a track in it.
const IN_FRAGMENT: &[&[u8; 4]] = &[
    b"mfhd", b"traf", b"meta", b"udta", b"pssh", b"uuid", b"free", b"skip",
];
const IN_TRACK_FRAGMENT: &[&[u8; 4]] = &[
    b"tfhd", b"tfdt", b"trun", b"sdtp", b"sbgp", b"sgpd", b"csgp", b"subs", b"saiz", b"saio",
    b"senc", b"trik", b"avcn", b"meta", b"udta", b"uuid", b"free", b"skip",
];
/// Types of the first box of a file of this family.
const FIRST: [&[u8; 4]; 7] = [
    b"ftyp", b"moov", b"mdat", b"free", b"skip", b"wide", b"pnot",
];

/// Checks the boxes as [`check_boxes`] does, and that `moov` has a header and a track, and that `mdat` has content.
/// The order of the boxes is not checked.
pub(super) fn check(source: &mut Source, brand: Brand) -> Result<(), Flaw> {
    let Some([_, _, _, _, first @ ..]) = source.peek::<8>()? else {
        return Err(Flaw::Other);
    };
    if !FIRST.contains(&&first) || (brand == Brand::Mp4 && &first != b"ftyp") {
        return Err(Flaw::Other);
    }
    if &first == b"ftyp" && !is_branded(source, brand)? {
        return Err(Flaw::Other);
    }
    let seen = walk(source)?;
    match (seen.movie_header, seen.track, seen.media_data) {
        (false, ..) => broken("it has no moov box with a movie header (never finished?)"),
        (_, false, _) => broken("its moov box has no track"),
        (.., false) => broken("it has no media data (mdat)"),
        _ => Ok(()),
    }
}

/// Whether a file of this family can begin with a box of this type.
pub(crate) fn is_first(kind: [u8; 4]) -> bool {
    FIRST.contains(&&kind)
}

/// Checks that every box fits into its container, that no chunk offset is beyond the end, and that there is only one
/// `moov`. In a file of fragments, the types of all outermost boxes and of all boxes of the fragments must be known.
/// Whether a fragment is missing as a whole is not checked.
pub(crate) fn check_boxes(source: &mut Source) -> Result<(), Flaw> {
    walk(source).map(drop)
}

fn walk(source: &mut Source) -> Result<Seen, Flaw> {
    let mut seen = Seen::default();
    let len = source.len();
    inside(source, None, len, &mut seen, CONTAINERS.len())?;
    match (seen.form, seen.foreign) {
        (Form::Fragmented, Some((kind, start))) => unknown(kind, start),
        _ => Ok(seen),
    }
}

fn unknown<T>(kind: [u8; 4], start: u64) -> Result<T, Flaw> {
    broken(format!(
        "the box `{}` at byte {start} is out of place in a file of fragments",
        kind.escape_ascii()
    ))
}

/// Whether the major brand belongs to the expected family. Brands of still images belong to neither.
fn is_branded(source: &mut Source, brand: Brand) -> Result<bool, Flaw> {
    let Some([_, _, _, _, _, _, _, _, major @ ..]) = source.peek::<12>()? else {
        return Err(source.ends_within("the ftyp box"));
    };
    Ok(match &major {
        b"qt  " => brand == Brand::QuickTime,
        b"heic" | b"heix" | b"mif1" | b"msf1" | b"avif" | b"avis" | b"crx " => false,
        _ => brand == Brand::Mp4,
    })
}

/// Walks through the boxes inside a box of the type `parent`, or through the outermost boxes. In a valid file, each
/// container occurs once in a path of boxes. `depth` limits the recursion for other files.
fn inside(
    source: &mut Source,
    parent: Option<&[u8; 4]>,
    end: u64,
    seen: &mut Seen,
    depth: usize,
) -> Result<(), Flaw> {
    while source.at() < end {
        // QuickTime ends some containers with four zero bytes.
        if end - source.at() < 8 && end < source.len() {
            break;
        }
        if parent.is_none() && is_trailer(source)? {
            return source.seek(end, "the end");
        }
        let start = source.at();
        let BoxHeader {
            kind, end: next, ..
        } = next_box(source, end)?;
        if next > end {
            return broken(format!(
                "the box `{}` at byte {start} needs {} bytes, but only {} are left",
                kind.escape_ascii(),
                next - start,
                end - start
            ));
        }
        match parent {
            Some(b"moof") if !IN_FRAGMENT.contains(&&kind) => return unknown(kind, start),
            Some(b"traf") if !IN_TRACK_FRAGMENT.contains(&&kind) => return unknown(kind, start),
            None if !OUTERMOST.contains(&&kind) => {
                seen.foreign.get_or_insert((kind, start));
            }
            _ => {}
        }
        match &kind {
            b"moov" => {
                seen.movies += 1;
                if seen.movies > 1 {
                    return broken(format!(
                        "the box `moov` at byte {start} is the second one; readers use only the first"
                    ));
                }
            }
            b"moof" | b"mvex" => seen.form = Form::Fragmented,
            b"mvhd" => seen.movie_header = true,
            b"trak" => seen.track = true,
            b"mdat" => seen.media_data |= next > source.at(),
            b"stco" => offsets::<4>(source, next)?,
            b"co64" => offsets::<8>(source, next)?,
            _ => {}
        }
        if CONTAINERS.contains(&&kind) && depth > 0 {
            inside(source, Some(&kind), next, seen, depth - 1)?;
        }
        source.seek(next, "a box")?;
    }
    Ok(())
}

/// Whether the rest of the file is no box: four zero bytes, or an ID3 tag. Some programs append them.
fn is_trailer(source: &mut Source) -> Result<bool, Flaw> {
    Ok(match source.left() {
        4 => source.peek()? == Some([0; 4]),
        128 => source.peek()? == Some(*b"TAG"),
        _ => false,
    })
}

/// Reads the header of the next box. A box without a size extends to `end`.
pub(crate) fn next_box(source: &mut Source, end: u64) -> Result<BoxHeader, Flaw> {
    let start = source.at();
    let size = u32::from_be_bytes(source.exact("a box header")?);
    let kind: [u8; 4] = source.exact("a box header")?;
    let size = match size {
        0 => end.saturating_sub(start),
        1 => u64::from_be_bytes(source.exact("a box header")?),
        size => u64::from(size),
    };
    match start.checked_add(size) {
        Some(end) if end >= source.at() => Ok(BoxHeader {
            kind,
            body: source.at(),
            end,
        }),
        _ => broken(format!(
            "the box `{}` at byte {start} says it has {size} bytes",
            kind.escape_ascii()
        )),
    }
}

/// Checks that the chunk offsets of a track lie in the file.
fn offsets<const BYTES: usize>(source: &mut Source, end: u64) -> Result<(), Flaw> {
    const TABLE: &str = "a table of chunk offsets";
    source.skip(4, TABLE)?;
    let count = u32::from_be_bytes(source.exact(TABLE)?);
    for _ in 0..count {
        if source.at() >= end {
            return broken("a table of chunk offsets is longer than its box");
        }
        let bytes: [u8; BYTES] = source.exact(TABLE)?;
        let offset = bytes
            .iter()
            .fold(0, |offset, &byte| (offset << 8) | u64::from(byte));
        if offset >= source.len() {
            return broken(format!(
                "a track has samples at byte {offset}, but the file ends at byte {}",
                source.len()
            ));
        }
    }
    Ok(())
}
