// Tests everything_http with the official TypeScript clients over HTTP, in one era.
//
// Usage: typescript_client.mjs URL legacy|modern [v1]
//
// The client is @modelcontextprotocol/client, or @modelcontextprotocol/sdk with `v1`, which has only the legacy era.
// fixture.json and the conformance suite define the features that the server must have.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

const [url, era, line = "v2"] = process.argv.slice(2);
const FIXTURE = JSON.parse(readFileSync(new URL("fixture.json", import.meta.url), "utf8"));
const REVISIONS = { legacy: "2025-11-25", modern: "2026-07-28" };
const LOG_LEVEL = "io.modelcontextprotocol/logLevel";
const SIMPLE = [false, ["This is a simple text response for testing."]];

/** A client that answers the requests of the server, and records its messages and HTTP exchanges. */
async function connect(mode, able = true) {
  const peer = { asked: [], logs: [], changes: [], exchanges: [] };
  const info = { name: "driver", version: "1" };
  const capabilities = able ? { sampling: {}, elicitation: { form: {} }, roots: {} } : {};
  const requests = able ? answers(peer.asked) : {};
  const notifications = {
    "notifications/message": ({ params }) => void peer.logs.push(params.data),
    "notifications/tools/list_changed": ({ method }) => void peer.changes.push(method),
    "notifications/prompts/list_changed": ({ method }) => void peer.changes.push(method),
  };
  const watched = async (input, init = {}) => {
    const response = await fetch(input, init);
    const request = new Headers(init.headers);
    const { status, headers } = response;
    peer.exchanges.push({ method: init.method ?? "GET", status, request, response: headers });
    return response;
  };
  if (line === "v1") {
    await connectV1(peer, info, capabilities, requests, notifications, watched);
  } else {
    const { Client, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
    peer.client = new Client(info, { capabilities, versionNegotiation: { mode } });
    for (const [method, handler] of Object.entries(requests)) {
      peer.client.setRequestHandler(method, handler);
    }
    for (const [method, handler] of Object.entries(notifications)) {
      peer.client.setNotificationHandler(method, handler);
    }
    peer.transport = new StreamableHTTPClientTransport(new URL(url), { fetch: watched });
    await peer.client.connect(peer.transport);
    peer.raw = (params, options) => peer.client.callTool(params, options);
    assert.equal(peer.client.getNegotiatedProtocolVersion(), REVISIONS[era]);
  }
  peer.call = async (name, args, options) => {
    const result = await peer.raw({ name, arguments: args }, options);
    return [result.isError ?? false, result.content.map((block) => block.text)];
  };
  peer.seen = (method) => peer.exchanges.filter((exchange) => exchange.method === method);
  return peer;
}

async function connectV1(peer, info, capabilities, requests, notifications, watched) {
  const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
  const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/sdk/client/streamableHttp.js");
  const types = await import("@modelcontextprotocol/sdk/types.js");
  const schemas = {
    "sampling/createMessage": types.CreateMessageRequestSchema,
    "elicitation/create": types.ElicitRequestSchema,
    "roots/list": types.ListRootsRequestSchema,
    "notifications/message": types.LoggingMessageNotificationSchema,
    "notifications/tools/list_changed": types.ToolListChangedNotificationSchema,
    "notifications/prompts/list_changed": types.PromptListChangedNotificationSchema,
  };
  peer.client = new Client(info, { capabilities });
  for (const [method, handler] of Object.entries(requests)) {
    peer.client.setRequestHandler(schemas[method], handler);
  }
  for (const [method, handler] of Object.entries(notifications)) {
    peer.client.setNotificationHandler(schemas[method], handler);
  }
  peer.transport = new StreamableHTTPClientTransport(new URL(url), { fetch: watched });
  await peer.client.connect(peer.transport);
  peer.raw = (params, options) => peer.client.callTool(params, undefined, options);
  assert.equal(peer.transport.protocolVersion, REVISIONS[era]);
}

const answers = (asked) => ({
  "sampling/createMessage": async ({ params }) => {
    const question = params.messages[0].content.text;
    asked.push(`sample: ${question}`);
    return { role: "assistant", model: "m", content: { type: "text", text: FIXTURE.samples[question] } };
  },
  "elicitation/create": async ({ params }) => {
    asked.push(`form: ${params.message}`);
    const fields = Object.entries(params.requestedSchema.properties);
    const content = Object.fromEntries(fields.map(([name, schema]) => [name, filled(name, schema)]));
    return { action: "accept", content };
  },
  "roots/list": async () => {
    asked.push("roots");
    return { roots: [{ uri: "file:///somewhere" }] };
  },
});

/** Returns a value for a field of a form: the one in the fixture, the default, or the first choice. */
function filled(name, schema) {
  if (name in FIXTURE.fields) return FIXTURE.fields[name];
  if (schema.default !== undefined) return schema.default;
  const choices = schema.enum ?? (schema.oneOf ?? schema.anyOf)?.map((one) => one.const);
  if (choices !== undefined) return choices[0];
  if (schema.type === "array") return [filled("", schema.items)];
  return { boolean: true, integer: 1, number: 1.5 }[schema.type] ?? "e@x.org";
}

async function until(condition, what) {
  for (let tries = 0; tries < 1000 && !condition(); tries += 1) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  assert.ok(condition(), what);
}

const missing = (wanted, found) => wanted.filter((one) => !found.includes(one));

async function lists({ client }) {
  const tools = (await client.listTools()).tools.map((tool) => tool.name);
  assert.deepEqual(missing(FIXTURE.tools, tools), []);
  const uris = (await client.listResources()).resources.map((resource) => resource.uri);
  assert.deepEqual(missing(FIXTURE.resources, uris), []);
  const templates = (await client.listResourceTemplates()).resourceTemplates;
  assert.deepEqual(templates.map((template) => template.uriTemplate), ["test://template/{id}/data"]);
  const prompts = (await client.listPrompts()).prompts.map((prompt) => prompt.name);
  assert.deepEqual(missing(FIXTURE.prompts, prompts), []);
}

async function calls(peer) {
  assert.deepEqual(await peer.call("test_simple_text"), SIMPLE);
  assert.deepEqual(await peer.call("test_error_handling"), [
    true, ["This tool intentionally returns an error for testing"],
  ]);
  const { content } = await peer.raw({ name: "test_multiple_content_types" });
  assert.deepEqual(content.map((block) => block.type), ["text", "image", "resource"]);
  const reports = [];
  const onprogress = ({ progress, total }) => void reports.push([progress, total]);
  await peer.call("test_tool_with_progress", {}, { onprogress });
  // These clients can lose a progress notification that arrives together with the result.
  const all = [[0, 100], [50, 100], [100, 100]];
  assert.deepEqual(reports, all.slice(0, Math.max(2, reports.length)));
  for (const region of FIXTURE.regions) {
    const [failed, said] = await peer.call("test_x_mcp_header", { region });
    assert.ok(!failed, `${region}: ${said}`);
  }
  const many = Array.from({ length: 20 }, () => peer.call("test_simple_text"));
  assert.deepEqual(await Promise.all(many), many.map(() => SIMPLE));
}

async function reads({ client }) {
  const { contents } = await client.readResource({ uri: "test://template/123/data" });
  assert.deepEqual(JSON.parse(contents[0].text), { id: "123", templateTest: true, data: "Data for ID: 123" });
  const text = await client.readResource({ uri: "test://static-text" });
  assert.equal(text.contents[0].text, "This is the content of the static text resource.");
  // v2 replaces the error code of the legacy era by that of the modern era.
  const code = line === "v2" ? -32602 : -32002;
  await assert.rejects(client.readResource({ uri: "test://nowhere" }), { code });
  const prompt = await client.getPrompt({
    name: "test_prompt_with_arguments", arguments: { arg1: "a", arg2: "b" },
  });
  assert.equal(prompt.messages[0].content.text, "Prompt with arguments: arg1='a', arg2='b'");
  const completed = await client.complete({
    ref: { type: "ref/prompt", name: "test_prompt_with_arguments" }, argument: { name: "arg1", value: "par" },
  });
  assert.ok(Array.isArray(completed.completion.values));
}

/** Checks that the server sends each input request exactly once, and the results of the answers. */
async function asks(peer) {
  for (const [tool, args, questions, expected] of FIXTURE.asks[era]) {
    peer.asked.length = 0;
    const [failed, [said]] = await peer.call(tool, args);
    assert.ok(!failed && said.replaceAll(": ", ":").includes(expected.replaceAll(": ", ":")), `${tool}: ${said}`);
    assert.equal(peer.asked.length, questions.length, tool);
    peer.asked.sort().forEach((asked, at) => assert.ok(asked.startsWith(questions[at]), `${tool}: ${asked}`));
  }
}

async function legacy() {
  const other = await connect("legacy");
  const peer = await connect("legacy");
  await lists(peer);
  await calls(peer);
  await reads(peer);
  await asks(peer);
  await peer.client.setLoggingLevel("info");
  peer.logs.length = 0;
  await peer.call("test_tool_with_logging");
  assert.deepEqual(peer.logs, FIXTURE.logs);
  await peer.client.subscribeResource({ uri: "test://watched-resource" });
  await peer.client.unsubscribeResource({ uri: "test://watched-resource" });
  await peer.client.ping();
  // The server closes the stream of the call. The response arrives on another stream. v1 resumes once more than needed.
  assert.equal((await peer.call("test_reconnection"))[0], false);
  const resumed = peer.seen("GET").filter(({ status, request }) => status === 200 && request.has("last-event-id"));
  assert.ok(resumed.length === 1 || (line === "v1" && resumed.length === 2), `resumed ${resumed.length} times`);
  // The GET stream is the only open stream of the other session.
  await until(() => other.seen("GET").length > 0, "no GET");
  assert.deepEqual(other.seen("GET").map(({ status, response }) => (
    [status, response.get("content-type").split(";")[0]])), [[200, "text/event-stream"]]);
  other.changes.length = 0;
  await peer.call("test_trigger_tool_change");
  await until(() => other.changes.includes("notifications/tools/list_changed"), "the other session got none");
  for (const one of [peer, other]) {
    await one.transport.terminateSession();
    const [{ status, request }] = one.seen("DELETE");
    assert.ok(status >= 200 && status < 300, `DELETE: ${status}`);
    await one.client.close();
    await isOver(request);
  }
}

async function isOver(headers) {
  const response = await fetch(url, {
    method: "POST",
    headers: {
      ...Object.fromEntries(headers), "content-type": "application/json",
      "accept": "application/json, text/event-stream",
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" }),
  });
  assert.equal(response.status, 404);
  await response.text();
}

async function modern(mode) {
  const peer = await connect(mode);
  await lists(peer);
  await calls(peer);
  await reads(peer);
  await asks(peer);
  const prompt = await peer.client.getPrompt({ name: "test_input_required_result_prompt" });
  assert.ok(prompt.messages[0].content.text.includes("a test"));
  await guards(peer);
  // A request without a log level gets no log messages.
  peer.logs.length = 0;
  await peer.raw({ name: "test_logging_tool", _meta: { [LOG_LEVEL]: "debug" } });
  assert.ok(peer.logs.length > 0, "no log message");
  peer.logs.length = 0;
  await peer.call("test_logging_tool");
  assert.deepEqual(peer.logs, []);
  await listens(peer);
  assert.deepEqual([peer.seen("GET"), peer.seen("DELETE")], [[], []]);
  assert.ok(peer.exchanges.every(({ response }) => !response.has("mcp-session-id")));
  await peer.client.close();

  const poor = await connect(mode, false);
  const data = { requiredCapabilities: { sampling: {} } };
  await assert.rejects(poor.call("test_missing_capability"), { code: -32021, data });
  await poor.client.close();
}

/** Checks that the server accepts a `requestState` only as it has issued it. */
async function guards(peer) {
  const call = (params) => peer.raw(
    { name: "test_input_required_result_tampered_state", arguments: {}, ...params }, { allowInputRequired: true },
  );
  const { resultType, requestState } = await call({});
  assert.equal(resultType, "input_required");
  const inputResponses = { confirm: { action: "accept", content: { ok: true } } };
  for (const tampered of [`x${requestState}`, [...requestState].reverse().join(""), ""]) {
    await assert.rejects(call({ inputResponses, requestState: tampered }), { code: -32602 });
  }
  assert.equal((await call({ inputResponses, requestState })).isError ?? false, false);
}

async function listens(peer) {
  const tools = await peer.client.listen({ toolsListChanged: true });
  assert.deepEqual(tools.honoredFilter, { toolsListChanged: true });
  peer.changes.length = 0;
  await peer.call("test_trigger_prompt_change");
  await peer.call("test_trigger_tool_change");
  await until(() => peer.changes.length > 0, "the client got no notification of its subscription");
  assert.deepEqual(peer.changes, ["notifications/tools/list_changed"]);
  await tools.close();
  assert.equal(await tools.closed, "local");
  assert.deepEqual(await peer.call("test_simple_text"), SIMPLE);
}

const modes = era === "legacy" ? ["legacy"] : [{ pin: REVISIONS.modern }, "auto"];
for (const mode of modes) {
  await (era === "legacy" ? legacy() : modern(mode));
  console.log(`TypeScript client ${line}, ${era}, mode ${mode.pin ?? mode}: ok`);
}
