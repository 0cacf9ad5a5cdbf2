"""Tests the server on a microcontroller, in QEMU.

Usage: cortex_m.py COMMAND [ARGUMENT...]

One client is the official Python client, the other one violates the protocol. The command starts QEMU with the
program; standard input and output of QEMU are the serial port of the board. For each client, the script prints the peak
use of the heap and of the stack.
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
# The bounds in `server.rs`: open requests, and bytes of a message.
REQUESTS = 4
FRAME = 3 << 10
# Bounds for the memory that the program uses in this test, in bytes, below the memory that it has.
MOST_HEAP = 16 << 10
MOST_STACK = 12 << 10
# The number of four-byte samples that fit into the memory for tools in `heap.rs`.
SAMPLES = 1 << 10
# The clock cycles of a millisecond, at 25 MHz.
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
        # Request all memory of the tools, and then more.
        result = (await client.call_tool("sample", {"count": SAMPLES})).structured_content
        equal(0 <= result["least"] <= result["median"] <= result["most"] < CYCLES, True)
        for count in (SAMPLES + 1, 2**30, 2**32 - 1):
            result = await client.call_tool("sample", {"count": count})
            equal(result.is_error, True)
            equal(result.content[0].text, out_of_memory(count))
        # More calls than may be open at once: each cancelled call makes room for another one.
        for _ in range(3 * REQUESTS):
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(client.call_tool("blink", {"times": 1000, "milliseconds": 1000}), 0.2)
        return (await client.call_tool("status")).structured_content


def out_of_memory(count):
    """Returns the error text of the board for a number of samples that do not fit into its memory."""
    return f"out of memory: {min(4 * count, 2**32 - 1)} bytes wanted, {4 * SAMPLES} free"


class Board:
    """The board, and its output: messages, and the text of a panic."""

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
                raise AssertionError(f"no response to {id!r}: panic {self.panic}, last messages {self.messages[-4:]}")
            return found()

    def status(self, id):
        self.write(call(id, "status"))
        return self.answer(id)["result"]["structuredContent"]


def call(id, tool, **arguments):
    return {"jsonrpc": "2.0", "id": id, "method": "tools/call",
            "params": {"name": tool, "arguments": arguments, "_meta": MODERN}}


def misbehaves(board):
    """Violates the protocol. The board must keep its session, and stay within its memory."""
    before = board.status("first")

    # Use all memory of the tools while all open requests but one are taken. The requests after that are served as
    # before.
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

    # Open as many requests as allowed. Then open one request that takes all bytes that the server may keep.
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

    # An error that quotes these arguments would need six bytes for each of their bytes.
    board.write(json.dumps(call("quoted", "led", on="\x7f" * 2500), ensure_ascii=False).encode())
    equal(board.answer("quoted")["result"]["isError"], True)

    # Lines that are too long, not JSON or nested too deeply, each before a valid request.
    for id, line in enumerate([
        b"x" * (10 * FRAME), b'{"jsonrpc":"2.0","id":' + b"9" * FRAME + b"}", b"\x00\xff\xfe", b"}{",
        b"[" * FRAME, b'{"a":' * (FRAME // 5), b'"' + b"\\u00e9" * (FRAME // 7), b"[]", b"null", b"1e999999",
        json.dumps([call("batch", "led", on=True)] * 2).encode(),
    ], start=100):
        board.write(line, {"jsonrpc": "2.0", "id": id, "method": "ping", "params": {"_meta": MODERN}})
        board.answer(id)
    too_long = call("too long", "led", on="x" * FRAME)
    board.write(too_long)

    # Many requests at once: the port has room for only a few of them, but must lose none.
    many = range(1000, 1300)
    for id in many:
        board.write(call(id, "led", on=id % 2 == 0))
    answers = [board.answer(id) for id in many]
    served = sum("result" in answer for answer in answers)
    equal({answer["error"]["code"] for answer in answers if "error" in answer} <= {-32603}, True)

    after = board.status("last")
    # A board that has restarted meanwhile would have counted fewer requests.
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
