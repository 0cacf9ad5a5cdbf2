"""Tests everything_server with the official Python client, in one of its modes.

Usage: python_client.py EVERYTHING_SERVER legacy|modern|automatic REVISION [ARGUMENT...]

REVISION is the revision that client and server have to negotiate; the arguments are for the server.
Every assertion is exact. When its input ends, the server has to exit by itself with code 0.
"""

import asyncio
import pathlib
import sys
import tempfile

import anyio
import mcp_types as types
from mcp import Client
from mcp.client.stdio import StdioServerParameters

import python_stateless
from python_checks import NEEDS, SINCE, TOOLS, Answers, equal, failing, refusal, until, without_key

PROMPTS = [
    "test_simple_prompt", "test_prompt_with_arguments", "test_prompt_with_embedded_resource",
    "test_prompt_with_image", "test_input_required_result_prompt",
]
MODES = {"legacy": "legacy", "modern": "2026-07-28", "automatic": "auto"}


async def run(command, mode, revision, status):
    logs, updates, changes = [], [], []

    async def logged(params):
        logs.append((params.level, params.data))

    async def received(message):
        if isinstance(message, types.ResourceUpdatedNotification):
            updates.append(str(message.params.uri))
        elif message.__class__.__name__.endswith("ListChangedNotification"):
            changes.append(message.method)

    answers = Answers()
    command = f"{command}; echo $? > '{status}'"
    client = Client(
        StdioServerParameters(command="sh", args=["-c", command]),
        mode=MODES[mode],
        sampling_callback=answers.sampled,
        elicitation_callback=answers.elicited,
        list_roots_callback=answers.roots,
        logging_callback=logged,
        message_handler=received,
        read_timeout_seconds=60,
    )
    async with client:
        equal(client.protocol_version, revision)
        if mode == "modern":
            # In this mode the client sends no `initialize`.
            equal(client.session.initialize_result, None)
        else:
            equal(client.server_info.name, "everything")
            equal(client.instructions, "Something of everything, to try clients with.")
        await lists(client)
        await calls(client, revision)
        await needs(client, answers, revision)
        await reads(client, revision)
        if revision == "2026-07-28":
            await python_stateless.hears(client, logs, updates, changes)
            await python_stateless.guards(client)
        else:
            await hears(client, logs, updates, changes)
        await cancels(client)
    # The server has ended by itself: a killed server would leave another code, or none.
    equal(status.read_text().strip(), "0")


async def lists(client):
    equal([tool.name for tool in (await client.list_tools()).tools], TOOLS)
    equal([prompt.name for prompt in (await client.list_prompts()).prompts], PROMPTS)
    resources = [str(resource.uri) for resource in (await client.list_resources()).resources]
    equal(resources, ["test://static-text", "test://static-binary", "test://watched-resource"])
    templates = (await client.list_resource_templates()).resource_templates
    equal([template.uri_template for template in templates], ["test://template/{id}/data"])
    await failing(-32602, client.list_tools(cursor="no such page"))


async def text(client, name, arguments=None, **options):
    result = await client.call_tool(name, arguments, **options)
    return (result.is_error or False, [block.text for block in result.content])


async def calls(client, revision):
    equal(await text(client, "echo", {"text": "é\n😀"}), (False, ["é\n😀"]))
    equal(await text(client, "add_numbers", {"a": 2, "b": 3.5}), (False, ["5.5"]))
    failure = "This tool intentionally returns an error for testing"
    equal(await text(client, "test_error_handling"), (True, [failure]))
    await failing(-32602, client.call_tool("no_such_tool"))
    result = await client.call_tool("test_multiple_content_types")
    equal([block.type for block in result.content], ["text", "image", "resource"])
    reports = []

    async def progressed(progress, total, message):
        reports.append((progress, total))

    await client.call_tool("test_tool_with_progress", progress_callback=progressed)
    equal(reports, [(0, 100), (50, 100), (100, 100)])
    equal(await text(client, "slow", {"ms": 200}), (False, ["slept 200 ms"]))


async def needs(client, answers, revision):
    """Calls the tools that need client input. The server must send each input request exactly once."""
    for name, arguments, questions, said in NEEDS:
        answers.asked.clear()
        if any(revision < SINCE[kind] for kind, _ in questions):
            refused = refusal(name, revision)
            failed, told = await text(client, name, arguments)
            equal((name, failed, [without_key(one) for one in told]), (name, True, [refused]))
            equal(answers.asked, [])
            continue
        equal((name, *await text(client, name, arguments)), (name, False, [said]))
        equal(sorted(answers.asked), sorted(questions))
    if "2025-06-18" <= revision:
        prompt = await client.get_prompt("test_input_required_result_prompt")
        equal(prompt.messages[0].content.text, "The context is: a test")


async def reads(client, revision):
    contents = (await client.read_resource("test://template/123/data")).contents
    equal(str(contents[0].uri), "test://template/123/data")
    equal(contents[0].mime_type, "application/json")
    equal(contents[0].text, '{"id":"123","templateTest":true,"data":"Data for ID: 123"}')
    blob = (await client.read_resource("test://static-binary")).contents[0]
    equal(blob.mime_type, "image/png")
    missing = -32602 if revision == "2026-07-28" else -32002
    await failing(missing, client.read_resource("test://nowhere"))
    prompt = await client.get_prompt("test_prompt_with_arguments", {"arg1": "a", "arg2": "b"})
    equal(prompt.messages[0].content.text, "Prompt with arguments: arg1='a', arg2='b'")
    await failing(-32602, client.get_prompt("test_prompt_with_arguments", {"arg1": "a"}))
    await failing(-32602, client.get_prompt("no_such_prompt"))
    reference = types.PromptReference(type="ref/prompt", name="test_prompt_with_arguments")
    completed = await client.complete(reference, {"name": "arg1", "value": "par"})
    equal(completed.completion.values, ["paris", "park", "party"])
    equal(completed.completion.total, 150)


async def hears(client, logs, updates, changes):
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
    # A gateway announces a list when it has read it again, which may be after the result.
    await until(lambda: len(changes) == 3)
    equal(sorted(changes), [f"notifications/{name}/list_changed" for name in ("prompts", "resources", "tools")])
    await client.send_ping()


async def refuses(command, mode, revision):
    """Checks that a client without capabilities gets errors that name the missing capability."""
    parameters = StdioServerParameters(command="sh", args=["-c", command])
    async with Client(parameters, mode=MODES[mode], read_timeout_seconds=60) as client:
        for tool, arguments, missing in (
            ("test_elicitation", {"message": "Who?"}, "elicitation"),
            ("test_sampling", {"prompt": "What is it?"}, "sampling"),
            ("list_roots", None, "roots"),
            ("test_missing_capability", None, "sampling"),
        ):
            if revision == "2026-07-28":
                error = await failing(-32021, client.call_tool(tool, arguments))
                equal(error.data, {"requiredCapabilities": {missing: {}}})
            elif missing != "elicitation" or SINCE["form"] <= revision:
                said = f"Missing required client capability: {missing}"
                equal((tool, *await text(client, tool, arguments)), (tool, True, [said]))
        nothing = await text(client, "test_input_required_result_capabilities")
        equal(nothing, (False, ["The client can give nothing"]))


async def cancels(client):
    """Checks that a slow call delays no other call, and ends when it is cancelled."""
    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as group:
            group.start_soon(client.call_tool, "slow", {"ms": 60000})
            for number in range(50):
                equal(await text(client, "echo", {"text": str(number)}), (False, [str(number)]))
            scope.cancel()
    equal(scope.cancelled_caught, True)
    equal(await text(client, "echo", {"text": "on"}), (False, ["on"]))


def main():
    server, mode, revision, *arguments = sys.argv[1:]
    command = " ".join([f"'{server}'", *arguments])
    with tempfile.TemporaryDirectory() as directory:
        asyncio.run(run(command, mode, revision, pathlib.Path(directory) / "status"))
        asyncio.run(refuses(command, mode, revision))
    print(f"Python client, {mode}, {' '.join([revision, *arguments])}: ok")


main()
