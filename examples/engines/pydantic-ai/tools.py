"""The actions of a catalog as tools of Pydantic AI: each tool call is performed once."""

from pydantic_ai import ModelRetry, Tool


async def tools(session):
    """`session` is `oneact.AsyncOneact(ROOT).session(session_id=CONVERSATION)`."""

    def tool_of(tool):
        async def call(context, **arguments):
            result = await session.call(tool.name, arguments, idempotency_key=context.tool_call_id)
            if result.fault == "params_invalid":
                raise ModelRetry(result.text)  # nothing was performed, and the model can correct it
            return result.text

        return Tool.from_schema(call, tool.name, tool.description, tool.input_schema, takes_ctx=True)

    return [tool_of(tool) for tool in await session.tools()]
