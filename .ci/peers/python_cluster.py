"""The last Python client with tasks, of mcp 1, which uses nodes that end, revision 2025-11-25.

Usage: python_cluster.py URL

It begins tasks of `cluster_node` until its input ends, and prints the number of those that have ended. Each must have its
result. A request without a response is sent again.
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
    """Sends a request again until it is served: the client ends with the first refusal, and with a broken connection."""

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
    """Does something until it succeeds. A task or a session that is not known is lost."""
    for _ in range(300):
        try:
            return await asyncio.wait_for(act(), 15)
        except Exception as error:  # noqa: BLE001  # Whatever a broken connection is to it.
            lost = "no such task" in str(error) or "not found" in str(error).lower()
            if lost:
                raise AssertionError(f"lost: {error}") from error
        await asyncio.sleep(0.2)
    raise AssertionError("not served")


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


# At its end the client logs the messages that it has no use for.
logging.disable(logging.CRITICAL)
asyncio.run(main())
