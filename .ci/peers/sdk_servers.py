"""inspect against servers of the official SDKs, which ask and tell it whatever a server can.

Usage: sdk_servers.py INSPECT NAME COMMAND [ARGUMENT...]

The server is started with one more argument: the file into which it writes when it is cancelled.
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import time

INSPECT, NAME, *SERVER = sys.argv[1:]
REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
PATIENCE = 120


def inspect(*arguments, code=0):
    """What is printed, and what is said beside it."""
    command = [INSPECT, *arguments, "--", *SERVER, str(FILE)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    if done.returncode != code:
        raise AssertionError(f"{command}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout.rstrip("\n"), done.stderr.splitlines()


def equal(left, right):
    if left != right:
        raise AssertionError(f"{left!r} is not {right!r}")


def asks(revision):
    arguments = ["--revision", revision, "--root", "file:///here", "--sample", "four",
                 "--form", '{"city":"Oslo"}', "--call", "ask", "{}"]
    if revision < "2025-06-18":
        # There are no forms yet: the server may not ask, and its tool fails.
        _, said = inspect(*arguments, code=1)
    else:
        printed, said = inspect(*arguments)
        equal(printed, "four|file:///here|accept {'city': 'Oslo'}")
        equal('the server asks "Which city?"; it gets {"city":"Oslo"}' in said, True)
    equal('the server asks for a model; it gets "four"' in said, True)


def tells(revision):
    printed, said = inspect("--revision", revision, "--log", "warning", "--call", "tell", "{}")
    equal(printed, "told")
    equal('warning l: "loud enough"' in said, True)
    equal("updated test://watched" in said, True)
    # Python writes whole numbers with a point.
    steps = [line.replace(".0", "") for line in said if line.startswith("tools/call: ")]
    equal(steps, ["tools/call: 1 of 2: half"])


def waits(revision):
    FILE.unlink(missing_ok=True)
    _, said = inspect("--revision", revision, "--timeout", "1", "--call", "wait", "{}", code=1)
    equal([line for line in said if line.startswith("inspect: ")],
          ["inspect: tools/call failed: no answer and no progress came in time"])
    deadline = time.monotonic() + PATIENCE
    while not FILE.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    equal(FILE.read_text(), "cancelled")


def reads(revision):
    found = json.loads(inspect("--json", "--revision", revision)[0])
    equal(found["protocolVersion"], revision)
    equal(sorted(found["tools"]), ["ask", "tell", "wait"])
    equal(inspect("--revision", revision, "--read", "test://watched")[0], "words")
    prompt = inspect("--revision", revision, "--prompt", "travel", '{"city":"Oslo"}')
    equal(prompt[0], "user: Off to Oslo")
    completed = inspect("--revision", revision, "--complete", "travel", "city", "par")
    equal(completed[0].splitlines(), ["paris", "park"])
    watched = inspect("--revision", revision, "--watch", "--for", "1")
    equal(watched[0], "updated test://watched")


with tempfile.TemporaryDirectory() as directory:
    FILE = pathlib.Path(directory) / "cancelled"
    for revision in REVISIONS:
        reads(revision)
        asks(revision)
        tells(revision)
        waits(revision)
        print(f"inspect, {NAME}, {revision}: ok")
