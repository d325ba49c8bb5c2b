//! What the catalog lets plans touch.

/// `[capability.ID.file_plan]`.
#[derive(Debug, Clone, Default)]
pub(crate) struct Bounds {}
