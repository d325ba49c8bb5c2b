"""The client that the conformance suite starts: `client.py URL`, with the scenario's name in its
environment. It runs oneact ($ONEACT) in a root of its own, with one server in the catalog, at that
URL, and ends well if oneact says what it should. What the server saw, the suite judges."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

VERSION = os.environ["MCP_CONFORMANCE_PROTOCOL_VERSION"]
PROTOCOL = "legacy" if VERSION < "2026-07-28" else "modern"


class Root:
    """A directory with a catalog: a capability for each tool, under the tool's name."""

    def __init__(self, dir, *tools, keys=""):
        self.dir = dir
        catalog = f'catalog = 1\n[server.suite]\nurl = "{sys.argv[1]}"\nprotocol = "{PROTOCOL}"\n'
        for tool in tools:
            catalog += f'[capability.{tool}]\nmcp = {{ server = "suite", tool = "{tool}" }}\n{keys}\n'
        Path(dir, "catalog.toml").write_text(catalog)

    def oneact(self, *words, task=None):
        done = subprocess.run(
            [os.environ["ONEACT"], *words], cwd=self.dir, input=json.dumps(task), capture_output=True, text=True
        )
        sys.stderr.write(done.stdout + done.stderr)
        return json.loads(done.stdout)

    def run(self, tool, parameters=None, **more):
        """The answer of a run: why it failed, and the two parts of its content."""
        task = {"task_id": f"task_{tool}", "capability_ids": [tool], "metadata": {"session_id": "sess-1"}}
        answer = self.oneact(task=task | {"parameters": parameters or {}} | more)
        content = answer["output"]["content"]
        return content["task_result"], content["oneact"], answer["error"]["error_message"]

    def succeeds(self, tool, parameters=None, **more):
        """Its result."""
        result, run, error = self.run(tool, parameters, **more)
        assert run["state"] == "done", error
        return result["result_data"]

    def fails(self, fault, tool, parameters=None, **more):
        """Before the tool is called; the error."""
        _, run, error = self.run(tool, parameters, **more)
        assert (run["fault"], run["effect"]) == (fault, "none"), (run, error)
        return error

    def asks(self, tool):
        """What it waits for."""
        _, run, error = self.run(tool, accepts_input=True)
        assert run["state"] == "pending", error
        return run["waiting"]

    def answers(self, tool, waiting):
        """Says yes, in another process."""
        yes = {"action": "accept", "content": {"confirmed": True}}
        return self.succeeds(
            tool,
            accepts_input=True,
            input_responses={name: yes for name in waiting["input_requests"]},
            input_requests=waiting["input_requests"],
            request_state=waiting["request_state"],
        )


def initialize(dir):
    """Its server has no tools."""
    refused = Root(dir, "missing").fails("tool_error", "missing")
    assert "no tool `missing`" in refused, refused


def tools_call(dir):
    root = Root(dir, "add_numbers")
    assert root.succeeds("add_numbers", {"a": 5, "b": 3}) == {"text": "The sum of 5 and 3 is 8"}


def request_metadata(dir):
    """Its server refuses the first request, whatever its version. That no tool is there, only an
    answer to the same request can tell: the next run must not be what makes up for it."""
    root = Root(dir, "missing")
    refused = root.fails("tool_error", "missing", accepts_input=True)
    assert "no tool `missing`" in refused, refused


def client_request_state(dir):
    root = Root(dir, "test_mrtr_echo_state", "test_mrtr_no_state", "test_mrtr_unrelated", "test_mrtr_no_result_type")
    stateful = root.asks("test_mrtr_echo_state")
    stateless = root.asks("test_mrtr_no_state")
    assert stateless["request_state"] is None
    assert root.succeeds("test_mrtr_unrelated") == {"text": "unrelated-ok"}
    assert root.answers("test_mrtr_echo_state", stateful) == {"text": "echo-state-ok"}
    assert root.answers("test_mrtr_no_state", stateless) == {"text": "no-state-ok"}
    assert root.succeeds("test_mrtr_no_result_type") == {"text": "no-result-type-test-ok"}


def no_dereference(dir):
    root = Root(dir, "lookup_user")
    refused = root.fails("tool_error", "lookup_user", {"id": "ada"})
    assert "/canary/profile-schema.json" in refused, refused
    assert root.oneact("doctor", "--json")["verdict"] == "wrong"


def preservation(dir):
    root = Root(dir, "json_schema_2020_12_tool", "json_schema_echo")
    (server,) = root.oneact("doctor", "--json")["servers"]
    schemas = {tool["name"]: tool["input_schema"] for tool in server["tools"]}
    root.succeeds("json_schema_echo", {"schema": schemas["json_schema_2020_12_tool"]})


def sse_retry(dir):
    """Its server ends the stream of the call, and gives the answer to who asks for the rest."""
    root = Root(dir, "test_reconnection")
    assert root.succeeds("test_reconnection") == {"text": "Reconnection test completed successfully"}


def standard_headers(dir):
    root = Root(dir, "test_headers", "my-hyphenated-tool")
    for tool in ("test_headers", "my-hyphenated-tool"):
        assert root.succeeds(tool) == {"text": "Headers test completed"}


def custom_headers(dir):
    calls = json.loads(os.environ["MCP_CONFORMANCE_CONTEXT"])["toolCalls"]
    root = Root(dir, *(call["name"] for call in calls))
    for call in calls:
        # By the schemas of these tools, null is none of their values.
        given = {name: value for name, value in call["arguments"].items() if value is not None}
        assert root.succeeds(call["name"], given) == {"text": "Custom headers test completed"}


def invalid_tool_headers(dir):
    """A tool whose marks break a rule is not called, and the others are."""
    wrong = (
        "empty_header object_header array_header null_header number_header duplicate_same_case duplicate_diff_case"
        " space_in_name colon_in_name non_ascii_name control_char_name"
    )
    wrong = [f"invalid_{name}" for name in wrong.split()]
    root = Root(dir, "valid_tool", *wrong, keys="parameter_schema_for_action = {}")
    for tool in wrong:
        assert "x-mcp-header" in root.fails("tool_error", tool)
    assert root.succeeds("valid_tool", {"region": "north"}) == {"text": "Tool call received"}


SCENARIOS = {
    "sse-retry": sse_retry,
    "http-standard-headers": standard_headers,
    "http-custom-headers": custom_headers,
    "http-invalid-tool-headers": invalid_tool_headers,
    "initialize": initialize,
    "tools_call": tools_call,
    "request-metadata": request_metadata,
    "sep-2322-client-request-state": client_request_state,
    "json-schema-ref-no-deref": no_dereference,
    "json-schema-2020-12-preservation": preservation,
}

with tempfile.TemporaryDirectory(prefix="oneact-conformance-") as dir:
    SCENARIOS[os.environ["MCP_CONFORMANCE_SCENARIO"]](dir)
