"""Creates tasks at nodes that end, with the last Python client that has tasks (mcp 1), in revision 2025-11-25.

Usage: python_cluster.py URL

The script creates tasks of `cluster_node` until its standard input ends, and prints the number of completed tasks.
Each task must have its result. A request without a response is sent again.
"""

import asyncio
import json
import logging
import sys

import httpx
from mcp import ClientSession, types
from mcp.client.streamable_http import streamable_http_client

URL = sys.argv[1]


class Patient(httpx.AsyncHTTPTransport):
    """Sends a request again until it is served. A refusal or a broken connection would end the client."""

    async def handle_async_request(self, request):
        for _ in range(300):
            try:
                response = await super().handle_async_request(request)
            except httpx.TransportError:
                pass
            else:
                if response.status_code not in (502, 503, 504):
                    return response
                await response.aclose()
            await asyncio.sleep(0.1)
        return httpx.Response(503, request=request)


async def again(act):
    """Repeats an operation until it succeeds. Fails if the server does not know the task or the session."""
    for _ in range(300):
        try:
            return await asyncio.wait_for(act(), 15)
        except Exception as error:  # noqa: BLE001  # A broken connection raises various exceptions.
            lost = "no such task" in str(error) or "not found" in str(error).lower()
            if lost:
                raise AssertionError(f"a task or a session is lost: {error}") from error
        await asyncio.sleep(0.2)
    raise AssertionError("no attempt was served")


async def run(tasks, number):
    arguments = {"seconds": 0.5 + number % 4, "number": number}
    begun = await again(lambda: tasks.call_tool_as_task("work", arguments, ttl=600000))
    task = begun.task.taskId
    while True:
        seen = await again(lambda: tasks.get_task(task))
        if seen.status == "completed":
            break
        if seen.status != "working":
            raise AssertionError(seen)
        await asyncio.sleep(0.1)
    result = await again(lambda: tasks.get_task_result(task, types.CallToolResult))
    if json.loads(result.content[0].text) != arguments:
        raise AssertionError(result)


async def main():
    end = asyncio.create_task(asyncio.to_thread(sys.stdin.read))
    http = httpx.AsyncClient(timeout=30, transport=Patient())
    async with streamable_http_client(URL, http_client=http) as (reader, writer, _), ClientSession(reader, writer) as session:
        await session.initialize()
        count = 0
        while not end.done():
            await run(session.experimental, count)
            count += 1
        print(count, flush=True)


# When the client ends, it logs the messages that it ignores.
logging.disable(logging.CRITICAL)
asyncio.run(main())
