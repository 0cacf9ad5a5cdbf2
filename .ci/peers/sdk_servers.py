"""Tests `inspect` with servers of the official SDKs, which exercise every feature of a client.

Usage: sdk_servers.py INSPECT NAME sessions|both|stateless COMMAND [ARGUMENT...]

The third argument names the eras of the server: `sessions` is the legacy era, `stateless` the modern one.
The server gets one more argument: the file into which it writes when a call is cancelled.
"""

import concurrent.futures
import json
import pathlib
import subprocess
import sys
import tempfile
import time

INSPECT, NAME, ERAS, *SERVER = sys.argv[1:]
SESSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
STATELESS = "2026-07-28"
# The revision and the era that `inspect` finds, and the evidence that it prints.
FOUND = {
    "sessions": ("2025-11-25", "with a session", "server/discover was refused with -32601"),
    "both": (STATELESS, "without a session", "the server said so"),
    "stateless": (STATELESS, "without a session", "the server said so"),
}
PATIENCE = 300
# The seconds that a server may take to start while other stages keep the processors busy.
START = 120
# Most of the time is spent waiting for servers to start and to end.
AT_A_TIME = 4


def inspect(*arguments, code=0):
    """Runs `inspect`. Returns its standard output, and the lines of its standard error."""
    return inspect_writing("/dev/null", *arguments, code=code)


def inspect_writing(file, *arguments, code=0):
    command = [INSPECT, "--start-timeout", str(START), *arguments, "--", *SERVER, str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    if done.returncode != code:
        raise AssertionError(f"{command}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout.rstrip("\n"), done.stderr.splitlines()


def equal(left, right):
    if left != right:
        raise AssertionError(f"{left!r} is not {right!r}")


def asks(mode, revision):
    arguments = [*mode, "--root", "file:///here", "--sample", "four",
                 "--form", '{"city":"Oslo"}', "--call", "ask", "{}"]
    if revision < "2025-06-18":
        # The revision has no forms: the server may send no elicitation, and its tool fails.
        _, said = inspect(*arguments, code=1)
    else:
        printed, said = inspect(*arguments)
        equal(printed, "four|file:///here|accept {'city': 'Oslo'}")
        equal('the server asks "Which city?"; it gets {"city":"Oslo"}' in said, True)
    equal(said.count('the server asks for a model; it gets "four"'), 1)


def tells(mode, revision):
    printed, said = inspect(*mode, "--log", "warning", "--call", "tell", "{}")
    equal(printed, "told")
    equal('warning l: "loud enough"' in said, True)
    # In the modern era, a client gets only notifications that it has subscribed to.
    changes = {"tools changed", "updated test://watched"}
    equal(changes & set(said), set() if revision == STATELESS else changes)
    # Python writes whole numbers with a decimal point.
    steps = [line.replace(".0", "") for line in said if line.startswith("tools/call: ")]
    equal(steps, ["tools/call: 1 of 2: half"])
    printed, said = inspect(*mode, "--watch", "--for", "1", "--call", "tell", "{}")
    # In a session, this server sends a notification as soon as a client subscribes.
    updates = ["updated test://watched"] * (1 if revision == STATELESS else 2)
    equal(sorted(printed.splitlines()), ["told", "tools changed", *updates])
    watching = [line for line in said if line.startswith("watching")]
    equal(len(watching), 1)
    if revision == STATELESS:
        # The client has requested no log messages.
        equal([line for line in said if "loud" in line or "quiet" in line], [])


def waits(mode):
    with tempfile.TemporaryDirectory() as directory:
        file = pathlib.Path(directory) / "cancelled"
        _, said = inspect_writing(file, *mode, "--timeout", "8", "--call", "wait", "{}", code=1)
        equal([line for line in said if line.startswith("inspect: ")],
              ["inspect: tools/call failed: no answer and no progress came in time"])
        deadline = time.monotonic() + PATIENCE
        while not file.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        equal(file.read_text(), "cancelled")


def reads(mode, revision):
    found = json.loads(inspect("--json", *mode)[0])
    equal(found["protocolVersion"], revision)
    equal(sorted(tool["name"] for tool in found["tools"]), ["ask", "tell", "wait"])
    printed, _ = inspect(
        *mode, "--read", "test://watched", "--prompt", "travel", '{"city":"Oslo"}',
        "--complete", "travel", "city", "par")
    equal(printed.splitlines(), ["words", "user: Off to Oslo", "paris", "park"])


def finds():
    """Checks the first line of the output without `--revision`, and the error for a revision of the other era."""
    revision, era, evidence = FOUND[ERAS]
    equal(inspect()[0].splitlines()[0], f"revision: {revision} ({era}; {evidence})")
    refused = {
        "sessions": (STATELESS, "-32601: Method not found"),
        "stateless": ("2025-11-25", "-32022: Unsupported protocol version: 2025-11-25"),
    }
    if ERAS in refused:
        pinned, error = refused[ERAS]
        _, said = inspect("--revision", pinned, code=1)
        refusal = f"inspect: {SERVER[0]}: the server refused with error {error}"
        equal(refusal in said, True)


def modes():
    """Returns the options of `inspect` for each run, and the revision that it has to negotiate."""
    pinned = [] if ERAS == "stateless" else [*SESSIONS]
    pinned += [] if ERAS == "sessions" else [STATELESS]
    return [([], FOUND[ERAS][0]), *((["--revision", revision], revision) for revision in pinned)]


def speaks(mode, revision):
    reads(mode, revision)
    asks(mode, revision)
    tells(mode, revision)
    waits(mode)
    return f"inspect, {NAME}, {'pinned' if mode else 'automatic'}, {revision}: ok"


finds()
with concurrent.futures.ThreadPoolExecutor(AT_A_TIME) as pool:
    for done in [pool.submit(speaks, *mode) for mode in modes()]:
        print(done.result(), flush=True)
