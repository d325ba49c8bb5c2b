// Generated from schemas/*.schema.json by scripts/generate-clients. Do not edit.

export type Action =
  | FileCreateAction
  | FileModifyAction
  | FileDeleteAction
  | FileRenameAction
  | SchemaUpdateAction
  | SQLExecuteAction
  | PipelineRunAction;
/**
 * Makes a new file, and its missing parent directories.
 */
export type Create = CreateOperation | CreateWithDetails;
/**
 * Makes a new symbolic link.
 */
export type Symlink = SymlinkOperation | SymlinkWithDetails;
/**
 * The risk that the author states. A plan with CRITICAL waits for an approval.
 */
export type RiskLevel = "LOW" | "MEDIUM" | "HIGH" | "CRITICAL";
export type Rule =
  | FileExistsRule
  | FileAbsentRule
  | ContainsRule
  | NotContainsRule
  | JSONValidRule
  | YAMLValidRule
  | SHA256Rule
  | JSONSchemaRule
  | RuleName;
/**
 * What happens if the rule does not hold.
 */
export type OnRuleFailure = "warn" | "error" | "rollback";
export type RuleName = "file_exists" | "file_absent" | "json_valid" | "yaml_valid";
/**
 * Replaces a text.
 */
export type TextReplace = TextReplaceOperation | TextReplaceWithDetails;
/**
 * Applies a unified diff of this file: every old line must be there exactly.
 */
export type Patch = PatchOperation | PatchWithDetails;
/**
 * Sets the permissions of the file.
 */
export type SetMode = SetModeOperation | SetModeWithDetails;
/**
 * Inserts lines before a line.
 */
export type LineInsert = LineInsertOperation | LineInsertWithDetails;
/**
 * Deletes lines.
 */
export type LineDelete = LineDeleteOperation | LineDeleteWithDetails;
/**
 * Adds a property to a JSON object.
 */
export type JSONAddProperty = JSONAddPropertyOperation | JSONAddPropertyWithDetails;
/**
 * Removes a property of a JSON object.
 */
export type JSONRemoveProperty = JSONRemovePropertyOperation | JSONRemovePropertyWithDetails;
/**
 * Replaces a value of a JSON document.
 */
export type JSONUpdateValue = JSONUpdateValueOperation | JSONUpdateValueWithDetails;
/**
 * Replaces a value of a YAML document, or adds a key to a mapping.
 */
export type YAMLUpdate = YAMLUpdateOperation | YAMLUpdateWithDetails;
/**
 * Adds an item to the end of a JSON array.
 */
export type JSONAppend = JSONAppendOperation | JSONAppendWithDetails;
/**
 * Adds an item to the end of a YAML sequence.
 */
export type YAMLAppend = YAMLAppendOperation | YAMLAppendWithDetails;
/**
 * Removes a key of a YAML mapping or an item of a YAML sequence, with its lines and the comment behind it.
 */
export type YAMLRemove = YAMLRemoveOperation | YAMLRemoveWithDetails;
/**
 * Replaces a text, like `text_replace` without `regex`.
 */
export type Edit = EditOperation | EditWithDetails;
/**
 * Replaces the whole content of a file. Its permissions, owner and attributes stay.
 */
export type ReplaceContent = ReplaceContentOperation | ReplaceContentWithDetails;
/**
 * Deletes the file.
 */
export type Delete = DeleteOperation | DeleteWithDetails;
/**
 * Moves the file. It never replaces a file.
 */
export type Rename = RenameOperation | RenameWithDetails;
/**
 * Runs a DuckDB query.
 */
export type SQLExecute = SQLExecuteOperation | SQLExecuteWithDetails;
/**
 * Runs a `[pipeline.NAME]` of the catalog.
 */
export type PipelineRun = PipelineRunOperation | PipelineRunWithDetails;
export type AllowedOperation =
  | "FILE_CREATE"
  | "CREATE"
  | "FILE_MODIFY"
  | "MODIFY"
  | "FILE_DELETE"
  | "DELETE"
  | "FILE_RENAME"
  | "RENAME"
  | "SCHEMA_UPDATE"
  | "SQL_EXECUTE"
  | "PIPELINE_RUN";
/**
 * Limits that tighten those of the catalog.
 */
export type SystemConfig = string | SystemLimits;
export type BareTask = TaskBody & Surroundings;
/**
 * `stored` and `created`: the input is in a store. `reference`: it is a source outside any store.
 */
export type InputStatus = "stored" | "created" | "reference";
/**
 * An answer of a person (ElicitResult), of a model (CreateMessageResult), or a list of roots (ListRootsResult), as MCP 2026-07-28 defines them.
 */
export type InputResponse = PersonAnswer | ModelAnswer | RootsAnswer;
export type Context =
  "AGENT_CONVERSATION" | "AGENT_AUTONOMOUS" | "FSM_INTERNAL" | "ACTION_PROPOSAL" | "USER_INVOCATION";
/**
 * Whether a failure that no rule recognises is recoverable.
 */
export type OnFailure = "recoverable" | "not_recoverable";
/**
 * The class of the failure; null on success.
 */
export type Fault =
  | "invalid_json"
  | "invalid_shape"
  | "invalid_usage"
  | "no_capability"
  | "clarification_required"
  | "multiple_tasks"
  | "unknown_capability"
  | "misrouted_synthesis"
  | "params_invalid"
  | "kind_rule"
  | "tool_changed"
  | "catalog_invalid"
  | "input_unresolved"
  | "input_inaccessible"
  | "server_not_found"
  | "server_unreachable"
  | "timeout"
  | "rate_limited"
  | "oom"
  | "input_corrupt"
  | "output_missing"
  | "output_empty"
  | "output_format"
  | "result_incomplete"
  | "result_invalid"
  | "tool_error"
  | "input_required"
  | "disk_full"
  | "permission_denied"
  | "not_validated"
  | "cyclic_dependency"
  | "limit_exceeded"
  | "plan_invalid"
  | "unknown_dependency"
  | "plan_conflict"
  | "operation_not_allowed"
  | "pattern_not_found"
  | "pattern_ambiguous"
  | "line_out_of_range"
  | "place_not_found"
  | "edit_refused"
  | "content_invalid"
  | "not_text"
  | "schema_invalid"
  | "rule_failed"
  | "sql_failed"
  | "preview_changed"
  | "manifest_unusable"
  | "journal_foreign"
  | "file_not_found"
  | "hash_mismatch"
  | "file_exists"
  | "not_a_regular_file"
  | "file_system_error"
  | "shared_file"
  | "rollback_conflict"
  | "path_traversal"
  | "protected_file"
  | "sql_refused"
  | "dependency_failed"
  | "in_flight"
  | "request_in_flight"
  | "review_open"
  | "ledger_unavailable"
  | "outcome_unknown"
  | "idempotency_conflict"
  | "context_denied"
  | "context_changed"
  | "approval_required"
  | "approval_denied"
  | "approval_expired"
  | "approval_mismatch"
  | "grant_not_found"
  | "grant_closed"
  | "grant_expired"
  | "grant_mismatch"
  | "grant_used_up"
  | "stuck"
  | "engine_missing"
  | "engine_failed"
  | "jail_unavailable"
  | "pipeline_not_started"
  | "pipeline_failed"
  | "cancelled"
  | "internal";
export type Format =
  | "wav"
  | "flac"
  | "mp3"
  | "ogg"
  | "mp4"
  | "mov"
  | "mkv"
  | "webm"
  | "json"
  | "jsonl"
  | "text"
  | "jpg"
  | "png"
  | "zip"
  | "any";
/**
 * The name of the finding, which does not change between versions.
 */
export type FindingName =
  | "catalog_good"
  | "catalog_unusable"
  | "entry_unusable"
  | "capability_unknown"
  | "ledger_good"
  | "ledger_unusable"
  | "sign_key_unusable"
  | "review_unrecorded"
  | "plans_unusable"
  | "root_unwritable"
  | "plans_limited"
  | "store_good"
  | "store_unusable"
  | "store_nearly_full"
  | "store_unconditional"
  | "scratch_good"
  | "scratch_unusable"
  | "scratch_open"
  | "scratch_left_over"
  | "variable_unset"
  | "directory_missing"
  | "command_missing"
  | "command_not_executable"
  | "cold_start"
  | "server_good"
  | "server_warm"
  | "server_failed"
  | "slow"
  | "noise"
  | "end_ignored"
  | "left_behind"
  | "tool_good"
  | "tool_missing"
  | "tool_pin"
  | "tool_changed"
  | "description_changed"
  | "tool_schema_unusable"
  | "parameter_unknown"
  | "parameter_missing"
  | "effects_better"
  | "program_missing"
  | "pipeline_good"
  | "engine_good"
  | "engine_missing"
  | "engine_unusable";
/**
 * Whether anything may have changed. none: no call was sent, and no file was changed. unknown: a call was sent and never answered, or answered with a question; or files were changed that a person must examine. done: the call was answered, or files were changed.
 */
export type Effect = "none" | "unknown" | "done";
export type ReportStatus = "SUCCESS" | "PARTIAL" | "FAILED" | "ROLLED_BACK" | "CANCELLED" | "STUCK";
export type ProposalKind = "standard" | "improvised" | "suggestion" | "clarification";
/**
 * done: performed. planned: --dry-run; nothing was started. advised: a suggestion, which is never performed. rejected: refused before anything ran. failed. partial: some actions of a file plan were done and stay done. rolled_back: a file plan failed after its first change, and the tree is as it was. pending: `waiting` states what is missing: answers to the questions of a tool, or information that a clarification asks for; or another run is performing the same request. cancelled: by a signal. replayed: the same delivery was answered before; this is that answer, success or failure. reused: the same request was performed before in the session, and its answer is still valid. suppressed: the request was performed before, must not happen twice, and was not performed again.
 */
export type State =
  | "done"
  | "planned"
  | "advised"
  | "rejected"
  | "failed"
  | "partial"
  | "rolled_back"
  | "pending"
  | "cancelled"
  | "replayed"
  | "reused"
  | "suppressed";
/**
 * The state in which the answer leaves the state machine of specification 003.
 */
export type FsmState =
  | "DONE"
  | "AWAITING_CONFIRMATION"
  | "AWAITING_ACTION_CLARIFICATION"
  | "EXECUTING"
  | "AWAITING_REVIEW"
  | "AWAITING_REDIRECT";
/**
 * The last phase that the run reached.
 */
export type Phase =
  | "read"
  | "catalog"
  | "inputs"
  | "spawn"
  | "negotiate"
  | "validate_arguments"
  | "call"
  | "quality"
  | "plan"
  | "complete";
export type Risk = "low" | "medium" | "high" | "critical";
/**
 * replayed, reused, suppressed: an old answer. Any other value is the reason why the request was performed: retry, repeat, taken_over (the run that was performing it had died), or the reason why an old answer was no longer valid.
 */
export type ReuseReason =
  | "replayed"
  | "reused"
  | "suppressed"
  | "retry"
  | "repeat"
  | "taken_over"
  | "disabled"
  | "not_successful"
  | "pruned"
  | "ledger_damaged"
  | "revoked"
  | "catalog_changed"
  | "tool_changed"
  | "oneact_changed"
  | "expired"
  | "input_changed"
  | "input_changed_during_run"
  | "input_unknown"
  | "output_missing"
  | "output_changed"
  | "output_expiring"
  | "degraded"
  | "state_may_have_changed";
/**
 * What is missing, and how to go on.
 */
export type Waiting = WaitingForClarification | WaitingForInput | WaitingForApproval;
/**
 * open: nobody has decided. overdue: the same, after the time that the entry allows. accepted: a person has accepted the result. A rejected result is in no answer.
 */
export type ReviewState = "open" | "overdue" | "accepted";
export type StatusCode = "success" | "partial" | "failed" | "pending";
export type ErrorCode =
  "OUT_OF_SCOPE" | "INVALID_INPUT" | "PROCESSING_ERROR" | "TIMEOUT" | "DEPENDENCY_ERROR" | "VALIDATION_ERROR";
/**
 * Null in rows from before oneact.
 */
export type RecordedState =
  | "done"
  | "partial"
  | "failed"
  | "rolled_back"
  | "cancelled"
  | "unknown"
  | "rejected"
  | "pending"
  | "reused"
  | "suppressed"
  | "replayed"
  | "late";
/**
 * What `oneact sessions`, `history`, `show` and `replay` print as JSON. `oneact sessions --json`: sessions. `oneact history --json`: a history. `oneact replay`: a session. `oneact show --json`, `oneact history --why … --json` and `oneact replay STEP --json`: a step. `oneact replay STEP --execute --json`: a comparison.
 */
export type LedgerDocument = SessionList | History | SessionDocument | WholeStep | Comparison;
export type MCPRequestDocument = MCPRequest & Surroundings;
/**
 * Specification 001, section 3.3: changes that are all made or none. The document is a plan under `task_plan`, or the plan itself. A model that only writes plans can be held to `$defs/task_plan`. `oneact schema task` describes what may stand beside a plan, and the other documents that contain plans.
 */
export type PlanDocument = WrappedPlan | BarePlan;
export type ProposalDocument = Proposal & Surroundings;
export type ProtocolDocument = ProtocolMessage & Surroundings;
/**
 * A task for oneact. The input of `oneact run` on stdin: one JSON document that contains exactly one task. A task with capabilities is the whole message of a dispatch agent (`output.content.dispatch`), a wrapped task (`{"dispatch": …}`), or the task itself. A task may also be an MCPRequest (`actionId`, `args`; specification 004) or a proposal of an agent (`kind`; specification 003). A file plan (specification 001) is the plan itself (`action_plan`), a wrapped plan (`{"task_plan": …}`), or the payload of a message of the protocol layer. Such a message can also ask to undo a plan, to report its progress, or to stop it. Beside the task, the document may contain the caller (`metadata`), the resources of the session (`resources`), and the id of the message (`message_id`). Fields that are not named here have no effect, and the answer reports them.
 */
export type TaskDocument =
  WholeMessage | WrappedTask | ProposalDocument | ProtocolDocument | PlanDocument | MCPRequestDocument | BareTask;
export type WholeMessage = Surroundings & {
  output: MessageOutput;
};
export type WrappedTask = Surroundings & {
  /**
   * A task inside a message. `metadata`, `resources` and `message_id` are read only at the top level of the message.
   */
  dispatch: Proposal | TaskBody;
};

export interface FileCreateAction {
  /**
   * The name of the action in its plan.
   */
  action_id: string;
  action_type: "FILE_CREATE";
  /**
   * The new file.
   */
  target: string;
  operation: Create | Symlink;
  /**
   * The ids of the actions that must be completed before.
   */
  depends_on?: string[];
  /**
   * Has no effect on file changes: every one of them can be undone.
   */
  reversible?: boolean;
  risk_level?: RiskLevel;
  /**
   * The time limit of the action. A greater number than its type allows is reduced.
   */
  timeout_seconds?: number;
  /**
   * What must hold after the plan. A rule without `path` is about the `target`, or the `new_path` of a renamed file.
   */
  validation_rules?: Rule[];
  estimated_duration_ms?: number;
  description?: string;
}
export interface CreateOperation {
  type: "create";
  /**
   * The text of the file, which may be empty; or its bytes in base64.
   */
  content: string;
  /**
   * How `content` is written.
   */
  encoding?: "utf-8" | "base64";
  /**
   * Permissions in octal. Default: those of any new file in the directory. An execute bit needs an approval.
   */
  mode?: string;
}
export interface CreateWithDetails {
  type: "create";
  details: CreateParameters;
}
export interface CreateParameters {
  type?: "create";
  /**
   * The text of the file, which may be empty; or its bytes in base64.
   */
  content: string;
  /**
   * How `content` is written.
   */
  encoding?: "utf-8" | "base64";
  /**
   * Permissions in octal. Default: those of any new file in the directory. An execute bit needs an approval.
   */
  mode?: string;
}
export interface SymlinkOperation {
  type: "symlink";
  /**
   * Where the link leads, relative to its own directory. It leads to a path inside the root.
   */
  to: string;
}
export interface SymlinkWithDetails {
  type: "symlink";
  details: SymlinkParameters;
}
export interface SymlinkParameters {
  type?: "symlink";
  /**
   * Where the link leads, relative to its own directory. It leads to a path inside the root.
   */
  to: string;
}
export interface FileExistsRule {
  type: "file_exists";
  /**
   * A file of the plan.
   */
  path?: string;
  on_failure?: OnRuleFailure;
  name?: string;
  description?: string;
}
export interface FileAbsentRule {
  type: "file_absent";
  /**
   * A file of the plan.
   */
  path?: string;
  on_failure?: OnRuleFailure;
  name?: string;
  description?: string;
}
export interface ContainsRule {
  type: "contains";
  text: string;
  /**
   * A file of the plan.
   */
  path?: string;
  on_failure?: OnRuleFailure;
  name?: string;
  description?: string;
}
export interface NotContainsRule {
  type: "not_contains";
  text: string;
  /**
   * A file of the plan.
   */
  path?: string;
  on_failure?: OnRuleFailure;
  name?: string;
  description?: string;
}
export interface JSONValidRule {
  type: "json_valid";
  /**
   * A file of the plan.
   */
  path?: string;
  on_failure?: OnRuleFailure;
  name?: string;
  description?: string;
}
export interface YAMLValidRule {
  type: "yaml_valid";
  /**
   * A file of the plan.
   */
  path?: string;
  on_failure?: OnRuleFailure;
  name?: string;
  description?: string;
}
export interface SHA256Rule {
  type: "sha256";
  /**
   * In hexadecimal.
   */
  value: string;
  /**
   * A file of the plan.
   */
  path?: string;
  on_failure?: OnRuleFailure;
  name?: string;
  description?: string;
}
export interface JSONSchemaRule {
  type: "json_schema";
  /**
   * A JSON Schema.
   */
  schema:
    | {
        [k: string]: unknown;
      }
    | boolean;
  /**
   * A file of the plan.
   */
  path?: string;
  on_failure?: OnRuleFailure;
  name?: string;
  description?: string;
}
export interface FileModifyAction {
  /**
   * The name of the action in its plan.
   */
  action_id: string;
  action_type: "FILE_MODIFY";
  /**
   * The file.
   */
  target: string;
  operation:
    | TextReplace
    | Patch
    | SetMode
    | LineInsert
    | LineDelete
    | JSONAddProperty
    | JSONRemoveProperty
    | JSONUpdateValue
    | YAMLUpdate
    | JSONAppend
    | YAMLAppend
    | YAMLRemove
    | Edit
    | ReplaceContent;
  /**
   * The ids of the actions that must be completed before.
   */
  depends_on?: string[];
  /**
   * Has no effect on file changes: every one of them can be undone.
   */
  reversible?: boolean;
  risk_level?: RiskLevel;
  /**
   * The time limit of the action. A greater number than its type allows is reduced.
   */
  timeout_seconds?: number;
  /**
   * What must hold after the plan. A rule without `path` is about the `target`, or the `new_path` of a renamed file.
   */
  validation_rules?: Rule[];
  estimated_duration_ms?: number;
  description?: string;
}
export interface TextReplaceOperation {
  type: "text_replace";
  /**
   * The text to look for; with `regex`, a regular expression of the Rust `regex` crate.
   */
  pattern: string;
  /**
   * The new text, which may be empty. With `regex`, `$1` and `${name}` stand for groups, and `$$` for a dollar sign.
   */
  replacement: string;
  /**
   * Whether `pattern` is a regular expression.
   */
  regex?: boolean;
  /**
   * How often the pattern must occur. "all": at least once. Every occurrence is replaced.
   */
  count?: number | "all";
}
export interface TextReplaceWithDetails {
  type: "text_replace";
  details: TextReplaceParameters;
}
export interface TextReplaceParameters {
  type?: "text_replace";
  /**
   * The text to look for; with `regex`, a regular expression of the Rust `regex` crate.
   */
  pattern: string;
  /**
   * The new text, which may be empty. With `regex`, `$1` and `${name}` stand for groups, and `$$` for a dollar sign.
   */
  replacement: string;
  /**
   * Whether `pattern` is a regular expression.
   */
  regex?: boolean;
  /**
   * How often the pattern must occur. "all": at least once. Every occurrence is replaced.
   */
  count?: number | "all";
}
export interface PatchOperation {
  type: "patch";
  /**
   * The hunks, with or without the header lines of the file. A hunk `@@` without line numbers fits where its old lines occur once.
   */
  diff: string;
  /**
   * Whether hunks are accepted whose counts do not fit their lines.
   */
  recount?: boolean;
  /**
   * Whether the hash in the `index` line of the diff must be that of the file.
   */
  require_index?: boolean;
}
export interface PatchWithDetails {
  type: "patch";
  details: PatchParameters;
}
export interface PatchParameters {
  type?: "patch";
  /**
   * The hunks, with or without the header lines of the file. A hunk `@@` without line numbers fits where its old lines occur once.
   */
  diff: string;
  /**
   * Whether hunks are accepted whose counts do not fit their lines.
   */
  recount?: boolean;
  /**
   * Whether the hash in the `index` line of the diff must be that of the file.
   */
  require_index?: boolean;
}
export interface SetModeOperation {
  type: "set_mode";
  /**
   * Permissions in octal; `+x`: who may read the file may execute it; `-x`: nobody may. An execute bit needs an approval.
   */
  mode: string;
}
export interface SetModeWithDetails {
  type: "set_mode";
  details: SetModeParameters;
}
export interface SetModeParameters {
  type?: "set_mode";
  /**
   * Permissions in octal; `+x`: who may read the file may execute it; `-x`: nobody may. An execute bit needs an approval.
   */
  mode: string;
}
export interface LineInsertOperation {
  type: "line_insert";
  /**
   * The number that the new line will have. To append, give the number of lines plus 1.
   */
  line_number: number;
  /**
   * The line or lines.
   */
  content: string;
}
export interface LineInsertWithDetails {
  type: "line_insert";
  details: LineInsertParameters;
}
export interface LineInsertParameters {
  type?: "line_insert";
  /**
   * The number that the new line will have. To append, give the number of lines plus 1.
   */
  line_number: number;
  /**
   * The line or lines.
   */
  content: string;
}
export interface LineDeleteOperation {
  type: "line_delete";
  /**
   * The first line to delete.
   */
  start_line: number;
  /**
   * The last line to delete.
   */
  end_line: number;
}
export interface LineDeleteWithDetails {
  type: "line_delete";
  details: LineDeleteParameters;
}
export interface LineDeleteParameters {
  type?: "line_delete";
  /**
   * The first line to delete.
   */
  start_line: number;
  /**
   * The last line to delete.
   */
  end_line: number;
}
export interface JSONAddPropertyOperation {
  type: "json_add_property";
  /**
   * The place in the document: a JSONPath (RFC 9535) that selects exactly one value.
   */
  path: string;
  /**
   * The name of the new property. It must not exist yet.
   */
  key: string;
  /**
   * Any JSON value, also null.
   */
  value: {
    [k: string]: unknown;
  };
}
export interface JSONAddPropertyWithDetails {
  type: "json_add_property";
  details: JSONAddPropertyParameters;
}
export interface JSONAddPropertyParameters {
  type?: "json_add_property";
  /**
   * The place in the document: a JSONPath (RFC 9535) that selects exactly one value.
   */
  path: string;
  /**
   * The name of the new property. It must not exist yet.
   */
  key: string;
  /**
   * Any JSON value, also null.
   */
  value: {
    [k: string]: unknown;
  };
}
export interface JSONRemovePropertyOperation {
  type: "json_remove_property";
  /**
   * The place in the document: a JSONPath (RFC 9535) that selects exactly one value.
   */
  path: string;
  /**
   * The name of the property. It must exist.
   */
  key: string;
}
export interface JSONRemovePropertyWithDetails {
  type: "json_remove_property";
  details: JSONRemovePropertyParameters;
}
export interface JSONRemovePropertyParameters {
  type?: "json_remove_property";
  /**
   * The place in the document: a JSONPath (RFC 9535) that selects exactly one value.
   */
  path: string;
  /**
   * The name of the property. It must exist.
   */
  key: string;
}
export interface JSONUpdateValueOperation {
  type: "json_update_value";
  /**
   * The place in the document: a JSONPath (RFC 9535) that selects exactly one value.
   */
  path: string;
  /**
   * Any JSON value, also null.
   */
  value: {
    [k: string]: unknown;
  };
}
export interface JSONUpdateValueWithDetails {
  type: "json_update_value";
  details: JSONUpdateValueParameters;
}
export interface JSONUpdateValueParameters {
  type?: "json_update_value";
  /**
   * The place in the document: a JSONPath (RFC 9535) that selects exactly one value.
   */
  path: string;
  /**
   * Any JSON value, also null.
   */
  value: {
    [k: string]: unknown;
  };
}
export interface YAMLUpdateOperation {
  type: "yaml_update";
  /**
   * The place in the document: a JSONPath (RFC 9535) that selects exactly one value.
   */
  path: string;
  /**
   * Any JSON value, also null.
   */
  value: {
    [k: string]: unknown;
  };
  /**
   * Which document of the file, if there are several. Default: the only one that contains the path.
   */
  document?: number;
  /**
   * Whether the last key of the path is added if its mapping does not have it. Otherwise it must exist.
   */
  create?: boolean;
}
export interface YAMLUpdateWithDetails {
  type: "yaml_update";
  details: YAMLUpdateParameters;
}
export interface YAMLUpdateParameters {
  type?: "yaml_update";
  /**
   * The place in the document: a JSONPath (RFC 9535) that selects exactly one value.
   */
  path: string;
  /**
   * Any JSON value, also null.
   */
  value: {
    [k: string]: unknown;
  };
  /**
   * Which document of the file, if there are several. Default: the only one that contains the path.
   */
  document?: number;
  /**
   * Whether the last key of the path is added if its mapping does not have it. Otherwise it must exist.
   */
  create?: boolean;
}
export interface JSONAppendOperation {
  type: "json_append";
  /**
   * The place in the document: a JSONPath (RFC 9535) that selects exactly one value.
   */
  path: string;
  /**
   * Any JSON value, also null.
   */
  value: {
    [k: string]: unknown;
  };
}
export interface JSONAppendWithDetails {
  type: "json_append";
  details: JSONAppendParameters;
}
export interface JSONAppendParameters {
  type?: "json_append";
  /**
   * The place in the document: a JSONPath (RFC 9535) that selects exactly one value.
   */
  path: string;
  /**
   * Any JSON value, also null.
   */
  value: {
    [k: string]: unknown;
  };
}
export interface YAMLAppendOperation {
  type: "yaml_append";
  /**
   * The place in the document: a JSONPath (RFC 9535) that selects exactly one value.
   */
  path: string;
  /**
   * Any JSON value, also null.
   */
  value: {
    [k: string]: unknown;
  };
  /**
   * Which document of the file, if there are several. Default: the only one that contains the path.
   */
  document?: number;
}
export interface YAMLAppendWithDetails {
  type: "yaml_append";
  details: YAMLAppendParameters;
}
export interface YAMLAppendParameters {
  type?: "yaml_append";
  /**
   * The place in the document: a JSONPath (RFC 9535) that selects exactly one value.
   */
  path: string;
  /**
   * Any JSON value, also null.
   */
  value: {
    [k: string]: unknown;
  };
  /**
   * Which document of the file, if there are several. Default: the only one that contains the path.
   */
  document?: number;
}
export interface YAMLRemoveOperation {
  type: "yaml_remove";
  /**
   * The place in the document: a JSONPath (RFC 9535) that selects exactly one value.
   */
  path: string;
  /**
   * Which document of the file, if there are several. Default: the only one that contains the path.
   */
  document?: number;
}
export interface YAMLRemoveWithDetails {
  type: "yaml_remove";
  details: YAMLRemoveParameters;
}
export interface YAMLRemoveParameters {
  type?: "yaml_remove";
  /**
   * The place in the document: a JSONPath (RFC 9535) that selects exactly one value.
   */
  path: string;
  /**
   * Which document of the file, if there are several. Default: the only one that contains the path.
   */
  document?: number;
}
export interface EditOperation {
  type: "edit";
  /**
   * The text to look for.
   */
  old_string: string;
  /**
   * The new text, which may be empty.
   */
  new_string: string;
  /**
   * Whether every occurrence is replaced. Otherwise the text must occur exactly once.
   */
  replace_all?: boolean;
}
export interface EditWithDetails {
  type: "edit";
  details: EditParameters;
}
export interface EditParameters {
  type?: "edit";
  /**
   * The text to look for.
   */
  old_string: string;
  /**
   * The new text, which may be empty.
   */
  new_string: string;
  /**
   * Whether every occurrence is replaced. Otherwise the text must occur exactly once.
   */
  replace_all?: boolean;
}
export interface ReplaceContentOperation {
  type: "replace_content";
  /**
   * The new content, which may be empty.
   */
  content: string;
  /**
   * How `content` is written.
   */
  encoding?: "utf-8" | "base64";
}
export interface ReplaceContentWithDetails {
  type: "replace_content";
  details: ReplaceContentParameters;
}
export interface ReplaceContentParameters {
  type?: "replace_content";
  /**
   * The new content, which may be empty.
   */
  content: string;
  /**
   * How `content` is written.
   */
  encoding?: "utf-8" | "base64";
}
export interface FileDeleteAction {
  /**
   * The name of the action in its plan.
   */
  action_id: string;
  action_type: "FILE_DELETE";
  /**
   * The file.
   */
  target: string;
  operation: Delete;
  /**
   * The ids of the actions that must be completed before.
   */
  depends_on?: string[];
  /**
   * Has no effect on file changes: every one of them can be undone.
   */
  reversible?: boolean;
  risk_level?: RiskLevel;
  /**
   * The time limit of the action. A greater number than its type allows is reduced.
   */
  timeout_seconds?: number;
  /**
   * What must hold after the plan. A rule without `path` is about the `target`, or the `new_path` of a renamed file.
   */
  validation_rules?: Rule[];
  estimated_duration_ms?: number;
  description?: string;
}
export interface DeleteOperation {
  type: "delete";
  /**
   * A unified diff that removes every line of the file. A file with other lines is not deleted.
   */
  diff?: string;
  /**
   * Whether hunks are accepted whose counts do not fit their lines.
   */
  recount?: boolean;
  /**
   * Whether the hash in the `index` line of the diff must be that of the file.
   */
  require_index?: boolean;
}
export interface DeleteWithDetails {
  type: "delete";
  details: DeleteParameters;
}
export interface DeleteParameters {
  type?: "delete";
  /**
   * A unified diff that removes every line of the file. A file with other lines is not deleted.
   */
  diff?: string;
  /**
   * Whether hunks are accepted whose counts do not fit their lines.
   */
  recount?: boolean;
  /**
   * Whether the hash in the `index` line of the diff must be that of the file.
   */
  require_index?: boolean;
}
export interface FileRenameAction {
  /**
   * The name of the action in its plan.
   */
  action_id: string;
  action_type: "FILE_RENAME";
  /**
   * The old path of the file.
   */
  target: string;
  operation: Rename;
  /**
   * The ids of the actions that must be completed before.
   */
  depends_on?: string[];
  /**
   * Has no effect on file changes: every one of them can be undone.
   */
  reversible?: boolean;
  risk_level?: RiskLevel;
  /**
   * The time limit of the action. A greater number than its type allows is reduced.
   */
  timeout_seconds?: number;
  /**
   * What must hold after the plan. A rule without `path` is about the `target`, or the `new_path` of a renamed file.
   */
  validation_rules?: Rule[];
  estimated_duration_ms?: number;
  description?: string;
}
export interface RenameOperation {
  type: "rename";
  /**
   * A path relative to the root. It cannot leave the root.
   */
  new_path: string;
}
export interface RenameWithDetails {
  type: "rename";
  details: RenameParameters;
}
export interface RenameParameters {
  type?: "rename";
  /**
   * A path relative to the root. It cannot leave the root.
   */
  new_path: string;
}
export interface SchemaUpdateAction {
  /**
   * The name of the action in its plan.
   */
  action_id: string;
  action_type: "SCHEMA_UPDATE";
  /**
   * A JSON Schema, as JSON or YAML. It must stay a valid JSON Schema.
   */
  target: string;
  operation: JSONAddProperty | JSONRemoveProperty | JSONUpdateValue | YAMLUpdate | JSONAppend | YAMLAppend | YAMLRemove;
  /**
   * The ids of the actions that must be completed before.
   */
  depends_on?: string[];
  /**
   * Has no effect on file changes: every one of them can be undone.
   */
  reversible?: boolean;
  risk_level?: RiskLevel;
  /**
   * The time limit of the action. A greater number than its type allows is reduced.
   */
  timeout_seconds?: number;
  /**
   * What must hold after the plan. A rule without `path` is about the `target`, or the `new_path` of a renamed file.
   */
  validation_rules?: Rule[];
  estimated_duration_ms?: number;
  description?: string;
}
export interface SQLExecuteAction {
  /**
   * The name of the action in its plan.
   */
  action_id: string;
  action_type: "SQL_EXECUTE";
  /**
   * The file with the query.
   */
  target: string;
  operation: SQLExecute;
  /**
   * The ids of the actions that must be completed before.
   */
  depends_on?: string[];
  /**
   * Has no effect on file changes: every one of them can be undone.
   */
  reversible?: boolean;
  risk_level?: RiskLevel;
  /**
   * The time limit of the action. A greater number than its type allows is reduced.
   */
  timeout_seconds?: number;
  /**
   * What must hold after the plan. A rule without `path` is about the `target`, or the `new_path` of a renamed file.
   */
  validation_rules?: Rule[];
  estimated_duration_ms?: number;
  description?: string;
}
export interface SQLExecuteOperation {
  type: "sql_execute";
  /**
   * The query file. If it is given, it equals `target`.
   */
  query_file?: string;
  /**
   * Values by the names of the parameters.
   */
  parameters?: {
    [k: string]: null | boolean | number | string;
  };
  /**
   * The engine.
   */
  connection?: "duckdb";
  /**
   * Whether the last statement must give at least one row.
   */
  expect_results?: boolean;
  /**
   * The new file for the rows of the last statement. Its ending decides the format.
   */
  save_results_to?: string;
  /**
   * The files that the query may read.
   *
   * Items: A path relative to the root. It cannot leave the root.
   */
  reads?: string[];
  /**
   * A DuckDB database. Default: one in memory.
   */
  database?: string;
  /**
   * Whether the database is opened so that it cannot be changed.
   */
  read_only?: boolean;
  /**
   * Whether the same query gives the same bytes: one thread, and no random functions.
   */
  deterministic?: boolean;
}
export interface SQLExecuteWithDetails {
  type: "sql_execute";
  details: SQLExecuteParameters;
}
export interface SQLExecuteParameters {
  type?: "sql_execute";
  /**
   * The query file. If it is given, it equals `target`.
   */
  query_file?: string;
  /**
   * Values by the names of the parameters.
   */
  parameters?: {
    [k: string]: null | boolean | number | string;
  };
  /**
   * The engine.
   */
  connection?: "duckdb";
  /**
   * Whether the last statement must give at least one row.
   */
  expect_results?: boolean;
  /**
   * The new file for the rows of the last statement. Its ending decides the format.
   */
  save_results_to?: string;
  /**
   * The files that the query may read.
   *
   * Items: A path relative to the root. It cannot leave the root.
   */
  reads?: string[];
  /**
   * A DuckDB database. Default: one in memory.
   */
  database?: string;
  /**
   * Whether the database is opened so that it cannot be changed.
   */
  read_only?: boolean;
  /**
   * Whether the same query gives the same bytes: one thread, and no random functions.
   */
  deterministic?: boolean;
}
export interface PipelineRunAction {
  /**
   * The name of the action in its plan.
   */
  action_id: string;
  action_type: "PIPELINE_RUN";
  /**
   * The NAME of a `[pipeline.NAME]` of the catalog.
   */
  target: string;
  operation: PipelineRun;
  /**
   * The ids of the actions that must be completed before.
   */
  depends_on?: string[];
  /**
   * Has no effect on file changes: every one of them can be undone.
   */
  reversible?: boolean;
  risk_level?: RiskLevel;
  /**
   * The time limit of the action. A greater number than its type allows is reduced.
   */
  timeout_seconds?: number;
  /**
   * What must hold after the plan. A rule without `path` is about the `target`, or the `new_path` of a renamed file.
   */
  validation_rules?: Rule[];
  estimated_duration_ms?: number;
  description?: string;
}
export interface PipelineRunOperation {
  type: "pipeline_run";
  /**
   * The parameters that the catalog declares for the pipeline.
   */
  parameters?: {
    [k: string]: unknown;
  };
}
export interface PipelineRunWithDetails {
  type: "pipeline_run";
  details: PipelineRunParameters;
}
export interface PipelineRunParameters {
  type?: "pipeline_run";
  /**
   * The parameters that the catalog declares for the pipeline.
   */
  parameters?: {
    [k: string]: unknown;
  };
}
export interface ActionsSummary {
  total: number;
  completed: number;
  failed: number;
  skipped: number;
}
export interface Agent {
  name: "action_agent";
  type: "executional";
}
/**
 * When a run waits for the approval of a person, and who may approve. Missing keys have the values of [defaults].
 */
export interface ApprovalPolicy {
  /**
   * Default: risk >= critical.
   */
  when?: string;
  /**
   * Default: everybody.
   */
  approvers?: string[];
  /**
   * How many persons have to approve.
   */
  quorum?: number;
  /**
   * Whether the user who asked may not approve without a signature.
   */
  prevent_self?: boolean;
  /**
   * Further ways to approve: the host of `oneact serve catalog` may ask its user. Not together with prevent_self.
   */
  by?: "elicitation"[];
  /**
   * How long an approval can be waited for and used; at most 24h. Default: 15m.
   */
  expires?: string;
  /**
   * The parameters that are shown first.
   */
  show?: string[];
}
/**
 * Approvals of requests: who is told of them, and whose signatures count.
 */
export interface ApprovalSettings {
  /**
   * The argv of a program that gets each new request, and each file plan that needs a person, as JSON on its standard input.
   */
  notify?: string[];
  /**
   * A file of allowed signers (OpenSSH), relative to the root. The namespace is oneact-approval.
   */
  allowed_signers?: string;
}
export interface Audit {
  /**
   * What was checked, and what was assumed, ignored or could not be checked.
   */
  compliance_notes: string;
  governance_files_consulted: [
    "context/application.md",
    "context/governance/message_format.md",
    "context/governance/audit.md",
    "agent/executional/action.md"
  ];
  /**
   * The events of the run, in their order.
   */
  reasoning: string;
}
/**
 * The plan itself.
 */
export interface BarePlan {
  /**
   * A name for the plan.
   */
  plan_id: string;
  /**
   * The actions. They run in this order, except where `depends_on` requires another one.
   */
  action_plan: Action[];
  execution_instructions?: ExecutionInstructions;
  /**
   * The statement that the protocol layer validated the plan. A plan without it is refused, unless its catalog entry says `validation = "none"`.
   */
  protocol_validation?: true | "APPROVED";
  version?: string;
  created_at?: string;
  inspector_version?: string;
  /**
   * What the plan was made from. The report says so.
   */
  made_from?: "diff";
  task_summary?: string;
  context_files_used?: unknown[];
  decisions?: unknown[];
  task_decomposition?: unknown[];
  risk_assessment?: {
    [k: string]: unknown;
  };
  system_config?: SystemConfig;
  metadata?: unknown;
  resources?: unknown;
  message_id?: unknown;
  task_id?: unknown;
  salt?: unknown;
  idempotency_key?: unknown;
  attempt?: unknown;
}
/**
 * How the plan is applied.
 */
export interface ExecutionInstructions {
  /**
   * "parallel" gives the same files.
   */
  execution_order?: "sequential" | "dependency_based" | "parallel";
  /**
   * Whether no further action is tried after one has failed.
   */
  stop_on_error?: boolean;
  /**
   * Whether nothing stays changed if an action fails.
   */
  rollback_on_failure?: boolean;
  /**
   * Whether a changed file keeps its permissions.
   */
  preserve_permissions?: boolean;
  /**
   * Whether the content of every file is checked before and after its change.
   */
  verify_hashes?: boolean;
  /**
   * The time limit of the plan. A number above 3600 is reduced to 3600.
   */
  timeout_seconds?: number;
  /**
   * Whether the plan waits for an approval.
   */
  human_approval_required?: boolean;
  estimated_files_affected?: number;
}
export interface SystemLimits {
  workflow_configuration?: WorkflowConfiguration;
  execution_constraints?: ExecutionConstraints;
  validation_rules?: Rule[] | ValidationSettings;
  version?: string;
  config_id?: string;
  plan_id?: string;
  created_at?: string;
}
export interface WorkflowConfiguration {
  /**
   * Whether the plan waits for an approval.
   */
  requires_approval?: boolean;
  approval_threshold?: "LOW" | "MEDIUM" | "HIGH" | "CRITICAL";
  execution_mode?: "sequential" | "parallel" | "mixed";
  retry_policy?: RetryPolicy;
  /**
   * The time limit of the plan.
   */
  timeout_seconds?: number;
}
/**
 * Has no effect: a plan is tried once.
 */
export interface RetryPolicy {
  max_retries?: number;
  backoff_multiplier?: number;
  initial_delay_ms?: number;
}
export interface ExecutionConstraints {
  max_files_modified?: number;
  allowed_operations?: AllowedOperation[];
  max_file_size_bytes?: number;
  /**
   * Patterns of files that the plan may not change.
   */
  forbidden_patterns?: string[];
  /**
   * Patterns of files whose change needs an approval.
   */
  protected_files?: string[];
}
export interface ValidationSettings {
  verify_file_hashes?: boolean;
  run_syntax_check?: boolean;
  run_schema_validation?: boolean;
  /**
   * Each rule has a `path`.
   */
  custom_validators?: Rule[];
}
/**
 * One task: capabilities, their inputs, and the expected outputs.
 */
export interface TaskBody {
  /**
   * The caller's name for the task. The answer contains it unchanged.
   */
  task_id: string;
  /**
   * The action text: the task in words. Only the `extract` rules of a catalog entry read it.
   */
  action?: string | null;
  /**
   * Ids of the catalog. Several ids run one after the other, in this order.
   */
  capability_ids: string[];
  /**
   * The inputs. Their order is that of `input.uri`, `input_2.uri` … in the entries.
   */
  input_refs_resolved?: InputRef[] | null;
  /**
   * The names of the assets that the task must make. The last capabilities that make assets get these names, in order.
   */
  output_refs_expected?: string[] | null;
  /**
   * Parameters of the tool. They take precedence over the action text and over the entry's defaults. Parameters that the entry binds cannot be set.
   */
  parameters?: {
    [k: string]: unknown;
  } | null;
  /**
   * 1 is the first attempt. From 2 on, the entry's `retry` rules apply. Default: the first attempt, or the next one after a failure.
   */
  attempt?: number | null;
  /**
   * Part of the request: two tasks with a different salt are different requests.
   */
  salt?: string | null;
  /**
   * The caller's name for this delivery. In its session, a second delivery with the same key gets the answer of the first. It is refused (`idempotency_conflict`) if its content differs. The key may also be in `metadata`.
   */
  idempotency_key?: string | null;
  /**
   * The `operation_id` of the clarification that this task answers. It is recorded with the task.
   */
  clarifies?: string | null;
  /**
   * The `operation_id` of the answer that opened the grant under which the only capability of this task is called.
   */
  under?: string | null;
  /**
   * Whether you can answer questions of a tool. If true, servers of MCP 2026-07-28 are told that they may ask (the client capability `elicitation`). A run whose tool asks then ends as pending, and `output.content.oneact.waiting` contains the questions. Only for a task of one capability.
   */
  accepts_input?: boolean | null;
  /**
   * Answers to the questions of a pending run, under the names in `waiting.input_requests`. The rest of the task must be the same.
   */
  input_responses?: {
    [k: string]: InputResponse;
  } | null;
  /**
   * `waiting.request_state` of the pending run, unchanged; absent or null if it was null.
   */
  request_state?: string | null;
  /**
   * `waiting.input_requests` of the pending run. With it, the answers are checked before the server is started: every question needs an answer, every answer needs a question, and the content must fit the form.
   */
  input_requests?: {
    [k: string]: InputRequest;
  } | null;
  task_plan?: TaskPlan | null;
  system_config?: SystemConfig;
  /**
   * The approval of the protocol layer: `true` or `"APPROVED"`. A plan with any other value is refused.
   */
  protocol_validation?: {
    [k: string]: unknown;
  };
  /**
   * A field of the dispatcher. It has no effect on one task.
   */
  execution_group?: {
    [k: string]: unknown;
  };
  /**
   * A field of the dispatcher. It has no effect on one task.
   */
  workflow_progress?: {
    [k: string]: unknown;
  };
}
/**
 * A resolved input: it has a URI, and a status that says that it exists. Any other input is answered with DEPENDENCY_ERROR.
 */
export interface InputRef {
  /**
   * The name of a resource in its session: src_1, store_1, derived_3.
   */
  ref_id: string;
  /**
   * A file:// URI or a path (relative to the root), or an http(s):// or s3:// URI. Tools receive it unchanged.
   */
  storage_uri: string;
  status: InputStatus;
}
/**
 * The answer of a person.
 */
export interface PersonAnswer {
  action: "accept" | "decline" | "cancel";
  /**
   * The content of the form; only with `accept`, and not for a URL.
   */
  content?: {
    [k: string]: unknown;
  };
  _meta?: unknown;
}
/**
 * The answer of a model.
 */
export interface ModelAnswer {
  role: "assistant" | "user";
  content:
    | {
        [k: string]: unknown;
      }
    | unknown[];
  model: string;
  stopReason?: unknown;
  _meta?: unknown;
}
export interface RootsAnswer {
  roots: Root[];
  _meta?: unknown;
}
export interface Root {
  uri: string;
}
export interface InputRequest {
  method: "elicitation/create" | "sampling/createMessage" | "roots/list";
  params?: unknown;
}
export interface TaskPlan {
  /**
   * A name for the plan.
   */
  plan_id: string;
  /**
   * The actions. They run in this order, except where `depends_on` requires another one.
   */
  action_plan: Action[];
  execution_instructions?: ExecutionInstructions;
  /**
   * The statement that the protocol layer validated the plan. A plan without it is refused, unless its catalog entry says `validation = "none"`.
   */
  protocol_validation?: true | "APPROVED";
  version?: string;
  created_at?: string;
  inspector_version?: string;
  /**
   * What the plan was made from. The report says so.
   */
  made_from?: "diff";
  task_summary?: string;
  context_files_used?: unknown[];
  decisions?: unknown[];
  task_decomposition?: unknown[];
  risk_assessment?: {
    [k: string]: unknown;
  };
}
/**
 * What stands around the task. All of these fields are optional. The answer reports what was assumed.
 */
export interface Surroundings {
  /**
   * The id of this message. The answer contains it as `metadata.parent_message_id`.
   */
  message_id?: string | null;
  metadata?: CallerMetadata;
  /**
   * The resources of the session, in the lists `source_refs`, `storage_refs` and `derived_refs`. The answer contains all of them and adds those that were made.
   */
  resources?: {
    [k: string]: unknown;
  };
}
/**
 * The caller and its session. The answer contains these fields.
 */
export interface CallerMetadata {
  /**
   * The name of the directory for the session's assets; at most 128 bytes. Default: a new session.
   */
  session_id?: string | null;
  request_id?: string | null;
  /**
   * The caller's name for this delivery. In its session, a second delivery with the same key gets the answer of the first. It is refused (`idempotency_conflict`) if its content differs. The key may also be in `metadata`.
   */
  idempotency_key?: string | null;
  /**
   * The number of this message. The answer has the next number, or 1 if there is none.
   */
  sequence_number?: number | null;
  /**
   * The trace to which the task belongs (W3C Trace Context). Tools get it in the `_meta` of their calls. An invalid one is ignored.
   */
  traceparent?: string | null;
  /**
   * What goes with `traceparent` (W3C Trace Context).
   */
  tracestate?: string | null;
}
/**
 * A capability that a task can name in `capability_ids`, with its tool, or with limits for file plans.
 */
export interface CapabilityEntry {
  file_plan?: FilePlanLimits;
  name?: string;
  /**
   * One sentence.
   */
  description?: string;
  /**
   * Increase it when the same request should give a different answer.
   */
  version?: number;
  /**
   * Whether a proposal of an agent may name the capability.
   */
  is_action?: boolean;
  /**
   * The contexts in which the entry is found and performed. Default: all but FSM_INTERNAL.
   */
  available_in?: Context[];
  approval?: ApprovalPolicy;
  intrinsic_amplifiers?: RiskAmplifiers;
  aliases?: string[];
  tags?: string[];
  /**
   * Action texts that mean this capability.
   */
  examples?: string[];
  on_duplicate?: OnDuplicate;
  /**
   * Whether a person must review each successful result with `oneact review`.
   */
  requires_post_review?: boolean;
  review?: ReviewSettings;
  /**
   * Parameters whose values do not matter: two requests that differ only in them are the same.
   */
  volatile?: string[];
  /**
   * What names the action of a once-only call: names of parameters, or JSON Pointers into them. While the outcome of a call is unknown, no call with the same values there is made, whatever its session, key and other parameters are.
   */
  fence?: string[];
  /**
   * Whether this capability of a task of several has a server process of its own. Otherwise all calls of the task on the same server share one.
   */
  fresh_process?: boolean;
  /**
   * Whether the tool gets the `context` of an MCPRequest as its parameter `context`. The context is part of the request then.
   */
  uses_context?: boolean;
  effects?: EffectHints;
  /**
   * The longest time without an answer or a progress notification.
   */
  timeout?: string;
  /**
   * The longest call with progress, and the limit for `timeout` in retries. Not less than `timeout`.
   */
  timeout_max?: string;
  on_failure?: OnFailure;
  /**
   * JSON Pointers to parameters whose values are secrets: no record contains them.
   */
  secret?: string[];
  /**
   * The version of the tool that the entry is bound to, as `oneact doctor CAPABILITY` prints it: the SHA-256 of the tool's name, input schema and output schema, and the first digits of the SHA-256 of each schema and of the description.
   */
  pin?: string;
  /**
   * What happens if the tool differs from its pin: fail (nothing is called) or warn.
   */
  on_drift?: "fail" | "warn";
  /**
   * Whether successful answers are validated against the output schema that the tool publishes: if_listed (if the tool is listed anyway, for its input schema or its pin), check (always) or ignore.
   */
  output_schema?: "if_listed" | "check" | "ignore";
  /**
   * Values of parameters that the task does not set.
   */
  defaults?: {
    [k: string]: unknown;
  };
  mcp?: ToolAddress;
  /**
   * Parameters that oneact fills; a task cannot set them. A parameter that is not `required` is left out if it has no value.
   */
  bind?: {
    [k: string]: string;
  };
  /**
   * The JSON Schema of the tool's parameters, including bound ones. Checked before the server is started.
   */
  parameter_schema_for_action?:
    | {
        [k: string]: unknown;
      }
    | boolean;
  /**
   * Parameters from the action text: each named capture sets one.
   */
  extract?: ExtractRule[];
  /**
   * What changes from attempt 2 on.
   */
  retry?: RetryRule[];
  result?: ResultSettings;
  /**
   * Texts that identify the class of a failure. The first match is used. The built-in table is consulted after these rules.
   */
  failure?: FailureRule[];
  /**
   * Values that an answer must contain. If one of them differs, the call has failed, although the tool did not report it.
   */
  success?: SuccessRule[];
}
/**
 * What file plans may touch. The limits of specification 001 (section 11). The entry can only tighten them; a missing key has the value of the specification. The entry's `timeout` is the longest duration of a plan, at most one hour.
 */
export interface FilePlanLimits {
  root?: ".";
  reports?: "agent_outputs/reports";
  /**
   * Default: all.
   */
  operations?: (
    "FILE_CREATE" | "FILE_MODIFY" | "FILE_DELETE" | "FILE_RENAME" | "SCHEMA_UPDATE" | "SQL_EXECUTE" | "PIPELINE_RUN"
  )[];
  /**
   * required: the protocol layer must have approved a plan. none: a plan that states nothing about its approval runs, too; a plan that states that it was refused does not.
   */
  validation?: "required" | "none";
  max_files?: number;
  /**
   * The size of a file before and after a change, at most 50 MB.
   */
  max_file_size?: string;
  /**
   * The size of all originals of a plan together, at most 500 MB.
   */
  max_backup_size?: string;
  max_concurrency?: number;
  protected?: ProtectedFiles;
}
/**
 * The protected files, by class: those of specification 001 (section 9.1), and executes, what other programs run by themselves.
 */
export interface ProtectedFiles {
  critical?: Protection;
  important?: Protection;
  agent_system?: Protection;
  executes?: ExecutedFiles;
}
export interface Protection {
  /**
   * approval: only an approved plan may change these files. never: no plan may change them.
   */
  rule?: "approval" | "never";
  /**
   * Patterns that are added to the class.
   */
  paths?: string[];
}
export interface ExecutedFiles {
  /**
   * approval: only an approved plan may change these files. never: no plan may change them.
   */
  rule?: "approval" | "never";
  /**
   * Patterns that are added to the class.
   */
  paths?: string[];
  /**
   * Patterns of files that are not in the class.
   */
  except?: string[];
}
/**
 * What raises the risk of the entry. The last two keys are other spellings of `reversibility`.
 */
export interface RiskAmplifiers {
  reversibility?: "reversible" | "partial" | "irreversible";
  regret_potential?: "low" | "medium" | "high" | "moderate";
  irreversibility?: "low" | "medium" | "high";
  reversible?: boolean;
}
/**
 * What happens to a request that was performed before in the session. Default: a read-only entry, or one that is idempotent, not destructive and makes an asset, is answered from the ledger while the assets that it is given have the same content; without assets it is performed again. A destructive and idempotent entry is `repeat`. Any other entry is `suppress`. `reuse` ends early when an operation with effects begins in the session.
 */
export interface OnDuplicate {
  mode: "reuse" | "suppress" | "repeat";
  /**
   * A duration greater than 0, at most 24 hours.
   */
  ttl?: string;
}
/**
 * How a result is reviewed. Only with `requires_post_review = true`.
 */
export interface ReviewSettings {
  /**
   * Whether the result is withheld (`review_open`, exit code 3) until a person accepts it.
   */
  blocks?: boolean;
  /**
   * After this time, an open review is shown as overdue. At most 8760 hours.
   */
  timeout?: string;
  /**
   * stay_open: the review stays open. A missed review is never an approval.
   */
  on_timeout?: "stay_open";
}
/**
 * MCP's hints about the tool. For a missing hint, oneact assumes the worst case.
 */
export interface EffectHints {
  read_only?: boolean;
  destructive?: boolean;
  idempotent?: boolean;
  open_world?: boolean;
}
/**
 * The tool to call.
 */
export interface ToolAddress {
  /**
   * The NAME of a [server.NAME].
   */
  server: string;
  tool: string;
}
export interface ExtractRule {
  from: "action";
  /**
   * A regular expression with at least one named capture.
   */
  pattern: string;
}
export interface RetryRule {
  /**
   * The rule applies only after a failure of one of these classes. If the ledger does not know the last failure, such a rule changes the timeout but no parameter.
   */
  after?: Fault[];
  /**
   * A factor of 1 or more, applied once per attempt after the first.
   */
  timeout?: string;
  /**
   * Parameters with their new values.
   */
  set?: {
    [k: string]: unknown;
  };
  /**
   * Parameters with a factor, applied once per attempt after the first; never below the schema's minimum.
   */
  multiply?: {
    [k: string]: number;
  };
  /**
   * The values to multiply if the parameters are not set.
   */
  start?: {
    [k: string]: number;
  };
}
/**
 * What the tool gives, and what is made of it. Without this table, `kind` is metadata.
 */
export interface ResultSettings {
  /**
   * asset: a file, without result data. analysis: result data that is also stored as a file. metadata: only result data.
   */
  kind?: "asset" | "analysis" | "metadata";
  asset_type?: string;
  /**
   * The format that the content must have; the name does not matter. `any`: only existence and size are checked. The default of an analysis is json.
   */
  format?: Format | string;
  /**
   * Where the tool puts its asset, in the order in which the places are tried: the file that it was told to write, a resource link, embedded bytes, text, the structured content, or a URI at a JSON Pointer.
   */
  take?: string[];
  /**
   * The JSON Schema of the result data. The check `result_complete` uses it.
   */
  schema?:
    | {
        [k: string]: unknown;
      }
    | boolean;
  /**
   * A smaller asset counts as empty.
   */
  min_bytes?: number;
  /**
   * The tool returns lists, a text for each element. Then an answer of one text is a list of one, and an answer without a text is an empty list.
   */
  rows?: boolean;
}
export interface FailureRule {
  /**
   * A regular expression.
   */
  match: string;
  class: Fault;
  /**
   * Overrides the value of the class.
   */
  recoverable?: boolean;
  /**
   * error: answers that the tool itself marks as failed. any: every answer, for tools that report a failure only as text.
   */
  on?: "error" | "any";
}
export interface SuccessRule {
  /**
   * A JSON Pointer into the result.
   */
  pointer: string;
  equals: unknown;
  /**
   * A JSON Pointer to the tool's reason.
   */
  message?: string;
}
/**
 * catalog.toml, format 1. The catalog: tool servers, and capabilities that are mapped to their tools. The schema describes the TOML document as JSON. Unknown keys are errors.
 */
export interface Catalog {
  /**
   * The format of this file.
   */
  catalog: 1;
  /**
   * The document that describes the application. oneact does not read it.
   */
  application?: string;
  defaults?: CatalogDefaults;
  approval?: ApprovalSettings;
  storage?: StorageSettings;
  duckdb?: DuckDBSettings;
  ledger?: LedgerSettings;
  /**
   * Profiles of callers: [profile.NAME], selected by --profile.
   */
  profile?: {
    [k: string]: Profile;
  };
  /**
   * Tool servers: [server.NAME].
   */
  server?: {
    [k: string]: ServerEntry;
  };
  /**
   * Capabilities: [capability.ID].
   */
  capability?: {
    [k: string]: CapabilityEntry;
  };
  /**
   * Workflows: [workflow.ID].
   */
  workflow?: {
    [k: string]: WorkflowEntry;
  };
  /**
   * Pipelines: [pipeline.NAME].
   */
  pipeline?: {
    [k: string]: PipelineEntry;
  };
}
/**
 * Values for entries that do not set them.
 */
export interface CatalogDefaults {
  /**
   * A duration greater than 0, at most 24 hours.
   */
  timeout?: string;
  on_failure?: OnFailure;
  approval?: ApprovalPolicy;
}
/**
 * Where assets are stored: {uri}/{session id}/{ref id}.{extension}. The other keys say how object stores are reached; docs/storage.md describes them.
 */
export interface StorageSettings {
  /**
   * A directory, relative to the root; or a prefix in a bucket: s3://bucket/prefix, gs://bucket/prefix or az://container/prefix.
   */
  uri?: string;
  /**
   * The address of the server, if it is not the service's own. http:// only for a server that you trust with everything in it.
   */
  endpoint?: string;
  /**
   * The region of the buckets. Default: that of the profile, $AWS_REGION, or us-east-1.
   */
  region?: string;
  /**
   * A profile in ~/.aws/credentials and ~/.aws/config with fixed keys. Default: $AWS_PROFILE, unless the environment has keys.
   */
  profile?: string;
  /**
   * For how long a presigned URL of an input can be used, at most 168h.
   */
  presigned_lifetime?: string;
}
/**
 * DuckDB, which performs the SQL of file plans.
 */
export interface DuckDBSettings {
  /**
   * The absolute path of libduckdb.so, outside the root. Default: $ONEACT_DUCKDB, else the usual places.
   */
  library?: string;
  /**
   * The memory of a query, 64 MB to 1 TB, such as `512 MB`.
   */
  memory?: string;
  /**
   * The threads of a query.
   */
  threads?: number;
}
/**
 * The ledger: the record of every answer.
 */
export interface LedgerSettings {
  /**
   * `sqlite:PATH`, a path, `postgres://USER@HOST/DATABASE`, or `none`. A path with `:` or `=` before its first `/` must begin with `./`. Default: `ledger.db` in the state directory. `$ONEACT_LEDGER` takes precedence.
   */
  uri?: string;
  /**
   * Whether requests are answered from the ledger.
   */
  reuse?: boolean;
  /**
   * Whether a read-only call is refused if it cannot be recorded. All other calls are always refused then.
   */
  required?: boolean;
  /**
   * An OpenSSH Ed25519 private key without a passphrase, relative to the root. It signs the head of the chain.
   */
  sign_key?: string;
}
export interface Profile {
  context: Context;
  /**
   * The only user who may choose the profile. Required for FSM_INTERNAL.
   */
  uid?: number;
}
/**
 * How a tool server is started or reached. An MCP server on stdio, whose process ends with the run, or one over streamable HTTP.
 */
export interface ServerEntry {
  /**
   * The address of a server over streamable HTTP. http:// only to this machine, or with `allow_http`.
   */
  url?: string;
  /**
   * Whether tokens and data may be sent without encryption to another machine.
   */
  allow_http?: boolean;
  /**
   * Headers of every request, with their values, which are secrets.
   */
  headers?: {
    [k: string]: string;
  };
  /**
   * Headers of every request, with the names of the variables that contain their values.
   */
  headers_env?: {
    /**
     * The name of a variable. oneact itself sets ONEACT_SCRATCH, ONEACT_PROTECTED and ONEACT_ALLOW_PRIVATE for a server.
     */
    [k: string]: string;
  };
  /**
   * The variable with the bearer token.
   */
  bearer_env?: string;
  /**
   * The file with the bearer token, relative to the root. It is read anew when the server refuses the token.
   */
  bearer_file?: string;
  /**
   * The argv of a program whose first line on stdout is the bearer token. It is run in the root, with a few harmless variables, for at most 30 seconds.
   */
  bearer_command?: string[];
  oauth?: OAuthSettings;
  /**
   * A PEM file with certificates that are accepted beside those of the operating system, relative to the root.
   */
  ca_file?: string;
  /**
   * The argv, never a shell line. {self} is the path of the running oneact binary, {root} is the root.
   */
  command?: string[];
  /**
   * The working directory, relative to the root.
   */
  cwd?: string;
  /**
   * Variables with their values; {self} and {root} are replaced as in `command`. Of oneact's own environment, the server receives only a few harmless variables (PATH, HOME, locale, …).
   */
  env?: {
    [k: string]: string;
  };
  /**
   * Names of variables that are passed on. If one of them is not set, the run fails before the server starts.
   *
   * Items: The name of a variable. oneact itself sets ONEACT_SCRATCH, ONEACT_PROTECTED and ONEACT_ALLOW_PRIVATE for a server.
   */
  env_pass?: string[];
  /**
   * A duration greater than 0, at most 24 hours.
   */
  startup_timeout?: string;
  /**
   * A duration greater than 0, at most 24 hours.
   */
  shutdown_grace?: string;
  /**
   * The era of MCP that the server speaks. auto: oneact finds it.
   */
  protocol?: "auto" | "modern" | "legacy";
  /**
   * Whether oneact's own downloader, and its check of inputs, may contact loopback and private addresses for this server.
   */
  allow_private?: boolean;
  /**
   * How long the server lives. true: one process serves all calls of a session of oneact serve catalog; a run on its own starts and ends the server. A duration such as "10m", at most 24h: the server is kept for later runs until nobody has called it for this time.
   */
  keep_alive?: boolean | string;
  /**
   * With a duration in keep_alive: how many processes of the server are kept at most. Each performs one call at a time.
   */
  concurrency?: number;
  /**
   * Directories, relative to the root, whose files the server's tools may name as their assets. The run's scratch directory and the asset store are always allowed.
   */
  files?: string[];
}
/**
 * OAuth client credentials (RFC 6749, 4.4), with which oneact fetches the bearer token.
 */
export interface OAuthSettings {
  /**
   * The token endpoint.
   */
  token_url: string;
  client_id: string;
  /**
   * The variable with the client secret.
   */
  client_secret_env: string;
  scope?: string;
}
/**
 * A list of capabilities that run as the steps of one task. A task names it like a capability.
 */
export interface WorkflowEntry {
  name?: string;
  description?: string;
  /**
   * Raise it when the same request should give a different answer.
   */
  version?: number;
  is_action?: boolean;
  aliases?: string[];
  tags?: string[];
  examples?: string[];
  effects?: EffectHints;
  /**
   * Default: where all of its steps are available.
   */
  available_in?: Context[];
  /**
   * Raise the risk that follows from the steps.
   */
  intrinsic_amplifiers?: {
    [k: string]: unknown;
  };
  /**
   * Default: no parameters.
   */
  parameter_schema_for_action?:
    | {
        [k: string]: unknown;
      }
    | boolean;
  step: WorkflowStep[];
  provenance?: Provenance;
}
export interface WorkflowStep {
  /**
   * The name for `{id.output}` in later steps.
   */
  id: string;
  /**
   * The id of a capability that calls a tool.
   */
  run: string;
  /**
   * Parameters. A text that is wholly `{…}` is a reference: `{parameter}`, `{parameter.uri}`, `{parameter.path}`, `{step.output}`, `{step.output.uri}`, `{step.output.path}`, `{step.output.field}`.
   */
  with?: {
    [k: string]: unknown;
  };
  /**
   * Earlier steps. Steps run in their order.
   */
  depends_on?: string[];
}
/**
 * Where a workflow came from that `oneact catalog promote` added. It changes nothing.
 */
export interface Provenance {
  /**
   * The operation of the improvised action.
   */
  operation: string;
  /**
   * The number of the link of its answer.
   */
  link: number;
  /**
   * The hash of this link.
   */
  entry_hash: string;
  /**
   * RFC 3339, UTC.
   */
  promoted_at: string;
}
/**
 * A program that plans start by its name. What a PIPELINE_RUN of a plan starts, without a shell, in the root. What it changes cannot be undone.
 */
export interface PipelineEntry {
  description?: string;
  /**
   * The argv, never a shell line. An argument that is wholly `{name}` is the value of that parameter. {self} is the path of the running oneact binary, {root} is the root.
   */
  command: string[];
  parameters?: PipelineParameters;
  /**
   * Directories below the root that the program may write to, with everything in them. Default: only its temporary directory.
   */
  writes?: string[];
  /**
   * Names of variables that are passed on. If one of them is not set, the plan fails before the program starts.
   */
  env_pass?: string[];
  /**
   * Whether it may open sockets. Without it, local sockets are refused, too.
   */
  network?: boolean;
  /**
   * Whether it may use POSIX shared memory and semaphores (/dev/shm), as the multiprocessing of Python does.
   */
  shared_memory?: boolean;
  /**
   * At most 3600s.
   */
  timeout?: string;
  effects?: EffectHints;
  approval?: PipelineApproval;
}
/**
 * The JSON Schema of what a plan can set: an object of texts, numbers and booleans. Each is an argument of the command, so it is required or has a default. Default: no parameters.
 */
export interface PipelineParameters {
  type: "object";
}
/**
 * Whether a plan that runs it waits for a person. Who approves is said by the entry that applies plans.
 */
export interface PipelineApproval {
  /**
   * Default: risk >= critical.
   */
  when?: string;
}
export interface ChainLink {
  seq: number;
  event: string;
  at: string;
  actor: string;
  body: {
    [k: string]: unknown;
  };
  entry_hash: string;
}
export interface ChangedText {
  what: string;
  then: string;
  now: string;
}
export interface Comparison {
  step_index: number;
  operation_id: string;
  verdict: "same" | "differs" | "refused" | "cancelled";
  /**
   * The reason of the refusal, or the signal that cancelled the run.
   */
  why?: string;
  /**
   * The session in which the step was performed again.
   */
  session_id?: string;
  same?: string[];
  differs?: ChangedText[];
}
export interface Difference {
  what: string;
  then: string | FileFact | ObjectFact;
  now: string | FileFact | ObjectFact | null;
}
export interface FileFact {
  bytes: number;
  blake3: string;
}
/**
 * What a store says of an object.
 */
export interface ObjectFact {
  bytes: number;
  etag: string | null;
  modified: string;
  version: string | null;
  sha256: string | null;
}
/**
 * What `oneact doctor --json` prints.
 */
export interface DoctorReport {
  /**
   * The version of oneact.
   */
  oneact: string;
  root: string;
  catalog: string;
  state_dir: string;
  /**
   * `well`: exit code 0. `wrong`: exit code 1. `interrupted`: exit code 130 or 143.
   */
  verdict: "well" | "wrong" | "interrupted";
  /**
   * The number of findings that are problems.
   */
  problems: number;
  warnings: number;
  /**
   * The capabilities whose tasks will fail. All others can be used.
   */
  not_ready: string[];
  findings: Finding[];
  /**
   * The servers that were started, in the order of the catalog.
   */
  servers: ServerCheck[];
}
export interface Finding {
  /**
   * `problem`: some tasks will fail.
   */
  level: "good" | "warning" | "problem";
  finding: FindingName;
  subject: FindingSubject;
  /**
   * The finding as text.
   */
  what: string;
  /**
   * The remedy as text; null if there is nothing to do.
   */
  remedy: string | null;
  /**
   * Lines of another program, such as the last ones of a server's stderr.
   */
  detail: string[];
}
export interface FindingSubject {
  kind: "catalog" | "ledger" | "plans" | "storage" | "scratch" | "server" | "capability" | "pipeline" | "duckdb";
  /**
   * The name of the server, capability or pipeline.
   */
  name: string | null;
}
export interface ServerCheck {
  name: string;
  /**
   * The address of a server over HTTP, without what grants access; null if the server is started.
   */
  url: string | null;
  /**
   * Empty for a server over HTTP.
   */
  command: string[];
  /**
   * The file that the first word of the command names, or the address.
   */
  program: string;
  /**
   * The time from the start until requests could be sent; null if the server was never ready.
   */
  ready_after_ms: number | null;
  /**
   * The version of MCP that was negotiated.
   */
  protocol: string | null;
  era: "legacy" | "modern" | null;
  server_name: string | null;
  server_version: string | null;
  tools: ListedTool[];
  /**
   * How the process of the server ended, such as `exit code 0`.
   */
  ended: string | null;
  stderr_bytes: number;
  /**
   * Lines on the server's stdout that were no messages of the protocol.
   */
  noise_lines: number;
}
export interface ListedTool {
  name: string;
  /**
   * The schema as the server lists it, with every keyword; null if it lists none.
   */
  input_schema: {
    [k: string]: unknown;
  };
}
/**
 * What --dry-run would have done.
 */
export interface DryRunPlan {
  /**
   * Empty for an improvised action with a grant.
   */
  steps: PlannedStep[];
}
export interface PlannedStep {
  capability_id: string;
  mcp_server: string;
  tool_name: string;
  /**
   * The address of a server that is not started, without what grants access.
   */
  url?: string;
  /**
   * The argv that would be started; empty if the server has a `url`.
   */
  command: string[];
  /**
   * Empty if the server has a `url`.
   */
  cwd: string;
  /**
   * The names of the variables that the server would receive, or whose values would be sent to it; never their values.
   */
  environment: string[];
  parameters: {
    [k: string]: unknown;
  };
  timeout_seconds: number;
  checks: ("output_exists" | "output_non_empty" | "format_valid" | "result_complete")[];
  output: PlannedAsset | null;
}
/**
 * The asset that would be stored, if any.
 */
export interface PlannedAsset {
  ref_id: string;
  storage_uri: string;
  asset_type: string;
}
/**
 * The answer that led to the decision.
 */
export interface EarlierAnswer {
  step_index: number;
  operation_id: string;
}
export interface EntryVersion {
  version: string | null;
  digest: string | null;
  tool_pin: string | null;
  oneact: string;
}
/**
 * The answer of oneact. What `oneact run` prints on stdout: one line of JSON, for any input and any failure. All eleven fields are always present; an absent value is null or an empty list. Only `output.content.oneact` contains more than the agents' message format defines.
 */
export interface Envelope {
  /**
   * The second of `timestamp.executed_at`, and six characters of the operation id.
   */
  message_id: string;
  timestamp: Timestamp;
  agent: Agent;
  input: Input;
  output: Output;
  next_agent: NextAgent;
  status: Status;
  error: ErrorReport;
  metadata: Metadata;
  resources: Resources;
  audit: Audit;
}
export interface Timestamp {
  /**
   * ISO 8601 with milliseconds and offset.
   */
  executed_at: string;
  /**
   * The IANA name of the zone that the offset belongs to.
   */
  timezone: string;
}
export interface Input {
  source: "dispatch_agent";
  /**
   * The task as it was received; null if no JSON could be read.
   */
  content: {
    [k: string]: unknown;
  };
}
export interface Output {
  content: OutputContent;
  content_type: "task_result" | "suggestion";
}
export interface OutputContent {
  task_result: TaskResult;
  execution_report?: ExecutionReport;
  suggestion?: SuggestionCard;
  oneact: RunFacts;
}
export interface TaskResult {
  /**
   * The id as received, or `unknown`.
   */
  task_id: string;
  status: "complete" | "failed";
  /**
   * The capabilities whose tool was called, or that applied a file plan.
   */
  capability_ids_executed: string[];
  tool_invocations: ToolInvocation[];
  output_refs_produced: OutputRef[];
  /**
   * The structured result of an analysis or of a query for metadata; null if there is only an asset. Result data of more than 512 KiB is a reference to a file: `{"$blob": {storage_uri, media_type, bytes, sha256}}`.
   */
  result_data: {
    [k: string]: unknown;
  } | null;
  quality_checks: QualityChecks;
}
/**
 * One tool call that was sent.
 */
export interface ToolInvocation {
  tool_name: string;
  mcp_server: string;
  /**
   * The parameters as sent, without secrets and without the signatures of presigned URLs.
   */
  parameters: {
    [k: string]: unknown;
  };
  execution_time_ms: number;
  status: "success" | "error";
  /**
   * The text of the tool.
   */
  error_detail?: string;
}
/**
 * An asset that was made and stored.
 */
export interface OutputRef {
  ref_id: string;
  storage_uri: string;
  asset_type: string;
  status: "created";
}
/**
 * What was checked after the tool answered; false if nothing was. Without an asset, the first three are about the result document. For a file plan, they are about its execution report.
 */
export interface QualityChecks {
  output_exists: boolean;
  output_non_empty: boolean;
  format_valid: boolean;
  /**
   * Only if a result document is required.
   */
  result_complete?: boolean;
}
/**
 * What became of a file plan. The execution report (specification 001, section 4.1). Only for file plans.
 */
export interface ExecutionReport {
  report_id: string;
  plan_id: string | null;
  /**
   * The version of specification 001 that is kept.
   */
  executor_version: "1.0.0";
  status: ReportStatus;
  started_at: string;
  completed_at: string;
  duration_ms: number;
  actions_summary: ActionsSummary;
  actions_completed: {
    [k: string]: unknown;
  }[];
  actions_failed: {
    [k: string]: unknown;
  }[];
  actions_skipped: {
    [k: string]: unknown;
  }[];
  rollback_performed: boolean;
  rollback_manifest_id?: string | null;
  executor: Executor;
  oneact_version: string;
  /**
   * Whether the report directory is the archive of the plan. Only if the plan succeeded.
   */
  archived: boolean;
}
/**
 * The identity that specification 001 gives the executor.
 */
export interface Executor {
  name: "agent_executor";
  version: "1.0.0";
  role: "Safe Action Implementer";
  trust_level: "WRITE_CONTROLLED";
}
/**
 * The card of a suggestion. What the user sees. It has a title or a summary.
 */
export interface SuggestionCard {
  title: string | null;
  /**
   * The `plan_summary` of the proposal.
   */
  summary: string | null;
  rationale: string | null;
  confidence: number | null;
}
/**
 * What oneact says beyond the message format.
 */
export interface RunFacts {
  version: string;
  /**
   * The id of this run: `op_` and a ULID.
   */
  operation_id: string;
  kind: ProposalKind;
  state: State;
  fsm: FsmState;
  fault: Fault | null;
  effect: Effect;
  phase: Phase;
  gate?: Gate;
  /**
   * What identifies the request (SHA-256 over RFC 8785); null if it was not looked up in the ledger.
   */
  request_hash: string | null;
  reuse: null | Reuse;
  waiting: null | Waiting;
  review: null | Review;
  /**
   * What each step did, in their order, if the task has several capabilities or names a workflow. After a failure, the steps that were not reached are missing.
   */
  steps?: StepOutcome[];
  ledger: null | LedgerLink;
  server: null | ServerProcess;
  /**
   * The answer of the tool, if it violates the output schema that the tool itself publishes.
   */
  unfit_result?:
    | {
        [k: string]: unknown;
      }
    | unknown[]
    | string
    | number
    | boolean
    | null;
  plan?: DryRunPlan;
  preview?: Preview;
  reports?: ReportPaths;
}
/**
 * What the gate decided: who called, and how much harm the task may do.
 */
export interface Gate {
  context: Context;
  /**
   * Null if no profile was chosen.
   */
  profile: string | null;
  risk: Risk;
  /**
   * The rules that lead to this risk; empty if the risk is low.
   */
  because: string[];
}
/**
 * Why the answer is an old one, or why it is not.
 */
export interface Reuse {
  why: ReuseReason;
  /**
   * The operation whose answer this is.
   */
  operation_id: string | null;
  /**
   * When that operation was answered, RFC 3339.
   */
  answered_at: string | null;
  /**
   * The number of that answer in the session.
   */
  step_index: number | null;
}
/**
 * What the agent must learn before it can propose an action.
 */
export interface WaitingForClarification {
  for: "clarification";
  blocked_on: string[];
  /**
   * What to do next.
   */
  resume: string;
}
/**
 * A tool asks for input.
 */
export interface WaitingForInput {
  /**
   * input: the tool asks for input before it continues.
   */
  for: "input";
  capability_id: string;
  /**
   * The server that asks.
   */
  mcp_server: string;
  tool_name: string;
  /**
   * The questions as the server sent them, without secrets, under the server's own names: MCP's requests elicitation/create (a form, or a URL to open), sampling/createMessage and roots/list. Empty if the server only asks to be called again.
   */
  input_requests: {
    [k: string]: InputRequest;
  };
  /**
   * The state of the server, to be sent back unchanged; null if there is none.
   */
  request_state: string | null;
  /**
   * What to do next.
   */
  resume: string;
}
/**
 * A person has to approve the request.
 */
export interface WaitingForApproval {
  for: "approval";
  approval_id: string;
  risk: Risk;
  /**
   * The rules that led to the risk.
   */
  why: string[];
  /**
   * The hash of what would be performed; of a plan, the hash of its preview.
   */
  intent_hash: string;
  /**
   * Of a plan: the hash that --dry-run prints.
   */
  preview_hash?: string;
  expires_at: string;
  /**
   * The command with which a person approves.
   */
  approve: string;
  /**
   * The command that performs the stored call after the approval. Missing if the record of the task is not complete.
   */
  perform?: string;
  /**
   * Further ways to approve that the catalog allows.
   */
  by?: "elicitation"[];
}
/**
 * The review of the result by a person. Null if the entry demands no review (`requires_post_review`).
 */
export interface Review {
  state: ReviewState;
  /**
   * Whether the result is withheld while the review is open.
   */
  blocks: boolean;
  /**
   * When the result was recorded, RFC 3339.
   */
  since: string;
  /**
   * When the open review becomes overdue, RFC 3339.
   */
  until: string;
  /**
   * The time of the last decision, RFC 3339; null without one.
   */
  decided_at: string | null;
  /**
   * The command for the decision.
   */
  how: string;
}
export interface StepOutcome {
  capability_id: string;
  /**
   * The id of the task's run with the number of the step; `oneact show` and `oneact resolve` take it. Null if the ledger has no record of the step.
   */
  operation_id: string | null;
  /**
   * As the state of a task. rejected: the step was not begun.
   */
  state: "done" | "rejected" | "failed" | "pending" | "cancelled" | "replayed" | "reused" | "suppressed";
}
/**
 * Where the answer is recorded. The link of the ledger's chain that seals this answer. An envelope that is kept elsewhere proves later that the ledger still contains this answer.
 */
export interface LedgerLink {
  seq: number;
  entry_hash: string;
}
/**
 * The process of the last tool server.
 */
export interface ServerProcess {
  name: string;
  /**
   * The name and version that the server states.
   */
  info: string | null;
  /**
   * How the server ended; only after a failure.
   */
  exit_status: string | null;
  /**
   * The last lines of the server's stderr, without secrets; only after a failure.
   */
  stderr_tail: string | null;
  /**
   * Processes that the server left and that oneact ended; only after a failure.
   */
  killed: string[];
  /**
   * The number of lines on the server's stdout that are no MCP messages.
   */
  stdout_noise: number;
  /**
   * The version of MCP that was negotiated.
   */
  protocol: string | null;
  timings: ServerTimings;
}
/**
 * Milliseconds; all 0 under --clock.
 */
export interface ServerTimings {
  spawn_ms: number;
  negotiate_ms: number;
  call_ms: number;
}
/**
 * What a file plan would do.
 */
export interface Preview {
  /**
   * The hash for `--expect`.
   */
  hash: string;
  /**
   * The diff, as `git diff` prints it.
   */
  diff: string;
}
/**
 * Where the reports of a file plan are. The path, relative to the root.
 */
export interface ReportPaths {
  directory: string;
  execution_report: string;
  change_log: string;
  /**
   * Null if nothing was changed.
   */
  rollback_manifest: string | null;
}
export interface NextAgent {
  name: "dispatch_agent";
  reason: string;
}
export interface Status {
  code: StatusCode;
  message: string;
}
export interface ErrorReport {
  has_error: boolean;
  error_code: ErrorCode | null;
  /**
   * What is wrong, where, and what to do.
   */
  error_message: string | null;
  /**
   * The task's attempt minus one.
   */
  retry_count: number;
  /**
   * Whether the same task, sent again, may succeed. The exit code is 75 if it is true, and 1 otherwise.
   */
  recoverable: boolean;
}
export interface Metadata {
  session_id: string;
  request_id: string | null;
  /**
   * The number of the received message plus one.
   */
  sequence_number: number;
  /**
   * The message that this answers.
   */
  parent_message_id: string | null;
}
/**
 * The resources of the session: those that were received, and those that this task made.
 */
export interface Resources {
  source_refs: unknown[];
  storage_refs: unknown[];
  derived_refs: unknown[];
}
export interface FailedResult {
  error: ResultError;
}
export interface ResultError {
  /**
   * The class of the failure, as `fault` of the envelope
   */
  class: string;
  message: string;
  /**
   * Whether the same task may succeed if it is sent again
   */
  recoverable: boolean;
  /**
   * As `state` of the envelope
   */
  state: string;
  effect: Effect;
  /**
   * The name of the run, e.g. for `oneact show`
   */
  operation_id: string;
  /**
   * As `waiting` of the envelope: what another run needs
   */
  waiting: {
    [k: string]: unknown;
  } | null;
}
/**
 * The grant that the answer opened. `calls` are the operations of its calls.
 */
export interface GrantRecord {
  entries: string[];
  max_calls: number;
  until: string;
  calls: string[];
  /**
   * The link that closed the grant.
   */
  closed_by: number | null;
}
export interface History {
  /**
   * Null if the steps are those of all sessions.
   */
  session: SessionRecord | null;
  steps: RecordedStep[];
  open: OpenRequest[];
}
/**
 * For a session from before oneact, everything but the id and the count is null.
 */
export interface SessionRecord {
  session_id: string;
  /**
   * The context in which the session was opened.
   */
  context: string | null;
  profile: string | null;
  /**
   * The user who opened the session: `uid:1000`.
   */
  principal: string | null;
  /**
   * RFC 3339, UTC, milliseconds.
   */
  opened_at: string | null;
  /**
   * The number of answers, including those that are not listed.
   */
  steps: number;
  /**
   * The number of listed answers whose review is open.
   */
  awaiting_review: number;
}
export interface RecordedStep {
  session_id: string;
  step_index: number;
  id: string;
  operation_id: string;
  request_id: string | null;
  task_id: string | null;
  attempt: number;
  /**
   * The id of the catalog's entry. Several ids are joined by `+`.
   */
  action_type: string | null;
  state: RecordedState | null;
  outcome: "success" | "error";
  started_at: string;
  /**
   * When it was answered.
   */
  timestamp: string;
  duration_ms: number;
  fault: string | null;
  recoverable: boolean | null;
  /**
   * The name of the reason why the request was performed or not.
   */
  reason: string | null;
  /**
   * The step that opened the grant under which the task was sent.
   */
  under: number | null;
  /**
   * The step whose answer was returned again.
   */
  answered_from: number | null;
  /**
   * What a retry changed, by capability and parameter; null if nothing.
   */
  adjusted: {
    [k: string]: unknown;
  };
  made: MadeAsset[];
  request_hash: string;
  /**
   * The link that seals the step.
   */
  seq: number | null;
  /**
   * The link that revoked the step.
   */
  revoked_by: number | null;
  /**
   * Of a step of a task: the operation of the task.
   */
  parent: string | null;
  /**
   * The number of the step in its task.
   */
  position: number | null;
  review: ReviewRecord | null;
  /**
   * The request and the response were removed; their hashes remain.
   */
  pruned: boolean;
}
export interface MadeAsset {
  ref_id: string;
  asset_type: string;
  storage_uri: string;
  bytes: number | null;
  blake3: string | null;
}
/**
 * The review of the answer, if it demands one or there was one. A repeated answer has the review of the answer that it repeats.
 */
export interface ReviewRecord {
  state: "open" | "overdue" | "accepted" | "rejected";
  /**
   * The result is withheld while the review is open.
   */
  blocks: boolean;
  since: string;
  /**
   * When the open review becomes overdue; null if none is demanded.
   */
  until: string | null;
  decision: ReviewDecision | null;
}
/**
 * The last decision.
 */
export interface ReviewDecision {
  at: string;
  /**
   * `uid:1000`
   */
  by: string;
  link: number;
}
/**
 * A request without an answer.
 */
export interface OpenRequest {
  operation_id: string;
  since: string;
  /**
   * `died`: the run died before anything could happen. `unknown`: the call may have happened.
   */
  state: "at_work" | "died" | "unknown";
}
export interface LastFailure {
  operation_id: string;
  action_type: string | null;
  fault: string | null;
  timestamp: string;
}
export interface SessionList {
  /**
   * The session that was used last comes first.
   */
  sessions: SessionSummary[];
}
export interface SessionSummary {
  session_id: string;
  context: string | null;
  profile: string | null;
  principal: string | null;
  /**
   * When its first answer was begun.
   */
  first_at: string;
  /**
   * When its last answer was given.
   */
  last_at: string;
  steps: number;
  /**
   * The tasks that failed; each attempt counts.
   */
  failed: number;
  /**
   * The tasks whose last answer is that they wait.
   */
  waiting: number;
  last_failure: LastFailure | null;
}
export interface SessionDocument {
  /**
   * The version of oneact that wrote this document.
   */
  oneact: string;
  session: SessionRecord;
  steps: WholeStep[];
  open: OpenRequest[];
}
export interface WholeStep {
  step: RecordedStep;
  decision: StepDecision;
  links: ChainLink[];
  grant: GrantRecord | null;
  /**
   * The steps that were answered from this step.
   */
  given_again: number[];
  entry: EntryVersion;
  /**
   * The inputs as they were after the run.
   */
  inputs: {
    [k: string]: unknown;
  };
  /**
   * The `MCPRequest`, byte for byte; null after pruning.
   */
  request: {
    [k: string]: unknown;
  };
  request_sha256: string;
  /**
   * The `MCPResponse`, byte for byte; null after pruning.
   */
  response: {
    [k: string]: unknown;
  };
  response_sha256: string;
}
export interface StepDecision {
  kind: "ran" | "answered" | "history";
  reason: string | null;
  sentence: string;
  about: EarlierAnswer | null;
  differences: Difference[];
}
/**
 * Specification 004: a capability with its arguments. `--reply mcp` prints the MCPResponse.
 */
export interface MCPRequest {
  /**
   * The id of a capability. If `args` is present, `action` is accepted in its place.
   */
  actionId?: string;
  action?: unknown;
  /**
   * The parameters.
   */
  args?: {
    [k: string]: unknown;
  } | null;
  /**
   * As `metadata.session_id`.
   */
  sessionId?: string | null;
  /**
   * As `metadata.request_id`.
   */
  requestId?: string | null;
  /**
   * Default: the id of the capability.
   */
  taskId?: {
    [k: string]: unknown;
  };
  /**
   * The `operation_id` of the clarification that this task answers. It is recorded with the task.
   */
  clarifies?: string | null;
  /**
   * The `operation_id` of the answer that opened the grant under which the only capability of this task is called.
   */
  under?: string | null;
  /**
   * Data for the tools whose entries say `uses_context = true`. It is part of the request then. If no entry does, it is not used, and the answer reports this.
   */
  context?: {
    [k: string]: unknown;
  };
  /**
   * The inputs. Their order is that of `input.uri`, `input_2.uri` … in the entries.
   */
  input_refs_resolved?: InputRef[] | null;
  /**
   * The names of the assets that the task must make. The last capabilities that make assets get these names, in order.
   */
  output_refs_expected?: string[] | null;
  /**
   * 1 is the first attempt. From 2 on, the entry's `retry` rules apply. Default: the first attempt, or the next one after a failure.
   */
  attempt?: number | null;
  /**
   * Part of the request: two tasks with a different salt are different requests.
   */
  salt?: string | null;
  /**
   * The caller's name for this delivery. In its session, a second delivery with the same key gets the answer of the first. It is refused (`idempotency_conflict`) if its content differs. The key may also be in `metadata`.
   */
  idempotency_key?: string | null;
  /**
   * Answers to the questions of a pending run, under the names in `waiting.input_requests`. The rest of the task must be the same.
   */
  input_responses?: {
    [k: string]: InputResponse;
  } | null;
  /**
   * `waiting.request_state` of the pending run, unchanged; absent or null if it was null.
   */
  request_state?: string | null;
}
export interface MadeResult {
  /**
   * As in the envelope
   */
  output_refs_produced?: {
    [k: string]: unknown;
  }[];
  /**
   * The file of a result that is too large for the answer
   */
  result_file?: string;
  /**
   * Of a dry run: the calls that a run would make
   */
  plan?: {
    [k: string]: unknown;
  };
  /**
   * Of a dry run of a file plan: the change and its hash
   */
  preview?: {
    [k: string]: unknown;
  };
}
export interface MessageContent {
  /**
   * A task inside a message. `metadata`, `resources` and `message_id` are read only at the top level of the message.
   */
  dispatch: Proposal | TaskBody;
}
/**
 * Specification 003: what an agent proposes. A standard action is performed as a task of one capability; it can also have the other fields of a task. A suggestion is a card for the user, and a clarification a question; neither is ever performed. An improvised action always waits for a person: then its declared `steps` are performed as one task, or its `grant` is opened.
 */
export interface Proposal {
  kind: ProposalKind;
  /**
   * The id of a standard action: an entry of the catalog with `is_action = true`.
   */
  name?: (null | "" | "{}") | string;
  /**
   * The parameters of the action, as JSON text. An object can be sent in `parameters` instead.
   */
  parameters_json?: (null | "" | "{}") | string;
  parameters?:
    | (null | "" | "{}")
    | {
        [k: string]: unknown;
      };
  task_plan?: (null | "" | "{}") | TaskPlan | null;
  title?: (null | "" | "{}") | string;
  /**
   * What is to be done, in one text.
   */
  plan_summary?: (null | "" | "{}") | string;
  /**
   * Why the agent proposes it.
   */
  rationale?: (null | "" | "{}") | string;
  /**
   * The agent's own confidence. It decides nothing.
   */
  confidence?: (null | "" | "{}") | number;
  /**
   * Exactly what is missing, in one text or several.
   */
  blocked_on?: (null | "" | "{}") | (string | string[]);
  /**
   * A claim of the agent.
   */
  irreversibility?: (null | "" | "{}") | ("low" | "medium" | "high");
  /**
   * A claim of the agent. `moderate` is read as `medium`.
   */
  regret_potential?: (null | "" | "{}") | ("low" | "moderate" | "medium" | "high");
  /**
   * A claim of the agent.
   */
  risk_amplifier?: (null | "" | "{}") | boolean;
  /**
   * The steps of an improvised action, in their order, at most 16.
   */
  steps?:
    | (null | "" | "{}")
    | {
        [k: string]: unknown;
      }[];
  /**
   * The limits of an improvised action whose calls the agent decides on as it goes. Each call is a task of one capability, with `under`.
   */
  grant?:
    | (null | "" | "{}")
    | {
        [k: string]: unknown;
      };
  clarifies?: (null | "" | "{}") | (string | null);
  under?: (null | "" | "{}") | (string | null);
  /**
   * Default: the `name`.
   */
  task_id?: string | null;
  /**
   * The action text: the task in words. Only the `extract` rules of a catalog entry read it.
   */
  action?: string | null;
  /**
   * The inputs. Their order is that of `input.uri`, `input_2.uri` … in the entries.
   */
  input_refs_resolved?: InputRef[] | null;
  /**
   * The names of the assets that the task must make. The last capabilities that make assets get these names, in order.
   */
  output_refs_expected?: string[] | null;
  /**
   * 1 is the first attempt. From 2 on, the entry's `retry` rules apply. Default: the first attempt, or the next one after a failure.
   */
  attempt?: number | null;
  /**
   * Part of the request: two tasks with a different salt are different requests.
   */
  salt?: string | null;
  /**
   * The caller's name for this delivery. In its session, a second delivery with the same key gets the answer of the first. It is refused (`idempotency_conflict`) if its content differs. The key may also be in `metadata`.
   */
  idempotency_key?: string | null;
  /**
   * Whether you can answer questions of a tool. If true, servers of MCP 2026-07-28 are told that they may ask (the client capability `elicitation`). A run whose tool asks then ends as pending, and `output.content.oneact.waiting` contains the questions. Only for a task of one capability.
   */
  accepts_input?: boolean | null;
  /**
   * Answers to the questions of a pending run, under the names in `waiting.input_requests`. The rest of the task must be the same.
   */
  input_responses?: {
    [k: string]: InputResponse;
  } | null;
  /**
   * `waiting.request_state` of the pending run, unchanged; absent or null if it was null.
   */
  request_state?: string | null;
  /**
   * `waiting.input_requests` of the pending run. With it, the answers are checked before the server is started: every question needs an answer, every answer needs a question, and the content must fit the form.
   */
  input_requests?: {
    [k: string]: InputRequest;
  } | null;
  system_config?: SystemConfig;
  /**
   * The approval of the protocol layer: `true` or `"APPROVED"`. A plan with any other value is refused.
   */
  protocol_validation?: {
    [k: string]: unknown;
  };
}
export interface MessageOutput {
  content: MessageContent;
}
/**
 * A plan under `task_plan`.
 */
export interface WrappedPlan {
  task_plan: TaskPlan;
  system_config?: SystemConfig;
  /**
   * The statement that the protocol layer validated the plan. A plan without it is refused, unless its catalog entry says `validation = "none"`.
   */
  protocol_validation?: true | "APPROVED";
  metadata?: unknown;
  resources?: unknown;
  message_id?: unknown;
  task_id?: unknown;
  salt?: unknown;
  idempotency_key?: unknown;
  attempt?: unknown;
}
export interface ProtocolApproval {
  /**
   * The SHA-256 of the payload in hexadecimal, over RFC 8785 or over its compact JSON in the order sent. The prefix `sha256:` is optional.
   */
  checksum?: string | null;
  /**
   * `agent_protocol` and `manual` approve the plan; null does not.
   */
  validated_by?: string | null;
  validated_at?: unknown;
  /**
   * Not checked.
   */
  signature?: string | null;
}
/**
 * For a TASK_REQUEST: a plan, by itself or under `task_plan`. For the other types: one of the names of a plan. Default: the plan of `payload.task_id`.
 */
export interface ProtocolContent {
  /**
   * For a ROLLBACK_REQUEST: only these checkpoints are undone, with the changes that depend on them.
   */
  checkpoints?: string[] | null;
}
/**
 * Specification 001: the `validation` block approves a plan if its checksum fits the payload.
 */
export interface ProtocolMessage {
  envelope: ProtocolEnvelope;
  metadata?: ProtocolMetadata;
  payload: ProtocolPayload;
  validation?: ProtocolApproval | null;
}
export interface ProtocolEnvelope {
  /**
   * The answer contains it as `metadata.parent_message_id`.
   */
  envelope_id?: string | null;
  message_type: "TASK_REQUEST" | "ROLLBACK_REQUEST" | "STATUS_QUERY" | "CANCEL";
  /**
   * With `ttl_seconds`, the time until which the message is valid.
   */
  created_at?: {
    [k: string]: unknown;
  };
  ttl_seconds?: unknown;
}
export interface ProtocolMetadata {
  /**
   * The answer contains it as `metadata.request_id`, unless another one is given.
   */
  correlation_id?: string | null;
  /**
   * The attempt minus one.
   */
  retry_count?: {
    [k: string]: unknown;
  };
}
export interface ProtocolPayload {
  task_id?: string | null;
  /**
   * ROLLBACK, STATUS_QUERY and CANCEL of a TASK_REQUEST mean the same as the message types of these names.
   */
  task_type?: {
    [k: string]: unknown;
  };
  content?: ProtocolContent | null;
}

/** The family of each fault. */
export const errorCodes: Readonly<Record<Fault, ErrorCode>> = {
  invalid_json: "INVALID_INPUT",
  invalid_shape: "INVALID_INPUT",
  invalid_usage: "INVALID_INPUT",
  no_capability: "INVALID_INPUT",
  clarification_required: "INVALID_INPUT",
  multiple_tasks: "VALIDATION_ERROR",
  unknown_capability: "VALIDATION_ERROR",
  misrouted_synthesis: "VALIDATION_ERROR",
  params_invalid: "VALIDATION_ERROR",
  kind_rule: "VALIDATION_ERROR",
  tool_changed: "VALIDATION_ERROR",
  not_validated: "VALIDATION_ERROR",
  cyclic_dependency: "VALIDATION_ERROR",
  limit_exceeded: "VALIDATION_ERROR",
  plan_invalid: "VALIDATION_ERROR",
  unknown_dependency: "VALIDATION_ERROR",
  plan_conflict: "VALIDATION_ERROR",
  operation_not_allowed: "VALIDATION_ERROR",
  sql_failed: "VALIDATION_ERROR",
  sql_refused: "VALIDATION_ERROR",
  pattern_not_found: "VALIDATION_ERROR",
  pattern_ambiguous: "VALIDATION_ERROR",
  line_out_of_range: "VALIDATION_ERROR",
  place_not_found: "VALIDATION_ERROR",
  edit_refused: "VALIDATION_ERROR",
  content_invalid: "VALIDATION_ERROR",
  not_text: "VALIDATION_ERROR",
  schema_invalid: "VALIDATION_ERROR",
  rule_failed: "VALIDATION_ERROR",
  preview_changed: "VALIDATION_ERROR",
  manifest_unusable: "VALIDATION_ERROR",
  journal_foreign: "VALIDATION_ERROR",
  path_traversal: "VALIDATION_ERROR",
  protected_file: "VALIDATION_ERROR",
  idempotency_conflict: "VALIDATION_ERROR",
  approval_denied: "VALIDATION_ERROR",
  approval_expired: "VALIDATION_ERROR",
  approval_mismatch: "VALIDATION_ERROR",
  grant_not_found: "VALIDATION_ERROR",
  grant_closed: "VALIDATION_ERROR",
  grant_expired: "VALIDATION_ERROR",
  grant_mismatch: "VALIDATION_ERROR",
  grant_used_up: "VALIDATION_ERROR",
  input_unresolved: "DEPENDENCY_ERROR",
  input_inaccessible: "DEPENDENCY_ERROR",
  input_required: "DEPENDENCY_ERROR",
  dependency_failed: "DEPENDENCY_ERROR",
  in_flight: "DEPENDENCY_ERROR",
  request_in_flight: "DEPENDENCY_ERROR",
  review_open: "DEPENDENCY_ERROR",
  approval_required: "DEPENDENCY_ERROR",
  context_denied: "OUT_OF_SCOPE",
  context_changed: "OUT_OF_SCOPE",
  timeout: "TIMEOUT",
  catalog_invalid: "PROCESSING_ERROR",
  server_not_found: "PROCESSING_ERROR",
  server_unreachable: "PROCESSING_ERROR",
  rate_limited: "PROCESSING_ERROR",
  oom: "PROCESSING_ERROR",
  input_corrupt: "PROCESSING_ERROR",
  output_missing: "PROCESSING_ERROR",
  output_empty: "PROCESSING_ERROR",
  output_format: "PROCESSING_ERROR",
  result_incomplete: "PROCESSING_ERROR",
  result_invalid: "PROCESSING_ERROR",
  tool_error: "PROCESSING_ERROR",
  disk_full: "PROCESSING_ERROR",
  permission_denied: "PROCESSING_ERROR",
  file_not_found: "PROCESSING_ERROR",
  hash_mismatch: "PROCESSING_ERROR",
  file_exists: "PROCESSING_ERROR",
  not_a_regular_file: "PROCESSING_ERROR",
  file_system_error: "PROCESSING_ERROR",
  shared_file: "PROCESSING_ERROR",
  rollback_conflict: "PROCESSING_ERROR",
  ledger_unavailable: "PROCESSING_ERROR",
  outcome_unknown: "PROCESSING_ERROR",
  stuck: "PROCESSING_ERROR",
  engine_missing: "PROCESSING_ERROR",
  engine_failed: "PROCESSING_ERROR",
  jail_unavailable: "PROCESSING_ERROR",
  pipeline_not_started: "PROCESSING_ERROR",
  pipeline_failed: "PROCESSING_ERROR",
  cancelled: "PROCESSING_ERROR",
  internal: "PROCESSING_ERROR",
};
