// A server of the official TypeScript SDKs over HTTP, for tests of clients.
//
// Usage: node typescript_server.mjs PORT legacy|modern [ISSUER]
//
// `legacy` is @modelcontextprotocol/sdk, with sessions; `modern` is @modelcontextprotocol/server, without. With ISSUER,
// the server requires an access token of that issuer with the scope `mcp:use`.

import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { z } from "zod";

const [port, era, issuer] = process.argv.slice(2);
const PATH = "/mcp";
const INFO = { name: "typescript", version: "1" };
const FORM = {
  message: "Which city?",
  requestedSchema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
};

const text = (words) => ({ content: [{ type: "text", text: words }] });
const answered = ({ action, content }) => text(`${action} ${content?.city ?? ""}`.trim());

/** Registers the features of both eras. `report` sends progress and `ask` elicits a city, as the era defines it. */
function fill(server, report, ask) {
  const add = { description: "Adds two numbers", inputSchema: z.object({ a: z.number(), b: z.number() }) };
  server.registerTool("add", add, async ({ a, b }) => text(`${a + b}`));
  server.registerTool("slow", { description: "Reports its progress" }, async (context) => {
    for (const progress of [1, 2, 3]) {
      await report(context, { progress, total: 3, message: `step ${progress}` });
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    return text("done");
  });
  server.registerTool("ask", { description: "Asks for a city" }, ask);
  server.registerResource("words", "test://words", { description: "Some words" }, async ({ href }) => (
    { contents: [{ uri: href, mimeType: "text/plain", text: "words" }] }
  ));
  const travel = { description: "Sends somebody somewhere" };
  const argsSchema = era === "legacy" ? { city: z.string() } : z.object({ city: z.string() });
  server.registerPrompt("travel", { ...travel, argsSchema }, ({ city }) => (
    { messages: [{ role: "user", content: { type: "text", text: `Off to ${city}` } }] }
  ));
  return server;
}

async function legacy() {
  const { McpServer } = await import("@modelcontextprotocol/sdk/server/mcp.js");
  const { StreamableHTTPServerTransport } = await import("@modelcontextprotocol/sdk/server/streamableHttp.js");
  const sessions = new Map();

  const open = async () => {
    const server = new McpServer(INFO);
    const report = ({ _meta, sendNotification }, params) => _meta?.progressToken !== undefined && sendNotification({
      method: "notifications/progress", params: { ...params, progressToken: _meta.progressToken },
    });
    fill(server, report, async () => answered(await server.server.elicitInput(FORM)));
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void sessions.set(id, transport),
      onsessionclosed: (id) => void sessions.delete(id),
    });
    await server.connect(transport);
    return transport;
  };

  return async (request, response) => {
    const id = request.headers["mcp-session-id"];
    if (id !== undefined && !sessions.has(id)) {
      response.writeHead(404).end();
      return;
    }
    const transport = id === undefined ? await open() : sessions.get(id);
    await transport.handleRequest(request, response);
  };
}

async function modern() {
  const { McpServer, createMcpHandler, inputRequired } = await import("@modelcontextprotocol/server");
  const { toNodeHandler } = await import("@modelcontextprotocol/node");
  const report = ({ mcpReq }, params) => mcpReq._meta?.progressToken !== undefined && mcpReq.notify({
    method: "notifications/progress", params: { ...params, progressToken: mcpReq._meta.progressToken },
  });
  const ask = async ({ mcpReq }) => {
    const city = mcpReq.inputResponses?.city;
    if (city !== undefined) return answered(city);
    return inputRequired({ inputRequests: { city: inputRequired.elicit(FORM) }, requestState: "begun" });
  };
  const make = () => fill(new McpServer(INFO), report, ask);
  return toNodeHandler(createMcpHandler(make, { legacy: "reject" }));
}

/**
 * Returns a function that refuses requests without a valid token, and serves the metadata. The function returns whether
 * it has responded.
 */
async function protection() {
  const { createRemoteJWKSet, jwtVerify } = await import("jose");
  const auth = await import("@modelcontextprotocol/server");
  const url = new URL(`http://127.0.0.1:${port}${PATH}`);
  const keys = createRemoteJWKSet(new URL(`${issuer}/jwks`));
  const verifyAccessToken = async (token) => {
    const { payload } = await jwtVerify(token, keys, { issuer, audience: url.href }).catch((error) => {
      throw new auth.OAuthError(auth.OAuthErrorCode.InvalidToken, error.message);
    });
    const { client_id: clientId, exp: expiresAt, scope } = payload;
    return { token, clientId, scopes: scope.split(" "), expiresAt, resource: url };
  };
  const resourceMetadataUrl = auth.getOAuthProtectedResourceMetadataUrl(url);
  const gate = auth.requireBearerAuth({
    verifier: { verifyAccessToken }, requiredScopes: ["mcp:use"], resourceMetadataUrl, expectedResource: url,
  });
  const oauthMetadata = await (await fetch(`${issuer}/.well-known/oauth-authorization-server`)).json();
  const options = { oauthMetadata, resourceServerUrl: url, dangerouslyAllowInsecureIssuerUrl: true };
  return async (request, response) => {
    const asked = new Request(new URL(request.url, url), { method: request.method, headers: request.headers });
    const found = asked.url === url.href ? await gate(asked) : auth.oauthMetadataResponse(asked, options);
    if (!(found instanceof Response)) {
      request.auth = found;
      return false;
    }
    response.writeHead(found.status, Object.fromEntries(found.headers)).end(await found.text());
    return true;
  };
}

const handle = await (era === "legacy" ? legacy() : modern());
const refused = issuer === undefined ? async () => false : await protection();
createServer(async (request, response) => {
  if (await refused(request, response)) return;
  if (new URL(request.url, "http://localhost").pathname === PATH) {
    handle(request, response);
  } else {
    response.writeHead(404).end();
  }
}).listen(Number(port), "127.0.0.1");
