"""A server of the official Python SDK over HTTP, to try clients with.

Usage: python_server.py PORT legacy|modern

`legacy` needs the 1.x line, which knows nothing of 2026-07-28; `modern` the 2.x line, which speaks both eras.
"""

import asyncio
import sys

from pydantic import BaseModel

PORT, ERA = int(sys.argv[1]), sys.argv[2]

if ERA == "legacy":
    from mcp.server.fastmcp import Context, FastMCP
    server = FastMCP("python", host="127.0.0.1", port=PORT)
else:
    from mcp.server.mcpserver import Context, MCPServer
    from mcp.types import ElicitRequest, ElicitRequestFormParams, InputRequiredResult
    server = MCPServer("python", version="1")


class City(BaseModel):
    city: str


@server.tool()
def add(a: float, b: float) -> str:
    """Adds two numbers"""
    return f"{a + b:g}"


@server.tool()
async def slow(context: Context) -> str:
    """Reports its progress"""
    for step in (1, 2, 3):
        await context.report_progress(step, 3, f"step {step}")
        await asyncio.sleep(0.1)
    return "done"


if ERA == "legacy":
    @server.tool()
    async def ask(context: Context) -> str:
        """Asks for a city"""
        answer = await context.elicit("Which city?", schema=City)
        return f"{answer.action} {answer.data.city if answer.action == 'accept' else ''}".strip()
else:
    @server.tool()
    async def ask(context: Context) -> str | InputRequiredResult:
        """Asks for a city"""
        if not context.input_responses:
            form = ElicitRequestFormParams(message="Which city?", requested_schema=City.model_json_schema())
            return InputRequiredResult(input_requests={"city": ElicitRequest(params=form)}, request_state="begun")
        answer = context.input_responses["city"]
        return f"{answer.action} {(answer.content or {}).get('city', '')}".strip()


@server.resource("test://words")
def words() -> str:
    """Some words"""
    return "words"


@server.prompt()
def travel(city: str) -> str:
    """Sends somebody somewhere"""
    return f"Off to {city}"


if ERA == "legacy":
    server.run("streamable-http")
else:
    server.run("streamable-http", host="127.0.0.1", port=PORT)
