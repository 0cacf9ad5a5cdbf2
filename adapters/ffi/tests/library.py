"""The library by ctypes: its functions, and a connection. The first argument of the program is the library."""

import ctypes
import json
import sys

OK, INVALID, STALE, CANCELLED, FULL, NOT_ALLOWED, CLOSED, PANICKED = range(8)
(OTHER, REQUEST, CANCELLED_REQUEST, NOTIFICATION, READY, PROGRESS, RESULT, ERROR, FAILED, VIOLATION, DRAINING,
 ENDED, SUBSCRIBED) = range(13)
NEVER = 2**64 - 1


class Text(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_void_p), ("length", ctypes.c_size_t)]

    def __str__(self):
        return ctypes.string_at(self.bytes, self.length).decode() if self.length else ""


class Event(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int), ("request", ctypes.c_uint64), ("call", ctypes.c_uint64), ("method", Text),
                ("text", Text)]


c = ctypes.CDLL(sys.argv[1])
POINTER, TEXT, SIZE, U64 = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64
for name, result, arguments in [
    ("last_error", Text, []),
    ("server_new", ctypes.c_int, [TEXT, SIZE, POINTER]),
    ("client_new", ctypes.c_int, [TEXT, SIZE, U64, POINTER]),
    ("free", None, [POINTER]),
    ("feed", SIZE, [POINTER, TEXT, SIZE]),
    ("finish", ctypes.c_int, [POINTER]),
    ("fail", ctypes.c_int, [POINTER, U64]),
    ("next_event", ctypes.c_bool, [POINTER, U64, POINTER]),
    ("deadline", U64, [POINTER]),
    ("unsent", POINTER, [POINTER, POINTER]),
    ("sent", ctypes.c_int, [POINTER, SIZE]),
    ("respond", ctypes.c_int, [POINTER, U64, TEXT, SIZE]),
    ("reject", ctypes.c_int, [POINTER, U64, ctypes.c_int32, TEXT, SIZE]),
    ("progress", ctypes.c_int, [POINTER, U64, ctypes.c_double, ctypes.c_double, U64]),
    ("notify", ctypes.c_int, [POINTER, TEXT, SIZE, TEXT, SIZE]),
    ("call", ctypes.c_int, [POINTER, TEXT, SIZE, TEXT, SIZE, U64, U64, POINTER]),
    ("cancel", ctypes.c_int, [POINTER, U64]),
    ("shut_down", ctypes.c_int, [POINTER, U64, U64]),
    ("is_closed", ctypes.c_bool, [POINTER]),
]:
    function = getattr(c, "mcp_" + name)
    function.restype, function.argtypes = result, arguments


def sized(text):
    text = text.encode()
    return text, len(text)


class Connection:
    """A connection at a time that stands still between events, unless `clock` is given."""

    def __init__(self, role, clock=None, **config):
        self.time, self.clock = 1, clock
        self.pointer = ctypes.c_void_p()
        text = sized(json.dumps({"name": "python", "version": "1", **config}))
        status = (c.mcp_server_new(*text, ctypes.byref(self.pointer)) if role == "server"
                  else c.mcp_client_new(*text, self.now(), ctypes.byref(self.pointer)))
        assert status == OK, c.mcp_last_error()

    def now(self):
        return self.clock() if self.clock else self.time

    def events(self):
        event = Event()
        while c.mcp_next_event(self.pointer, self.now(), ctypes.byref(event)):
            yield event.kind, event.request or event.call, str(event.method), str(event.text)

    def feed(self, data):
        """Feeds bytes, and yields the events."""
        while data:
            data = data[c.mcp_feed(self.pointer, data, len(data)):]
            yield from self.events()

    def output(self):
        """Takes the bytes to send."""
        length = ctypes.c_size_t()
        start = c.mcp_unsent(self.pointer, ctypes.byref(length))
        data = ctypes.string_at(start, length.value) if length.value else b""
        assert c.mcp_sent(self.pointer, len(data)) == OK
        return data

    def call(self, method, params=None, timeout=0):
        call = ctypes.c_uint64()
        text = json.dumps(params) if params is not None else ""
        status = c.mcp_call(self.pointer, *sized(method), *sized(text), timeout, self.now(), ctypes.byref(call))
        assert status == OK, (status, str(c.mcp_last_error()))
        assert call.value != 0
        return call.value

    def tool(self, name, timeout=0, **arguments):
        return self.call("tools/call", {"name": name, "arguments": arguments}, timeout)

    def respond(self, request, result):
        return c.mcp_respond(self.pointer, request, *sized(json.dumps(result)))

    def free(self):
        c.mcp_free(self.pointer)
        self.pointer = ctypes.c_void_p()
