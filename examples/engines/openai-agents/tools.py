"""The actions of a catalog as tools of the OpenAI Agents SDK: each tool call is performed once."""

import json

from agents import FunctionTool


async def tools(session):
    """`session` is `oneact.AsyncOneact(ROOT).session(session_id=CONVERSATION)`."""

    def tool_of(tool):
        async def call(context, arguments):
            # An exception would end the run of the agent. The text of a failure says whether a retry may help.
            key = context.tool_call_id
            return (await session.call(tool.name, json.loads(arguments or "{}"), idempotency_key=key)).text

        return FunctionTool(tool.name, tool.description, tool.input_schema, call, strict_json_schema=False)

    return [tool_of(tool) for tool in await session.tools()]
