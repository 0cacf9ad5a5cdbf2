"""Tests the library from Python, by ctypes: a client of a program in C, and a client and a server in one process.

Usage: client.py LIBRARY PROGRAM
"""

import ctypes
import itertools
import json
import os
import subprocess
import sys
import threading
import time

from library import (
    CANCELLED_REQUEST, CLOSED, DRAINING, ENDED, ERROR, FAILED, INVALID, NEVER, NOTIFICATION, NOT_ALLOWED, OK,
    PROGRESS, READY, REQUEST, RESULT, STALE, SUBSCRIBED, VIOLATION, Connection, Event, c, sized,
)

PROGRAM = sys.argv[2]

# A client of the program in C.


class Program:
    """The program in C, and a client of it."""

    def __init__(self, revision):
        self.process = subprocess.Popen([PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, bufsize=0)
        self.errors = []
        self.reader = threading.Thread(target=lambda: self.errors.extend(self.process.stderr))
        self.reader.start()
        self.client = Connection("client", time.monotonic_ns, revisions=[revision])
        assert self.wait_for(READY)[2] == revision

    def turn(self):
        """Writes, and reads what has arrived, for at most the time until the next deadline. Returns the events."""
        self.process.stdin.write(self.client.output())
        limit = min(c.mcp_deadline(self.client.pointer), time.monotonic_ns() + 60 * 10**9)
        import select
        ready, _, _ = select.select([self.process.stdout], [], [], max(0, limit - time.monotonic_ns()) / 1e9)
        events = list(self.client.events())
        if ready:
            data = self.process.stdout.read(65536)
            if data:
                events += self.client.feed(data)
            else:
                assert c.mcp_finish(self.client.pointer) == OK
                events += self.client.events()
        return events

    def wait_for(self, kind, number=None):
        """Waits for an event, and returns it. Those before it are kept in `before`."""
        self.before = []
        while True:
            events = self.turn()
            for at, event in enumerate(events):
                if event[0] == kind and number in (None, event[1]):
                    self.after = events[at + 1:]
                    return event
                self.before.append(event)

    def text(self, call):
        return json.loads(self.wait_for(RESULT, call)[3])["content"][0]["text"]

    def end(self):
        self.process.stdin.close()
        assert self.process.wait(30) == 0
        self.reader.join()
        self.client.free()


def program_serves(revision):
    program = Program(revision)
    client = program.client
    tools = json.loads(program.wait_for(RESULT, client.call("tools/list"))[3])["tools"]
    assert [tool["name"] for tool in tools] == ["add", "wait"], tools
    assert program.text(client.tool("add", a=1, b=2.5)) == "3.5"
    error = json.loads(program.wait_for(ERROR, client.tool("add", a="x"))[3])
    assert (error["code"], error["message"]) == (-32602, "a and b are numbers"), error
    assert json.loads(program.wait_for(ERROR, client.tool("unknown"))[3])["code"] == -32602
    # Progress, and a result that comes later than that of another call.
    slow, quick = client.tool("wait", milliseconds=200), client.tool("add", a=20, b=22)
    assert program.text(quick) == "42"
    assert program.text(slow) == "done"
    steps = [json.loads(text) for kind, number, _, text in program.before if (kind, number) == (PROGRESS, slow)]
    assert steps == [{"progress": step, "total": 4} for step in (1, 2, 3)], steps
    # A cancelled call has no event; a call that takes too long ends here and there.
    cancelled = client.tool("wait", milliseconds=100_000)
    program.process.stdin.write(client.output())
    assert c.mcp_cancel(client.pointer, cancelled) == OK
    assert c.mcp_cancel(client.pointer, cancelled) == STALE
    late = client.tool("wait", timeout=100, milliseconds=100_000)
    assert "TimedOut" in program.wait_for(FAILED, late)[3]
    # So none of the 64 places is taken.
    calls = [client.tool("wait", milliseconds=1) for _ in range(64)]
    results = {}
    while len(results) < 64:
        results |= {number: text for kind, number, _, text in program.turn() if kind == RESULT}
    assert sorted(results) == calls
    # Garbage is reported, and the next message works.
    program.process.stdin.write(b"garbage\n\xff\xfe\n{}\n[]\n")
    assert program.text(client.tool("add", a=-1, b=1)) == "0"
    program.end()
    violations = [line for line in program.errors if b"violates the protocol" in line]
    assert len(violations) == 4, program.errors


def program_is_killed():
    program = Program("2025-11-25")
    call = program.client.tool("wait", milliseconds=100_000)
    program.process.stdin.write(program.client.output())
    program.process.kill()
    assert "Closed" in program.wait_for(FAILED, call)[3]
    ended = [event for event in program.after if event[0] == ENDED]
    assert ended or program.wait_for(ENDED)
    assert c.mcp_is_closed(program.client.pointer)
    program.process.wait()
    program.reader.join()
    program.client.free()


PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'


def ends(process):
    """Whether a process ends in time. It is killed otherwise."""
    try:
        return process.wait(30) == 0
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait() == 0


def program_cannot_write():
    """The reader has left, and its signal is ignored, as Python ignores it: the write fails, and the program ends."""
    process = subprocess.Popen([PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0,
                               restore_signals=False)
    process.stdout.close()
    process.stdin.write(PING)
    assert ends(process)
    process.stdin.close()


def program_is_not_read():
    """The client has closed the input, and does not read the output: the program ends after its patience."""
    process = subprocess.Popen([PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    process.stdin.write(PING * 5000)
    process.stdin.close()
    assert ends(process)
    process.stdout.close()


# Both sides in this process, without a clock.


def pair(revision, **server):
    server = {"capabilities": {"tools": {}, "logging": {}}, **server}
    return Connection("client", revisions=[revision]), Connection("server", **server)


def exchange(client, server, serve):
    """Moves bytes until none are left. `serve` gets each event of the server. Returns the events of the client."""
    events = []
    while True:
        to_server, to_client = client.output(), server.output()
        if not to_server and not to_client:
            return events
        for event in server.feed(to_server):
            serve(*event)
        events += client.feed(to_client)


def both_sides(revision):
    client, server = pair(revision)
    requests = []

    def keep(kind, number, method, text):
        if kind == REQUEST:
            requests.append((number, method, json.loads(text)))

    assert [event[0] for event in exchange(client, server, keep)] == [READY]
    # A large result, in pieces.
    call = client.tool("echo")
    exchange(client, server, keep)
    number, method, params = requests.pop()
    assert method == "tools/call" and params["name"] == "echo", (method, params)
    large = {"content": [{"type": "text", "text": "é\u2028" * 300_000}]}
    assert server.respond(number, large) == OK
    [(kind, ended, _, text)] = exchange(client, server, keep)
    assert (kind, ended) == (RESULT, call)
    assert json.loads(text)["content"] == large["content"]
    # The request has ended.
    assert server.respond(number, large) == STALE
    assert "request" in str(c.mcp_last_error())
    assert c.mcp_reject(server.pointer, number, -1, b"", 0) == STALE
    assert c.mcp_progress(server.pointer, number, 1.0, float("nan"), 1) == STALE
    # Errors of the caller change nothing.
    call = client.tool("echo")
    exchange(client, server, keep)
    number = requests.pop()[0]
    for result in ["{", "[]", "1", "{} {}", '{"a":1e999999999999999999999}"']:
        assert c.mcp_respond(server.pointer, number, *sized(result)) == INVALID, result
    assert c.mcp_respond(server.pointer, number, b"{\"a\":\"\xff\"}", 9) == INVALID
    assert c.mcp_respond(server.pointer, number, None, 5) == INVALID
    assert c.mcp_progress(server.pointer, number, float("inf"), 1.0, 1) == INVALID
    assert c.mcp_progress(server.pointer, number, 0.5, 1.0, 1) == OK
    if revision == "2026-07-28":
        # The revision reserves this code.
        assert c.mcp_reject(server.pointer, number, -32000, *sized("not now")) == NOT_ALLOWED
    assert c.mcp_reject(server.pointer, number, -7, *sized("not now")) == OK
    events = exchange(client, server, keep)
    assert [(kind, of) for kind, of, _, _ in events] == [(PROGRESS, call), (ERROR, call)], events
    assert json.loads(events[0][3]) == {"progress": 0.5, "total": 1}
    assert json.loads(events[1][3]) == {"code": -7, "message": "not now"}
    # A cancelled request gets no response.
    call = client.tool("echo")
    exchange(client, server, keep)
    number = requests.pop()[0]
    assert c.mcp_cancel(client.pointer, call) == OK
    seen = []
    exchange(client, server, lambda *event: seen.append(event[:2]))
    assert seen == [(CANCELLED_REQUEST, number)], seen
    assert server.respond(number, {}) == STALE
    # A timeout at its time, and not before.
    call = client.tool("echo", timeout=5)
    exchange(client, server, keep)
    requests.pop()
    client.time = c.mcp_deadline(client.pointer) - 1
    assert list(client.events()) == []
    client.time += 1
    [(kind, ended, _, text)] = client.events()
    assert (kind, ended) == (FAILED, call) and "TimedOut" in text, text
    exchange(client, server, keep)
    # The end of the input: what is open may still be answered.
    call = client.tool("echo")
    exchange(client, server, keep)
    number = requests.pop()[0]
    assert c.mcp_finish(server.pointer) == OK
    assert [kind for kind, *_ in server.events()] == [DRAINING]
    assert server.respond(number, {"content": []}) == OK
    assert [kind for kind, *_ in server.events()] == [ENDED]
    assert c.mcp_is_closed(server.pointer)
    assert [(kind, of) for kind, of, *_ in client.feed(server.output())] == [(RESULT, call)]
    client.free()
    server.free()


def shut_down():
    client, server = pair("2025-06-18")
    exchange(client, server, lambda *_: None)
    assert c.mcp_notify(server.pointer, *sized("notifications/message"), *sized('{"level":"info","data":1}')) == OK
    [(kind, _, method, text)] = exchange(client, server, lambda *_: None)
    assert (kind, method, json.loads(text)["data"]) == (NOTIFICATION, "notifications/message", 1)
    assert c.mcp_notify(server.pointer, *sized("ping"), *sized("[]")) == INVALID
    assert c.mcp_shut_down(server.pointer, 10, server.time) == OK
    assert ENDED in [kind for kind, *_ in server.events()]
    assert c.mcp_fail(client.pointer, client.time) == OK
    assert ENDED in [kind for kind, *_ in client.events()]
    status = c.mcp_call(client.pointer, *sized("ping"), None, 0, 0, 1, ctypes.byref(ctypes.c_uint64()))
    assert status == CLOSED, status
    client.free()
    server.free()


def cancelled_after_the_end():
    """A call that has ended with its connection keeps its number until the event of its end."""
    client, server = pair("2025-06-18")
    exchange(client, server, lambda *_: None)
    calls = [client.tool("echo"), client.tool("echo")]
    assert c.mcp_fail(client.pointer, client.time) == OK
    events = client.events()
    assert next(events)[:2] == (FAILED, calls[0])
    assert c.mcp_cancel(client.pointer, calls[1]) == CLOSED
    assert str(c.mcp_last_error()) == "the connection has ended"
    assert next(events)[:2] == (FAILED, calls[1])
    assert c.mcp_cancel(client.pointer, calls[1]) == STALE
    assert [kind for kind, *_ in events] == [ENDED]
    client.free()
    server.free()


def subscriptions():
    """Each subscription has a number, from its beginning to its end."""
    server = Connection("server", capabilities={"tools": {"listChanged": True}})
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
    numbers = []

    def listen(request):
        params = {"notifications": {"toolsListChanged": True}, "_meta": meta}
        line = {"jsonrpc": "2.0", "id": request, "method": "subscriptions/listen", "params": params}
        [(kind, number, _, text)] = server.feed(json.dumps(line).encode() + b"\n")
        assert (kind, json.loads(text)) == (SUBSCRIBED, {"toolsListChanged": True})
        assert number != 0 and number not in numbers
        assert b'"notifications/subscriptions/acknowledged"' in server.output()
        numbers.append(number)
        return number

    # The client ends it.
    number = listen("a")
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "a", "reason": "enough"}}
    assert list(server.feed(json.dumps(cancel).encode() + b"\n")) == [(CANCELLED_REQUEST, number, "", "enough")]
    assert server.respond(number, {}) == STALE
    # The program ends it.
    number = listen("b")
    assert server.respond(number, {}) == OK
    assert json.loads(server.output())["id"] == "b" and list(server.events()) == []
    assert server.respond(number, {}) == STALE
    # The end of the input, or of the connection, ends it.
    number = listen("c")
    assert c.mcp_finish(server.pointer) == OK
    assert [event[:2] for event in server.events()] == [(DRAINING, 0), (CANCELLED_REQUEST, number), (ENDED, 0)]
    assert json.loads(server.output())["id"] == "c"
    server.free()
    numbers.clear()
    server = Connection("server", capabilities={"tools": {"listChanged": True}})
    number = listen("d")
    assert c.mcp_fail(server.pointer, server.time) == OK
    assert [event[:2] for event in server.events()] == [(CANCELLED_REQUEST, number), (ENDED, 0)]
    server.free()


def large_input():
    """A large input is taken in parts, also if no event waits."""
    server = Connection("server")
    length = 20_000
    fed = c.mcp_feed(server.pointer, b"{" + b" " * length, length)
    assert 0 < fed < length, fed
    assert list(server.events()) == [] and 0 < c.mcp_feed(server.pointer, b" " * length, length)
    server.free()


def error_data():
    """The data of an error is the text that the peer has sent."""
    client, server = pair("2025-06-18")
    exchange(client, server, lambda *_: None)
    for data in ['"\\ud800"', '{"id":123456789012345678901234567890}', "1.00"]:
        call = client.tool("echo")
        message = json.loads(client.output())
        answer = f'{{"jsonrpc":"2.0","id":{message["id"]},"error":{{"code":1,"message":"a\\"b","data":{data}}}}}\n'
        [event] = client.feed(answer.encode())
        assert event == (ERROR, call, "", f'{{"code":1,"message":"a\\"b","data":{data}}}'), event
    client.free()
    server.free()


def wrong_arguments():
    place = ctypes.c_void_p()
    for text, part in [
        ("", "EOF"), ("[]", "invalid"), ('{"name":"a"}', "version"),
        ('{"name":"a","version":"1","revison":[]}', "revison"),
        ('{"name":"a","version":"1","revisions":["2020-01-01"]}', "2020-01-01"),
        ('{"name":"a","version":"1","revisions":[]}', "empty"),
        ('{"name":"a","version":"1","capabilities":[]}', "capabilities"),
    ]:
        for new in (c.mcp_server_new, lambda *config: c.mcp_client_new(*config[:2], 1, config[2])):
            assert new(*sized(text), ctypes.byref(place)) == INVALID, text
            assert part in str(c.mcp_last_error()), (text, str(c.mcp_last_error()))
            assert not place
    assert c.mcp_server_new(*sized('{"name":"a","version":"1"}'), None) == INVALID
    assert c.mcp_server_new(None, 3, ctypes.byref(place)) == INVALID
    assert c.mcp_server_new(b"\xff", 1, ctypes.byref(place)) == INVALID
    c.mcp_free(None)
    # Null as the connection, or as a place for a result.
    assert c.mcp_feed(None, b"x", 1) == 1 and not c.mcp_next_event(None, 1, ctypes.byref(Event()))
    assert c.mcp_deadline(None) == NEVER and c.mcp_is_closed(None)
    assert c.mcp_sent(None, 1) == c.mcp_finish(None) == c.mcp_cancel(None, 1) == INVALID
    server = Connection("server")
    assert not c.mcp_next_event(server.pointer, 1, None) and not c.mcp_unsent(server.pointer, None)
    assert c.mcp_call(server.pointer, *sized("ping"), None, 0, 0, 1, None) == INVALID
    assert c.mcp_cancel(server.pointer, 0) == c.mcp_respond(server.pointer, 0, b"{}", 2) == STALE
    assert c.mcp_sent(server.pointer, 1 << 40) == OK
    assert list(server.feed(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')) == []
    assert server.output() == b'{"jsonrpc":"2.0","id":1,"result":{}}\n'
    server.free()


def any_bytes():
    """Any input gives events and no crash, in every chunking."""
    line = b'{"jsonrpc":"2.0","id":"x","method":"ping"}\n'
    for seed in range(200):
        server = Connection("server")
        noise = bytes((seed * 31 + place * place * 7) % 256 for place in range(500)).replace(b"\n", b" ")
        stream, kinds = noise + b"\n" + line, []
        sizes = itertools.cycle([1 + seed % 7, 64, 3])
        while stream:
            size = next(sizes)
            kinds += [kind for kind, *_ in server.feed(stream[:size])]
            stream = stream[size:]
        assert set(kinds) <= {VIOLATION}, kinds
        assert server.output().endswith(b'{"jsonrpc":"2.0","id":"x","result":{}}\n')
        server.free()


for test, arguments in [
    (program_serves, ["2025-11-25"]), (program_serves, ["2026-07-28"]), (program_is_killed, []),
    (program_cannot_write, []), (program_is_not_read, []),
    (both_sides, ["2025-06-18"]), (both_sides, ["2026-07-28"]), (shut_down, []), (cancelled_after_the_end, []),
    (subscriptions, []), (large_input, []),
    (error_data, []), (wrong_arguments, []), (any_bytes, []),
]:
    test(*arguments)
    print("ok:", test.__name__, *arguments, flush=True)
