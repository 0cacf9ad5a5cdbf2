"""The official Python client, and a client that violates the protocol, against the server on a microcontroller, in QEMU.

Usage: cortex_m.py COMMAND [ARGUMENT...]

The command starts QEMU with the program; the serial port of the board is its standard input and output. For each
client, the heap and the stack that the program has used are printed.
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

COMMAND = sys.argv[1:]
PATIENCE = 120
# `server.rs` has the same bounds: of open requests, and of the bytes of a message.
REQUESTS = 4
FRAME = 3 << 10
# More than the program uses in this test, and less than it has.
MOST_HEAP = 16 << 10
MOST_STACK = 12 << 10
# Of four bytes, in the memory that `heap.rs` has for tools.
SAMPLES = 1 << 10
# Of a millisecond, at 25 MHz.
CYCLES = 25_000
TOO_MANY = "too many requests in flight"
TOO_MANY_BYTES = "too many bytes are kept for this connection (Limits::connection_bytes)"
MODERN = {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
          "io.modelcontextprotocol/clientCapabilities": {}}


async def speaks(mode):
    """The official client calls each tool, sees progress, and cancels a call."""
    server = StdioServerParameters(command=COMMAND[0], args=COMMAND[1:])
    reports = []

    async def progressed(progress, total, message):
        reports.append((progress, total))

    async with Client(server, mode=mode, read_timeout_seconds=PATIENCE) as client:
        if mode == "legacy":
            equal(client.server_info.name, "cortex_m")
        equal([tool.name for tool in (await client.list_tools()).tools], ["led", "blink", "sample", "status"])
        for is_on in (True, False):
            result = await client.call_tool("led", {"on": is_on})
            equal(result.content[0].text, f"the LED is {'on' if is_on else 'off'}")
            status = (await client.call_tool("status")).structured_content
            equal(status["led"], is_on)
        blinking = {"times": 3, "milliseconds": 20}
        result = await client.call_tool("blink", blinking, progress_callback=progressed)
        equal(result.content[0].text, "done")
        equal(reports, [(1, 3), (2, 3)])
        result = await client.call_tool("led", {"on": "yes"})
        equal(result.is_error, True)
        await failing(-32602, client.call_tool("no_such_tool"))
        # As much memory as the tools have, and more.
        result = (await client.call_tool("sample", {"count": SAMPLES})).structured_content
        equal(0 <= result["least"] <= result["median"] <= result["most"] < CYCLES, True)
        for count in (SAMPLES + 1, 2**30, 2**32 - 1):
            result = await client.call_tool("sample", {"count": count})
            equal(result.is_error, True)
            equal(result.content[0].text, out_of_memory(count))
        # More calls than may be open at once: each one that is given up makes room.
        for _ in range(3 * REQUESTS):
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(client.call_tool("blink", {"times": 1000, "milliseconds": 1000}), 0.2)
        return (await client.call_tool("status")).structured_content


def out_of_memory(count):
    """What the board says when it has no memory for so many samples."""
    return f"out of memory: {min(4 * count, 2**32 - 1)} bytes wanted, {4 * SAMPLES} free"


class Board:
    """The board, and what it has printed."""

    def __init__(self):
        self.messages = []
        self.panic = b""
        self.changed = threading.Condition()

    def __enter__(self):
        self.process = subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        threading.Thread(target=self.read, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def read(self):
        for line in self.process.stdout:
            with self.changed:
                if line.startswith(b"{"):
                    self.messages.append(json.loads(line))
                elif line.strip():
                    self.panic += line
                self.changed.notify_all()

    def write(self, *messages):
        for message in messages:
            line = message if isinstance(message, bytes) else json.dumps(message).encode()
            self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def answer(self, id):
        """Waits for the response to the request with this id."""
        def found():
            return next((one for one in self.messages if one.get("id") == id), None)

        with self.changed:
            self.changed.wait_for(lambda: found() or self.panic, PATIENCE)
            if self.panic or not found():
                raise AssertionError(f"no answer to {id!r}: {self.panic} {self.messages[-4:]}")
            return found()

    def status(self, id):
        self.write(call(id, "status"))
        return self.answer(id)["result"]["structuredContent"]


def call(id, tool, **arguments):
    return {"jsonrpc": "2.0", "id": id, "method": "tools/call",
            "params": {"name": tool, "arguments": arguments, "_meta": MODERN}}


def misbehaves(board):
    """Everything that a peer may do wrong leaves the board with its session, and within its memory."""
    before = board.status("first")

    # The memory of the tools, while the connection has all but one of its requests. The next requests are as before.
    cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled"}
    blink = {"times": 1000, "milliseconds": 10_000}
    for id in range(1, REQUESTS):
        board.write(call(id, "blink", **blink))
    for id, count in enumerate((SAMPLES, SAMPLES + 1) * 20, start=200):
        board.write(call(id, "sample", count=count))
        result = board.answer(id)["result"]
        if count == SAMPLES:
            equal(sorted(result["structuredContent"]), ["least", "median", "most"])
        else:
            equal(result["content"], [{"type": "text", "text": out_of_memory(count)}])
    for id in range(1, REQUESTS):
        board.write(cancelled | {"params": {"requestId": id}})

    # As many requests as may be open, and then one request that takes all the bytes that may be kept.
    for id in range(1, REQUESTS + 1):
        board.write(call(id, "blink", **blink))
    board.write(call("one more", "led", on=True))
    equal(board.answer("one more")["error"], {"code": -32603, "message": TOO_MANY})
    equal([message for message in board.messages if message.get("id") in range(1, REQUESTS + 1)], [])
    for id in range(1, REQUESTS + 1):
        board.write(cancelled | {"params": {"requestId": id}})
    longest = call("longest", "blink", **blink)
    longest["params"]["_meta"] = MODERN | {"ignored": ""}
    longest["params"]["_meta"]["ignored"] = "x" * (FRAME - len(json.dumps(longest)))
    board.write(longest, call("more bytes", "led", on=True))
    equal(board.answer("more bytes")["error"], {"code": -32603, "message": TOO_MANY_BYTES})
    board.write(cancelled | {"params": {"requestId": "longest"}})
    equal(board.status("room again")["led"], before["led"])

    # Arguments that an error would quote with six bytes for one, if it quoted them.
    board.write(json.dumps(call("quoted", "led", on="\x7f" * 2500), ensure_ascii=False).encode())
    equal(board.answer("quoted")["result"]["isError"], True)

    # Lines that are too long, no JSON, too deep, and the requests after them.
    for id, line in enumerate([
        b"x" * (10 * FRAME), b'{"jsonrpc":"2.0","id":' + b"9" * FRAME + b"}", b"\x00\xff\xfe", b"}{",
        b"[" * FRAME, b'{"a":' * (FRAME // 5), b'"' + b"\\u00e9" * (FRAME // 7), b"[]", b"null", b"1e999999",
        json.dumps([call("batch", "led", on=True)] * 2).encode(),
    ], start=100):
        board.write(line, {"jsonrpc": "2.0", "id": id, "method": "ping", "params": {"_meta": MODERN}})
        board.answer(id)
    too_long = call("too long", "led", on="x" * FRAME)
    board.write(too_long)

    # Many requests at once: the port has no room for more than a few, and none is lost.
    many = range(1000, 1300)
    for id in many:
        board.write(call(id, "led", on=id % 2 == 0))
    answers = [board.answer(id) for id in many]
    served = sum("result" in answer for answer in answers)
    equal({answer["error"]["code"] for answer in answers if "error" in answer} <= {-32603}, True)

    after = board.status("last")
    # A board that has started again meanwhile has counted fewer.
    equal(before["requests"] + served < after["requests"], True)
    equal(0 < served, True)
    equal((after["heap"]["mostUsed"] < MOST_HEAP, after["stack"]["mostUsed"] < MOST_STACK), (True, True))
    return after


def used(status):
    return ", ".join(f"{kind} {status[kind]['mostUsed']} of {status[kind]['bytes']} bytes" for kind in ("heap", "stack"))


for mode in ("legacy", "2026-07-28"):
    print(f"Python client, {mode}, Cortex-M3: ok ({used(asyncio.run(speaks(mode)))})", flush=True)
with Board() as board:
    print(f"hostile client, Cortex-M3: ok ({used(misbehaves(board))})")
