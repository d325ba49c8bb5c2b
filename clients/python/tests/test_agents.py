"""Agent libraries call the tools of a catalog through the client. The models are scripts: no network, no hub."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, Any, TypedDict

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_core.tools import StructuredTool
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.prebuilt import ToolNode
from pydantic_ai import Agent, ModelRetry
from pydantic_ai import Tool as AgentTool
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

import oneact

# What the model of each agent asks for, one after the other.
SCRIPT: list[tuple[str, dict[str, Any]]] = [
    ("echo", {"text": "Hello"}),
    ("add", {"a": 1, "b": 2}),
    ("write", {"text": "Call Ada"}),
]
WANTED = [name for name, _ in SCRIPT]


class State(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]


def test_langgraph(client: oneact.Oneact) -> None:
    with client.session() as session:

        def tool_of(tool: oneact.Tool) -> StructuredTool:
            def call(**arguments: Any) -> tuple[str, oneact.CallResult]:
                result = session.call(tool.name, arguments).raise_for_fault()
                return result.text, result

            return StructuredTool.from_function(
                call,
                name=tool.name,
                description=tool.description,
                args_schema=tool.input_schema,
                response_format="content_and_artifact",
            )

        tools = [tool_of(tool) for tool in session.tools() if tool.name in WANTED]
        script = [
            AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": f"call_{number}", "type": "tool_call"}])
            for number, (name, arguments) in enumerate(SCRIPT)
        ]
        model = GenericFakeChatModel(messages=iter([*script, AIMessage("Done.")]))

        def think(state: State) -> State:
            return {"messages": [model.invoke(state["messages"])]}

        def more(state: State) -> str:
            last = state["messages"][-1]
            return "act" if isinstance(last, AIMessage) and last.tool_calls else END

        graph = StateGraph(State)
        graph.add_node("think", think)
        graph.add_node("act", ToolNode(tools))
        graph.add_edge(START, "think")
        graph.add_conditional_edges("think", more, ["act", END])
        graph.add_edge("act", "think")
        state = graph.compile().invoke({"messages": [HumanMessage("Go")]})

    assert state["messages"][-1].content == "Done."
    answers = [message for message in state["messages"] if isinstance(message, ToolMessage)]
    assert [message.name for message in answers] == WANTED
    assert [message.artifact.result for message in answers] == [{"text": "Hello"}, {"sum": 3}, None]
    assert Path(answers[2].artifact.files[0].path).read_text(encoding="utf-8") == "Call Ada"


def test_pydantic_ai(async_client: oneact.AsyncOneact) -> None:
    def scripted(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        assert {tool.name for tool in info.function_tools} == set(WANTED)
        step = sum(isinstance(message, ModelResponse) for message in messages)
        return ModelResponse([ToolCallPart(*SCRIPT[step]) if step < len(SCRIPT) else TextPart("Done.")])

    async def main() -> list[Any]:
        async with async_client.session() as session:

            def call_of(name: str) -> Callable[..., Awaitable[Any]]:
                async def call(**arguments: Any) -> Any:
                    result = await session.call(name, arguments)
                    if not result.ok:
                        raise ModelRetry(result.text)
                    return result.result or [file.uri for file in result.files]

                return call

            tools = [
                AgentTool.from_schema(call_of(tool.name), tool.name, tool.description, tool.input_schema)
                for tool in await session.tools()
                if tool.name in WANTED
            ]
            run = await Agent(FunctionModel(scripted), tools=tools).run("Go")
        assert run.output == "Done."
        parts = [part for message in run.all_messages() for part in message.parts]
        return [part.content for part in parts if isinstance(part, ToolReturnPart)]

    echoed, added, [written] = asyncio.run(main())
    assert (echoed, added) == ({"text": "Hello"}, {"sum": 3}) and written.endswith(".txt")
