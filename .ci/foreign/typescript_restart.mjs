// Tests a server that restarts twice while an official TypeScript client keeps its session.
//
// Usage: typescript_restart.mjs URL [v1]
//
// The script prints `restart` to request another process of the server, and then waits for a line of input.

import assert from "node:assert/strict";
import { createInterface } from "node:readline";

const [url, line = "v2"] = process.argv.slice(2);
const SIMPLE = [false, ["This is a simple text response for testing."]];
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const peer = { logs: [], updates: [], questions: [], sent: [], streams: 0 };

async function restart() {
  console.log("restart");
  assert.equal((await lines.next()).value, "restarted");
}

async function until(condition, what) {
  for (let left = 3000; left > 0 && !condition(); left -= 1) {
    await new Promise((done) => setTimeout(done, 10));
  }
  assert(condition(), what);
}

async function watched(input, init = {}) {
  peer.sent.push(new Headers(init.headers).get("mcp-session-id"));
  const response = await fetch(input, init);
  peer.streams += init.method === "GET" && response.ok ? 1 : 0;
  return response;
}

const requests = {
  "sampling/createMessage": ({ params }) => {
    const [message] = params.messages;
    peer.questions.push((message.content[0] ?? message.content).text);
    return { role: "assistant", model: "m", content: { type: "text", text: "an answer" } };
  },
};
const notifications = {
  "notifications/message": ({ params }) => void peer.logs.push(params.data),
  "notifications/resources/updated": ({ params }) => void peer.updates.push(params.uri),
};

async function connect() {
  const [info, capabilities] = [{ name: "driver", version: "1" }, { sampling: {} }];
  if (line === "v1") {
    const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
    const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/sdk/client/streamableHttp.js");
    const types = await import("@modelcontextprotocol/sdk/types.js");
    const client = new Client(info, { capabilities });
    client.setRequestHandler(types.CreateMessageRequestSchema, requests["sampling/createMessage"]);
    client.setNotificationHandler(types.LoggingMessageNotificationSchema, notifications["notifications/message"]);
    const updated = notifications["notifications/resources/updated"];
    client.setNotificationHandler(types.ResourceUpdatedNotificationSchema, updated);
    const transport = new StreamableHTTPClientTransport(new URL(url), { fetch: watched });
    await client.connect(transport);
    return [client, transport];
  }
  const { Client, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
  const client = new Client(info, { capabilities, versionNegotiation: { mode: "legacy" } });
  for (const [method, handler] of Object.entries(requests)) {
    client.setRequestHandler(method, handler);
  }
  for (const [method, handler] of Object.entries(notifications)) {
    client.setNotificationHandler(method, handler);
  }
  const transport = new StreamableHTTPClientTransport(new URL(url), { fetch: watched });
  await client.connect(transport);
  return [client, transport];
}

const [client, transport] = await connect();

async function call(name, args) {
  const result = await client.callTool({ name, arguments: args });
  return [result.isError ?? false, result.content.map((block) => block.text)];
}

/** Checks that the server continues a session that an earlier process has opened. */
async function served() {
  assert.deepEqual(await call("test_simple_text"), SIMPLE);
  peer.questions.length = 0;
  const [failed] = await call("test_sampling", { prompt: "a question" });
  assert.deepEqual([failed, peer.questions], [false, ["a question"]]);
  // The level of the session is still "error", and the messages of this tool are of the level "info".
  await call("test_tool_with_logging");
  assert.deepEqual(peer.logs, []);
  // The client has opened its event stream again, and is still subscribed.
  peer.updates.length = 0;
  await call("test_trigger_resource_update");
  await until(() => peer.updates.length > 0, "the client got no notification");
  assert.deepEqual(peer.updates, ["test://watched-resource"]);
}

await client.setLoggingLevel("error");
await client.subscribeResource({ uri: "test://watched-resource" });
await until(() => peer.streams === 1, "the client has opened no event stream");
const posts = peer.sent.length;
const reconnection = call("test_reconnection");
await until(() => peer.sent.length > posts, "the client has not sent the call");
await new Promise((done) => setTimeout(done, 50));
// The server has closed the stream, so the client reconnects for the response. Replace the server meanwhile.
await restart();
assert.equal((await reconnection)[0], false);
await served();
await restart();
await served();
await transport.terminateSession();
await client.close();
const [opening, ...others] = peer.sent;
assert.equal(opening, null);
assert.deepEqual([new Set(others).size, others.includes(null)], [1, false]);
console.log("ok");
process.exit(0);
