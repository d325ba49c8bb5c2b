//! `rollback_manifest.json` as it is written.

use serde_json::{Value, json};

use crate::plan::{at::At, report::files::SCRIPT};

use super::{
    Manifest, Point,
    by_hand::{ManualStep, manual},
};

impl Point<'_> {
    fn json(&self) -> Value {
        let change = self.change;
        let before = change.before.as_ref();
        json!({
            "checkpoint_id": self.id(),
            // Where the file was, or, if there was none, is.
            "file_path": change.path,
            // From the root. This and the `original_…` are null for CREATE alone.
            "backup_location": change.backup,
            "original_hash": before.map(|before| &before.sha256),
            "original_size": before.map(|before| before.facts.bytes),
            "operation_to_reverse": self.kind,
            "restore_command": ManualStep::of(self).sentence(),
            // For RENAME alone: where the file is now.
            "new_path": change.new_path(),
            // Of the file after the plan; null for DELETE alone. What differs has changed since.
            "result_hash": change.after.as_ref().map(|after| &after.sha256),
            "original_mode": before.map(|before| before.facts.octal()),
            "original_modified": before.map(|before| At::from(before.facts.modified())),
            "actions": change.actions,
            "depends_on": self.depends_on,
            "undone_at": self.undone_at,
        })
    }
}

impl Manifest<'_> {
    /// Every field of 001 §4.3 in its order, then ours.
    pub(in crate::plan::report) fn json(&self) -> Value {
        let (points, undo) = (self.checkpoints.iter(), self.undo);
        let mut manifest = json!({
            "manifest_id": undo.id,
            "plan_id": self.run.plan_id,
            "created_at": undo.created,
            "expires_at": undo.expires,
            "status": self.status,
            "checkpoints": points.clone().map(Point::json).collect::<Vec<_>>(),
            "rollback_order": points.rev().map(Point::id).collect::<Vec<_>>(),
            "auto_rollback_script": self.run.file(SCRIPT),
            "notes": manual(self),
            "task_id": self.run.task_id,
            // The outermost first.
            "created_directories": undo.directories().collect::<Vec<_>>(),
            "executed_at": self.executed_at,
        });
        if let (None, Some(fields)) = (&undo.expires, manifest.as_object_mut()) {
            fields.shift_remove("expires_at");
        }
        manifest
    }
}
