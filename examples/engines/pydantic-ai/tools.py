"""The actions of a catalog as tools of Pydantic AI: each tool call is performed once."""

from pydantic_ai import Tool


async def tools(session):
    """`session` is `oneact.AsyncOneact(ROOT).session(session_id=CONVERSATION)`."""

    def tool_of(tool):
        async def call(context, **arguments):
            # An exception would end the run of the agent, and so does a second ModelRetry. The text of a failure says
            # what is wrong.
            return (await session.call(tool.name, arguments, idempotency_key=context.tool_call_id)).text

        return Tool.from_schema(call, tool.name, tool.description, tool.input_schema, takes_ctx=True)

    return [tool_of(tool) for tool in await session.tools()]
