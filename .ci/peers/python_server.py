"""A server of the official Python SDK that exercises every feature of a client, in both eras.

Usage: python_server.py FILE

The tool `wait` writes `cancelled` into FILE when its call is cancelled.
"""

import asyncio
import json
import pathlib
import sys

import mcp_types as types
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import (
    InMemorySubscriptionBus, ListenHandler, ResourceUpdated, ToolsListChanged,
)

BUS = InMemorySubscriptionBus()
FILE = pathlib.Path(sys.argv[1])
WATCHED = "test://watched"
FORM = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def text(words):
    return types.CallToolResult(content=[types.TextContent(type="text", text=words)])


async def list_tools(context, params):
    def tool(name):
        return types.Tool(name=name, input_schema={"type": "object"})

    if params is None or params.cursor is None:
        return types.ListToolsResult(tools=[tool("ask"), tool("tell")], next_cursor="2")
    return types.ListToolsResult(tools=[tool("wait")])


def is_modern(context):
    return context.protocol_version == "2026-07-28"


def answered(sampled, roots, filled):
    words = f"{sampled.content.text}|{roots.roots[0].uri}|{filled.action} {filled.content}"
    return text(words)


async def ask(context, params):
    question = types.TextContent(type="text", text="?")
    messages = [types.SamplingMessage(role="user", content=question)]
    if is_modern(context):
        return ask_alone(messages, params)
    session = context.session
    sampled = await session.create_message(messages, max_tokens=9)
    roots = await session.list_roots()
    return answered(sampled, roots, await session.elicit_form("Which city?", FORM))


def ask_alone(messages, params):
    """Requires input in two rounds. The state of the second round holds the answers of the first one."""
    given = params.input_responses or {}
    if params.request_state is None:
        sample = types.CreateMessageRequestParams(messages=messages, max_tokens=9)
        return types.InputRequiredResult(input_requests={
            "model": types.CreateMessageRequest(params=sample),
            "roots": types.ListRootsRequest(),
        }, request_state="begun")
    if params.request_state == "begun":
        state = {key: given[key].model_dump(mode="json", by_alias=True) for key in given}
        form = types.ElicitRequestFormParams(message="Which city?", requested_schema=FORM)
        return types.InputRequiredResult(
            input_requests={"city": types.ElicitRequest(params=form)},
            request_state=json.dumps(state),
        )
    state = json.loads(params.request_state)
    sampled = types.CreateMessageResult.model_validate(state["model"])
    roots = types.ListRootsResult.model_validate(state["roots"])
    return answered(sampled, roots, given["city"])


async def tell(context):
    session = context.session
    await session.send_log_message("info", "too quiet", logger="l")
    await session.send_log_message("warning", "loud enough", logger="l")
    await session.report_progress(1, 2, "half")
    if is_modern(context):
        await BUS.publish(ResourceUpdated(uri=WATCHED))
        await BUS.publish(ToolsListChanged())
    else:
        await session.send_resource_updated(WATCHED)
        await session.send_tool_list_changed()
    return text("told")


async def call_tool(context, params):
    if params.name == "ask":
        return await ask(context, params)
    if params.name == "tell":
        return await tell(context)
    try:
        await asyncio.sleep(600)
    except asyncio.CancelledError:
        FILE.write_text("cancelled")
        raise


async def list_resources(context, params):
    return types.ListResourcesResult(resources=[types.Resource(uri=WATCHED, name="watched")])


async def read_resource(context, params):
    contents = types.TextResourceContents(uri=params.uri, text="words")
    return types.ReadResourceResult(contents=[contents])


async def subscribe(context, params):
    await context.session.send_resource_updated(params.uri)
    return types.EmptyResult()


async def list_prompts(context, params):
    argument = types.PromptArgument(name="city", required=True)
    return types.ListPromptsResult(prompts=[types.Prompt(name="travel", arguments=[argument])])


async def get_prompt(context, params):
    content = types.TextContent(type="text", text=f"Off to {params.arguments['city']}")
    return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=content)])


async def complete(context, params):
    found = [city for city in ("paris", "park") if city.startswith(params.argument.value)]
    return types.CompleteResult(completion=types.Completion(values=found))


async def set_level(context, params):
    return types.EmptyResult()


async def main():
    server = Server(
        "python", version="1", on_list_tools=list_tools, on_call_tool=call_tool,
        on_list_resources=list_resources, on_read_resource=read_resource,
        on_subscribe_resource=subscribe, on_subscriptions_listen=ListenHandler(BUS),
        on_list_prompts=list_prompts, on_get_prompt=get_prompt, on_completion=complete,
        on_set_logging_level=set_level,
    )
    async with stdio_server() as (reader, writer):
        told = NotificationOptions(tools_changed=True)
        await server.run(reader, writer, server.create_initialization_options(told))


asyncio.run(main())
