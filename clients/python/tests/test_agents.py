"""Agent libraries call the tools of a catalog, as examples/engines does. The models are scripts: no network, no hub."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import agents
from agents.models.interface import Model
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

import oneact
from conftest import REPOSITORY

# What the model of each agent asks for, one after the other. The second call cannot be performed.
SCRIPT: list[tuple[str, dict[str, Any]]] = [
    ("echo", {"text": "Hello"}),
    ("add", {"a": "one", "b": 2}),
    ("add", {"a": 1, "b": 2}),
    ("write", {"text": "Call Ada"}),
]
NAMES = [name for name, _ in SCRIPT]


def example(engine: str, name: str) -> Any:
    """The module of an example."""
    path = REPOSITORY / "examples" / "engines" / engine / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"{name}_of_{engine.replace('-', '_')}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def history(root: Path) -> list[tuple[str, str]]:
    """The action and the state of each step that the ledger has."""
    printed = subprocess.run(
        [os.environ["ONEACT_BINARY"], "history", "--json", "--root", root], check=True, stdout=subprocess.PIPE
    )
    steps = json.loads(printed.stdout)["steps"]
    return [(step["action_type"], step["state"]) for step in steps]


class Scripted(GenericFakeChatModel):
    """Says one message after the other, whatever tools it is offered."""

    def bind_tools(self, tools: Any, **_: Any) -> Any:
        return self


def asking(*calls: tuple[str, str, dict[str, Any]]) -> AIMessage:
    return AIMessage(
        "", tool_calls=[{"id": id, "name": name, "args": args, "type": "tool_call"} for id, name, args in calls]
    )


def test_langgraph(client: oneact.Oneact) -> None:
    script = [asking((f"call_{number}", *call)) for number, call in enumerate(SCRIPT)]
    with client.session(session_id="thread") as session:
        model = Scripted(messages=iter([*script, AIMessage("Done.")]))
        state = example("langgraph", "agent").agent(session, model).invoke({"messages": [HumanMessage("Go")]})
    assert state["messages"][-1].content == "Done."
    answers = [message for message in state["messages"] if isinstance(message, ToolMessage)]
    assert [(message.name, message.status) for message in answers] == [
        (name, "error" if number == 1 else "success") for number, name in enumerate(NAMES)
    ]
    assert Path(answers[3].artifact[0].removeprefix("file://")).read_text(encoding="utf-8") == "Call Ada"


def test_langgraph_that_was_interrupted_repeats_no_call(client: oneact.Oneact, root: Path) -> None:
    """`interrupt` runs the node again from its beginning: the first call is sent twice, and performed once."""
    both = asking(("call_1", "write", {"text": "Call Ada"}), ("call_2", "send", {"text": "Hello"}))
    thread: Any = {"configurable": {"thread_id": "thread"}}
    with client.session(session_id="thread") as session:
        model = Scripted(messages=iter([both, AIMessage("Done.")]))
        graph = example("langgraph", "agent").agent(session, model, InMemorySaver())
        state = graph.invoke({"messages": [HumanMessage("Go")]}, thread)
        [interrupted] = state["__interrupt__"]
        approve(root, interrupted.value["approval_id"])
        state = graph.invoke(Command(resume=True), thread)
    assert state["messages"][-1].content == "Done."
    assert history(root) == [("write", "done"), ("send", "pending"), ("write", "replayed"), ("send", "done")]


def approve(root: Path, approval_id: str) -> None:
    """As a person does, at a terminal."""
    type_yes = "import os, pty, sys\npid, terminal = pty.fork()\nif pid == 0: os.execv(sys.argv[1], sys.argv[1:])\n"
    type_yes += "os.write(terminal, b'y\\n')\ntry:\n    while os.read(terminal, 1024): pass\nexcept OSError: pass\n"
    type_yes += "sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))"
    argv = [os.environ["ONEACT_BINARY"], "--root", os.fspath(root), "approve", approval_id]
    subprocess.run([sys.executable, "-c", type_yes, *argv], check=True)


class Script(Model):
    """The model of the OpenAI Agents SDK: asks for one call after the other."""

    def __init__(self) -> None:
        self.offered: list[str] = []
        self.turns = 0

    async def get_response(self, *_: Any, tools: list[Any], **__: Any) -> Any:  # type: ignore[override]
        self.offered = [tool.name for tool in tools]
        turn = self.turns
        self.turns += 1
        said: Any
        if turn < len(SCRIPT):
            name, arguments = SCRIPT[turn]
            said = ResponseFunctionToolCall(
                call_id=f"call_{turn}",
                name=name,
                arguments=json.dumps(arguments),
                type="function_call",
            )
        else:
            text = ResponseOutputText(text="Done.", type="output_text", annotations=[])
            said = ResponseOutputMessage(id="m", content=[text], role="assistant", status="completed", type="message")
        return agents.ModelResponse(output=[said], usage=agents.Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
        raise NotImplementedError


def test_openai_agents(async_client: oneact.AsyncOneact, root: Path) -> None:
    async def main() -> tuple[Any, list[str]]:
        async with async_client.session(session_id="conversation") as session:
            tools = await example("openai-agents", "tools").tools(session)
            agent: Any = agents.Agent("Agent", tools=tools, model=Script())
            run = await agents.Runner.run(agent, "Go", run_config=agents.RunConfig(tracing_disabled=True))
        outputs = [item.output for item in run.new_items if isinstance(item, agents.ToolCallOutputItem)]
        return run.final_output, outputs

    final, [echoed, refused, added, written] = asyncio.run(main())
    assert (final, echoed, added) == ("Done.", "Hello", '{"sum":3}') and "file://" in written, written
    assert refused.startswith("params_invalid: "), refused
    assert [action for action, _ in history(root)] == ["echo", "add", "write"]


def test_pydantic_ai(async_client: oneact.AsyncOneact, root: Path) -> None:
    def scripted(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        assert {tool.name for tool in info.function_tools} >= set(NAMES)
        step = sum(isinstance(message, ModelResponse) for message in messages)
        return ModelResponse([ToolCallPart(*SCRIPT[step]) if step < len(SCRIPT) else TextPart("Done.")])

    async def main() -> list[Any]:
        async with async_client.session(session_id="conversation") as session:
            tools = await example("pydantic-ai", "tools").tools(session)
            run = await Agent(FunctionModel(scripted), tools=tools).run("Go")
        assert run.output == "Done."
        return [part for message in run.all_messages() for part in message.parts]

    answers: list[Any] = [part.content for part in asyncio.run(main()) if isinstance(part, ToolReturnPart)]
    echoed, refused, added, written = answers
    assert (echoed, added) == ("Hello", '{"sum":3}') and "file://" in written, written
    assert refused.startswith("params_invalid: "), refused
    assert [action for action, _ in history(root)] == ["echo", "add", "write"]
