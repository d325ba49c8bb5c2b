"""A LangGraph agent whose tools are the actions of a catalog: each tool call is performed once.

A node that died is run again from its beginning, and so is one that was interrupted. The id of the tool call is the
name of the delivery, so that calls that were performed are answered from the ledger.
"""

from langchain_core.messages import ToolMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import interrupt


def agent(session, model, checkpointer=None):
    """`session` is `oneact.Oneact(ROOT).session(session_id=THREAD)`; `model` is a chat model."""
    offered = [
        {"name": tool.name, "description": tool.description, "parameters": tool.input_schema} for tool in session.tools()
    ]
    model = model.bind_tools([{"type": "function", "function": tool} for tool in offered])

    def think(state):
        return {"messages": [model.invoke(state["messages"])]}

    def act(state):
        answers = []
        for call in state["messages"][-1].tool_calls:
            result = session.call(call["name"], call["args"], idempotency_key=call["id"])
            if result.is_waiting:
                # After `oneact approve`, resume the thread: Command(resume=True).
                interrupt(result.waiting)
                result = session.call(call["name"], call["args"], idempotency_key=call["id"])
            answers.append(
                ToolMessage(
                    result.text,
                    name=call["name"],
                    tool_call_id=call["id"],
                    status="success" if result.ok else "error",
                    artifact=[file.uri for file in result.files],  # a checkpoint holds only plain values
                )
            )
        return {"messages": answers}

    def more(state):
        return "act" if state["messages"][-1].tool_calls else END

    graph = StateGraph(MessagesState)
    graph.add_node("think", think)
    graph.add_node("act", act)
    graph.add_edge(START, "think")
    graph.add_conditional_edges("think", more, ["act", END])
    graph.add_edge("act", "think")
    return graph.compile(checkpointer)
