"""Tests the server in a sandbox of WASI.

Usage: wasi.py HOST COMPONENT

One client is the official Python client, the other one violates the protocol.
"""

import asyncio
import contextlib
import json
import subprocess
import sys
import threading

from mcp import Client
from mcp.client.stdio import StdioServerParameters

from python_checks import equal, failing

HOST, COMPONENT = sys.argv[1:]
PATIENCE = 120
MIB = 1 << 20
# The memory limit in `host/src/main.rs`.
MEMORY = 64 * MIB
# A bound for the memory of the server without the tool `hoard`.
USUAL = 8 * MIB
MODERN = {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
          "io.modelcontextprotocol/clientCapabilities": {}}


async def speaks(mode):
    """Calls each tool except for `spin` with the official client, and cancels a call."""
    server = StdioServerParameters(command=HOST, args=[COMPONENT])
    reports = []

    async def progressed(progress, total, message):
        reports.append((progress, total))

    async with Client(server, mode=mode, read_timeout_seconds=PATIENCE) as client:
        if mode == "legacy":
            equal(client.server_info.name, "sandboxed_server")
        tools = [tool.name for tool in (await client.list_tools()).tools]
        equal(tools, ["status", "count", "spin", "hoard"])
        result = await client.call_tool("count", {"to": 3, "milliseconds": 20}, progress_callback=progressed)
        equal(result.content[0].text, "counted")
        equal(reports, [(1, 3), (2, 3)])
        result = await client.call_tool("count", {"to": "three"})
        equal(result.is_error, True)
        await failing(-32602, client.call_tool("no_such_tool"))
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(client.call_tool("count", {"to": 1000, "milliseconds": 1000}), 0.2)
        status = (await client.call_tool("status")).structured_content
        equal(status["openCalls"], 0)
        equal(status["memoryBytes"] < USUAL, True)
        result = await client.call_tool("hoard")
        equal(result.is_error, True)
        status = (await client.call_tool("status")).structured_content
        equal((USUAL < status["memoryBytes"], status["memoryBytes"] <= MEMORY), (True, True))
        return result.content[0].text


def request(id, method, **params):
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params | {"_meta": MODERN}}


def call(id, tool, **arguments):
    return request(id, "tools/call", name=tool, arguments=arguments)


def lines(*messages):
    return b"".join(json.dumps(message).encode() + b"\n" for message in messages)


def run(component, input):
    """Runs the host until it ends. Returns its exit code, the responses by their ids, and its standard error."""
    ended = subprocess.run([HOST, component], input=input, capture_output=True, timeout=PATIENCE)
    messages = [json.loads(line) for line in ended.stdout.splitlines()]
    return ended.returncode, {message["id"]: message for message in messages}, ended.stderr.decode()


def ends():
    """Checks that the program ends when its input ends, and that no response is lost."""
    code, answers, said = run(COMPONENT, lines(call("slow", "count", to=2, milliseconds=20), request(1, "server/discover")))
    equal((code, said), (0, ""))
    equal(answers["slow"]["result"]["content"], [{"type": "text", "text": "counted"}])
    equal(answers[1]["result"]["resultType"], "complete")


def deaf():
    """Checks that the program ends after its input although the client reads no output."""
    host = subprocess.Popen([HOST, COMPONENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    host.stdin.write(lines(*[request(id, "server/discover") for id in range(1000)]))
    host.stdin.close()
    equal(host.wait(PATIENCE), 0)
    host.stdout.close()


def spins():
    """Checks that the host stops an endless tool, and that the client sees the end of the stream."""
    host = subprocess.Popen([HOST, COMPONENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    # The server responds to the request before.
    host.stdin.write(lines(request(1, "server/discover")))
    host.stdin.flush()
    equal(json.loads(host.stdout.readline())["id"], 1)
    _, said = host.communicate(lines(call("endless", "spin")), PATIENCE)
    equal(said.decode(), f"{COMPONENT}: it computed for 2s without a call of the host\n")
    equal(host.returncode, 1)


def is_no_component():
    code, answers, said = run(__file__, b"")
    equal((code, answers, said.startswith(f"{__file__}: ")), (1, {}, True))


def misbehaves():
    """Checks that the session and the memory bound survive garbage in the input, and a client that reads late."""
    host = subprocess.Popen([HOST, COMPONENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    garbage = [b"x" * (10 * MIB), b"\x00\xff\xfe", b"}{", b"[" * 100_000, b'{"a":' * 20_000, b'"' + b"\\u00e9" * 10_000,
               b"[]", b"null", b"1e999999", lines(*[request("batch", "server/discover")] * 2)[:-1]]
    many = 100_000

    def write():
        for id, line in enumerate(garbage):
            host.stdin.write(line + b"\n" + lines(request(id, "server/discover")))
        # More output than fits into all buffers on the way to the client.
        for id in range(len(garbage), many):
            host.stdin.write(lines(request(id, "server/discover")))
        host.stdin.write(lines(call("last", "status")))
        host.stdin.flush()

    writer = threading.Thread(target=write)
    writer.start()
    # The server has to stop reading while the client does not read.
    writer.join(2)
    equal(writer.is_alive(), True)
    expected = 0
    for line in host.stdout:
        message = json.loads(line)
        if message.get("id") == "last":
            break
        if message.get("id") == expected and "result" in message:
            expected += 1
    writer.join()
    host.stdin.close()
    equal((expected, host.wait(PATIENCE)), (many, 0))
    memory = message["result"]["structuredContent"]["memoryBytes"]
    equal(memory < 16 * MIB, True)
    return memory


for mode in ("legacy", "2026-07-28"):
    print(f"Python client, {mode}, WASI: ok ({asyncio.run(speaks(mode))})", flush=True)
ends()
deaf()
is_no_component()
spins()
print(f"hostile client, WASI: ok ({misbehaves()} bytes of memory)")
