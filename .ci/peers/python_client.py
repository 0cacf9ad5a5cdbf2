"""The official Python client against everything_server, at one revision.

Usage: python_client.py EVERYTHING_SERVER REVISION

Every assertion is exact. The exit code of the server is checked: it has to end by itself when its
input does.
"""

import asyncio
import pathlib
import sys
import tempfile

import anyio
import mcp_types as types
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.shared.exceptions import MCPError

TOOLS = [
    "echo", "add_numbers", "slow", "test_trigger_resource_update", "test_simple_text",
    "test_image_content", "test_audio_content", "test_embedded_resource",
    "test_multiple_content_types", "test_tool_with_logging", "test_tool_with_progress",
    "test_error_handling", "test_sampling", "test_elicitation",
    "test_elicitation_sep1034_defaults", "test_elicitation_sep1330_enums",
    "json_schema_2020_12_tool", "test_reconnection", "list_roots", "announce_changes",
    "visit_page", "needs_visit",
]
PROMPTS = [
    "test_simple_prompt", "test_prompt_with_arguments", "test_prompt_with_embedded_resource",
    "test_prompt_with_image",
]


def equal(left, right):
    if left != right:
        raise AssertionError(f"{left!r} is not {right!r}")


async def failing(code, awaitable):
    try:
        await awaitable
    except MCPError as error:
        equal(error.error.code, code)
    else:
        raise AssertionError(f"no error, expected {code}")


async def sampled(context, params):
    equal(params.messages[0].content.text, "What is it?")
    equal(params.max_tokens, 100)
    content = types.TextContent(type="text", text="It is a test.")
    return types.CreateMessageResult(role="assistant", content=content, model="m")


async def elicited(context, params):
    equal(params.message, "Who?")
    return types.ElicitResult(action="accept", content={"username": "u", "email": "e@x.org"})


async def roots(context):
    return types.ListRootsResult(roots=[types.Root(uri="file:///somewhere")])


async def run(server, revision, status):
    logs, updates, changes = [], [], []

    async def logged(params):
        logs.append((params.level, params.data))

    async def received(message):
        if isinstance(message, types.ResourceUpdatedNotification):
            updates.append(str(message.params.uri))
        elif message.__class__.__name__.endswith("ListChangedNotification"):
            changes.append(message.method)

    command = f"'{server}' --revision {revision}; echo $? > '{status}'"
    client = Client(
        StdioServerParameters(command="sh", args=["-c", command]),
        mode="legacy",
        sampling_callback=sampled,
        elicitation_callback=elicited,
        list_roots_callback=roots,
        logging_callback=logged,
        message_handler=received,
        read_timeout_seconds=60,
    )
    async with client:
        equal(client.protocol_version, revision)
        equal(client.server_info.name, "everything")
        equal(client.instructions, "Something of everything, to try clients with.")
        await lists(client)
        await calls(client, revision)
        await reads(client)
        await client.set_logging_level("info")
        await client.call_tool("test_tool_with_logging")
        equal(logs, [
            ("info", "Tool execution started"),
            ("info", "Tool processing data"),
            ("info", "Tool execution completed"),
        ])
        await client.set_logging_level("error")
        await client.call_tool("test_tool_with_logging")
        equal(len(logs), 3)
        await client.subscribe_resource("test://watched-resource")
        await client.call_tool("test_trigger_resource_update")
        await client.unsubscribe_resource("test://watched-resource")
        await client.call_tool("test_trigger_resource_update")
        equal(updates, ["test://watched-resource"])
        await client.call_tool("announce_changes")
        equal(changes, [f"notifications/{name}/list_changed"
                        for name in ("tools", "resources", "prompts")])
        await client.send_ping()
        await cancels(client)
    # It ended by itself: one that had been killed would have written another code, or none.
    equal(status.read_text().strip(), "0")


async def lists(client):
    equal([tool.name for tool in (await client.list_tools()).tools], TOOLS)
    equal([prompt.name for prompt in (await client.list_prompts()).prompts], PROMPTS)
    resources = [str(resource.uri) for resource in (await client.list_resources()).resources]
    equal(resources, ["test://static-text", "test://static-binary", "test://watched-resource"])
    templates = (await client.list_resource_templates()).resource_templates
    equal([template.uri_template for template in templates], ["test://template/{id}/data"])
    await failing(-32602, client.list_tools(cursor="no such page"))


async def calls(client, revision):
    async def text(name, arguments=None, **options):
        result = await client.call_tool(name, arguments, **options)
        return (result.is_error or False, [block.text for block in result.content])

    equal(await text("echo", {"text": "é\n😀"}), (False, ["é\n😀"]))
    equal(await text("add_numbers", {"a": 2, "b": 3.5}), (False, ["5.5"]))
    failure = "This tool intentionally returns an error for testing"
    equal(await text("test_error_handling"), (True, [failure]))
    await failing(-32602, client.call_tool("no_such_tool"))
    kinds = [block.type for block in (await client.call_tool("test_multiple_content_types")).content]
    equal(kinds, ["text", "image", "resource"])
    answer = await text("test_sampling", {"prompt": "What is it?"})
    equal(answer, (False, ["LLM response: It is a test."]))
    answer = await text("test_elicitation", {"message": "Who?"})
    if revision < "2025-06-18":
        equal(answer, (True, ["The client does not support elicitation"]))
    else:
        given = 'User response: action=accept, content={"username":"u","email":"e@x.org"}'
        equal(answer, (False, [given]))
    reports = []

    async def progressed(progress, total, message):
        reports.append((progress, total))

    await client.call_tool("test_tool_with_progress", progress_callback=progressed)
    equal(reports, [(0, 100), (50, 100), (100, 100)])
    # A slow call does not delay others: they are all done before it is.
    done = []

    async def slow():
        equal(await text("slow", {"ms": 5000}), (False, ["slept 5000 ms"]))
        done.append("slow")

    async with anyio.create_task_group() as group:
        group.start_soon(slow)
        for number in range(50):
            equal(await text("echo", {"text": str(number)}), (False, [str(number)]))
        done.append("echo")
    equal(done, ["echo", "slow"])
    equal(await text("list_roots"), (False, ["file:///somewhere"]))


async def reads(client):
    contents = (await client.read_resource("test://template/123/data")).contents
    equal(str(contents[0].uri), "test://template/123/data")
    equal(contents[0].mime_type, "application/json")
    equal(contents[0].text, '{"id":"123","templateTest":true,"data":"Data for ID: 123"}')
    blob = (await client.read_resource("test://static-binary")).contents[0]
    equal(blob.mime_type, "image/png")
    await failing(-32002, client.read_resource("test://nowhere"))
    prompt = await client.get_prompt("test_prompt_with_arguments", {"arg1": "a", "arg2": "b"})
    equal(prompt.messages[0].content.text, "Prompt with arguments: arg1='a', arg2='b'")
    await failing(-32602, client.get_prompt("test_prompt_with_arguments", {"arg1": "a"}))
    await failing(-32602, client.get_prompt("no_such_prompt"))
    reference = types.PromptReference(type="ref/prompt", name="test_prompt_with_arguments")
    completed = await client.complete(reference, {"name": "arg1", "value": "par"})
    equal(completed.completion.values, ["paris", "park", "party"])
    equal(completed.completion.total, 150)


async def cancels(client):
    with anyio.move_on_after(0.3) as scope:
        await client.call_tool("slow", {"ms": 60000})
    equal(scope.cancelled_caught, True)
    await client.send_ping()


def main():
    server, revision = sys.argv[1:]
    with tempfile.TemporaryDirectory() as directory:
        asyncio.run(run(server, revision, pathlib.Path(directory) / "status"))
    print(f"Python client, {revision}: ok")


main()
