"""Tests the server in the event loop of a desktop program.

Usage: desktop.py SERVER

One client is the official Python client, the other one violates the protocol.
"""

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading

from mcp import Client
from mcp.client.stdio import StdioServerParameters

from python_checks import equal, failing

(SERVER,) = sys.argv[1:]
PATIENCE = 120
MODERN = {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
          "io.modelcontextprotocol/clientCapabilities": {}}


async def speaks(mode):
    """Calls each tool with the official client, and cancels calls. The user interface must keep moving."""
    reports = []

    async def progressed(progress, total, message):
        reports.append((progress, total))

    async with Client(StdioServerParameters(command=SERVER), mode=mode, read_timeout_seconds=PATIENCE) as client:
        async def status():
            return (await client.call_tool("status")).structured_content

        if mode == "legacy":
            equal(client.server_info.name, "desktop_server")
        equal([tool.name for tool in (await client.list_tools()).tools], ["status", "count", "compute"])
        counting = {"to": 3, "milliseconds": 20}
        result = await client.call_tool("count", counting, progress_callback=progressed)
        equal(result.content[0].text, "counted")
        equal(reports, [(1, 3), (2, 3)])
        # Make only computations, each of which takes longer than a frame.
        before, computations = (await status())["frames"], 0
        while (await status())["frames"] < before + 20:
            result = await client.call_tool("compute", {"milliseconds": 50})
            equal(result.content[0].text.endswith(" steps"), True)
            computations += 1
        equal((await client.call_tool("compute", {"milliseconds": "long"})).is_error, True)
        await failing(-32602, client.call_tool("no_such_tool"))
        for tool, arguments in [("compute", {"milliseconds": 10**9}), ("count", {"to": 1000, "milliseconds": 1000})] * 3:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(client.call_tool(tool, arguments), 0.1)
        while (await status())["openCalls"] != 0:
            await asyncio.sleep(0.01)
        return computations


def request(id, method, **params):
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params | {"_meta": MODERN}}


def lines(*messages):
    return b"".join(json.dumps(message).encode() + b"\n" for message in messages)


def ends():
    """Checks that the program ends when its input ends, and that no response is lost."""
    compute = request("slow", "tools/call", name="compute", arguments={"milliseconds": 100})
    input = lines(compute, request(1, "server/discover"))
    ended = subprocess.run([SERVER], input=input, capture_output=True, timeout=PATIENCE)
    answers = {message["id"]: message for message in map(json.loads, ended.stdout.splitlines())}
    equal((ended.returncode, ended.stderr, sorted(answers, key=str)), (0, b"", [1, "slow"]))
    equal(answers["slow"]["result"]["content"][0]["text"].endswith(" steps"), True)


def deaf():
    """Checks that the program ends after its input although the client reads no output."""
    server = subprocess.Popen([SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    server.stdin.write(lines(*[request(id, "server/discover") for id in range(400)]))
    server.stdin.close()
    equal(server.wait(PATIENCE), 0)
    server.stdout.close()


def restores():
    """Checks that the program restores the mode of its streams, which it shares with other processes."""
    for number in (None, signal.SIGINT, signal.SIGTERM):
        ours, theirs = socket.socketpair()
        server = subprocess.Popen([SERVER], stdin=theirs, stdout=theirs, stderr=theirs)
        ours.sendall(lines(request(1, "server/discover")))
        equal(ours.recv(1)[:1], b"{")
        equal(os.get_blocking(theirs.fileno()), False)
        if number is None:
            ours.shutdown(socket.SHUT_WR)
        else:
            server.send_signal(number)
        equal((server.wait(PATIENCE), os.get_blocking(theirs.fileno())), (0, True))
        ours.close()
        theirs.close()


def log_is_full():
    """Checks that the program survives responses that do not fit, while standard error takes no line about them.

    Standard error is the same socket as the input, so it does not block either.
    """
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        while True:
            theirs.send(bytes(1000))
    theirs.setblocking(True)
    server = subprocess.Popen([SERVER], stdin=theirs, stdout=subprocess.PIPE, stderr=theirs)
    theirs.close()
    # Their progress fills the outbox before they end.
    meta = {"_meta": MODERN | {"progressToken": "x" * 250}}
    params = {"name": "count", "arguments": {"to": 150, "milliseconds": 1}}
    calls = [request(id, "tools/call") | {"params": params | meta} for id in range(1000)]
    ours.sendall(lines(*calls))
    with contextlib.suppress(subprocess.TimeoutExpired):
        server.wait(10)
    ours.shutdown(socket.SHUT_WR)
    while server.stdout.read(1 << 20):
        pass
    equal(server.wait(PATIENCE), 0)
    ours.close()


def misbehaves():
    """Checks that the session survives garbage in the input, and a client that reads late."""
    server = subprocess.Popen([SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    garbage = [b"x" * 10**6, b"\x00\xff\xfe", b"}{", b"[" * 100_000, b"[]", b"null", b"1e999999",
               lines(*[request("batch", "server/discover")] * 2)[:-1]]
    many = 50_000

    def write():
        for id, line in enumerate(garbage):
            server.stdin.write(line + b"\n" + lines(request(id, "server/discover")))
        for id in range(len(garbage), many):
            server.stdin.write(lines(request(id, "server/discover")))
        server.stdin.flush()

    writer = threading.Thread(target=write)
    writer.start()
    # The server has to stop reading while the client does not read.
    writer.join(1)
    equal(writer.is_alive(), True)
    expected = 0
    for line in server.stdout:
        message = json.loads(line)
        if message.get("id") == expected and "result" in message:
            expected += 1
        if expected == many:
            break
    writer.join()
    # The server has to end when the client closes its pipes without reading the last response.
    server.stdout.close()
    server.stdin.write(lines(request("last", "server/discover")))
    server.stdin.close()
    equal((expected, server.wait(PATIENCE)), (many, 0))
    return expected


for mode in ("legacy", "2026-07-28"):
    print(f"Python client, {mode}, GLib: ok ({asyncio.run(speaks(mode))} computations)", flush=True)
ends()
deaf()
restores()
log_is_full()
print(f"hostile client, GLib: ok ({misbehaves()} answers)")
