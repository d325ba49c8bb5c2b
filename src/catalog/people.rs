//! The catalog for people and models: lists, searches, findings, imports.

pub(super) mod application;
pub(super) mod callable;
pub(super) mod check;
pub(super) mod finding;
pub(super) mod imported;
pub(super) mod lint;
pub(super) mod listing;
pub(super) mod promote;
pub(super) mod render;
pub(super) mod rules;
pub(super) mod search;
