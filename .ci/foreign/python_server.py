"""A server of the official Python SDK over HTTP, for tests of clients.

Usage: python_server.py PORT legacy|modern [ISSUER]

`legacy` needs mcp 1, which does not support 2026-07-28; `modern` needs mcp 2, which supports both eras. With ISSUER,
the server requires an access token of that issuer with the scope `mcp:use`.
"""

import asyncio
import sys

from pydantic import BaseModel

PORT, ERA, ISSUERS = int(sys.argv[1]), sys.argv[2], sys.argv[3:]


def protection():
    """Returns the options with which the server requires access tokens."""
    if not ISSUERS:
        return {}
    import jwt
    from mcp.server.auth.provider import AccessToken
    from mcp.server.auth.settings import AuthSettings

    url = f"http://127.0.0.1:{PORT}/mcp"
    keys = jwt.PyJWKClient(f"{ISSUERS[0].rstrip('/')}/jwks")

    class Verifier:
        async def verify_token(self, token):
            try:
                key = await asyncio.to_thread(keys.get_signing_key_from_jwt, token)
                claims = jwt.decode(token, key.key, algorithms=["ES256"], audience=url, issuer=ISSUERS[0])
            except jwt.PyJWTError:
                return None
            return AccessToken(token=token, client_id=claims["client_id"], scopes=claims["scope"].split(),
                               expires_at=claims["exp"], resource=url)

    settings = AuthSettings(issuer_url=ISSUERS[0], resource_server_url=url, required_scopes=["mcp:use"])
    return {"auth": settings, "token_verifier": Verifier()}


if ERA == "legacy":
    from mcp.server.fastmcp import Context, FastMCP
    server = FastMCP("python", host="127.0.0.1", port=PORT, **protection())
else:
    from mcp.server.mcpserver import Context, MCPServer
    from mcp.types import ElicitRequest, ElicitRequestFormParams, InputRequiredResult
    server = MCPServer("python", version="1", **protection())


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
