"""Logs in to a server that requires access tokens, with the official Python client and a user who agrees at once.

Usage: python_login.py URL
"""

import asyncio
import sys
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata

URL = sys.argv[1]
REDIRECT = "http://127.0.0.1:9/callback"


class Memory:
    """A token storage in memory."""

    tokens = client = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client


class User:
    """A user who agrees at once."""

    def __init__(self):
        self.scopes = []

    async def open(self, url):
        self.scopes.append(parse_qs(urlsplit(url).query)["scope"][0].split())
        async with httpx2.AsyncClient() as browser:
            response = await browser.get(url, follow_redirects=False)
        self.back = parse_qs(urlsplit(response.headers["location"]).query)

    async def come_back(self):
        first = {name: values[0] for name, values in self.back.items()}
        return AuthorizationCodeResult(code=first["code"], state=first.get("state"), iss=first.get("iss"))


async def main():
    user = User()
    metadata = OAuthClientMetadata(
        client_name="login", redirect_uris=[REDIRECT], token_endpoint_auth_method="none",
        grant_types=["authorization_code", "refresh_token"], response_types=["code"])
    auth = OAuthClientProvider(URL, metadata, Memory(), user.open, user.come_back)
    async with httpx2.AsyncClient(auth=auth, timeout=30) as http:
        async with Client(streamable_http_client(URL, http_client=http), mode="auto") as client:
            tools = await client.list_tools()
            assert tools.tools, tools
            assert user.scopes == [["mcp:use"]], user.scopes
            # This tool needs another scope, so the client logs in again.
            result = await client.call_tool("test_simple_text", {})
            assert result.content[0].text == "This is a simple text response for testing.", result
            assert len(user.scopes) == 2 and "mcp:tools" in user.scopes[1], user.scopes


asyncio.run(main())
