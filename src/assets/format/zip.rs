//! ZIP: the central directory and the headers that it points at.

use zip::{ZipArchive, result::ZipError};

use super::source::{Flaw, Source};

/// Checks that there is a central directory, and that each entry points at the header of a file.
pub(super) fn check(source: &mut Source) -> Result<(), Flaw> {
    if !matches!(source.peek()?, Some([b'P', b'K', 3 | 5, 4 | 6])) {
        return Err(Flaw::Other);
    }
    let mut archive = ZipArchive::new(source).map_err(flaw)?;
    for number in 0..archive.len() {
        archive.by_index_raw(number).map_err(flaw)?;
    }
    Ok(())
}

fn flaw(error: ZipError) -> Flaw {
    match error {
        ZipError::Io(error) if error.kind() != std::io::ErrorKind::UnexpectedEof => {
            Flaw::Read(error)
        }
        error => Flaw::Broken(error.to_string()),
    }
}
