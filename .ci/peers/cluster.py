"""Runs three nodes behind HAProxy without sticky sessions, and kills or stops them in turn while clients use them.

Usage: cluster.py NODE STORE [TASK_CLIENT...]

NODE is the program `cluster_node`, STORE is `sqlite` or `redis`. The nodes must not lose acknowledged state:

- No session ends. A client that resumes its event stream gets the message of each answered call, once and in order.
- Every node finds each acknowledged task. The task ends with its result, or is cancelled after an acknowledged
  cancellation.

Official clients of both eras call tools meanwhile. Each TASK_CLIENT is the command of an official client with tasks.
The client gets the URL as its last argument, and ends when its standard input ends.
"""

import asyncio
import json
import pathlib
import signal
import subprocess
import sys
import tempfile

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from python_checks import equal  # noqa: E402
from serving import free_port  # noqa: E402

PROGRAM, STORE, *TASK_CLIENTS = sys.argv[1:]
NODES = 3
ENDS = 6
# The minimum number of responses for each client, before and after each kill or stop of a node.
CALLS = 10
HEADERS = {"Accept": "application/json, text/event-stream"}
HAPROXY = """
defaults
  mode http
  timeout connect 1s
  timeout client 120s
  timeout server 120s
  option redispatch 1
  retries 5
  retry-on conn-failure
frontend clients
  bind 127.0.0.1:{port}
  default_backend nodes
backend nodes
  balance roundrobin
  http-reuse never
  default-server check inter 100 fall 1 rise 1
{servers}
"""


class Node:
    """A process with its own port."""

    def __init__(self, store):
        self.port = free_port()
        self.command = [PROGRAM, "--store", store, "--listen", f"127.0.0.1:{self.port}"]
        self.process = None

    async def start(self):
        self.process = subprocess.Popen(self.command, stderr=subprocess.PIPE)
        said = await asyncio.to_thread(self.process.stderr.readline)
        equal(said.decode().strip(), f"listening on 127.0.0.1:{self.port}")

    async def kill(self):
        self.process.send_signal(signal.SIGKILL)
        await asyncio.to_thread(self.process.wait)

    async def stop(self):
        """Stops the node as in a planned restart. The node hands its sessions over before it exits."""
        self.process.send_signal(signal.SIGTERM)
        equal(await asyncio.to_thread(self.process.wait, 60), 0)


class Raw:
    """A client in a session, which records the messages that it receives."""

    def __init__(self, url):
        self.url = url
        self.http = httpx2.AsyncClient(timeout=httpx2.Timeout(30, read=None))
        self.next = 0
        self.answered, self.asked, self.received = [], set(), []
        self.resumed = 0
        self.last_event = None
        self.headers = dict(HEADERS)

    async def open(self):
        params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
        response = await self.post("initialize", 0, params)
        equal(response.status_code, 200)
        self.headers["Mcp-Session-Id"] = response.headers["Mcp-Session-Id"]
        self.headers["MCP-Protocol-Version"] = "2025-11-25"
        response = await self.post("notifications/initialized", None, {})
        equal(response.status_code, 202)
        equal((await self.post("logging/setLevel", 1, {"level": "info"})).status_code, 200)

    async def post(self, method, id, params):
        message = {"jsonrpc": "2.0", "method": method, "params": params} | ({} if id is None else {"id": id})
        return await self.http.post(self.url, json=message, headers=self.headers)

    async def call(self):
        """Calls the tool. If the call gets no response, its message may arrive or not."""
        number, self.next = self.next, self.next + 1
        self.asked.add(number)
        try:
            response = await self.post("tools/call", number + 2, {"name": "note", "arguments": {"n": number}})
        except httpx2.TransportError:
            return
        if response.status_code in (502, 503, 504):
            return
        equal(response.status_code, 200)
        equal(response.json()["result"]["content"][0]["text"], "noted")
        self.answered.append(number)

    async def listen(self):
        """Reads the event stream, and resumes it after each interruption."""
        while True:
            event = {"Last-Event-ID": self.last_event} if self.last_event else {}
            headers = self.headers | {"Accept": "text/event-stream"} | event
            try:
                async with self.http.stream("GET", self.url, headers=headers) as response:
                    equal(response.status_code in (200, 502, 503, 504), True)
                    if response.status_code == 200:
                        self.resumed += self.last_event is not None
                        await self.read(response)
            except httpx2.TransportError:
                pass
            await asyncio.sleep(0.05)

    async def read(self, response):
        id = None
        async for line in response.aiter_lines():
            field, _, value = line.partition(": ")
            if field == "id":
                id = value
            elif field == "data" and value:
                message = json.loads(value)
                equal(message["method"], "notifications/message")
                self.received.append(message["params"]["data"]["n"])
            elif not line:
                self.last_event = id or self.last_event


class Patient(httpx2.AsyncHTTPTransport):
    """Turns a broken connection into a 503 response. The official client survives a 503, but no broken connection."""

    async def handle_async_request(self, request):
        try:
            return await super().handle_async_request(request)
        except httpx2.TransportError:
            return httpx2.Response(503, request=request)


class Official:
    """An official client that only calls tools."""

    def __init__(self, url, mode):
        http = httpx2.AsyncClient(timeout=30, transport=Patient())
        self.client = Client(streamable_http_client(url, http_client=http), mode=mode)
        self.answered, self.next = [], 0

    async def call(self):
        self.next += 1
        try:
            result = await self.client.call_tool("echo", {"n": self.next})
        except Exception as error:  # noqa: BLE001  # A broken connection raises various exceptions.
            equal("session" in str(error).lower() and "not found" in str(error).lower(), False)
            await asyncio.sleep(0.02)
            return
        equal((result.is_error or False, result.content[0].text), (False, json.dumps({"n": self.next}, separators=(",", ":"))))
        self.answered.append(self.next)


class Tasks:
    """A client of the modern era that creates tasks, gets their states from any node, and cancels some of them."""

    def __init__(self, url):
        self.url = url
        self.http = httpx2.AsyncClient(timeout=30)
        self.answered, self.next = [], 0
        self.open, self.cancelled = {}, set()
        self.completed = 0

    async def post(self, method, name, params):
        """Sends a request. Returns the message of the response, or `None` if no node has served the request."""
        extensions = {"io.modelcontextprotocol/tasks": {}}
        meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {"extensions": extensions}}
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params | {"_meta": meta}}
        headers = HEADERS | {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method, "Mcp-Name": name}
        try:
            response = await self.http.post(self.url, json=message, headers=headers)
        except httpx2.TransportError:
            return None
        if response.status_code in (502, 503, 504):
            return None
        equal(response.status_code, 200)
        text = response.text
        if response.headers["Content-Type"].startswith("text/event-stream"):
            text = [line[6:] for line in text.splitlines() if line.startswith("data: {")][-1]
        return json.loads(text)

    async def call(self):
        self.next += 1
        if self.next % 8 == 1 and len(self.open) < 12:
            arguments = {"seconds": 0.2 + self.next % 5, "n": self.next}
            begun = await self.post("tools/call", "work", {"name": "work", "arguments": arguments})
            if begun:
                self.open[begun["result"]["taskId"]] = arguments
        elif self.open:
            task = list(self.open)[self.next % len(self.open)]
            if self.next % 40 == 0:
                self.cancelled.add(task)
                done = await self.post("tasks/cancel", task, {"taskId": task})
                equal("error" in (done or {}), False)
            await self.look(task)

    async def look(self, task):
        seen = await self.post("tasks/get", task, {"taskId": task})
        if seen is None:
            return
        if "result" not in seen:
            raise AssertionError(f"an acknowledged task is lost: tasks/get got {seen}")
        self.answered.append(task)
        seen = seen["result"]
        if seen["status"] == "completed":
            equal(json.loads(seen["result"]["content"][0]["text"]), self.open.pop(task))
            self.completed += 1
        elif seen["status"] != "working":
            equal((seen["status"], task in self.cancelled), ("cancelled", True))
            self.open.pop(task)

    async def finish(self):
        for _ in range(600):
            if not self.open:
                return
            for task in list(self.open):
                await self.look(task)
            await asyncio.sleep(0.1)
        raise AssertionError(f"tasks that have not ended: {self.open}")


class TaskProgram:
    """A program with an official client, which creates tasks until its standard input ends."""

    def __init__(self, command, url):
        command = command.split() + [url]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    async def finish(self):
        said, _ = await asyncio.to_thread(self.process.communicate, b"", 120)
        equal(self.process.returncode, 0)
        count = int(said.decode().strip().splitlines()[-1])
        equal(count > 0, True)
        return count


async def until(condition, what):
    for _ in range(3000):
        if condition():
            return
        await asyncio.sleep(0.01)
    raise AssertionError(what())


def counts(clients):
    return [len(client.answered) for client in clients]


async def use(clients, nodes):
    """Makes calls with all clients while each node in turn is killed or stopped, and started again."""
    stop = asyncio.Event()

    async def calls(client):
        while not stop.is_set():
            await client.call()
            await asyncio.sleep(0.002)

    async def ends():
        for at in range(ENDS):
            goals = [len(client.answered) + CALLS for client in clients]
            await until(lambda: all(len(client.answered) >= goal for client, goal in zip(clients, goals)),
                        lambda: f"before end {at}: {counts(clients)} calls were answered, {goals} are required")
            node = nodes[at % NODES]
            await (node.kill() if at % 2 == 0 else node.stop())
            goals = [len(client.answered) + CALLS for client in clients]
            await until(lambda: all(len(client.answered) >= goal for client, goal in zip(clients, goals)),
                        lambda: f"after end {at}: {counts(clients)} calls were answered, {goals} are required")
            await node.start()
        stop.set()

    async with asyncio.TaskGroup() as group:
        for client in clients:
            group.create_task(calls(client))
        group.create_task(ends())


async def run(directory, nodes, url):
    raws = [Raw(url) for _ in range(4)]
    officials = [Official(url, mode) for mode in ("legacy", "2026-07-28")]
    tasks = [Tasks(url) for _ in range(2)]
    programs = [TaskProgram(command, url) for command in TASK_CLIENTS]
    for raw in raws:
        await raw.open()
    listeners = [asyncio.create_task(raw.listen()) for raw in raws]
    async with officials[0].client, officials[1].client:
        await use(raws + officials + tasks, nodes)
        equal((officials[0].client.protocol_version, officials[1].client.protocol_version),
              ("2025-11-25", "2026-07-28"))
        for raw in raws:
            await until(lambda: not set(raw.answered) - set(raw.received),
                        lambda: f"messages that are lost: {set(raw.answered) - set(raw.received)}")
            equal(raw.received, sorted(set(raw.received)))
            equal(set(raw.received) <= raw.asked, True)
    for client in tasks:
        await client.finish()
    finished = [await program.finish() for program in programs]
    for listener in listeners:
        if listener.done():
            listener.result()
        listener.cancel()
    for raw in raws:
        await raw.http.aclose()
    answered = sum(len(client.answered) for client in raws + officials)
    refused = sum(raw.next - len(raw.answered) for raw in raws)
    resumed = sum(raw.resumed for raw in raws)
    of_official = f", {sum(finished)} of official clients" if programs else ""
    completed = sum(client.completed for client in tasks)
    cancelled = sum(len(client.cancelled) for client in tasks)
    said_of_tasks = f"{completed} tasks completed and {cancelled} cancelled{of_official}"
    return f"{ENDS // 2} kills and as many stops, {answered} calls answered, {refused} without answer, {resumed} streams resumed, {said_of_tasks}"


async def main():
    with tempfile.TemporaryDirectory() as directory:
        processes, nodes = [], []
        try:
            if STORE == "redis":
                port = free_port()
                processes.append(subprocess.Popen(
                    ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "yes",
                     "--appendfsync", "always", "--dir", directory], stdout=subprocess.DEVNULL))
                store = f"redis://127.0.0.1:{port}"
                await asyncio.sleep(1)
            else:
                store = f"sqlite:{directory}/store.sqlite"
            nodes = [Node(store) for _ in range(NODES)]
            for node in nodes:
                await node.start()
            port = free_port()
            servers = "\n".join(f"  server node{at} 127.0.0.1:{node.port}" for at, node in enumerate(nodes))
            config = pathlib.Path(directory) / "haproxy.cfg"
            config.write_text(HAPROXY.format(port=port, servers=servers))
            processes.append(subprocess.Popen(["haproxy", "-db", "-q", "-f", config]))
            await asyncio.sleep(1)
            said = await run(directory, nodes, f"http://127.0.0.1:{port}/mcp")
            print(f"three nodes behind HAProxy, {STORE}: ok ({said})", flush=True)
        finally:
            for process in processes + [node.process for node in nodes if node.process]:
                process.kill()
                process.wait()


asyncio.run(main())
