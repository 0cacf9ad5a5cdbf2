"""Tests websocket_server with the official Python client (version 1), and with clients that violate the protocol.

Usage: python_websocket.py WEBSOCKET_SERVER
"""

import asyncio
import json
import os
import pathlib
import subprocess
import sys

import websockets
from mcp import ClientSession, McpError
from mcp.client.websocket import websocket_client

SERVER = sys.argv[1]
PATIENCE = 120
# More calls of 100 kB than fit into the buffers of the sockets and of both sides.
MANY = 300
MODERN = {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
          "io.modelcontextprotocol/clientCapabilities": {}}


def equal(left, right):
    if left != right:
        raise AssertionError(f"{left!r} is not {right!r}")


def call(id, tool, **arguments):
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": "tools/call",
                       "params": {"name": tool, "arguments": arguments, "_meta": MODERN}})


def processor_time():
    """The processor time of the server in seconds."""
    fields = pathlib.Path(f"/proc/{server.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def speaks(url):
    """Makes concurrent calls with the official client. The responses arrive in another order."""
    async with websocket_client(url) as streams, ClientSession(*streams) as session:
        opened = await session.initialize()
        equal(opened.serverInfo.name, "websocket_server")
        equal([tool.name for tool in (await session.list_tools()).tools], ["echo", "sleep"])
        calls = [session.call_tool("sleep", {"milliseconds": 200}), session.call_tool("echo", {"text": "é\n😀"}),
                 session.call_tool("echo", {"text": "x" * 500_000}), session.call_tool("echo", {"text": 1})]
        slept, said, long, wrong = await asyncio.gather(*calls)
        equal(slept.content[0].text, "slept 200 ms")
        equal(said.content[0].text, "é\n😀")
        equal(long.content[0].text, "x" * 500_000)
        equal(wrong.isError, True)
        try:
            await session.call_tool("no_such_tool")
        except McpError as error:
            equal(error.error.code, -32602)
        else:
            raise AssertionError("the call of an unknown tool has succeeded")


async def answer(socket, id):
    """Waits for the response to the request with this id. Returns it, and the ids of earlier messages."""
    others = []
    while True:
        message = json.loads(await asyncio.wait_for(socket.recv(), PATIENCE))
        if message.get("id") == id:
            return message, others
        others.append(message.get("id"))


async def misbehaves(url):
    """Invalid messages do not end a connection, a cancelled call gets no response, and foreign origins are refused."""
    async with websockets.connect(url, max_size=None) as socket:
        for message in ["", "{", "[]", "not a message", b"\x00\xff", "[" * 100_000, '"\\ud800"']:
            await socket.send(message)
        await socket.send(call(1, "echo", text="first").encode())
        equal((await answer(socket, 1))[0]["result"]["content"][0]["text"], "first")
        await socket.send(call(2, "sleep", milliseconds=2000))
        await socket.send(json.dumps({"jsonrpc": "2.0", "method": "notifications/cancelled",
                                      "params": {"requestId": 2}}))
        await socket.send(call(3, "sleep", milliseconds=3000))
        equal((await answer(socket, 3))[1], [])

    # A client that pauses reading gets all responses later, and delays no other client.
    async with websockets.connect(url, max_size=None, max_queue=1, ping_interval=None) as socket:
        async def sends():
            for id in range(MANY):
                await socket.send(call(id, "echo", text="x" * 100_000))

        sending = asyncio.create_task(sends())
        await asyncio.wait_for(speaks(url), PATIENCE)
        # The server has stopped reading, because the client does not read.
        equal(sending.done(), False)
        for id in range(MANY):
            equal((await answer(socket, id))[1], [])
        await sending

    # A client that closes the socket while a call is open delays no other client, and gets the reply.
    async with websockets.connect(url) as socket, websockets.connect(url) as other:
        await socket.send(call(1, "sleep", milliseconds=600_000))
        await socket.send(call(2, "echo", text="received"))
        await answer(socket, 2)
        before = processor_time()
        closing = asyncio.create_task(socket.close())
        await other.send(call(1, "echo", text="other"))
        await answer(other, 1)
        await asyncio.wait_for(closing, PATIENCE)
        equal(socket.protocol.close_rcvd is not None, True)
        # The server waits, and does not poll the closed socket again and again.
        equal(processor_time() - before < 0.5, True)

    # The server refuses the origins of other hosts, and accepts local origins.
    for origin, status in [("https://evil.example", 403), ("http://localhost.evil.example", 403), ("null", 403),
                           ("http://localhost:3000", None), ("http://127.0.0.1", None)]:
        try:
            async with websockets.connect(url, origin=origin):
                equal(status, None)
        except websockets.exceptions.InvalidStatus as refusal:
            equal((origin, refusal.response.status_code), (origin, status))

    # One client aborts its connection, and another one sends bytes that are not HTTP.
    socket = await websockets.connect(url)
    await socket.send(call(1, "sleep", milliseconds=10_000))
    socket.transport.abort()
    host, port = url.removeprefix("ws://").split(":")
    _, writer = await asyncio.open_connection(host, int(port))
    writer.write(b"\x16\x03\x01" + b"x" * 10_000)
    await writer.drain()
    writer.close()
    await speaks(url)


server = subprocess.Popen([SERVER], stdout=subprocess.PIPE, text=True)
try:
    url = f"ws://{server.stdout.readline().split()[-1]}"
    asyncio.run(speaks(url))
    print("Python client v1, WebSocket: ok", flush=True)
    asyncio.run(misbehaves(url))
    equal(server.poll(), None)
    print("hostile clients, WebSocket: ok")
finally:
    server.kill()
    server.wait()
