"""The documents of oneact as types. Generated from the schemas by scripts/generate-clients; do not edit.

`TaskDocument` is what oneact reads, `Envelope` what it prints. Most programs only need these names in annotations, so
import this module under `if TYPE_CHECKING:`.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Literal, Optional, TypedDict

if TYPE_CHECKING:
    from typing_extensions import NotRequired, TypeAlias
elif sys.version_info >= (3, 11):
    from typing import NotRequired, TypeAlias
else:
    from typing import TypeAlias

    NotRequired = Optional


class ActionsSummary(TypedDict):
    total: int
    completed: int
    failed: int
    skipped: int


class Agent(TypedDict):
    name: Literal['action_agent']
    type: Literal['executional']


AllowedOperation: TypeAlias = Literal[
    'FILE_CREATE',
    'CREATE',
    'FILE_MODIFY',
    'MODIFY',
    'FILE_DELETE',
    'DELETE',
    'FILE_RENAME',
    'RENAME',
    'SCHEMA_UPDATE',
    'SQL_EXECUTE',
    'PIPELINE_RUN',
]


class ApprovalPolicy(TypedDict):
    """
    When a run waits for the approval of a person, and who may approve. Missing keys have the values of [defaults].
    """

    when: NotRequired[str]
    """
    Default: risk >= critical.
    """
    approvers: NotRequired[list[str]]
    """
    Default: everybody.
    """
    quorum: NotRequired[int]
    """
    How many persons have to approve.
    """
    prevent_self: NotRequired[bool]
    """
    Whether the user who asked may not approve without a signature.
    """
    by: NotRequired[list[Literal['elicitation']]]
    """
    Further ways to approve: the host of `oneact serve catalog` may ask its user. Not together with prevent_self.
    """
    expires: NotRequired[str]
    """
    How long an approval can be waited for and used; at most 24h. Default: 15m.
    """
    show: NotRequired[list[str]]
    """
    The parameters that are shown first.
    """


class ApprovalSettings(TypedDict):
    """
    Approvals of requests: who is told of them, and whose signatures count.
    """

    notify: NotRequired[list[str]]
    """
    The argv of a program that gets each new request, and each file plan that needs a person, as JSON on its standard input.
    """
    allowed_signers: NotRequired[str]
    """
    A file of allowed signers (OpenSSH), relative to the root. The namespace is oneact-approval.
    """


class Audit(TypedDict):
    compliance_notes: str
    """
    What was checked, and what was assumed, ignored or could not be checked.
    """
    governance_files_consulted: list[str]
    reasoning: str
    """
    The events of the run, in their order.
    """


class CallerMetadata(TypedDict):
    """
    The caller and its session. The answer contains these fields.
    """

    session_id: NotRequired[str | None]
    """
    The name of the directory for the session's assets; at most 128 bytes. Default: a new session.
    """
    request_id: NotRequired[str | None]
    idempotency_key: NotRequired[str | None]
    """
    The caller's name for this delivery. In its session, a second delivery with the same key gets the answer of the first. It is refused (`idempotency_conflict`) if its content differs. The key may also be in `metadata`.
    """
    sequence_number: NotRequired[int | None]
    """
    The number of this message. The answer has the next number, or 1 if there is none.
    """
    traceparent: NotRequired[str | None]
    """
    The trace to which the task belongs (W3C Trace Context). Tools get it in the `_meta` of their calls. An invalid one is ignored.
    """
    tracestate: NotRequired[str | None]
    """
    What goes with `traceparent` (W3C Trace Context).
    """


class ChainLink(TypedDict):
    seq: int
    event: str
    at: str
    actor: str
    body: dict[str, Any]
    entry_hash: str


class ChangedText(TypedDict):
    what: str
    then: str
    now: str


class Comparison(TypedDict):
    step_index: int
    operation_id: str
    verdict: Literal['same', 'differs', 'refused', 'cancelled']
    why: NotRequired[str]
    """
    The reason of the refusal, or the signal that cancelled the run.
    """
    session_id: NotRequired[str]
    """
    The session in which the step was performed again.
    """
    same: NotRequired[list[str]]
    differs: NotRequired[list[ChangedText]]


Context: TypeAlias = Literal[
    'AGENT_CONVERSATION', 'AGENT_AUTONOMOUS', 'FSM_INTERNAL', 'ACTION_PROPOSAL', 'USER_INVOCATION'
]


class CreateOperation(TypedDict):
    type: Literal['create']
    content: str
    """
    The text of the file, which may be empty; or its bytes in base64.
    """
    encoding: NotRequired[Literal['utf-8', 'base64']]
    """
    How `content` is written.
    """
    mode: NotRequired[str]
    """
    Permissions in octal. Default: those of any new file in the directory. An execute bit needs an approval.
    """


class CreateParameters(TypedDict):
    type: NotRequired[Literal['create']]
    content: str
    """
    The text of the file, which may be empty; or its bytes in base64.
    """
    encoding: NotRequired[Literal['utf-8', 'base64']]
    """
    How `content` is written.
    """
    mode: NotRequired[str]
    """
    Permissions in octal. Default: those of any new file in the directory. An execute bit needs an approval.
    """


class CreateWithDetails(TypedDict):
    type: Literal['create']
    details: CreateParameters


class DeleteOperation(TypedDict):
    type: Literal['delete']
    diff: NotRequired[str]
    """
    A unified diff that removes every line of the file. A file with other lines is not deleted.
    """
    recount: NotRequired[bool]
    """
    Whether hunks are accepted whose counts do not fit their lines.
    """
    require_index: NotRequired[bool]
    """
    Whether the hash in the `index` line of the diff must be that of the file.
    """


class DeleteParameters(TypedDict):
    type: NotRequired[Literal['delete']]
    diff: NotRequired[str]
    """
    A unified diff that removes every line of the file. A file with other lines is not deleted.
    """
    recount: NotRequired[bool]
    """
    Whether hunks are accepted whose counts do not fit their lines.
    """
    require_index: NotRequired[bool]
    """
    Whether the hash in the `index` line of the diff must be that of the file.
    """


class DeleteWithDetails(TypedDict):
    type: Literal['delete']
    details: DeleteParameters


class DuckDBSettings(TypedDict):
    """
    DuckDB, which performs the SQL of file plans.
    """

    library: NotRequired[str]
    """
    The absolute path of libduckdb.so, outside the root. Default: $ONEACT_DUCKDB, else the usual places.
    """
    memory: NotRequired[str]
    """
    The memory of a query, 64 MB to 1 TB, such as `512 MB`.
    """
    threads: NotRequired[int]
    """
    The threads of a query.
    """


class EarlierAnswer(TypedDict):
    """
    The answer that led to the decision.
    """

    step_index: int
    operation_id: str


class EditOperation(TypedDict):
    type: Literal['edit']
    old_string: str
    """
    The text to look for.
    """
    new_string: str
    """
    The new text, which may be empty.
    """
    replace_all: NotRequired[bool]
    """
    Whether every occurrence is replaced. Otherwise the text must occur exactly once.
    """


class EditParameters(TypedDict):
    type: NotRequired[Literal['edit']]
    old_string: str
    """
    The text to look for.
    """
    new_string: str
    """
    The new text, which may be empty.
    """
    replace_all: NotRequired[bool]
    """
    Whether every occurrence is replaced. Otherwise the text must occur exactly once.
    """


class EditWithDetails(TypedDict):
    type: Literal['edit']
    details: EditParameters


Effect: TypeAlias = Literal['none', 'unknown', 'done']
"""
Whether anything may have changed. none: no call was sent, and no file was changed. unknown: a call was sent and never answered, or answered with a question; or files were changed that a person must examine. done: the call was answered, or files were changed.
"""


class EffectHints(TypedDict):
    """
    MCP's hints about the tool. For a missing hint, oneact assumes the worst case.
    """

    read_only: NotRequired[bool]
    destructive: NotRequired[bool]
    idempotent: NotRequired[bool]
    open_world: NotRequired[bool]


class EntryVersion(TypedDict):
    version: str | None
    digest: str | None
    tool_pin: str | None
    oneact: str


ErrorCode: TypeAlias = Literal[
    'OUT_OF_SCOPE', 'INVALID_INPUT', 'PROCESSING_ERROR', 'TIMEOUT', 'DEPENDENCY_ERROR', 'VALIDATION_ERROR'
]


class ErrorReport(TypedDict):
    has_error: bool
    error_code: ErrorCode | None
    error_message: str | None
    """
    What is wrong, where, and what to do.
    """
    retry_count: int
    """
    The task's attempt minus one.
    """
    recoverable: bool
    """
    Whether the same task, sent again, may succeed. The exit code is 75 if it is true, and 1 otherwise.
    """


ExecutedFiles = TypedDict(
    'ExecutedFiles',
    {
        'rule': NotRequired[Literal['approval', 'never']],
        'paths': NotRequired[list[str]],
        'except': NotRequired[list[str]],
    },
)


class ExecutionConstraints(TypedDict):
    max_files_modified: NotRequired[int]
    allowed_operations: NotRequired[list[AllowedOperation]]
    max_file_size_bytes: NotRequired[int]
    forbidden_patterns: NotRequired[list[str]]
    """
    Patterns of files that the plan may not change.
    """
    protected_files: NotRequired[list[str]]
    """
    Patterns of files whose change needs an approval.
    """


class ExecutionInstructions(TypedDict):
    """
    How the plan is applied.
    """

    execution_order: NotRequired[Literal['sequential', 'dependency_based', 'parallel']]
    """
    "parallel" gives the same files.
    """
    stop_on_error: NotRequired[bool]
    """
    Whether no further action is tried after one has failed.
    """
    rollback_on_failure: NotRequired[bool]
    """
    Whether nothing stays changed if an action fails.
    """
    preserve_permissions: NotRequired[bool]
    """
    Whether a changed file keeps its permissions.
    """
    verify_hashes: NotRequired[bool]
    """
    Whether the content of every file is checked before and after its change.
    """
    timeout_seconds: NotRequired[int]
    """
    The time limit of the plan. A number above 3600 is reduced to 3600.
    """
    human_approval_required: NotRequired[bool]
    """
    Whether the plan waits for an approval.
    """
    estimated_files_affected: NotRequired[float]


class Executor(TypedDict):
    """
    The identity that specification 001 gives the executor.
    """

    name: Literal['agent_executor']
    version: Literal['1.0.0']
    role: Literal['Safe Action Implementer']
    trust_level: Literal['WRITE_CONTROLLED']


ExtractRule = TypedDict(
    'ExtractRule',
    {
        'from': Literal['action'],
        'pattern': str,
    },
)


Fault: TypeAlias = Literal[
    'invalid_json',
    'invalid_shape',
    'invalid_usage',
    'no_capability',
    'clarification_required',
    'multiple_tasks',
    'unknown_capability',
    'misrouted_synthesis',
    'params_invalid',
    'kind_rule',
    'tool_changed',
    'catalog_invalid',
    'input_unresolved',
    'input_inaccessible',
    'server_not_found',
    'server_unreachable',
    'timeout',
    'rate_limited',
    'oom',
    'input_corrupt',
    'output_missing',
    'output_empty',
    'output_format',
    'result_incomplete',
    'result_invalid',
    'tool_error',
    'input_required',
    'disk_full',
    'permission_denied',
    'not_validated',
    'cyclic_dependency',
    'limit_exceeded',
    'plan_invalid',
    'unknown_dependency',
    'plan_conflict',
    'operation_not_allowed',
    'pattern_not_found',
    'pattern_ambiguous',
    'line_out_of_range',
    'place_not_found',
    'edit_refused',
    'content_invalid',
    'not_text',
    'schema_invalid',
    'rule_failed',
    'sql_failed',
    'preview_changed',
    'manifest_unusable',
    'journal_foreign',
    'file_not_found',
    'hash_mismatch',
    'file_exists',
    'not_a_regular_file',
    'file_system_error',
    'shared_file',
    'rollback_conflict',
    'path_traversal',
    'protected_file',
    'sql_refused',
    'dependency_failed',
    'in_flight',
    'request_in_flight',
    'review_open',
    'ledger_unavailable',
    'outcome_unknown',
    'idempotency_conflict',
    'context_denied',
    'context_changed',
    'approval_required',
    'approval_denied',
    'approval_expired',
    'approval_mismatch',
    'grant_not_found',
    'grant_closed',
    'grant_expired',
    'grant_mismatch',
    'grant_used_up',
    'stuck',
    'engine_missing',
    'engine_failed',
    'jail_unavailable',
    'pipeline_not_started',
    'pipeline_failed',
    'cancelled',
    'internal',
]
"""
The class of the failure; null on success.
"""


class FileFact(TypedDict):
    bytes: int
    blake3: str


FindingName: TypeAlias = Literal[
    'catalog_good',
    'catalog_unusable',
    'entry_unusable',
    'capability_unknown',
    'ledger_good',
    'ledger_unusable',
    'sign_key_unusable',
    'review_unrecorded',
    'plans_unusable',
    'root_unwritable',
    'plans_limited',
    'store_good',
    'store_unusable',
    'store_nearly_full',
    'store_unconditional',
    'scratch_good',
    'scratch_unusable',
    'scratch_open',
    'scratch_left_over',
    'variable_unset',
    'directory_missing',
    'command_missing',
    'command_not_executable',
    'cold_start',
    'server_good',
    'server_warm',
    'server_failed',
    'slow',
    'noise',
    'end_ignored',
    'left_behind',
    'tool_good',
    'tool_missing',
    'tool_pin',
    'tool_changed',
    'description_changed',
    'tool_schema_unusable',
    'parameter_unknown',
    'parameter_missing',
    'effects_better',
    'program_missing',
    'pipeline_good',
    'engine_good',
    'engine_missing',
    'engine_unusable',
]
"""
The name of the finding, which does not change between versions.
"""


class FindingSubject(TypedDict):
    kind: Literal['catalog', 'ledger', 'plans', 'storage', 'scratch', 'server', 'capability', 'pipeline', 'duckdb']
    name: str | None
    """
    The name of the server, capability or pipeline.
    """


Format: TypeAlias = Literal[
    'wav', 'flac', 'mp3', 'ogg', 'mp4', 'mov', 'mkv', 'webm', 'json', 'jsonl', 'text', 'jpg', 'png', 'zip', 'any'
]


FsmState: TypeAlias = Literal[
    'DONE',
    'AWAITING_CONFIRMATION',
    'AWAITING_ACTION_CLARIFICATION',
    'EXECUTING',
    'AWAITING_REVIEW',
    'AWAITING_REDIRECT',
]
"""
The state in which the answer leaves the state machine of specification 003.
"""


class GrantRecord(TypedDict):
    """
    The grant that the answer opened. `calls` are the operations of its calls.
    """

    entries: list[str]
    max_calls: int
    until: str
    calls: list[str]
    closed_by: int | None
    """
    The link that closed the grant.
    """


class Input(TypedDict):
    source: Literal['dispatch_agent']
    content: Any
    """
    The task as it was received; null if no JSON could be read.
    """


class InputRequest(TypedDict):
    method: Literal['elicitation/create', 'sampling/createMessage', 'roots/list']
    params: NotRequired[Any]


InputStatus: TypeAlias = Literal['stored', 'created', 'reference']
"""
`stored` and `created`: the input is in a store. `reference`: it is a source outside any store.
"""


class JSONAddPropertyOperation(TypedDict):
    type: Literal['json_add_property']
    path: str
    """
    The place in the document: a JSONPath (RFC 9535) that selects exactly one value.
    """
    key: str
    """
    The name of the new property. It must not exist yet.
    """
    value: Any
    """
    Any JSON value, also null.
    """


class JSONAddPropertyParameters(TypedDict):
    type: NotRequired[Literal['json_add_property']]
    path: str
    """
    The place in the document: a JSONPath (RFC 9535) that selects exactly one value.
    """
    key: str
    """
    The name of the new property. It must not exist yet.
    """
    value: Any
    """
    Any JSON value, also null.
    """


class JSONAddPropertyWithDetails(TypedDict):
    type: Literal['json_add_property']
    details: JSONAddPropertyParameters


class JSONAppendOperation(TypedDict):
    type: Literal['json_append']
    path: str
    """
    The place in the document: a JSONPath (RFC 9535) that selects exactly one value.
    """
    value: Any
    """
    Any JSON value, also null.
    """


class JSONAppendParameters(TypedDict):
    type: NotRequired[Literal['json_append']]
    path: str
    """
    The place in the document: a JSONPath (RFC 9535) that selects exactly one value.
    """
    value: Any
    """
    Any JSON value, also null.
    """


class JSONAppendWithDetails(TypedDict):
    type: Literal['json_append']
    details: JSONAppendParameters


class JSONRemovePropertyOperation(TypedDict):
    type: Literal['json_remove_property']
    path: str
    """
    The place in the document: a JSONPath (RFC 9535) that selects exactly one value.
    """
    key: str
    """
    The name of the property. It must exist.
    """


class JSONRemovePropertyParameters(TypedDict):
    type: NotRequired[Literal['json_remove_property']]
    path: str
    """
    The place in the document: a JSONPath (RFC 9535) that selects exactly one value.
    """
    key: str
    """
    The name of the property. It must exist.
    """


class JSONRemovePropertyWithDetails(TypedDict):
    type: Literal['json_remove_property']
    details: JSONRemovePropertyParameters


class JSONUpdateValueOperation(TypedDict):
    type: Literal['json_update_value']
    path: str
    """
    The place in the document: a JSONPath (RFC 9535) that selects exactly one value.
    """
    value: Any
    """
    Any JSON value, also null.
    """


class JSONUpdateValueParameters(TypedDict):
    type: NotRequired[Literal['json_update_value']]
    path: str
    """
    The place in the document: a JSONPath (RFC 9535) that selects exactly one value.
    """
    value: Any
    """
    Any JSON value, also null.
    """


class JSONUpdateValueWithDetails(TypedDict):
    type: Literal['json_update_value']
    details: JSONUpdateValueParameters


class LastFailure(TypedDict):
    operation_id: str
    action_type: str | None
    fault: str | None
    timestamp: str


class LedgerLink(TypedDict):
    """
    Where the answer is recorded. The link of the ledger's chain that seals this answer. An envelope that is kept elsewhere proves later that the ledger still contains this answer.
    """

    seq: int
    entry_hash: str


class LedgerSettings(TypedDict):
    """
    The ledger: the record of every answer.
    """

    uri: NotRequired[str]
    """
    `sqlite:PATH`, a path, `postgres://USER@HOST/DATABASE`, or `none`. A path with `:` or `=` before its first `/` must begin with `./`. Default: `ledger.db` in the state directory. `$ONEACT_LEDGER` takes precedence.
    """
    reuse: NotRequired[bool]
    """
    Whether requests are answered from the ledger.
    """
    required: NotRequired[bool]
    """
    Whether a read-only call is refused if it cannot be recorded. All other calls are always refused then.
    """
    sign_key: NotRequired[str]
    """
    An OpenSSH Ed25519 private key without a passphrase, relative to the root. It signs the head of the chain.
    """


class LineDeleteOperation(TypedDict):
    type: Literal['line_delete']
    start_line: int
    """
    The first line to delete.
    """
    end_line: int
    """
    The last line to delete.
    """


class LineDeleteParameters(TypedDict):
    type: NotRequired[Literal['line_delete']]
    start_line: int
    """
    The first line to delete.
    """
    end_line: int
    """
    The last line to delete.
    """


class LineDeleteWithDetails(TypedDict):
    type: Literal['line_delete']
    details: LineDeleteParameters


class LineInsertOperation(TypedDict):
    type: Literal['line_insert']
    line_number: int
    """
    The number that the new line will have. To append, give the number of lines plus 1.
    """
    content: str
    """
    The line or lines.
    """


class LineInsertParameters(TypedDict):
    type: NotRequired[Literal['line_insert']]
    line_number: int
    """
    The number that the new line will have. To append, give the number of lines plus 1.
    """
    content: str
    """
    The line or lines.
    """


class LineInsertWithDetails(TypedDict):
    type: Literal['line_insert']
    details: LineInsertParameters


class ListedTool(TypedDict):
    name: str
    input_schema: Any
    """
    The schema as the server lists it, with every keyword; null if it lists none.
    """


class MadeAsset(TypedDict):
    ref_id: str
    asset_type: str
    storage_uri: str
    bytes: int | None
    blake3: str | None


class MadeResult(TypedDict):
    output_refs_produced: NotRequired[list[dict[str, Any]]]
    """
    As in the envelope
    """
    result_file: NotRequired[str]
    """
    The file of a result that is too large for the answer
    """
    plan: NotRequired[dict[str, Any]]
    """
    Of a dry run: the calls that a run would make
    """
    preview: NotRequired[dict[str, Any]]
    """
    Of a dry run of a file plan: the change and its hash
    """


class Metadata(TypedDict):
    session_id: str
    request_id: str | None
    sequence_number: int
    """
    The number of the received message plus one.
    """
    parent_message_id: str | None
    """
    The message that this answers.
    """


class ModelAnswer(TypedDict):
    """
    The answer of a model.
    """

    role: Literal['assistant', 'user']
    content: dict[str, Any] | list[Any]
    model: str
    stopReason: NotRequired[Any]
    field_meta: NotRequired[Any]


class NextAgent(TypedDict):
    name: Literal['dispatch_agent']
    reason: str


class OAuthSettings(TypedDict):
    """
    OAuth client credentials (RFC 6749, 4.4), with which oneact fetches the bearer token.
    """

    token_url: str
    """
    The token endpoint.
    """
    client_id: str
    client_secret_env: str
    """
    The variable with the client secret.
    """
    scope: NotRequired[str]


class ObjectFact(TypedDict):
    """
    What a store says of an object.
    """

    bytes: int
    etag: str | None
    modified: str
    version: str | None
    sha256: str | None


class OnDuplicate(TypedDict):
    """
    What happens to a request that was performed before in the session. Default: a read-only entry, or one that is idempotent, not destructive and makes an asset, is answered from the ledger while the assets that it is given have the same content; without assets it is performed again. A destructive and idempotent entry is `repeat`. Any other entry is `suppress`. `reuse` ends early when an operation with effects begins in the session.
    """

    mode: Literal['reuse', 'suppress', 'repeat']
    ttl: NotRequired[str]
    """
    A duration greater than 0, at most 24 hours.
    """


OnFailure: TypeAlias = Literal['recoverable', 'not_recoverable']
"""
Whether a failure that no rule recognises is recoverable.
"""


OnRuleFailure: TypeAlias = Literal['warn', 'error', 'rollback']
"""
What happens if the rule does not hold.
"""


class OpenRequest(TypedDict):
    """
    A request without an answer.
    """

    operation_id: str
    since: str
    state: Literal['at_work', 'died', 'unknown']
    """
    `died`: the run died before anything could happen. `unknown`: the call may have happened.
    """


class OutputRef(TypedDict):
    """
    An asset that was made and stored.
    """

    ref_id: str
    storage_uri: str
    asset_type: str
    status: Literal['created']


class PatchOperation(TypedDict):
    type: Literal['patch']
    diff: str
    """
    The hunks, with or without the header lines of the file. A hunk `@@` without line numbers fits where its old lines occur once.
    """
    recount: NotRequired[bool]
    """
    Whether hunks are accepted whose counts do not fit their lines.
    """
    require_index: NotRequired[bool]
    """
    Whether the hash in the `index` line of the diff must be that of the file.
    """


class PatchParameters(TypedDict):
    type: NotRequired[Literal['patch']]
    diff: str
    """
    The hunks, with or without the header lines of the file. A hunk `@@` without line numbers fits where its old lines occur once.
    """
    recount: NotRequired[bool]
    """
    Whether hunks are accepted whose counts do not fit their lines.
    """
    require_index: NotRequired[bool]
    """
    Whether the hash in the `index` line of the diff must be that of the file.
    """


class PatchWithDetails(TypedDict):
    type: Literal['patch']
    details: PatchParameters


class PersonAnswer(TypedDict):
    """
    The answer of a person.
    """

    action: Literal['accept', 'decline', 'cancel']
    content: NotRequired[dict[str, Any]]
    """
    The content of the form; only with `accept`, and not for a URL.
    """
    field_meta: NotRequired[Any]


Phase: TypeAlias = Literal[
    'read', 'catalog', 'inputs', 'spawn', 'negotiate', 'validate_arguments', 'call', 'quality', 'plan', 'complete'
]
"""
The last phase that the run reached.
"""


class PipelineApproval(TypedDict):
    """
    Whether a plan that runs it waits for a person. Who approves is said by the entry that applies plans.
    """

    when: NotRequired[str]
    """
    Default: risk >= critical.
    """


class PipelineParameters(TypedDict):
    """
    The JSON Schema of what a plan can set: an object of texts, numbers and booleans. Each is an argument of the command, so it is required or has a default. Default: no parameters.
    """

    type: Literal['object']


class PipelineRunOperation(TypedDict):
    type: Literal['pipeline_run']
    parameters: NotRequired[dict[str, Any]]
    """
    The parameters that the catalog declares for the pipeline.
    """


class PipelineRunParameters(TypedDict):
    type: NotRequired[Literal['pipeline_run']]
    parameters: NotRequired[dict[str, Any]]
    """
    The parameters that the catalog declares for the pipeline.
    """


class PipelineRunWithDetails(TypedDict):
    type: Literal['pipeline_run']
    details: PipelineRunParameters


class PlannedAsset(TypedDict):
    """
    The asset that would be stored, if any.
    """

    ref_id: str
    storage_uri: str
    asset_type: str


class PlannedStep(TypedDict):
    capability_id: str
    mcp_server: str
    tool_name: str
    url: NotRequired[str]
    """
    The address of a server that is not started, without what grants access.
    """
    command: list[str]
    """
    The argv that would be started; empty if the server has a `url`.
    """
    cwd: str
    """
    Empty if the server has a `url`.
    """
    environment: list[str]
    """
    The names of the variables that the server would receive, or whose values would be sent to it; never their values.
    """
    parameters: dict[str, Any]
    timeout_seconds: float
    checks: list[Literal['output_exists', 'output_non_empty', 'format_valid', 'result_complete']]
    output: PlannedAsset | None


class Preview(TypedDict):
    """
    What a file plan would do.
    """

    hash: str
    """
    The hash for `--expect`.
    """
    diff: str
    """
    The diff, as `git diff` prints it.
    """


class Profile(TypedDict):
    context: Context
    uid: NotRequired[int]
    """
    The only user who may choose the profile. Required for FSM_INTERNAL.
    """


ProposalKind: TypeAlias = Literal['standard', 'improvised', 'suggestion', 'clarification']


class Protection(TypedDict):
    rule: NotRequired[Literal['approval', 'never']]
    """
    approval: only an approved plan may change these files. never: no plan may change them.
    """
    paths: NotRequired[list[str]]
    """
    Patterns that are added to the class.
    """


class ProtocolApproval(TypedDict):
    checksum: NotRequired[str | None]
    """
    The SHA-256 of the payload in hexadecimal, over RFC 8785 or over its compact JSON in the order sent. The prefix `sha256:` is optional.
    """
    validated_by: NotRequired[str | None]
    """
    `agent_protocol` and `manual` approve the plan; null does not.
    """
    validated_at: NotRequired[Any]
    signature: NotRequired[str | None]
    """
    Not checked.
    """


class ProtocolContent(TypedDict):
    """
    For a TASK_REQUEST: a plan, by itself or under `task_plan`. For the other types: one of the names of a plan. Default: the plan of `payload.task_id`.
    """

    checkpoints: NotRequired[list[str] | None]
    """
    For a ROLLBACK_REQUEST: only these checkpoints are undone, with the changes that depend on them.
    """


class ProtocolEnvelope(TypedDict):
    envelope_id: NotRequired[str | None]
    """
    The answer contains it as `metadata.parent_message_id`.
    """
    message_type: Literal['TASK_REQUEST', 'ROLLBACK_REQUEST', 'STATUS_QUERY', 'CANCEL']
    created_at: NotRequired[Any]
    """
    With `ttl_seconds`, the time until which the message is valid.
    """
    ttl_seconds: NotRequired[Any]


class ProtocolMetadata(TypedDict):
    correlation_id: NotRequired[str | None]
    """
    The answer contains it as `metadata.request_id`, unless another one is given.
    """
    retry_count: NotRequired[Any]
    """
    The attempt minus one.
    """


class ProtocolPayload(TypedDict):
    task_id: NotRequired[str | None]
    task_type: NotRequired[Any]
    """
    ROLLBACK, STATUS_QUERY and CANCEL of a TASK_REQUEST mean the same as the message types of these names.
    """
    content: NotRequired[ProtocolContent | None]


class Provenance(TypedDict):
    """
    Where a workflow came from that `oneact catalog promote` added. It changes nothing.
    """

    operation: str
    """
    The operation of the improvised action.
    """
    link: int
    """
    The number of the link of its answer.
    """
    entry_hash: str
    """
    The hash of this link.
    """
    promoted_at: str
    """
    RFC 3339, UTC.
    """


class QualityChecks(TypedDict):
    """
    What was checked after the tool answered; false if nothing was. Without an asset, the first three are about the result document. For a file plan, they are about its execution report.
    """

    output_exists: bool
    output_non_empty: bool
    format_valid: bool
    result_complete: NotRequired[bool]
    """
    Only if a result document is required.
    """


RecordedState: TypeAlias = Literal[
    'done',
    'partial',
    'failed',
    'rolled_back',
    'cancelled',
    'unknown',
    'rejected',
    'pending',
    'reused',
    'suppressed',
    'replayed',
    'late',
]
"""
Null in rows from before oneact.
"""


class RenameOperation(TypedDict):
    type: Literal['rename']
    new_path: str
    """
    A path relative to the root. It cannot leave the root.
    """


class RenameParameters(TypedDict):
    type: NotRequired[Literal['rename']]
    new_path: str
    """
    A path relative to the root. It cannot leave the root.
    """


class RenameWithDetails(TypedDict):
    type: Literal['rename']
    details: RenameParameters


class ReplaceContentOperation(TypedDict):
    type: Literal['replace_content']
    content: str
    """
    The new content, which may be empty.
    """
    encoding: NotRequired[Literal['utf-8', 'base64']]
    """
    How `content` is written.
    """


class ReplaceContentParameters(TypedDict):
    type: NotRequired[Literal['replace_content']]
    content: str
    """
    The new content, which may be empty.
    """
    encoding: NotRequired[Literal['utf-8', 'base64']]
    """
    How `content` is written.
    """


class ReplaceContentWithDetails(TypedDict):
    type: Literal['replace_content']
    details: ReplaceContentParameters


class ReportPaths(TypedDict):
    """
    Where the reports of a file plan are. The path, relative to the root.
    """

    directory: str
    execution_report: str
    change_log: str
    rollback_manifest: str | None
    """
    Null if nothing was changed.
    """


ReportStatus: TypeAlias = Literal['SUCCESS', 'PARTIAL', 'FAILED', 'ROLLED_BACK', 'CANCELLED', 'STUCK']


class Resources(TypedDict):
    """
    The resources of the session: those that were received, and those that this task made.
    """

    source_refs: list[Any]
    storage_refs: list[Any]
    derived_refs: list[Any]


ResultError = TypedDict(
    'ResultError',
    {
        'class': str,
        'message': str,
        'recoverable': bool,
        'state': str,
        'effect': Effect,
        'operation_id': str,
        'waiting': dict[str, Any] | None,
    },
)


class ResultSettings(TypedDict):
    """
    What the tool gives, and what is made of it. Without this table, `kind` is metadata.
    """

    kind: NotRequired[Literal['asset', 'analysis', 'metadata']]
    """
    asset: a file, without result data. analysis: result data that is also stored as a file. metadata: only result data.
    """
    asset_type: NotRequired[str]
    format: NotRequired[Format | str]
    """
    The format that the content must have; the name does not matter. `any`: only existence and size are checked. The default of an analysis is json.
    """
    take: NotRequired[list[str]]
    """
    Where the tool puts its asset, in the order in which the places are tried: the file that it was told to write, a resource link, embedded bytes, text, the structured content, or a URI at a JSON Pointer.
    """
    schema: NotRequired[dict[str, Any] | bool]
    """
    The JSON Schema of the result data. The check `result_complete` uses it.
    """
    min_bytes: NotRequired[int]
    """
    A smaller asset counts as empty.
    """
    rows: NotRequired[bool]
    """
    The tool returns lists, a text for each element. Then an answer of one text is a list of one, and an answer without a text is an empty list.
    """


class RetryPolicy(TypedDict):
    """
    Has no effect: a plan is tried once.
    """

    max_retries: NotRequired[float]
    backoff_multiplier: NotRequired[float]
    initial_delay_ms: NotRequired[float]


class RetryRule(TypedDict):
    after: NotRequired[list[Fault]]
    """
    The rule applies only after a failure of one of these classes. If the ledger does not know the last failure, such a rule changes the timeout but no parameter.
    """
    timeout: NotRequired[str]
    """
    A factor of 1 or more, applied once per attempt after the first.
    """
    set: NotRequired[dict[str, Any]]
    """
    Parameters with their new values.
    """
    multiply: NotRequired[dict[str, float]]
    """
    Parameters with a factor, applied once per attempt after the first; never below the schema's minimum.
    """
    start: NotRequired[dict[str, float]]
    """
    The values to multiply if the parameters are not set.
    """


ReuseReason: TypeAlias = Literal[
    'replayed',
    'reused',
    'suppressed',
    'retry',
    'repeat',
    'taken_over',
    'disabled',
    'not_successful',
    'pruned',
    'ledger_damaged',
    'revoked',
    'catalog_changed',
    'tool_changed',
    'oneact_changed',
    'expired',
    'input_changed',
    'input_changed_during_run',
    'input_unknown',
    'output_missing',
    'output_changed',
    'output_expiring',
    'degraded',
    'state_may_have_changed',
]
"""
replayed, reused, suppressed: an old answer. Any other value is the reason why the request was performed: retry, repeat, taken_over (the run that was performing it had died), or the reason why an old answer was no longer valid.
"""


class ReviewDecision(TypedDict):
    """
    The last decision.
    """

    at: str
    by: str
    """
    `uid:1000`
    """
    link: int


class ReviewRecord(TypedDict):
    """
    The review of the answer, if it demands one or there was one. A repeated answer has the review of the answer that it repeats.
    """

    state: Literal['open', 'overdue', 'accepted', 'rejected']
    blocks: bool
    """
    The result is withheld while the review is open.
    """
    since: str
    until: str | None
    """
    When the open review becomes overdue; null if none is demanded.
    """
    decision: ReviewDecision | None


class ReviewSettings(TypedDict):
    """
    How a result is reviewed. Only with `requires_post_review = true`.
    """

    blocks: NotRequired[bool]
    """
    Whether the result is withheld (`review_open`, exit code 3) until a person accepts it.
    """
    timeout: NotRequired[str]
    """
    After this time, an open review is shown as overdue. At most 8760 hours.
    """
    on_timeout: NotRequired[Literal['stay_open']]
    """
    stay_open: the review stays open. A missed review is never an approval.
    """


ReviewState: TypeAlias = Literal['open', 'overdue', 'accepted']
"""
open: nobody has decided. overdue: the same, after the time that the entry allows. accepted: a person has accepted the result. A rejected result is in no answer.
"""


Risk: TypeAlias = Literal['low', 'medium', 'high', 'critical']


class RiskAmplifiers(TypedDict):
    """
    What raises the risk of the entry. The last two keys are other spellings of `reversibility`.
    """

    reversibility: NotRequired[Literal['reversible', 'partial', 'irreversible']]
    regret_potential: NotRequired[Literal['low', 'medium', 'high', 'moderate']]
    irreversibility: NotRequired[Literal['low', 'medium', 'high']]
    reversible: NotRequired[bool]


RiskLevel: TypeAlias = Literal['LOW', 'MEDIUM', 'HIGH', 'CRITICAL']
"""
The risk that the author states. A plan with CRITICAL waits for an approval.
"""


class Root(TypedDict):
    uri: str


class RootsAnswer(TypedDict):
    roots: list[Root]
    field_meta: NotRequired[Any]


RuleName: TypeAlias = Literal['file_exists', 'file_absent', 'json_valid', 'yaml_valid']


class SHA256Rule(TypedDict):
    type: Literal['sha256']
    value: str
    """
    In hexadecimal.
    """
    path: NotRequired[str]
    """
    A file of the plan.
    """
    on_failure: NotRequired[OnRuleFailure]
    name: NotRequired[str]
    description: NotRequired[str]


class SQLExecuteOperation(TypedDict):
    type: Literal['sql_execute']
    query_file: NotRequired[str]
    """
    The query file. If it is given, it equals `target`.
    """
    parameters: NotRequired[dict[str, bool | float | str | None]]
    """
    Values by the names of the parameters.
    """
    connection: NotRequired[Literal['duckdb']]
    """
    The engine.
    """
    expect_results: NotRequired[bool]
    """
    Whether the last statement must give at least one row.
    """
    save_results_to: NotRequired[str]
    """
    The new file for the rows of the last statement. Its ending decides the format.
    """
    reads: NotRequired[list[str]]
    """
    The files that the query may read.
    """
    database: NotRequired[str]
    """
    A DuckDB database. Default: one in memory.
    """
    read_only: NotRequired[bool]
    """
    Whether the database is opened so that it cannot be changed.
    """
    deterministic: NotRequired[bool]
    """
    Whether the same query gives the same bytes: one thread, and no random functions.
    """


class SQLExecuteParameters(TypedDict):
    type: NotRequired[Literal['sql_execute']]
    query_file: NotRequired[str]
    """
    The query file. If it is given, it equals `target`.
    """
    parameters: NotRequired[dict[str, bool | float | str | None]]
    """
    Values by the names of the parameters.
    """
    connection: NotRequired[Literal['duckdb']]
    """
    The engine.
    """
    expect_results: NotRequired[bool]
    """
    Whether the last statement must give at least one row.
    """
    save_results_to: NotRequired[str]
    """
    The new file for the rows of the last statement. Its ending decides the format.
    """
    reads: NotRequired[list[str]]
    """
    The files that the query may read.
    """
    database: NotRequired[str]
    """
    A DuckDB database. Default: one in memory.
    """
    read_only: NotRequired[bool]
    """
    Whether the database is opened so that it cannot be changed.
    """
    deterministic: NotRequired[bool]
    """
    Whether the same query gives the same bytes: one thread, and no random functions.
    """


class SQLExecuteWithDetails(TypedDict):
    type: Literal['sql_execute']
    details: SQLExecuteParameters


class ServerCheck(TypedDict):
    name: str
    url: str | None
    """
    The address of a server over HTTP, without what grants access; null if the server is started.
    """
    command: list[str]
    """
    Empty for a server over HTTP.
    """
    program: str
    """
    The file that the first word of the command names, or the address.
    """
    ready_after_ms: int | None
    """
    The time from the start until requests could be sent; null if the server was never ready.
    """
    protocol: str | None
    """
    The version of MCP that was negotiated.
    """
    era: Literal['legacy', 'modern'] | None
    server_name: str | None
    server_version: str | None
    tools: list[ListedTool]
    ended: str | None
    """
    How the process of the server ended, such as `exit code 0`.
    """
    stderr_bytes: int
    noise_lines: int
    """
    Lines on the server's stdout that were no messages of the protocol.
    """


class ServerEntry(TypedDict):
    """
    How a tool server is started or reached. An MCP server on stdio, whose process ends with the run, or one over streamable HTTP.
    """

    url: NotRequired[str]
    """
    The address of a server over streamable HTTP. http:// only to this machine, or with `allow_http`.
    """
    allow_http: NotRequired[bool]
    """
    Whether tokens and data may be sent without encryption to another machine.
    """
    headers: NotRequired[dict[str, str]]
    """
    Headers of every request, with their values, which are secrets.
    """
    headers_env: NotRequired[dict[str, str]]
    """
    Headers of every request, with the names of the variables that contain their values.
    """
    bearer_env: NotRequired[str]
    """
    The variable with the bearer token.
    """
    bearer_file: NotRequired[str]
    """
    The file with the bearer token, relative to the root. It is read anew when the server refuses the token.
    """
    bearer_command: NotRequired[list[str]]
    """
    The argv of a program whose first line on stdout is the bearer token. It is run in the root, with a few harmless variables, for at most 30 seconds.
    """
    oauth: NotRequired[OAuthSettings]
    ca_file: NotRequired[str]
    """
    A PEM file with certificates that are accepted beside those of the operating system, relative to the root.
    """
    command: NotRequired[list[str]]
    """
    The argv, never a shell line. {self} is the path of the running oneact binary, {root} is the root.
    """
    cwd: NotRequired[str]
    """
    The working directory, relative to the root.
    """
    env: NotRequired[dict[str, str]]
    """
    Variables with their values; {self} and {root} are replaced as in `command`. Of oneact's own environment, the server receives only a few harmless variables (PATH, HOME, locale, …).
    """
    env_pass: NotRequired[list[str]]
    """
    Names of variables that are passed on. If one of them is not set, the run fails before the server starts.
    """
    startup_timeout: NotRequired[str]
    """
    A duration greater than 0, at most 24 hours.
    """
    shutdown_grace: NotRequired[str]
    """
    A duration greater than 0, at most 24 hours.
    """
    protocol: NotRequired[Literal['auto', 'modern', 'legacy']]
    """
    The era of MCP that the server speaks. auto: oneact finds it.
    """
    allow_private: NotRequired[bool]
    """
    Whether oneact's own downloader, and its check of inputs, may contact loopback and private addresses for this server.
    """
    keep_alive: NotRequired[bool | str]
    """
    How long the server lives. true: one process serves all calls of a session of oneact serve catalog; a run on its own starts and ends the server. A duration such as "10m", at most 24h: the server is kept for later runs until nobody has called it for this time.
    """
    concurrency: NotRequired[int]
    """
    With a duration in keep_alive: how many processes of the server are kept at most. Each performs one call at a time.
    """
    files: NotRequired[list[str]]
    """
    Directories, relative to the root, whose files the server's tools may name as their assets. The run's scratch directory and the asset store are always allowed.
    """


class ServerTimings(TypedDict):
    """
    Milliseconds; all 0 under --clock.
    """

    spawn_ms: int
    negotiate_ms: int
    call_ms: int


class SessionRecord(TypedDict):
    """
    For a session from before oneact, everything but the id and the count is null.
    """

    session_id: str
    context: str | None
    """
    The context in which the session was opened.
    """
    profile: str | None
    principal: str | None
    """
    The user who opened the session: `uid:1000`.
    """
    opened_at: str | None
    """
    RFC 3339, UTC, milliseconds.
    """
    steps: int
    """
    The number of answers, including those that are not listed.
    """
    awaiting_review: int
    """
    The number of listed answers whose review is open.
    """


class SessionSummary(TypedDict):
    session_id: str
    context: str | None
    profile: str | None
    principal: str | None
    first_at: str
    """
    When its first answer was begun.
    """
    last_at: str
    """
    When its last answer was given.
    """
    steps: int
    failed: int
    """
    The tasks that failed; each attempt counts.
    """
    waiting: int
    """
    The tasks whose last answer is that they wait.
    """
    last_failure: LastFailure | None


class SetModeOperation(TypedDict):
    type: Literal['set_mode']
    mode: str
    """
    Permissions in octal; `+x`: who may read the file may execute it; `-x`: nobody may. An execute bit needs an approval.
    """


class SetModeParameters(TypedDict):
    type: NotRequired[Literal['set_mode']]
    mode: str
    """
    Permissions in octal; `+x`: who may read the file may execute it; `-x`: nobody may. An execute bit needs an approval.
    """


class SetModeWithDetails(TypedDict):
    type: Literal['set_mode']
    details: SetModeParameters


State: TypeAlias = Literal[
    'done',
    'planned',
    'advised',
    'rejected',
    'failed',
    'partial',
    'rolled_back',
    'pending',
    'cancelled',
    'replayed',
    'reused',
    'suppressed',
]
"""
done: performed. planned: --dry-run; nothing was started. advised: a suggestion, which is never performed. rejected: refused before anything ran. failed. partial: some actions of a file plan were done and stay done. rolled_back: a file plan failed after its first change, and the tree is as it was. pending: `waiting` states what is missing: answers to the questions of a tool, or information that a clarification asks for; or another run is performing the same request. cancelled: by a signal. replayed: the same delivery was answered before; this is that answer, success or failure. reused: the same request was performed before in the session, and its answer is still valid. suppressed: the request was performed before, must not happen twice, and was not performed again.
"""


StatusCode: TypeAlias = Literal['success', 'partial', 'failed', 'pending']


class StepOutcome(TypedDict):
    capability_id: str
    operation_id: str | None
    """
    The id of the task's run with the number of the step; `oneact show` and `oneact resolve` take it. Null if the ledger has no record of the step.
    """
    state: Literal['done', 'rejected', 'failed', 'pending', 'cancelled', 'replayed', 'reused', 'suppressed']
    """
    As the state of a task. rejected: the step was not begun.
    """


class StorageSettings(TypedDict):
    """
    Where assets are stored: {uri}/{session id}/{ref id}.{extension}. The other keys say how object stores are reached; docs/storage.md describes them.
    """

    uri: NotRequired[str]
    """
    A directory, relative to the root; or a prefix in a bucket: s3://bucket/prefix, gs://bucket/prefix or az://container/prefix.
    """
    endpoint: NotRequired[str]
    """
    The address of the server, if it is not the service's own. http:// only for a server that you trust with everything in it.
    """
    region: NotRequired[str]
    """
    The region of the buckets. Default: that of the profile, $AWS_REGION, or us-east-1.
    """
    profile: NotRequired[str]
    """
    A profile in ~/.aws/credentials and ~/.aws/config with fixed keys. Default: $AWS_PROFILE, unless the environment has keys.
    """
    presigned_lifetime: NotRequired[str]
    """
    For how long a presigned URL of an input can be used, at most 168h.
    """


class SuccessRule(TypedDict):
    pointer: str
    """
    A JSON Pointer into the result.
    """
    equals: Any
    message: NotRequired[str]
    """
    A JSON Pointer to the tool's reason.
    """


class SuggestionCard(TypedDict):
    """
    The card of a suggestion. What the user sees. It has a title or a summary.
    """

    title: str | None
    summary: str | None
    """
    The `plan_summary` of the proposal.
    """
    rationale: str | None
    confidence: float | None


class Surroundings(TypedDict):
    """
    What stands around the task. All of these fields are optional. The answer reports what was assumed.
    """

    message_id: NotRequired[str | None]
    """
    The id of this message. The answer contains it as `metadata.parent_message_id`.
    """
    metadata: NotRequired[CallerMetadata]
    resources: NotRequired[Any]
    """
    The resources of the session, in the lists `source_refs`, `storage_refs` and `derived_refs`. The answer contains all of them and adds those that were made.
    """


class SymlinkOperation(TypedDict):
    type: Literal['symlink']
    to: str
    """
    Where the link leads, relative to its own directory. It leads to a path inside the root.
    """


class SymlinkParameters(TypedDict):
    type: NotRequired[Literal['symlink']]
    to: str
    """
    Where the link leads, relative to its own directory. It leads to a path inside the root.
    """


class SymlinkWithDetails(TypedDict):
    type: Literal['symlink']
    details: SymlinkParameters


class TextReplaceOperation(TypedDict):
    type: Literal['text_replace']
    pattern: str
    """
    The text to look for; with `regex`, a regular expression of the Rust `regex` crate.
    """
    replacement: str
    """
    The new text, which may be empty. With `regex`, `$1` and `${name}` stand for groups, and `$$` for a dollar sign.
    """
    regex: NotRequired[bool]
    """
    Whether `pattern` is a regular expression.
    """
    count: NotRequired[int | Literal['all']]
    """
    How often the pattern must occur. "all": at least once. Every occurrence is replaced.
    """


class TextReplaceParameters(TypedDict):
    type: NotRequired[Literal['text_replace']]
    pattern: str
    """
    The text to look for; with `regex`, a regular expression of the Rust `regex` crate.
    """
    replacement: str
    """
    The new text, which may be empty. With `regex`, `$1` and `${name}` stand for groups, and `$$` for a dollar sign.
    """
    regex: NotRequired[bool]
    """
    Whether `pattern` is a regular expression.
    """
    count: NotRequired[int | Literal['all']]
    """
    How often the pattern must occur. "all": at least once. Every occurrence is replaced.
    """


class TextReplaceWithDetails(TypedDict):
    type: Literal['text_replace']
    details: TextReplaceParameters


class Timestamp(TypedDict):
    executed_at: str
    """
    ISO 8601 with milliseconds and offset.
    """
    timezone: str
    """
    The IANA name of the zone that the offset belongs to.
    """


class ToolAddress(TypedDict):
    """
    The tool to call.
    """

    server: str
    """
    The NAME of a [server.NAME].
    """
    tool: str


class ToolInvocation(TypedDict):
    """
    One tool call that was sent.
    """

    tool_name: str
    mcp_server: str
    parameters: dict[str, Any]
    """
    The parameters as sent, without secrets and without the signatures of presigned URLs.
    """
    execution_time_ms: int
    status: Literal['success', 'error']
    error_detail: NotRequired[str]
    """
    The text of the tool.
    """


WaitingForApproval = TypedDict(
    'WaitingForApproval',
    {
        'for': Literal['approval'],
        'approval_id': str,
        'risk': Risk,
        'why': list[str],
        'intent_hash': str,
        'preview_hash': NotRequired[str],
        'expires_at': str,
        'approve': str,
        'perform': NotRequired[str],
        'by': NotRequired[list[Literal['elicitation']]],
    },
)


WaitingForClarification = TypedDict(
    'WaitingForClarification',
    {
        'for': Literal['clarification'],
        'blocked_on': list[str],
        'resume': str,
    },
)


WaitingForInput = TypedDict(
    'WaitingForInput',
    {
        'for': Literal['input'],
        'capability_id': str,
        'mcp_server': str,
        'tool_name': str,
        'input_requests': dict[str, InputRequest],
        'request_state': str | None,
        'resume': str,
    },
)


class WorkflowConfiguration(TypedDict):
    requires_approval: NotRequired[bool]
    """
    Whether the plan waits for an approval.
    """
    approval_threshold: NotRequired[Literal['LOW', 'MEDIUM', 'HIGH', 'CRITICAL']]
    execution_mode: NotRequired[Literal['sequential', 'parallel', 'mixed']]
    retry_policy: NotRequired[RetryPolicy]
    timeout_seconds: NotRequired[int]
    """
    The time limit of the plan.
    """


WorkflowStep = TypedDict(
    'WorkflowStep',
    {
        'id': str,
        'run': str,
        'with': NotRequired[dict[str, Any]],
        'depends_on': NotRequired[list[str]],
    },
)


class YAMLAppendOperation(TypedDict):
    type: Literal['yaml_append']
    path: str
    """
    The place in the document: a JSONPath (RFC 9535) that selects exactly one value.
    """
    value: Any
    """
    Any JSON value, also null.
    """
    document: NotRequired[int]
    """
    Which document of the file, if there are several. Default: the only one that contains the path.
    """


class YAMLAppendParameters(TypedDict):
    type: NotRequired[Literal['yaml_append']]
    path: str
    """
    The place in the document: a JSONPath (RFC 9535) that selects exactly one value.
    """
    value: Any
    """
    Any JSON value, also null.
    """
    document: NotRequired[int]
    """
    Which document of the file, if there are several. Default: the only one that contains the path.
    """


class YAMLAppendWithDetails(TypedDict):
    type: Literal['yaml_append']
    details: YAMLAppendParameters


class YAMLRemoveOperation(TypedDict):
    type: Literal['yaml_remove']
    path: str
    """
    The place in the document: a JSONPath (RFC 9535) that selects exactly one value.
    """
    document: NotRequired[int]
    """
    Which document of the file, if there are several. Default: the only one that contains the path.
    """


class YAMLRemoveParameters(TypedDict):
    type: NotRequired[Literal['yaml_remove']]
    path: str
    """
    The place in the document: a JSONPath (RFC 9535) that selects exactly one value.
    """
    document: NotRequired[int]
    """
    Which document of the file, if there are several. Default: the only one that contains the path.
    """


class YAMLRemoveWithDetails(TypedDict):
    type: Literal['yaml_remove']
    details: YAMLRemoveParameters


class YAMLUpdateOperation(TypedDict):
    type: Literal['yaml_update']
    path: str
    """
    The place in the document: a JSONPath (RFC 9535) that selects exactly one value.
    """
    value: Any
    """
    Any JSON value, also null.
    """
    document: NotRequired[int]
    """
    Which document of the file, if there are several. Default: the only one that contains the path.
    """
    create: NotRequired[bool]
    """
    Whether the last key of the path is added if its mapping does not have it. Otherwise it must exist.
    """


class YAMLUpdateParameters(TypedDict):
    type: NotRequired[Literal['yaml_update']]
    path: str
    """
    The place in the document: a JSONPath (RFC 9535) that selects exactly one value.
    """
    value: Any
    """
    Any JSON value, also null.
    """
    document: NotRequired[int]
    """
    Which document of the file, if there are several. Default: the only one that contains the path.
    """
    create: NotRequired[bool]
    """
    Whether the last key of the path is added if its mapping does not have it. Otherwise it must exist.
    """


class YAMLUpdateWithDetails(TypedDict):
    type: Literal['yaml_update']
    details: YAMLUpdateParameters


class YAMLValidRule(TypedDict):
    type: Literal['yaml_valid']
    path: NotRequired[str]
    """
    A file of the plan.
    """
    on_failure: NotRequired[OnRuleFailure]
    name: NotRequired[str]
    description: NotRequired[str]


class CatalogDefaults(TypedDict):
    """
    Values for entries that do not set them.
    """

    timeout: NotRequired[str]
    """
    A duration greater than 0, at most 24 hours.
    """
    on_failure: NotRequired[OnFailure]
    approval: NotRequired[ApprovalPolicy]


class ContainsRule(TypedDict):
    type: Literal['contains']
    text: str
    path: NotRequired[str]
    """
    A file of the plan.
    """
    on_failure: NotRequired[OnRuleFailure]
    name: NotRequired[str]
    description: NotRequired[str]


Create: TypeAlias = CreateOperation | CreateWithDetails
"""
Makes a new file, and its missing parent directories.
"""


Delete: TypeAlias = DeleteOperation | DeleteWithDetails
"""
Deletes the file.
"""


class Difference(TypedDict):
    what: str
    then: str | FileFact | ObjectFact
    now: str | FileFact | ObjectFact | None


class DryRunPlan(TypedDict):
    """
    What --dry-run would have done.
    """

    steps: list[PlannedStep]
    """
    Empty for an improvised action with a grant.
    """


Edit: TypeAlias = EditOperation | EditWithDetails
"""
Replaces a text, like `text_replace` without `regex`.
"""


class ExecutionReport(TypedDict):
    """
    What became of a file plan. The execution report (specification 001, section 4.1). Only for file plans.
    """

    report_id: str
    plan_id: str | None
    executor_version: Literal['1.0.0']
    """
    The version of specification 001 that is kept.
    """
    status: ReportStatus
    started_at: str
    completed_at: str
    duration_ms: int
    actions_summary: ActionsSummary
    actions_completed: list[dict[str, Any]]
    actions_failed: list[dict[str, Any]]
    actions_skipped: list[dict[str, Any]]
    rollback_performed: bool
    rollback_manifest_id: NotRequired[str | None]
    executor: Executor
    oneact_version: str
    archived: bool
    """
    Whether the report directory is the archive of the plan. Only if the plan succeeded.
    """


class FailedResult(TypedDict):
    error: ResultError


FailureRule = TypedDict(
    'FailureRule',
    {
        'match': str,
        'class': Fault,
        'recoverable': NotRequired[bool],
        'on': NotRequired[Literal['error', 'any']],
    },
)


class FileAbsentRule(TypedDict):
    type: Literal['file_absent']
    path: NotRequired[str]
    """
    A file of the plan.
    """
    on_failure: NotRequired[OnRuleFailure]
    name: NotRequired[str]
    description: NotRequired[str]


class FileExistsRule(TypedDict):
    type: Literal['file_exists']
    path: NotRequired[str]
    """
    A file of the plan.
    """
    on_failure: NotRequired[OnRuleFailure]
    name: NotRequired[str]
    description: NotRequired[str]


class Finding(TypedDict):
    level: Literal['good', 'warning', 'problem']
    """
    `problem`: some tasks will fail.
    """
    finding: FindingName
    subject: FindingSubject
    what: str
    """
    The finding as text.
    """
    remedy: str | None
    """
    The remedy as text; null if there is nothing to do.
    """
    detail: list[str]
    """
    Lines of another program, such as the last ones of a server's stderr.
    """


class Gate(TypedDict):
    """
    What the gate decided: who called, and how much harm the task may do.
    """

    context: Context
    profile: str | None
    """
    Null if no profile was chosen.
    """
    risk: Risk
    because: list[str]
    """
    The rules that lead to this risk; empty if the risk is low.
    """


class InputRef(TypedDict):
    """
    A resolved input: it has a URI, and a status that says that it exists. Any other input is answered with DEPENDENCY_ERROR.
    """

    ref_id: str
    """
    The name of a resource in its session: src_1, store_1, derived_3.
    """
    storage_uri: str
    """
    A file:// URI or a path (relative to the root), or an http(s):// or s3:// URI. Tools receive it unchanged.
    """
    status: InputStatus


InputResponse: TypeAlias = PersonAnswer | ModelAnswer | RootsAnswer
"""
An answer of a person (ElicitResult), of a model (CreateMessageResult), or a list of roots (ListRootsResult), as MCP 2026-07-28 defines them.
"""


JSONAddProperty: TypeAlias = JSONAddPropertyOperation | JSONAddPropertyWithDetails
"""
Adds a property to a JSON object.
"""


JSONAppend: TypeAlias = JSONAppendOperation | JSONAppendWithDetails
"""
Adds an item to the end of a JSON array.
"""


JSONRemoveProperty: TypeAlias = JSONRemovePropertyOperation | JSONRemovePropertyWithDetails
"""
Removes a property of a JSON object.
"""


class JSONSchemaRule(TypedDict):
    type: Literal['json_schema']
    schema: dict[str, Any] | bool
    """
    A JSON Schema.
    """
    path: NotRequired[str]
    """
    A file of the plan.
    """
    on_failure: NotRequired[OnRuleFailure]
    name: NotRequired[str]
    description: NotRequired[str]


JSONUpdateValue: TypeAlias = JSONUpdateValueOperation | JSONUpdateValueWithDetails
"""
Replaces a value of a JSON document.
"""


class JSONValidRule(TypedDict):
    type: Literal['json_valid']
    path: NotRequired[str]
    """
    A file of the plan.
    """
    on_failure: NotRequired[OnRuleFailure]
    name: NotRequired[str]
    description: NotRequired[str]


LineDelete: TypeAlias = LineDeleteOperation | LineDeleteWithDetails
"""
Deletes lines.
"""


LineInsert: TypeAlias = LineInsertOperation | LineInsertWithDetails
"""
Inserts lines before a line.
"""


class MCPRequest(TypedDict):
    """
    Specification 004: a capability with its arguments. `--reply mcp` prints the MCPResponse.
    """

    actionId: NotRequired[str]
    """
    The id of a capability. If `args` is present, `action` is accepted in its place.
    """
    action: NotRequired[Any]
    args: NotRequired[dict[str, Any] | None]
    """
    The parameters.
    """
    sessionId: NotRequired[str | None]
    """
    As `metadata.session_id`.
    """
    requestId: NotRequired[str | None]
    """
    As `metadata.request_id`.
    """
    taskId: NotRequired[Any]
    """
    Default: the id of the capability.
    """
    clarifies: NotRequired[str | None]
    """
    The `operation_id` of the clarification that this task answers. It is recorded with the task.
    """
    under: NotRequired[str | None]
    """
    The `operation_id` of the answer that opened the grant under which the only capability of this task is called.
    """
    context: NotRequired[Any]
    """
    Data for the tools whose entries say `uses_context = true`. It is part of the request then. If no entry does, it is not used, and the answer reports this.
    """
    input_refs_resolved: NotRequired[list[InputRef] | None]
    """
    The inputs. Their order is that of `input.uri`, `input_2.uri` … in the entries.
    """
    output_refs_expected: NotRequired[list[str] | None]
    """
    The names of the assets that the task must make. The last capabilities that make assets get these names, in order.
    """
    attempt: NotRequired[int | None]
    """
    1 is the first attempt. From 2 on, the entry's `retry` rules apply. Default: the first attempt, or the next one after a failure.
    """
    salt: NotRequired[str | None]
    """
    Part of the request: two tasks with a different salt are different requests.
    """
    idempotency_key: NotRequired[str | None]
    """
    The caller's name for this delivery. In its session, a second delivery with the same key gets the answer of the first. It is refused (`idempotency_conflict`) if its content differs. The key may also be in `metadata`.
    """
    input_responses: NotRequired[dict[str, Any] | None]
    """
    Answers to the questions of a pending run, under the names in `waiting.input_requests`. The rest of the task must be the same.
    """
    request_state: NotRequired[str | None]
    """
    `waiting.request_state` of the pending run, unchanged; absent or null if it was null.
    """


class MCPRequestDocument(MCPRequest, Surroundings):
    pass


class NotContainsRule(TypedDict):
    type: Literal['not_contains']
    text: str
    path: NotRequired[str]
    """
    A file of the plan.
    """
    on_failure: NotRequired[OnRuleFailure]
    name: NotRequired[str]
    description: NotRequired[str]


Patch: TypeAlias = PatchOperation | PatchWithDetails
"""
Applies a unified diff of this file: every old line must be there exactly.
"""


class PipelineEntry(TypedDict):
    """
    A program that plans start by its name. What a PIPELINE_RUN of a plan starts, without a shell, in the root. What it changes cannot be undone.
    """

    description: NotRequired[str]
    command: list[str]
    """
    The argv, never a shell line. An argument that is wholly `{name}` is the value of that parameter. {self} is the path of the running oneact binary, {root} is the root.
    """
    parameters: NotRequired[PipelineParameters]
    writes: NotRequired[list[str]]
    """
    Directories below the root that the program may write to, with everything in them. Default: only its temporary directory.
    """
    env_pass: NotRequired[list[str]]
    """
    Names of variables that are passed on. If one of them is not set, the plan fails before the program starts.
    """
    network: NotRequired[bool]
    """
    Whether it may open sockets. Without it, local sockets are refused, too.
    """
    shared_memory: NotRequired[bool]
    """
    Whether it may use POSIX shared memory and semaphores (/dev/shm), as the multiprocessing of Python does.
    """
    timeout: NotRequired[str]
    """
    At most 3600s.
    """
    effects: NotRequired[EffectHints]
    approval: NotRequired[PipelineApproval]


PipelineRun: TypeAlias = PipelineRunOperation | PipelineRunWithDetails
"""
Runs a `[pipeline.NAME]` of the catalog.
"""


class ProtectedFiles(TypedDict):
    """
    The protected files, by class: those of specification 001 (section 9.1), and executes, what other programs run by themselves.
    """

    critical: NotRequired[Protection]
    important: NotRequired[Protection]
    agent_system: NotRequired[Protection]
    executes: NotRequired[ExecutedFiles]


class ProtocolDocument(TypedDict):
    """
    What stands around the task. All of these fields are optional. The answer reports what was assumed.
    """

    envelope: ProtocolEnvelope
    metadata: NotRequired[CallerMetadata]
    payload: ProtocolPayload
    validation: NotRequired[ProtocolApproval | None]
    message_id: NotRequired[str | None]
    """
    The id of this message. The answer contains it as `metadata.parent_message_id`.
    """
    resources: NotRequired[Any]
    """
    The resources of the session, in the lists `source_refs`, `storage_refs` and `derived_refs`. The answer contains all of them and adds those that were made.
    """


class ProtocolMessage(TypedDict):
    """
    Specification 001: the `validation` block approves a plan if its checksum fits the payload.
    """

    envelope: ProtocolEnvelope
    metadata: NotRequired[ProtocolMetadata]
    payload: ProtocolPayload
    validation: NotRequired[ProtocolApproval | None]


class RecordedStep(TypedDict):
    session_id: str
    step_index: int
    id: str
    operation_id: str
    request_id: str | None
    task_id: str | None
    attempt: int
    action_type: str | None
    """
    The id of the catalog's entry. Several ids are joined by `+`.
    """
    state: RecordedState | None
    outcome: Literal['success', 'error']
    started_at: str
    timestamp: str
    """
    When it was answered.
    """
    duration_ms: int
    fault: str | None
    recoverable: bool | None
    reason: str | None
    """
    The name of the reason why the request was performed or not.
    """
    under: int | None
    """
    The step that opened the grant under which the task was sent.
    """
    answered_from: int | None
    """
    The step whose answer was returned again.
    """
    adjusted: Any
    """
    What a retry changed, by capability and parameter; null if nothing.
    """
    made: list[MadeAsset]
    request_hash: str
    seq: int | None
    """
    The link that seals the step.
    """
    revoked_by: int | None
    """
    The link that revoked the step.
    """
    parent: str | None
    """
    Of a step of a task: the operation of the task.
    """
    position: int | None
    """
    The number of the step in its task.
    """
    review: ReviewRecord | None
    pruned: bool
    """
    The request and the response were removed; their hashes remain.
    """


Rename: TypeAlias = RenameOperation | RenameWithDetails
"""
Moves the file. It never replaces a file.
"""


ReplaceContent: TypeAlias = ReplaceContentOperation | ReplaceContentWithDetails
"""
Replaces the whole content of a file. Its permissions, owner and attributes stay.
"""


class Reuse(TypedDict):
    """
    Why the answer is an old one, or why it is not.
    """

    why: ReuseReason
    operation_id: str | None
    """
    The operation whose answer this is.
    """
    answered_at: str | None
    """
    When that operation was answered, RFC 3339.
    """
    step_index: int | None
    """
    The number of that answer in the session.
    """


class Review(TypedDict):
    """
    The review of the result by a person. Null if the entry demands no review (`requires_post_review`).
    """

    state: ReviewState
    blocks: bool
    """
    Whether the result is withheld while the review is open.
    """
    since: str
    """
    When the result was recorded, RFC 3339.
    """
    until: str
    """
    When the open review becomes overdue, RFC 3339.
    """
    decided_at: str | None
    """
    The time of the last decision, RFC 3339; null without one.
    """
    how: str
    """
    The command for the decision.
    """


Rule: TypeAlias = (
    FileExistsRule
    | FileAbsentRule
    | ContainsRule
    | NotContainsRule
    | JSONValidRule
    | YAMLValidRule
    | SHA256Rule
    | JSONSchemaRule
    | RuleName
)


SQLExecute: TypeAlias = SQLExecuteOperation | SQLExecuteWithDetails
"""
Runs a DuckDB query.
"""


class SQLExecuteAction(TypedDict):
    action_id: str
    """
    The name of the action in its plan.
    """
    action_type: Literal['SQL_EXECUTE']
    target: str
    """
    The file with the query.
    """
    operation: SQLExecute
    depends_on: NotRequired[list[str]]
    """
    The ids of the actions that must be completed before.
    """
    reversible: NotRequired[bool]
    """
    Has no effect on file changes: every one of them can be undone.
    """
    risk_level: NotRequired[RiskLevel]
    timeout_seconds: NotRequired[int]
    """
    The time limit of the action. A greater number than its type allows is reduced.
    """
    validation_rules: NotRequired[list[Rule]]
    """
    What must hold after the plan. A rule without `path` is about the `target`, or the `new_path` of a renamed file.
    """
    estimated_duration_ms: NotRequired[float]
    description: NotRequired[str]


class ServerProcess(TypedDict):
    """
    The process of the last tool server.
    """

    name: str
    info: str | None
    """
    The name and version that the server states.
    """
    exit_status: str | None
    """
    How the server ended; only after a failure.
    """
    stderr_tail: str | None
    """
    The last lines of the server's stderr, without secrets; only after a failure.
    """
    killed: list[str]
    """
    Processes that the server left and that oneact ended; only after a failure.
    """
    stdout_noise: int
    """
    The number of lines on the server's stdout that are no MCP messages.
    """
    protocol: str | None
    """
    The version of MCP that was negotiated.
    """
    timings: ServerTimings


class SessionList(TypedDict):
    sessions: list[SessionSummary]
    """
    The session that was used last comes first.
    """


SetMode: TypeAlias = SetModeOperation | SetModeWithDetails
"""
Sets the permissions of the file.
"""


class Status(TypedDict):
    code: StatusCode
    message: str


class StepDecision(TypedDict):
    kind: Literal['ran', 'answered', 'history']
    reason: str | None
    sentence: str
    about: EarlierAnswer | None
    differences: list[Difference]


Symlink: TypeAlias = SymlinkOperation | SymlinkWithDetails
"""
Makes a new symbolic link.
"""


class TaskResult(TypedDict):
    task_id: str
    """
    The id as received, or `unknown`.
    """
    status: Literal['complete', 'failed']
    capability_ids_executed: list[str]
    """
    The capabilities whose tool was called, or that applied a file plan.
    """
    tool_invocations: list[ToolInvocation]
    output_refs_produced: list[OutputRef]
    result_data: dict[str, Any] | None
    """
    The structured result of an analysis or of a query for metadata; null if there is only an asset. Result data of more than 512 KiB is a reference to a file: `{"$blob": {storage_uri, media_type, bytes, sha256}}`.
    """
    quality_checks: QualityChecks


TextReplace: TypeAlias = TextReplaceOperation | TextReplaceWithDetails
"""
Replaces a text.
"""


class ValidationSettings(TypedDict):
    verify_file_hashes: NotRequired[bool]
    run_syntax_check: NotRequired[bool]
    run_schema_validation: NotRequired[bool]
    custom_validators: NotRequired[list[Rule]]
    """
    Each rule has a `path`.
    """


Waiting: TypeAlias = WaitingForClarification | WaitingForInput | WaitingForApproval
"""
What is missing, and how to go on.
"""


class WholeStep(TypedDict):
    step: RecordedStep
    decision: StepDecision
    links: list[ChainLink]
    grant: GrantRecord | None
    given_again: list[int]
    """
    The steps that were answered from this step.
    """
    entry: EntryVersion
    inputs: Any
    """
    The inputs as they were after the run.
    """
    request: Any
    """
    The `MCPRequest`, byte for byte; null after pruning.
    """
    request_sha256: str
    response: Any
    """
    The `MCPResponse`, byte for byte; null after pruning.
    """
    response_sha256: str


class WorkflowEntry(TypedDict):
    """
    A list of capabilities that run as the steps of one task. A task names it like a capability.
    """

    name: NotRequired[str]
    description: NotRequired[str]
    version: NotRequired[int]
    """
    Raise it when the same request should give a different answer.
    """
    is_action: NotRequired[bool]
    aliases: NotRequired[list[str]]
    tags: NotRequired[list[str]]
    examples: NotRequired[list[str]]
    effects: NotRequired[EffectHints]
    available_in: NotRequired[list[Context]]
    """
    Default: where all of its steps are available.
    """
    intrinsic_amplifiers: NotRequired[dict[str, Any]]
    """
    Raise the risk that follows from the steps.
    """
    parameter_schema_for_action: NotRequired[dict[str, Any] | bool]
    """
    Default: no parameters.
    """
    step: list[WorkflowStep]
    provenance: NotRequired[Provenance]


YAMLAppend: TypeAlias = YAMLAppendOperation | YAMLAppendWithDetails
"""
Adds an item to the end of a YAML sequence.
"""


YAMLRemove: TypeAlias = YAMLRemoveOperation | YAMLRemoveWithDetails
"""
Removes a key of a YAML mapping or an item of a YAML sequence, with its lines and the comment behind it.
"""


YAMLUpdate: TypeAlias = YAMLUpdateOperation | YAMLUpdateWithDetails
"""
Replaces a value of a YAML document, or adds a key to a mapping.
"""


class DoctorReport(TypedDict):
    """
    What `oneact doctor --json` prints.
    """

    oneact: str
    """
    The version of oneact.
    """
    root: str
    catalog: str
    state_dir: str
    verdict: Literal['well', 'wrong', 'interrupted']
    """
    `well`: exit code 0. `wrong`: exit code 1. `interrupted`: exit code 130 or 143.
    """
    problems: int
    """
    The number of findings that are problems.
    """
    warnings: int
    not_ready: list[str]
    """
    The capabilities whose tasks will fail. All others can be used.
    """
    findings: list[Finding]
    servers: list[ServerCheck]
    """
    The servers that were started, in the order of the catalog.
    """


class FileCreateAction(TypedDict):
    action_id: str
    """
    The name of the action in its plan.
    """
    action_type: Literal['FILE_CREATE']
    target: str
    """
    The new file.
    """
    operation: Create | Symlink
    depends_on: NotRequired[list[str]]
    """
    The ids of the actions that must be completed before.
    """
    reversible: NotRequired[bool]
    """
    Has no effect on file changes: every one of them can be undone.
    """
    risk_level: NotRequired[RiskLevel]
    timeout_seconds: NotRequired[int]
    """
    The time limit of the action. A greater number than its type allows is reduced.
    """
    validation_rules: NotRequired[list[Rule]]
    """
    What must hold after the plan. A rule without `path` is about the `target`, or the `new_path` of a renamed file.
    """
    estimated_duration_ms: NotRequired[float]
    description: NotRequired[str]


class FileDeleteAction(TypedDict):
    action_id: str
    """
    The name of the action in its plan.
    """
    action_type: Literal['FILE_DELETE']
    target: str
    """
    The file.
    """
    operation: Delete
    depends_on: NotRequired[list[str]]
    """
    The ids of the actions that must be completed before.
    """
    reversible: NotRequired[bool]
    """
    Has no effect on file changes: every one of them can be undone.
    """
    risk_level: NotRequired[RiskLevel]
    timeout_seconds: NotRequired[int]
    """
    The time limit of the action. A greater number than its type allows is reduced.
    """
    validation_rules: NotRequired[list[Rule]]
    """
    What must hold after the plan. A rule without `path` is about the `target`, or the `new_path` of a renamed file.
    """
    estimated_duration_ms: NotRequired[float]
    description: NotRequired[str]


class FileModifyAction(TypedDict):
    action_id: str
    """
    The name of the action in its plan.
    """
    action_type: Literal['FILE_MODIFY']
    target: str
    """
    The file.
    """
    operation: (
        TextReplace
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
        | ReplaceContent
    )
    depends_on: NotRequired[list[str]]
    """
    The ids of the actions that must be completed before.
    """
    reversible: NotRequired[bool]
    """
    Has no effect on file changes: every one of them can be undone.
    """
    risk_level: NotRequired[RiskLevel]
    timeout_seconds: NotRequired[int]
    """
    The time limit of the action. A greater number than its type allows is reduced.
    """
    validation_rules: NotRequired[list[Rule]]
    """
    What must hold after the plan. A rule without `path` is about the `target`, or the `new_path` of a renamed file.
    """
    estimated_duration_ms: NotRequired[float]
    description: NotRequired[str]


class FilePlanLimits(TypedDict):
    """
    What file plans may touch. The limits of specification 001 (section 11). The entry can only tighten them; a missing key has the value of the specification. The entry's `timeout` is the longest duration of a plan, at most one hour.
    """

    root: NotRequired[Literal['.']]
    reports: NotRequired[Literal['agent_outputs/reports']]
    operations: NotRequired[
        list[
            Literal[
                'FILE_CREATE',
                'FILE_MODIFY',
                'FILE_DELETE',
                'FILE_RENAME',
                'SCHEMA_UPDATE',
                'SQL_EXECUTE',
                'PIPELINE_RUN',
            ]
        ]
    ]
    """
    Default: all.
    """
    validation: NotRequired[Literal['required', 'none']]
    """
    required: the protocol layer must have approved a plan. none: a plan that states nothing about its approval runs, too; a plan that states that it was refused does not.
    """
    max_files: NotRequired[int]
    max_file_size: NotRequired[str]
    """
    The size of a file before and after a change, at most 50 MB.
    """
    max_backup_size: NotRequired[str]
    """
    The size of all originals of a plan together, at most 500 MB.
    """
    max_concurrency: NotRequired[int]
    protected: NotRequired[ProtectedFiles]


class FileRenameAction(TypedDict):
    action_id: str
    """
    The name of the action in its plan.
    """
    action_type: Literal['FILE_RENAME']
    target: str
    """
    The old path of the file.
    """
    operation: Rename
    depends_on: NotRequired[list[str]]
    """
    The ids of the actions that must be completed before.
    """
    reversible: NotRequired[bool]
    """
    Has no effect on file changes: every one of them can be undone.
    """
    risk_level: NotRequired[RiskLevel]
    timeout_seconds: NotRequired[int]
    """
    The time limit of the action. A greater number than its type allows is reduced.
    """
    validation_rules: NotRequired[list[Rule]]
    """
    What must hold after the plan. A rule without `path` is about the `target`, or the `new_path` of a renamed file.
    """
    estimated_duration_ms: NotRequired[float]
    description: NotRequired[str]


class History(TypedDict):
    session: SessionRecord | None
    """
    Null if the steps are those of all sessions.
    """
    steps: list[RecordedStep]
    open: list[OpenRequest]


class PipelineRunAction(TypedDict):
    action_id: str
    """
    The name of the action in its plan.
    """
    action_type: Literal['PIPELINE_RUN']
    target: str
    """
    The NAME of a `[pipeline.NAME]` of the catalog.
    """
    operation: PipelineRun
    depends_on: NotRequired[list[str]]
    """
    The ids of the actions that must be completed before.
    """
    reversible: NotRequired[bool]
    """
    Has no effect on file changes: every one of them can be undone.
    """
    risk_level: NotRequired[RiskLevel]
    timeout_seconds: NotRequired[int]
    """
    The time limit of the action. A greater number than its type allows is reduced.
    """
    validation_rules: NotRequired[list[Rule]]
    """
    What must hold after the plan. A rule without `path` is about the `target`, or the `new_path` of a renamed file.
    """
    estimated_duration_ms: NotRequired[float]
    description: NotRequired[str]


class RunFacts(TypedDict):
    """
    What oneact says beyond the message format.
    """

    version: str
    operation_id: str
    """
    The id of this run: `op_` and a ULID.
    """
    kind: ProposalKind
    state: State
    fsm: FsmState
    fault: Fault | None
    effect: Effect
    phase: Phase
    gate: NotRequired[Gate]
    request_hash: str | None
    """
    What identifies the request (SHA-256 over RFC 8785); null if it was not looked up in the ledger.
    """
    reuse: Reuse | None
    waiting: Waiting | None
    review: Review | None
    steps: NotRequired[list[StepOutcome]]
    """
    What each step did, in their order, if the task has several capabilities or names a workflow. After a failure, the steps that were not reached are missing.
    """
    ledger: LedgerLink | None
    server: ServerProcess | None
    unfit_result: NotRequired[dict[str, Any] | list[Any] | str | float | bool | None]
    """
    The answer of the tool, if it violates the output schema that the tool itself publishes.
    """
    plan: NotRequired[DryRunPlan]
    preview: NotRequired[Preview]
    reports: NotRequired[ReportPaths]


class SchemaUpdateAction(TypedDict):
    action_id: str
    """
    The name of the action in its plan.
    """
    action_type: Literal['SCHEMA_UPDATE']
    target: str
    """
    A JSON Schema, as JSON or YAML. It must stay a valid JSON Schema.
    """
    operation: (
        JSONAddProperty | JSONRemoveProperty | JSONUpdateValue | YAMLUpdate | JSONAppend | YAMLAppend | YAMLRemove
    )
    depends_on: NotRequired[list[str]]
    """
    The ids of the actions that must be completed before.
    """
    reversible: NotRequired[bool]
    """
    Has no effect on file changes: every one of them can be undone.
    """
    risk_level: NotRequired[RiskLevel]
    timeout_seconds: NotRequired[int]
    """
    The time limit of the action. A greater number than its type allows is reduced.
    """
    validation_rules: NotRequired[list[Rule]]
    """
    What must hold after the plan. A rule without `path` is about the `target`, or the `new_path` of a renamed file.
    """
    estimated_duration_ms: NotRequired[float]
    description: NotRequired[str]


class SessionDocument(TypedDict):
    oneact: str
    """
    The version of oneact that wrote this document.
    """
    session: SessionRecord
    steps: list[WholeStep]
    open: list[OpenRequest]


class SystemLimits(TypedDict):
    workflow_configuration: NotRequired[WorkflowConfiguration]
    execution_constraints: NotRequired[ExecutionConstraints]
    validation_rules: NotRequired[list[Rule] | ValidationSettings]
    version: NotRequired[str]
    config_id: NotRequired[str]
    plan_id: NotRequired[str]
    created_at: NotRequired[str]


Action: TypeAlias = (
    FileCreateAction
    | FileModifyAction
    | FileDeleteAction
    | FileRenameAction
    | SchemaUpdateAction
    | SQLExecuteAction
    | PipelineRunAction
)


class CapabilityEntry(TypedDict):
    """
    A capability that a task can name in `capability_ids`, with its tool, or with limits for file plans.
    """

    file_plan: NotRequired[FilePlanLimits]
    name: NotRequired[str]
    description: NotRequired[str]
    """
    One sentence.
    """
    version: NotRequired[int]
    """
    Increase it when the same request should give a different answer.
    """
    is_action: NotRequired[bool]
    """
    Whether a proposal of an agent may name the capability.
    """
    available_in: NotRequired[list[Context]]
    """
    The contexts in which the entry is found and performed. Default: all but FSM_INTERNAL.
    """
    approval: NotRequired[ApprovalPolicy]
    intrinsic_amplifiers: NotRequired[RiskAmplifiers]
    aliases: NotRequired[list[str]]
    tags: NotRequired[list[str]]
    examples: NotRequired[list[str]]
    """
    Action texts that mean this capability.
    """
    on_duplicate: NotRequired[OnDuplicate]
    requires_post_review: NotRequired[bool]
    """
    Whether a person must review each successful result with `oneact review`.
    """
    review: NotRequired[ReviewSettings]
    volatile: NotRequired[list[str]]
    """
    Parameters whose values do not matter: two requests that differ only in them are the same.
    """
    fence: NotRequired[list[str]]
    """
    What names the action of a once-only call: names of parameters, or JSON Pointers into them. While the outcome of a call is unknown, no call with the same values there is made, whatever its session, key and other parameters are.
    """
    fresh_process: NotRequired[bool]
    """
    Whether this capability of a task of several has a server process of its own. Otherwise all calls of the task on the same server share one.
    """
    uses_context: NotRequired[bool]
    """
    Whether the tool gets the `context` of an MCPRequest as its parameter `context`. The context is part of the request then.
    """
    effects: NotRequired[EffectHints]
    timeout: NotRequired[str]
    """
    The longest time without an answer or a progress notification.
    """
    timeout_max: NotRequired[str]
    """
    The longest call with progress, and the limit for `timeout` in retries. Not less than `timeout`.
    """
    on_failure: NotRequired[OnFailure]
    secret: NotRequired[list[str]]
    """
    JSON Pointers to parameters whose values are secrets: no record contains them.
    """
    pin: NotRequired[str]
    """
    The version of the tool that the entry is bound to, as `oneact doctor CAPABILITY` prints it: the SHA-256 of the tool's name, input schema and output schema, and the first digits of the SHA-256 of each schema and of the description.
    """
    on_drift: NotRequired[Literal['fail', 'warn']]
    """
    What happens if the tool differs from its pin: fail (nothing is called) or warn.
    """
    output_schema: NotRequired[Literal['if_listed', 'check', 'ignore']]
    """
    Whether successful answers are validated against the output schema that the tool publishes: if_listed (if the tool is listed anyway, for its input schema or its pin), check (always) or ignore.
    """
    defaults: NotRequired[dict[str, Any]]
    """
    Values of parameters that the task does not set.
    """
    mcp: NotRequired[ToolAddress]
    bind: NotRequired[dict[str, str]]
    """
    Parameters that oneact fills; a task cannot set them. A parameter that is not `required` is left out if it has no value.
    """
    parameter_schema_for_action: NotRequired[dict[str, Any] | bool]
    """
    The JSON Schema of the tool's parameters, including bound ones. Checked before the server is started.
    """
    extract: NotRequired[list[ExtractRule]]
    """
    Parameters from the action text: each named capture sets one.
    """
    retry: NotRequired[list[RetryRule]]
    """
    What changes from attempt 2 on.
    """
    result: NotRequired[ResultSettings]
    failure: NotRequired[list[FailureRule]]
    """
    Texts that identify the class of a failure. The first match is used. The built-in table is consulted after these rules.
    """
    success: NotRequired[list[SuccessRule]]
    """
    Values that an answer must contain. If one of them differs, the call has failed, although the tool did not report it.
    """


class Catalog(TypedDict):
    """
    catalog.toml, format 1. The catalog: tool servers, and capabilities that are mapped to their tools. The schema describes the TOML document as JSON. Unknown keys are errors.
    """

    catalog: Literal[1]
    """
    The format of this file.
    """
    application: NotRequired[str]
    """
    The document that describes the application. oneact does not read it.
    """
    defaults: NotRequired[CatalogDefaults]
    approval: NotRequired[ApprovalSettings]
    storage: NotRequired[StorageSettings]
    duckdb: NotRequired[DuckDBSettings]
    ledger: NotRequired[LedgerSettings]
    profile: NotRequired[dict[str, Profile]]
    """
    Profiles of callers: [profile.NAME], selected by --profile.
    """
    server: NotRequired[dict[str, ServerEntry]]
    """
    Tool servers: [server.NAME].
    """
    capability: NotRequired[dict[str, CapabilityEntry]]
    """
    Capabilities: [capability.ID].
    """
    workflow: NotRequired[dict[str, WorkflowEntry]]
    """
    Workflows: [workflow.ID].
    """
    pipeline: NotRequired[dict[str, PipelineEntry]]
    """
    Pipelines: [pipeline.NAME].
    """


LedgerDocument: TypeAlias = SessionList | History | SessionDocument | WholeStep | Comparison
"""
What `oneact sessions`, `history`, `show` and `replay` print as JSON. `oneact sessions --json`: sessions. `oneact history --json`: a history. `oneact replay`: a session. `oneact show --json`, `oneact history --why … --json` and `oneact replay STEP --json`: a step. `oneact replay STEP --execute --json`: a comparison.
"""


class OutputContent(TypedDict):
    task_result: TaskResult
    execution_report: NotRequired[ExecutionReport]
    suggestion: NotRequired[SuggestionCard]
    oneact: RunFacts


SystemConfig: TypeAlias = str | SystemLimits
"""
Limits that tighten those of the catalog.
"""


class TaskPlan(TypedDict):
    plan_id: str
    """
    A name for the plan.
    """
    action_plan: list[Action]
    """
    The actions. They run in this order, except where `depends_on` requires another one.
    """
    execution_instructions: NotRequired[ExecutionInstructions]
    protocol_validation: NotRequired[Literal[True, 'APPROVED']]
    """
    The statement that the protocol layer validated the plan. A plan without it is refused, unless its catalog entry says `validation = "none"`.
    """
    version: NotRequired[str]
    created_at: NotRequired[str]
    inspector_version: NotRequired[str]
    made_from: NotRequired[Literal['diff']]
    """
    What the plan was made from. The report says so.
    """
    task_summary: NotRequired[str]
    context_files_used: NotRequired[list[Any]]
    decisions: NotRequired[list[Any]]
    task_decomposition: NotRequired[list[Any]]
    risk_assessment: NotRequired[dict[str, Any]]


class WrappedPlan(TypedDict):
    """
    A plan under `task_plan`.
    """

    task_plan: TaskPlan
    system_config: NotRequired[SystemConfig]
    protocol_validation: NotRequired[Literal[True, 'APPROVED']]
    """
    The statement that the protocol layer validated the plan. A plan without it is refused, unless its catalog entry says `validation = "none"`.
    """
    metadata: NotRequired[Any]
    resources: NotRequired[Any]
    message_id: NotRequired[Any]
    task_id: NotRequired[Any]
    salt: NotRequired[Any]
    idempotency_key: NotRequired[Any]
    attempt: NotRequired[Any]


class BarePlan(TypedDict):
    """
    The plan itself.
    """

    plan_id: str
    """
    A name for the plan.
    """
    action_plan: list[Action]
    """
    The actions. They run in this order, except where `depends_on` requires another one.
    """
    execution_instructions: NotRequired[ExecutionInstructions]
    protocol_validation: NotRequired[Literal[True, 'APPROVED']]
    """
    The statement that the protocol layer validated the plan. A plan without it is refused, unless its catalog entry says `validation = "none"`.
    """
    version: NotRequired[str]
    created_at: NotRequired[str]
    inspector_version: NotRequired[str]
    made_from: NotRequired[Literal['diff']]
    """
    What the plan was made from. The report says so.
    """
    task_summary: NotRequired[str]
    context_files_used: NotRequired[list[Any]]
    decisions: NotRequired[list[Any]]
    task_decomposition: NotRequired[list[Any]]
    risk_assessment: NotRequired[dict[str, Any]]
    system_config: NotRequired[SystemConfig]
    metadata: NotRequired[Any]
    resources: NotRequired[Any]
    message_id: NotRequired[Any]
    task_id: NotRequired[Any]
    salt: NotRequired[Any]
    idempotency_key: NotRequired[Any]
    attempt: NotRequired[Any]


class Output(TypedDict):
    content: OutputContent
    content_type: Literal['task_result', 'suggestion']


PlanDocument: TypeAlias = WrappedPlan | BarePlan
"""
Specification 001, section 3.3: changes that are all made or none. The document is a plan under `task_plan`, or the plan itself. A model that only writes plans can be held to `$defs/task_plan`. `oneact schema task` describes what may stand beside a plan, and the other documents that contain plans.
"""


class Proposal(TypedDict):
    """
    Specification 003: what an agent proposes. A standard action is performed as a task of one capability; it can also have the other fields of a task. A suggestion is a card for the user, and a clarification a question; neither is ever performed. An improvised action always waits for a person: then its declared `steps` are performed as one task, or its `grant` is opened.
    """

    kind: ProposalKind
    name: NotRequired[Literal['', '{}'] | list[Any] | dict[str, Any] | str | None]
    """
    The id of a standard action: an entry of the catalog with `is_action = true`.
    """
    parameters_json: NotRequired[Literal['', '{}'] | list[Any] | dict[str, Any] | str | None]
    """
    The parameters of the action, as JSON text. An object can be sent in `parameters` instead.
    """
    parameters: NotRequired[Literal['', '{}'] | list[Any] | dict[str, Any] | dict[str, Any] | None]
    task_plan: NotRequired[Literal['', '{}'] | list[Any] | dict[str, Any] | TaskPlan | None]
    title: NotRequired[Literal['', '{}'] | list[Any] | dict[str, Any] | str | None]
    plan_summary: NotRequired[Literal['', '{}'] | list[Any] | dict[str, Any] | str | None]
    """
    What is to be done, in one text.
    """
    rationale: NotRequired[Literal['', '{}'] | list[Any] | dict[str, Any] | str | None]
    """
    Why the agent proposes it.
    """
    confidence: NotRequired[Literal['', '{}'] | list[Any] | dict[str, Any] | float | None]
    """
    The agent's own confidence. It decides nothing.
    """
    blocked_on: NotRequired[Literal['', '{}'] | list[Any] | dict[str, Any] | str | list[str] | None]
    """
    Exactly what is missing, in one text or several.
    """
    irreversibility: NotRequired[
        Literal['', '{}'] | list[Any] | dict[str, Any] | Literal['low', 'medium', 'high'] | None
    ]
    """
    A claim of the agent.
    """
    regret_potential: NotRequired[
        Literal['', '{}'] | list[Any] | dict[str, Any] | Literal['low', 'moderate', 'medium', 'high'] | None
    ]
    """
    A claim of the agent. `moderate` is read as `medium`.
    """
    risk_amplifier: NotRequired[Literal['', '{}'] | list[Any] | dict[str, Any] | bool | None]
    """
    A claim of the agent.
    """
    steps: NotRequired[Literal['', '{}'] | list[Any] | dict[str, Any] | list[dict[str, Any]] | None]
    """
    The steps of an improvised action, in their order, at most 16.
    """
    grant: NotRequired[Literal['', '{}'] | list[Any] | dict[str, Any] | dict[str, Any] | None]
    """
    The limits of an improvised action whose calls the agent decides on as it goes. Each call is a task of one capability, with `under`.
    """
    clarifies: NotRequired[Literal['', '{}'] | list[Any] | dict[str, Any] | str | None]
    under: NotRequired[Literal['', '{}'] | list[Any] | dict[str, Any] | str | None]
    task_id: NotRequired[str | None]
    """
    Default: the `name`.
    """
    action: NotRequired[str | None]
    """
    The action text: the task in words. Only the `extract` rules of a catalog entry read it.
    """
    input_refs_resolved: NotRequired[list[InputRef] | None]
    """
    The inputs. Their order is that of `input.uri`, `input_2.uri` … in the entries.
    """
    output_refs_expected: NotRequired[list[str] | None]
    """
    The names of the assets that the task must make. The last capabilities that make assets get these names, in order.
    """
    attempt: NotRequired[int | None]
    """
    1 is the first attempt. From 2 on, the entry's `retry` rules apply. Default: the first attempt, or the next one after a failure.
    """
    salt: NotRequired[str | None]
    """
    Part of the request: two tasks with a different salt are different requests.
    """
    idempotency_key: NotRequired[str | None]
    """
    The caller's name for this delivery. In its session, a second delivery with the same key gets the answer of the first. It is refused (`idempotency_conflict`) if its content differs. The key may also be in `metadata`.
    """
    accepts_input: NotRequired[bool | None]
    """
    Whether you can answer questions of a tool. If true, servers of MCP 2026-07-28 are told that they may ask (the client capability `elicitation`). A run whose tool asks then ends as pending, and `output.content.oneact.waiting` contains the questions. Only for a task of one capability.
    """
    input_responses: NotRequired[dict[str, Any] | None]
    """
    Answers to the questions of a pending run, under the names in `waiting.input_requests`. The rest of the task must be the same.
    """
    request_state: NotRequired[str | None]
    """
    `waiting.request_state` of the pending run, unchanged; absent or null if it was null.
    """
    input_requests: NotRequired[dict[str, Any] | None]
    """
    `waiting.input_requests` of the pending run. With it, the answers are checked before the server is started: every question needs an answer, every answer needs a question, and the content must fit the form.
    """
    system_config: NotRequired[SystemConfig]
    protocol_validation: NotRequired[Any]
    """
    The approval of the protocol layer: `true` or `"APPROVED"`. A plan with any other value is refused.
    """


class ProposalDocument(Proposal, Surroundings):
    pass


class TaskBody(TypedDict):
    """
    One task: capabilities, their inputs, and the expected outputs.
    """

    task_id: str
    """
    The caller's name for the task. The answer contains it unchanged.
    """
    action: NotRequired[str | None]
    """
    The action text: the task in words. Only the `extract` rules of a catalog entry read it.
    """
    capability_ids: list[str]
    """
    Ids of the catalog. Several ids run one after the other, in this order.
    """
    input_refs_resolved: NotRequired[list[InputRef] | None]
    """
    The inputs. Their order is that of `input.uri`, `input_2.uri` … in the entries.
    """
    output_refs_expected: NotRequired[list[str] | None]
    """
    The names of the assets that the task must make. The last capabilities that make assets get these names, in order.
    """
    parameters: NotRequired[dict[str, Any] | None]
    """
    Parameters of the tool. They take precedence over the action text and over the entry's defaults. Parameters that the entry binds cannot be set.
    """
    attempt: NotRequired[int | None]
    """
    1 is the first attempt. From 2 on, the entry's `retry` rules apply. Default: the first attempt, or the next one after a failure.
    """
    salt: NotRequired[str | None]
    """
    Part of the request: two tasks with a different salt are different requests.
    """
    idempotency_key: NotRequired[str | None]
    """
    The caller's name for this delivery. In its session, a second delivery with the same key gets the answer of the first. It is refused (`idempotency_conflict`) if its content differs. The key may also be in `metadata`.
    """
    clarifies: NotRequired[str | None]
    """
    The `operation_id` of the clarification that this task answers. It is recorded with the task.
    """
    under: NotRequired[str | None]
    """
    The `operation_id` of the answer that opened the grant under which the only capability of this task is called.
    """
    accepts_input: NotRequired[bool | None]
    """
    Whether you can answer questions of a tool. If true, servers of MCP 2026-07-28 are told that they may ask (the client capability `elicitation`). A run whose tool asks then ends as pending, and `output.content.oneact.waiting` contains the questions. Only for a task of one capability.
    """
    input_responses: NotRequired[dict[str, Any] | None]
    """
    Answers to the questions of a pending run, under the names in `waiting.input_requests`. The rest of the task must be the same.
    """
    request_state: NotRequired[str | None]
    """
    `waiting.request_state` of the pending run, unchanged; absent or null if it was null.
    """
    input_requests: NotRequired[dict[str, Any] | None]
    """
    `waiting.input_requests` of the pending run. With it, the answers are checked before the server is started: every question needs an answer, every answer needs a question, and the content must fit the form.
    """
    task_plan: NotRequired[TaskPlan | None]
    system_config: NotRequired[SystemConfig]
    protocol_validation: NotRequired[Any]
    """
    The approval of the protocol layer: `true` or `"APPROVED"`. A plan with any other value is refused.
    """
    execution_group: NotRequired[Any]
    """
    A field of the dispatcher. It has no effect on one task.
    """
    workflow_progress: NotRequired[Any]
    """
    A field of the dispatcher. It has no effect on one task.
    """


class WrappedTask(Surroundings):
    dispatch: Proposal | TaskBody
    """
    A task inside a message. `metadata`, `resources` and `message_id` are read only at the top level of the message.
    """


class BareTask(TaskBody, Surroundings):
    pass


class Envelope(TypedDict):
    """
    The answer of oneact. What `oneact run` prints on stdout: one line of JSON, for any input and any failure. All eleven fields are always present; an absent value is null or an empty list. Only `output.content.oneact` contains more than the agents' message format defines.
    """

    message_id: str
    """
    The second of `timestamp.executed_at`, and six characters of the operation id.
    """
    timestamp: Timestamp
    agent: Agent
    input: Input
    output: Output
    next_agent: NextAgent
    status: Status
    error: ErrorReport
    metadata: Metadata
    resources: Resources
    audit: Audit


class MessageContent(TypedDict):
    dispatch: Proposal | TaskBody
    """
    A task inside a message. `metadata`, `resources` and `message_id` are read only at the top level of the message.
    """


class MessageOutput(TypedDict):
    content: MessageContent


class WholeMessage(Surroundings):
    output: MessageOutput


TaskDocument: TypeAlias = (
    WholeMessage | WrappedTask | ProposalDocument | ProtocolDocument | PlanDocument | MCPRequestDocument | BareTask
)
"""
A task for oneact. The input of `oneact run` on stdin: one JSON document that contains exactly one task. A task with capabilities is the whole message of a dispatch agent (`output.content.dispatch`), a wrapped task (`{"dispatch": …}`), or the task itself. A task may also be an MCPRequest (`actionId`, `args`; specification 004) or a proposal of an agent (`kind`; specification 003). A file plan (specification 001) is the plan itself (`action_plan`), a wrapped plan (`{"task_plan": …}`), or the payload of a message of the protocol layer. Such a message can also ask to undo a plan, to report its progress, or to stop it. Beside the task, the document may contain the caller (`metadata`), the resources of the session (`resources`), and the id of the message (`message_id`). Fields that are not named here have no effect, and the answer reports them.
"""
