//! Matroska and `WebM`: the outer EBML elements (RFC 8794, RFC 9559).

use super::source::{Flaw, Source, broken};

const EBML: u64 = 0x1A45_DFA3;
const SEGMENT: u64 = 0x1853_8067;
const CLUSTER: u64 = 0x1F43_B675;

/// The number of first bytes in which the document type stands.
const HEAD: usize = 64;

/// Checks a file of one of these document types: that the segment and each of its parts lie within the file, and that
/// there is a cluster. A live recording may state no sizes. Then only the parts before the first cluster without a size
/// are checked.
pub(super) fn check(source: &mut Source, document_types: &[&str]) -> Result<(), Flaw> {
    let Some(head) = source.peek::<HEAD>()? else {
        return Err(Flaw::Other);
    };
    let names = |name: &&str| head.windows(name.len()).any(|part| part == name.as_bytes());
    if !head.starts_with(b"\x1A\x45\xDF\xA3") || !document_types.iter().any(names) {
        return Err(Flaw::Other);
    }
    let mut has_media = false;
    while source.left() > 0 {
        let start = source.at();
        let (id, width) = number(source)?;
        // An id keeps its marker bit.
        let id = id | 1 << (7 * width);
        let (size, width) = number(source)?;
        let is_open = size == (1 << (7 * width)) - 1;
        match id {
            _ if !is_open && size > source.left() => {
                return broken(format!(
                    "the element {id:X} at byte {start} needs {size} bytes, but only {} are left",
                    source.left()
                ));
            }
            EBML if has_media => {
                return broken(format!("a second recording begins at byte {start}"));
            }
            SEGMENT => {}
            CLUSTER if is_open => return Ok(()),
            _ => {
                has_media |= id == CLUSTER && size > 0;
                source.skip(size, "an element")?;
            }
        }
    }
    if has_media {
        Ok(())
    } else {
        broken("it has no cluster: it holds no media")
    }
}

/// Reads a number of 1 to 8 bytes. Returns it without its marker, and its length.
fn number(source: &mut Source) -> Result<(u64, u32), Flaw> {
    let start = source.at();
    let [first] = source.exact("an element header")?;
    let width = first.leading_zeros() + 1;
    if width > 8 {
        return broken(format!("at byte {start} there is no element"));
    }
    let mut value = u64::from(first) & ((1 << (8 - width)) - 1);
    for _ in 1..width {
        let [next] = source.exact("an element header")?;
        value = (value << 8) | u64::from(next);
    }
    Ok((value, width))
}
