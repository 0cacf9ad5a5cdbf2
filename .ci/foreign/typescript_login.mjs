// Logs in to a server that requires access tokens, with the official TypeScript clients and a user who agrees at once.
//
// Usage: typescript_login.mjs URL [v1]

import assert from "node:assert/strict";

const [url, line = "v2"] = process.argv.slice(2);
const REDIRECT = "http://127.0.0.1:9/callback";

const sdk = async () => {
  if (line === "v1") {
    const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
    const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/sdk/client/streamableHttp.js");
    const { UnauthorizedError } = await import("@modelcontextprotocol/sdk/client/auth.js");
    return { Client, StreamableHTTPClientTransport, UnauthorizedError };
  }
  return import("@modelcontextprotocol/client");
};
const { Client, StreamableHTTPClientTransport, UnauthorizedError } = await sdk();

/** A provider that stores its state in memory, and records the URLs that the user has to open. */
class Provider {
  opened = [];
  redirectUrl = REDIRECT;
  clientMetadata = {
    client_name: "login",
    redirect_uris: [REDIRECT],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: "none",
  };

  clientInformation() { return this.client; }
  saveClientInformation(client) { this.client = client; }
  tokens() { return this.saved; }

  saveTokens(tokens) {
    // If v1 needs more scopes, it refreshes its token, which never adds a scope. So it gets no refresh token.
    this.saved = line === "v1" ? { ...tokens, refresh_token: undefined } : tokens;
  }

  redirectToAuthorization(place) { this.opened.push(new URL(place)); }
  saveCodeVerifier(verifier) { this.verifier = verifier; }
  codeVerifier() { return this.verifier; }
}

const provider = new Provider();
const open = () => new StreamableHTTPClientTransport(new URL(url), { authProvider: provider });

/** Runs an operation. If the server requires it, logs in instead, and returns `undefined`. */
async function loggedIn(transport, act) {
  try {
    return await act(transport());
  } catch (error) {
    if (!(error instanceof UnauthorizedError)) throw error;
  }
  const response = await fetch(provider.opened.at(-1), { redirect: "manual" });
  const back = new URL(response.headers.get("location")).searchParams;
  await (line === "v1" ? transport().finishAuth(back.get("code")) : transport().finishAuth(back));
  return undefined;
}

const client = () => new Client({ name: "login", version: "1" }, { capabilities: {} });
let transport = open();
assert.equal(await loggedIn(() => transport, (it) => client().connect(it)), undefined);
assert.equal(provider.opened.length, 1);
assert.equal(provider.opened[0].searchParams.get("scope"), "mcp:use");

transport = open();
const connected = client();
await connected.connect(transport);
assert.ok((await connected.listTools()).tools.length > 0);

// This tool needs another scope, so the client logs in again.
const call = () => connected.callTool({ name: "test_simple_text", arguments: {} });
assert.equal(await loggedIn(() => transport, call), undefined);
assert.equal(provider.opened.length, 2);
assert.ok(provider.opened[1].searchParams.get("scope").split(" ").includes("mcp:tools"));
const result = await call();
assert.equal(result.content[0].text, "This is a simple text response for testing.");
await connected.close();
