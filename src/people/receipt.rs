//! The receipt of an answer (`oneact show --receipt`), with the hashes of the files that it made.

use std::{
    fs::File,
    io::{self, Read as _, Seek as _},
};

use camino::Utf8Path;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::{CommandError, Reading};
use crate::{
    assets::{
        open_regular,
        print::{self, GoOn},
    },
    evidence::{
        anchor::Note,
        receipt::{Asset, path, statement},
    },
    ledger::{Made, Row, read, validity::sealed},
    task::{Sight, Uri, hexadecimal},
};

impl Reading {
    /// The receipt of an answer, for the first of these anchors that vouches for it. A file that no longer has the recorded
    /// content is not in it.
    pub(crate) fn receipt(
        &mut self,
        row: &Row,
        anchors: &[Note],
        root: &Utf8Path,
        go_on: GoOn<'_>,
    ) -> Result<Value, CommandError> {
        let (own, path) = read::<_, CommandError>(&mut *self.store, |tx| {
            let Some(own) = tx.link_of(row)? else {
                return Err(CommandError::History(row.id.clone()));
            };
            if !sealed(row, &own) {
                return Err(CommandError::NoReceipt {
                    operation: row.operation_id.clone(),
                    why: "its row was changed; see `oneact verify`",
                });
            }
            let path = path(tx, &own, anchors)?;
            Ok((own, path))
        })?;
        let path = path.ok_or_else(|| CommandError::NoReceipt {
            operation: row.operation_id.clone(),
            why: "no anchor of the file vouches for it; `oneact verify --anchor-out` prints one that does",
        })?;
        let made = row.made();
        let assets = made.iter().filter_map(|made| asset(made, root, go_on));
        let assets: Vec<Asset> = assets.collect();
        Ok(statement(row, &own, &path, &assets))
    }
}

fn asset(made: &Made, root: &Utf8Path, go_on: GoOn<'_>) -> Option<Asset> {
    let Sight::Content(content) = &made.print.sight else {
        return None;
    };
    let path = Uri::parse(&made.storage_uri).ok()?.local_path(root)?;
    let mut file = open_regular(&path).ok()?;
    let is_same = print::has_content(&file, content, go_on);
    let sha256 = file.rewind().and_then(|()| sha256(file));
    Some(Asset {
        uri: made.storage_uri.clone(),
        sha256: sha256.ok().filter(|_| is_same)?,
    })
}

fn sha256(mut file: File) -> io::Result<String> {
    let mut hash = Sha256::new();
    let mut part = vec![0; 1 << 16];
    loop {
        let length = file.read(&mut part)?;
        match part.get(..length) {
            None | Some([]) => return Ok(hexadecimal(&hash.finalize())),
            Some(part) => hash.update(part),
        }
    }
}
