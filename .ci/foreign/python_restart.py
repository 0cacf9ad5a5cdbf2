"""Tests a server that restarts twice while the official Python client keeps its session.

Usage: python_restart.py URL

The script prints `restart` to request another process of the server, and then waits for a line of input.
"""

import asyncio
import sys

import anyio
import httpx2
import mcp_types as types
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

(URL,) = sys.argv[1:]
SIMPLE = (False, ["This is a simple text response for testing."])


def equal(left, right):
    if left != right:
        raise AssertionError(f"{left!r} is not {right!r}")


async def until(condition, what):
    with anyio.move_on_after(30):
        while not condition():
            await asyncio.sleep(0.01)
    if not condition():
        raise AssertionError(what)


async def restart():
    print("restart", flush=True)
    equal(await asyncio.to_thread(sys.stdin.readline), "restarted\n")


class Peer:
    def __init__(self):
        self.logs, self.updates, self.questions, self.sent, self.streams = [], [], [], [], []
        self.http = httpx2.AsyncClient(timeout=httpx2.Timeout(30, read=60),
                                       event_hooks={"request": [self.requested], "response": [self.responded]})
        self.client = Client(
            streamable_http_client(URL, http_client=self.http), mode="legacy", read_timeout_seconds=60,
            logging_callback=self.logged, message_handler=self.received, sampling_callback=self.sampled)

    async def requested(self, request):
        self.sent.append(request)

    async def responded(self, response):
        if response.request.method == "GET" and response.status_code == 200:
            self.streams.append(response.request.headers.get("last-event-id"))

    async def logged(self, params):
        self.logs.append(params.data)

    async def received(self, message):
        if isinstance(message, types.ResourceUpdatedNotification):
            self.updates.append(str(message.params.uri))

    async def sampled(self, context, params):
        self.questions.append(params.messages[0].content.text)
        return types.CreateMessageResult(
            role="assistant", model="m", content=types.TextContent(type="text", text="an answer"))

    async def call(self, tool, arguments=None):
        result = await self.client.call_tool(tool, arguments)
        return (result.is_error or False, [block.text for block in result.content])


async def run():
    peer = Peer()
    async with peer.client as client:
        equal(client.protocol_version, "2025-11-25")
        await client.set_logging_level("error")
        equal(await client.subscribe_resource("test://watched-resource"), types.EmptyResult())
        await until(lambda: peer.streams, "the client has opened no event stream")
        async with anyio.create_task_group() as group:
            results = []

            async def reconnection():
                results.append(await peer.call("test_reconnection"))

            group.start_soon(reconnection)
            posts = len(peer.sent)
            await until(lambda: len(peer.sent) > posts, "the client has not sent the call")
            await asyncio.sleep(0.05)
            # The server has closed the stream, so the client reconnects for the response. Replace the server meanwhile.
            await restart()
        equal((results[0][0], len(results)), (False, 1))
        await served(peer)
        await restart()
        await served(peer)
    sessions = {request.headers.get("mcp-session-id") for request in peer.sent[1:]}
    equal((len(sessions), None in sessions), (1, False))
    opened = [request for request in peer.sent if "mcp-session-id" not in request.headers]
    equal(len(opened), 1)
    await peer.http.aclose()
    print("ok", flush=True)


async def served(peer):
    """Checks that the server continues a session that an earlier process has opened."""
    equal(await peer.call("test_simple_text"), SIMPLE)
    peer.questions.clear()
    failed, _ = await peer.call("test_sampling", {"prompt": "a question"})
    equal((failed, peer.questions), (False, ["a question"]))
    # The level of the session is still "error", and the messages of this tool are of the level "info".
    await peer.call("test_tool_with_logging")
    equal(peer.logs, [])
    # The client has opened its event stream again, and is still subscribed.
    peer.updates.clear()
    await peer.call("test_trigger_resource_update")
    await until(lambda: peer.updates, "the client got no notification")
    equal(peer.updates, ["test://watched-resource"])


async def main():
    with anyio.fail_after(120):
        await run()


asyncio.run(main())
