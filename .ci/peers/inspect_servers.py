"""Tests `inspect` with servers of other projects.

Usage: inspect_servers.py INSPECT BIN_DIRECTORY_OF_NPM BIN_DIRECTORY_OF_PIP

The lists in the output of `inspect` must be those that the official Python client gets from the same server.
"""

import asyncio
import concurrent.futures
import json
import pathlib
import subprocess
import sys
import tempfile
import warnings

import mcp_types as types
from mcp import Client
from mcp.client.stdio import StdioServerParameters

warnings.simplefilter("ignore")
INSPECT, NPM, PIP = sys.argv[1:]


def equal(left, right):
    if left != right:
        raise AssertionError(f"{left!r} is not {right!r}")


def inspect(*arguments, server, code=0):
    command = [INSPECT, "--start-timeout", "120", *arguments, "--", *server]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if done.returncode != code:
        raise AssertionError(f"{command}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


def call(name, arguments, server, code=0):
    return inspect("--call", name, json.dumps(arguments), server=server, code=code).strip()


async def refuse(*_):
    return types.ErrorData(code=-1, message="only listing")


async def listed(server):
    """Returns the lists that the official client gets. It declares the same capabilities as `inspect`."""
    parameters = StdioServerParameters(command=server[0], args=server[1:])
    client = Client(
        parameters, mode="legacy", sampling_callback=refuse, elicitation_callback=refuse,
        list_roots_callback=refuse, read_timeout_seconds=60, cache=None,
    )

    async def pages(read, items):
        found, cursor = [], None
        while True:
            page = await read(cursor=cursor)
            found += items(page)
            cursor = page.next_cursor
            if cursor is None:
                return found

    async with client:
        offered = client.server_capabilities
        tools = prompts = resources = templates = []
        if offered.tools is not None:
            tools = await pages(client.list_tools, lambda p: [t.name for t in p.tools])
        if offered.prompts is not None:
            prompts = await pages(client.list_prompts, lambda p: [t.name for t in p.prompts])
        if offered.resources is not None:
            resources = await pages(
                client.list_resources, lambda p: [str(r.uri) for r in p.resources])
            templates = await pages(
                client.list_resource_templates,
                lambda p: [t.uri_template for t in p.resource_templates])
        return {
            "protocolVersion": client.protocol_version,
            "name": client.server_info.name,
            "tools": sorted(tools), "prompts": sorted(prompts),
            "resources": sorted(resources), "resourceTemplates": sorted(templates),
        }


# The first line of the output, for a server of the legacy era and for a server of both eras.
SESSIONS = "revision: 2025-11-25 (with a session; server/discover was refused with -32601)"
BOTH = "revision: 2026-07-28 (without a session; the server said so)"


def compare(name, server, revisions=("2025-11-25",), found=SESSIONS, differing=lambda revision: ()):
    """Compares the lists. `differing` returns the tools that the server rightly hides from `inspect` in a revision."""
    everything = asyncio.run(listed(server))
    for revision in revisions:
        hidden = differing(revision)
        theirs = {**everything, "tools": [t for t in everything["tools"] if t not in hidden]}
        ours = json.loads(inspect("--json", "--revision", revision, server=server))
        equal(ours["protocolVersion"], revision)
        seen = {key: sorted(entry[member] for entry in ours[key]) for key, member in (
            ("tools", "name"), ("prompts", "name"), ("resources", "uri"),
            ("resourceTemplates", "uriTemplate"))}
        equal({**theirs, "protocolVersion": revision},
              {"protocolVersion": revision, "name": ours["serverInfo"]["name"], **seen})
        equal(isinstance(ours["capabilities"], dict), True)
    text = inspect(server=server)
    equal(text.splitlines()[0], found)
    for key in ("tools", "prompts", "resources", "resourceTemplates"):
        for entry in theirs[key]:
            equal(f"  {entry}" in text, True)
    print(f"inspect, {name}: ok ({len(theirs['tools'])} tools)", flush=True)


def everything():
    server = [f"{NPM}/mcp-server-everything", "stdio"]

    def differing(revision):
        # `inspect` cannot declare capabilities that the revision does not define, so the server hides these tools.
        by_url = [] if revision == "2025-11-25" else ["trigger-url-elicitation"]
        return by_url if "2025-06-18" <= revision else [*by_url, "trigger-elicitation-request"]

    compare("server-everything", server,
            ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"), differing=differing)
    equal(call("echo", {"message": "hi"}, server), "Echo: hi")
    equal(call("get-sum", {"a": 2, "b": 3}, server), "The sum of 2 and 3 is 5.")
    command = [INSPECT, "--call", "trigger-long-running-operation",
               '{"duration":1,"steps":4}', "--", *server]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    equal(done.returncode, 0)
    reports = [line for line in done.stderr.splitlines() if line.startswith("tools/call: ")]
    equal(reports, [f"tools/call: {step} of 4" for step in range(1, 5)])
    sampled = call("trigger-sampling-request", {"prompt": "p", "maxTokens": 10}, server)
    equal("This is what a model would say." in sampled, True)
    equal("accept" in call("trigger-elicitation-request", {}, server).lower(), True)
    result = json.loads(inspect("--json", "--call", "echo", '{"message":"hi"}', server=server))
    equal(result, {"content": [{"type": "text", "text": "Echo: hi"}]})
    call("no_such_tool", {}, server, code=1)


def filesystem():
    with tempfile.TemporaryDirectory() as directory:
        server = [f"{NPM}/mcp-server-filesystem", directory]
        compare("server-filesystem", server)
        path = f"{directory}/note é.txt"
        # The server works in the roots of its client if it has any.
        root = ["--root", pathlib.Path(directory).as_uri()]
        write = json.dumps({"path": path, "content": "line 1\nline 2 😀"})
        inspect(*root, "--call", "write_file", write, server=server)
        read = json.dumps({"path": path})
        equal(inspect(*root, "--call", "read_text_file", read, server=server),
              "line 1\nline 2 😀\n")
        outside = json.dumps({"path": "/etc/passwd"})
        inspect(*root, "--call", "read_text_file", outside, server=server, code=1)


def memory():
    with tempfile.TemporaryDirectory() as directory:
        server = ["env", f"MEMORY_FILE_PATH={directory}/memory.json", f"{NPM}/mcp-server-memory"]
        compare("server-memory", server)
        entity = {"name": "Ada", "entityType": "person", "observations": ["counts"]}
        call("create_entities", {"entities": [entity]}, server)
        graph = json.loads(call("read_graph", {}, server))
        equal([entity["name"] for entity in graph["entities"]], ["Ada"])


def clock():
    server = [f"{PIP}/mcp-server-time"]
    compare("mcp-server-time", server, ("2025-11-25", "2026-07-28"), BOTH)
    arguments = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}
    converted = json.loads(call("convert_time", arguments, server))
    equal(converted["target"]["datetime"][10:19], "T21:00:00")
    call("convert_time", {**arguments, "time": "25:00"}, server, code=1)


def git():
    with tempfile.TemporaryDirectory() as directory:
        subprocess.run(["git", "init", "-q", directory], check=True)
        server = [f"{PIP}/mcp-server-git", "--repository", directory]
        compare("mcp-server-git", server, ("2025-11-25", "2026-07-28"), BOTH)
        status = call("git_status", {"repo_path": directory}, server)
        equal("No commits yet" in status, True)


# Most of the time is spent waiting for servers to start and to end.
with concurrent.futures.ThreadPoolExecutor(3) as pool:
    for done in [pool.submit(one) for one in (everything, filesystem, memory, clock, git)]:
        done.result()
