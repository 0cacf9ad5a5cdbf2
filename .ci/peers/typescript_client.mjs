// The official TypeScript clients against everything_server, at one revision.
//
// Usage: typescript_client.mjs v1|v2 EVERYTHING_SERVER REVISION
//
// v1 is @modelcontextprotocol/sdk, v2 is @modelcontextprotocol/client; both are resolved from the
// current directory. Every assertion is exact, and the server has to end by itself.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [line, server, revision] = process.argv.slice(2);
const load = (name) =>
  import(pathToFileURL(createRequire(join(process.cwd(), "x.js")).resolve(name)).href);

const TOOLS = [
  "echo", "add_numbers", "slow", "test_trigger_resource_update", "test_simple_text",
  "test_image_content", "test_audio_content", "test_embedded_resource",
  "test_multiple_content_types", "test_tool_with_logging", "test_tool_with_progress",
  "test_error_handling", "test_sampling", "test_elicitation",
  "test_elicitation_sep1034_defaults", "test_elicitation_sep1330_enums",
  "json_schema_2020_12_tool", "test_reconnection", "list_roots", "announce_changes",
  "visit_page", "needs_visit",
];

/** A client of one of the two lines, with the methods that differ made alike. */
async function connect(transportOptions, handlers) {
  const options = { capabilities: { sampling: {}, elicitation: {}, roots: {} } };
  const info = { name: "driver", version: "1" };
  if (line === "v2") {
    const { Client } = await load("@modelcontextprotocol/client");
    const { StdioClientTransport } = await load("@modelcontextprotocol/client/stdio");
    const client = new Client(info, options);
    for (const [method, handler] of Object.entries(handlers.requests)) {
      client.setRequestHandler(method, handler);
    }
    for (const [method, handler] of Object.entries(handlers.notifications)) {
      client.setNotificationHandler(method, handler);
    }
    await client.connect(new StdioClientTransport(transportOptions));
    client.call = (params, options) => client.callTool(params, options);
    return client;
  }
  const { Client } = await load("@modelcontextprotocol/sdk/client/index.js");
  const { StdioClientTransport } = await load("@modelcontextprotocol/sdk/client/stdio.js");
  const types = await load("@modelcontextprotocol/sdk/types.js");
  const schemas = {
    "sampling/createMessage": types.CreateMessageRequestSchema,
    "elicitation/create": types.ElicitRequestSchema,
    "roots/list": types.ListRootsRequestSchema,
    "notifications/message": types.LoggingMessageNotificationSchema,
    "notifications/resources/updated": types.ResourceUpdatedNotificationSchema,
    "notifications/tools/list_changed": types.ToolListChangedNotificationSchema,
    "notifications/resources/list_changed": types.ResourceListChangedNotificationSchema,
    "notifications/prompts/list_changed": types.PromptListChangedNotificationSchema,
  };
  const client = new Client(info, options);
  for (const [method, handler] of Object.entries(handlers.requests)) {
    client.setRequestHandler(schemas[method], handler);
  }
  for (const [method, handler] of Object.entries(handlers.notifications)) {
    client.setNotificationHandler(schemas[method], handler);
  }
  await client.connect(new StdioClientTransport(transportOptions));
  client.call = (params, options) => client.callTool(params, undefined, options);
  return client;
}

async function run(status) {
  const logs = [];
  const updates = [];
  const changes = [];
  const command = `'${server}' --revision ${revision}; echo $? > '${status}'`;
  const client = await connect(
    { command: "sh", args: ["-c", command] },
    {
      requests: {
        "sampling/createMessage": async (request) => {
          assert.equal(request.params.messages[0].content.text, "What is it?");
          const content = { type: "text", text: "It is a test." };
          return { role: "assistant", model: "m", content };
        },
        "elicitation/create": async (request) => {
          assert.equal(request.params.message, "Who?");
          return { action: "accept", content: { username: "u", email: "e@x.org" } };
        },
        "roots/list": async () => ({ roots: [{ uri: "file:///somewhere" }] }),
      },
      notifications: {
        "notifications/message": ({ params }) => void logs.push([params.level, params.data]),
        "notifications/resources/updated": ({ params }) => void updates.push(params.uri),
        "notifications/tools/list_changed": () => void changes.push("tools"),
        "notifications/resources/list_changed": () => void changes.push("resources"),
        "notifications/prompts/list_changed": () => void changes.push("prompts"),
      },
    },
  );
  assert.equal(client.getServerVersion().name, "everything");
  assert.equal(client.getInstructions(), "Something of everything, to try clients with.");
  await lists(client);
  await calls(client);
  await reads(client);
  await client.setLoggingLevel("info");
  await client.call({ name: "test_tool_with_logging" });
  assert.deepEqual(logs, [
    ["info", "Tool execution started"],
    ["info", "Tool processing data"],
    ["info", "Tool execution completed"],
  ]);
  await client.subscribeResource({ uri: "test://watched-resource" });
  await client.call({ name: "test_trigger_resource_update" });
  await client.unsubscribeResource({ uri: "test://watched-resource" });
  await client.call({ name: "test_trigger_resource_update" });
  assert.deepEqual(updates, ["test://watched-resource"]);
  await client.call({ name: "announce_changes" });
  assert.deepEqual(changes, ["tools", "resources", "prompts"]);
  await client.ping();
  await cancels(client);
  await client.close();
  assert.equal(readFileSync(status, "utf8").trim(), "0");
}

async function lists(client) {
  const names = (list) => list.map((item) => item.name);
  assert.deepEqual(names((await client.listTools()).tools), TOOLS);
  assert.equal((await client.listPrompts()).prompts.length, 4);
  const uris = (await client.listResources()).resources.map((resource) => resource.uri);
  assert.deepEqual(uris, ["test://static-text", "test://static-binary", "test://watched-resource"]);
  const templates = (await client.listResourceTemplates()).resourceTemplates;
  assert.deepEqual(templates.map((template) => template.uriTemplate), ["test://template/{id}/data"]);
}

async function calls(client) {
  const text = async (name, args, options) => {
    const result = await client.call({ name, arguments: args }, options);
    return [result.isError ?? false, result.content.map((block) => block.text)];
  };
  assert.deepEqual(await text("echo", { text: "é\n😀" }), [false, ["é\n😀"]]);
  assert.deepEqual(await text("add_numbers", { a: 2, b: 3.5 }), [false, ["5.5"]]);
  assert.deepEqual(await text("test_error_handling"), [
    true, ["This tool intentionally returns an error for testing"],
  ]);
  await assert.rejects(client.call({ name: "no_such_tool" }), { code: -32602 });
  assert.deepEqual(await text("test_sampling", { prompt: "What is it?" }), [
    false, ["LLM response: It is a test."],
  ]);
  const given = 'User response: action=accept, content={"username":"u","email":"e@x.org"}';
  const expected = revision < "2025-06-18"
    ? [true, ["The client does not support elicitation"]]
    : [false, [given]];
  assert.deepEqual(await text("test_elicitation", { message: "Who?" }), expected);
  const reports = [];
  const onprogress = ({ progress, total }) => void reports.push([progress, total]);
  await text("test_tool_with_progress", undefined, { onprogress });
  // These clients can lose a report that arrives together with the result.
  const all = [[0, 100], [50, 100], [100, 100]];
  assert.deepEqual(reports, all.slice(0, Math.max(2, reports.length)));
  // A slow call does not delay others: they are all done before it is.
  const done = [];
  const slow = text("slow", { ms: 5000 }).then((result) => {
    done.push("slow");
    return result;
  });
  for (let number = 0; number < 50; number += 1) {
    assert.deepEqual(await text("echo", { text: `${number}` }), [false, [`${number}`]]);
  }
  done.push("echo");
  assert.deepEqual(await slow, [false, ["slept 5000 ms"]]);
  assert.deepEqual(done, ["echo", "slow"]);
  assert.deepEqual(await text("list_roots"), [false, ["file:///somewhere"]]);
}

async function reads(client) {
  const { contents } = await client.readResource({ uri: "test://template/123/data" });
  assert.deepEqual(contents, [{
    uri: "test://template/123/data",
    mimeType: "application/json",
    text: '{"id":"123","templateTest":true,"data":"Data for ID: 123"}',
  }]);
  // v2 gives the error of the handshake revisions the code of the later one.
  const missing = { code: line === "v2" ? -32602 : -32002, data: { uri: "test://nowhere" } };
  await assert.rejects(client.readResource({ uri: "test://nowhere" }), missing);
  const prompt = await client.getPrompt({
    name: "test_prompt_with_arguments", arguments: { arg1: "a", arg2: "b" },
  });
  assert.equal(prompt.messages[0].content.text, "Prompt with arguments: arg1='a', arg2='b'");
  await assert.rejects(client.getPrompt({ name: "no_such_prompt" }), { code: -32602 });
  const completed = await client.complete({
    ref: { type: "ref/prompt", name: "test_prompt_with_arguments" },
    argument: { name: "arg1", value: "par" },
  });
  assert.deepEqual(completed.completion.values, ["paris", "park", "party"]);
}

async function cancels(client) {
  const controller = new AbortController();
  setTimeout(() => controller.abort("enough"), 300);
  const call = client.call({ name: "slow", arguments: { ms: 60000 } }, { signal: controller.signal });
  await assert.rejects(call);
  await client.ping();
}

const directory = mkdtempSync(join(tmpdir(), "peer-"));
try {
  await run(join(directory, "status"));
} finally {
  rmSync(directory, { recursive: true });
}
console.log(`TypeScript client ${line}, ${revision}: ok`);
