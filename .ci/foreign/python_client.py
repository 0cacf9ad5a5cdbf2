"""Tests everything_http with the official Python client over HTTP, in one era.

Usage: python_client.py URL legacy|modern

fixture.json and the conformance suite define the features that the server must have.
"""

import asyncio
import json
import pathlib
import sys

import anyio
import httpx2
import mcp_types as types
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import PromptsListChanged, ToolsListChanged
from mcp.shared.exceptions import MCPError

URL, ERA = sys.argv[1:]
FIXTURE = json.loads(pathlib.Path(__file__).with_name("fixture.json").read_text())
MODES = {"legacy": ["legacy"], "modern": ["2026-07-28", "auto"]}
REVISIONS = {"legacy": "2025-11-25", "modern": "2026-07-28"}
LOG_LEVEL = "io.modelcontextprotocol/logLevel"


def equal(left, right):
    if left != right:
        raise AssertionError(f"{left!r} is not {right!r}")


def holds(condition, *details):
    if not condition:
        raise AssertionError(details)


async def failing(code, awaitable):
    try:
        await awaitable
    except MCPError as error:
        equal(error.error.code, code)
        return error.error
    raise AssertionError(f"no error, expected {code}")


async def until(condition, *details):
    with anyio.move_on_after(10):
        while not condition():
            await asyncio.sleep(0.01)
    holds(condition(), *details)


class Peer:
    """A client that answers the requests of the server, and records its messages and HTTP exchanges."""

    def __init__(self, mode, able=True):
        self.asked, self.logs, self.changes, self.exchanges = [], [], [], []
        self.http = httpx2.AsyncClient(timeout=httpx2.Timeout(30, read=60),
                                       event_hooks={"response": [self.responded]})
        answers = {"sampling_callback": self.sampled, "elicitation_callback": self.elicited,
                   "list_roots_callback": self.rooted} if able else {}
        self.client = Client(
            streamable_http_client(URL, http_client=self.http), mode=mode, read_timeout_seconds=60,
            logging_callback=self.logged, message_handler=self.received, **answers)

    async def __aenter__(self):
        await self.client.__aenter__()
        return self

    async def __aexit__(self, *error):
        await self.client.__aexit__(*error)
        if error == (None, None, None):
            await self.http.aclose()

    async def responded(self, response):
        self.exchanges.append((response.request.method, response.status_code,
                               dict(response.request.headers), dict(response.headers)))

    def seen(self, method):
        return [exchange for exchange in self.exchanges if exchange[0] == method]

    async def logged(self, params):
        self.logs.append(params.data)

    async def received(self, message):
        if message.__class__.__name__.endswith("ListChangedNotification"):
            self.changes.append(message.method)

    async def sampled(self, context, params):
        question = params.messages[0].content.text
        self.asked.append(f"sample: {question}")
        content = types.TextContent(type="text", text=FIXTURE["samples"][question])
        return types.CreateMessageResult(role="assistant", content=content, model="m")

    async def elicited(self, context, params):
        self.asked.append(f"form: {params.message}")
        properties = params.requested_schema["properties"]
        content = {name: filled(name, schema) for name, schema in properties.items()}
        return types.ElicitResult(action="accept", content=content)

    async def rooted(self, context):
        self.asked.append("roots")
        return types.ListRootsResult(roots=[types.Root(uri="file:///somewhere")])

    async def call(self, tool, arguments=None, **options):
        result = await self.client.call_tool(tool, arguments, **options)
        return (result.is_error or False, [block.text for block in result.content])


def filled(name, schema):
    """Returns a value for a field of a form: the one in the fixture, the default, or the first choice."""
    if name in FIXTURE["fields"]:
        return FIXTURE["fields"][name]
    if "default" in schema:
        return schema["default"]
    choices = schema.get("enum") or [one["const"] for one in schema.get("oneOf", schema.get("anyOf", []))]
    if choices:
        return choices[0]
    if schema.get("type") == "array":
        return [filled("", schema["items"])]
    return {"boolean": True, "integer": 1, "number": 1.5}.get(schema["type"], "e@x.org")


async def lists(client):
    equal(set(FIXTURE["tools"]) - {tool.name for tool in (await client.list_tools()).tools}, set())
    uris = {str(resource.uri) for resource in (await client.list_resources()).resources}
    equal(set(FIXTURE["resources"]) - uris, set())
    templates = (await client.list_resource_templates()).resource_templates
    equal([template.uri_template for template in templates], ["test://template/{id}/data"])
    names = {prompt.name for prompt in (await client.list_prompts()).prompts}
    equal(set(FIXTURE["prompts"]) - names, set())


async def calls(peer):
    equal(await peer.call("test_simple_text"), (False, ["This is a simple text response for testing."]))
    failed, (said,) = await peer.call("test_error_handling")
    holds(failed and "This tool intentionally returns an error for testing" in said, said)
    result = await peer.client.call_tool("test_multiple_content_types")
    equal([block.type for block in result.content], ["text", "image", "resource"])
    reports = []

    async def progressed(progress, total, message):
        reports.append((progress, total))

    await peer.client.call_tool("test_tool_with_progress", progress_callback=progressed)
    equal(reports, [(0, 100), (50, 100), (100, 100)])
    for region in FIXTURE["regions"]:
        failed, said = await peer.call("test_x_mcp_header", {"region": region})
        holds(not failed, region, said)
    async with anyio.create_task_group() as group:
        for _ in range(20):
            group.start_soon(peer.call, "test_simple_text")


async def reads(client):
    contents = (await client.read_resource("test://static-text")).contents
    equal([block.text for block in contents], ["This is the content of the static text resource."])
    contents = (await client.read_resource("test://template/123/data")).contents
    equal(json.loads(contents[0].text), {"id": "123", "templateTest": True, "data": "Data for ID: 123"})
    missing = -32602 if ERA == "modern" else -32002
    await failing(missing, client.read_resource("test://nowhere"))
    prompt = await client.get_prompt("test_prompt_with_arguments", {"arg1": "a", "arg2": "b"})
    equal(prompt.messages[0].content.text, "Prompt with arguments: arg1='a', arg2='b'")
    reference = types.PromptReference(type="ref/prompt", name="test_prompt_with_arguments")
    completed = await client.complete(reference, {"name": "arg1", "value": "par"})
    holds(isinstance(completed.completion.values, list), completed)


async def asks(peer):
    """Checks that the server sends each input request exactly once, and the results of the answers."""
    for tool, arguments, questions, expected in FIXTURE["asks"][ERA]:
        peer.asked.clear()
        failed, (said,) = await peer.call(tool, arguments)
        holds(not failed and expected in said.replace(": ", ":") or expected in said, tool, said)
        asked = sorted(peer.asked)
        equal(len(asked), len(questions))
        for question, begins in zip(asked, questions):
            holds(question.startswith(begins), tool, asked)


async def legacy():
    async with Peer("legacy") as other, Peer("legacy") as peer:
        equal(peer.client.protocol_version, REVISIONS[ERA])
        await lists(peer.client)
        await calls(peer)
        await reads(peer.client)
        await asks(peer)
        await peer.client.set_logging_level("info")
        peer.logs.clear()
        await peer.client.call_tool("test_tool_with_logging")
        equal([str(log) for log in peer.logs], FIXTURE["logs"])
        equal(await peer.client.subscribe_resource("test://watched-resource"), types.EmptyResult())
        equal(await peer.client.unsubscribe_resource("test://watched-resource"), types.EmptyResult())
        await peer.client.send_ping()
        # The server closes the stream of the call. The response arrives on another stream.
        failed, _ = await peer.call("test_reconnection")
        holds(not failed)
        resumed = [request for _, status, request, _ in peer.seen("GET")
                   if status == 200 and "last-event-id" in request]
        equal(len(resumed), 1)
        # The GET stream is the only open stream of the other session.
        await until(lambda: other.seen("GET"))
        equal([(status, response["content-type"].split(";")[0])
               for _, status, _, response in other.seen("GET")], [(200, "text/event-stream")])
        other.changes.clear()
        await peer.call("test_trigger_tool_change")
        await until(lambda: other.changes == ["notifications/tools/list_changed"], other.changes)
    for one in (peer, other):
        (_, status, request, _), = one.seen("DELETE")
        holds(200 <= status < 300, "DELETE", status)
    # A request in the ended session fails.
    request["content-type"], request["accept"] = "application/json", "application/json, text/event-stream"
    request.pop("content-length", None)
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    async with httpx2.AsyncClient() as http:
        equal((await http.post(URL, json=body, headers=request)).status_code, 404)


async def modern(mode):
    async with Peer(mode) as peer:
        equal(peer.client.protocol_version, REVISIONS[ERA])
        await lists(peer.client)
        await calls(peer)
        await reads(peer.client)
        await asks(peer)
        prompt = await peer.client.get_prompt("test_input_required_result_prompt")
        holds("a test" in prompt.messages[0].content.text, prompt)
        await guards(peer.client)
        # A request without a log level gets no log messages.
        peer.logs.clear()
        await peer.client.call_tool("test_logging_tool", meta={LOG_LEVEL: "debug"})
        holds(peer.logs, "no log message")
        peer.logs.clear()
        await peer.client.call_tool("test_logging_tool")
        equal(peer.logs, [])
        await listens(peer)
        equal([peer.seen("GET"), peer.seen("DELETE")], [[], []])
        for _, _, _, response in peer.exchanges:
            holds("mcp-session-id" not in response, response)
    async with Peer(mode, able=False) as poor:
        error = await failing(-32021, poor.client.call_tool("test_missing_capability"))
        equal(error.data, {"requiredCapabilities": {"sampling": {}}})


async def guards(client):
    """Checks that the server accepts a `requestState` only as it has issued it."""
    async def call(**options):
        return await client.session.call_tool(
            "test_input_required_result_tampered_state", allow_input_required=True, **options)

    asked = await call()
    answers = {"confirm": types.ElicitResult(action="accept", content={"ok": True})}
    state = asked.request_state
    for tampered in ("x" + state, state[::-1], ""):
        await failing(-32602, call(input_responses=answers, request_state=tampered))
    done = await call(input_responses=answers, request_state=state)
    equal(done.is_error or False, False)


async def listens(peer):
    tools = peer.client.listen(tools_list_changed=True)
    prompts = peer.client.listen(prompts_list_changed=True)
    async with tools as tools, prompts as prompts:
        equal(tools.honored, types.SubscriptionFilter(tools_list_changed=True))
        equal(prompts.honored, types.SubscriptionFilter(prompts_list_changed=True))
        await peer.call("test_trigger_tool_change")
        await peer.call("test_trigger_prompt_change")
        with anyio.fail_after(30):
            equal(await anext(tools), ToolsListChanged())
            equal(await anext(prompts), PromptsListChanged())
    equal(await peer.call("test_simple_text"), (False, ["This is a simple text response for testing."]))


async def main():
    for mode in MODES[ERA]:
        with anyio.fail_after(120):
            await (legacy() if ERA == "legacy" else modern(mode))
        print(f"Python client, {ERA}, mode {mode}: ok")


asyncio.run(main())
