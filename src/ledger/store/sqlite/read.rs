//! What the steps of a transaction read: one value, or a record of several columns.

use rusqlite::Result;

use super::columns::{Columns, Word};
use crate::ledger::record::{Claim, ClaimKey, ClaimState, Effects, Link, Session};

pub(super) fn number(columns: &mut Columns<'_, '_>) -> Result<u64> {
    columns.count()
}

pub(super) fn text(columns: &mut Columns<'_, '_>) -> Result<String> {
    columns.next()
}

pub(super) fn key(columns: &mut Columns<'_, '_>) -> Result<[u8; 32]> {
    columns.next()
}

pub(super) fn link(columns: &mut Columns<'_, '_>) -> Result<Link> {
    Ok(Link {
        seq: columns.count()?,
        operation_id: columns.next()?,
        session_id: columns.next()?,
        event: columns.next()?,
        at: columns.next()?,
        actor: columns.next()?,
        body: columns.next()?,
        prev_hash: columns.next()?,
        entry_hash: columns.next()?,
    })
}

pub(super) fn session(columns: &mut Columns<'_, '_>) -> Result<Session> {
    Ok(Session {
        seq: columns.count()?,
        session_id: columns.next()?,
        context: columns.next()?,
        profile: columns.next()?,
        principal: columns.next()?,
        opened_at: columns.next()?,
    })
}

pub(super) fn claim(columns: &mut Columns<'_, '_>) -> Result<Claim> {
    Ok(Claim {
        key: ClaimKey {
            session_id: columns.next()?,
            request_hash: columns.next()?,
        },
        operation_id: columns.next()?,
        seq: columns.count()?,
        state: columns.next::<Word<ClaimState>>()?.0,
        effects: columns.next::<Word<Effects>>()?.0,
    })
}
