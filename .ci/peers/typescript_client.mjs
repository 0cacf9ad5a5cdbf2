// Tests everything_server with the official TypeScript clients, in one of their modes.
//
// Usage: typescript_client.mjs v1|v2 EVERYTHING_SERVER legacy|modern|automatic REVISION [ARGUMENT...]
//
// v1 is @modelcontextprotocol/sdk, which has only the legacy mode; v2 is @modelcontextprotocol/client. Both
// are resolved from the current directory. REVISION is the revision that client and server have to negotiate;
// the arguments are for the server. Every assertion is exact. The server has to end by itself.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { NEEDS, TOOLS, answers, refusal, until, withoutKey } from "./typescript_checks.mjs";
import { guards, hears as hearsAlone } from "./typescript_stateless.mjs";

const [line, server, mode, revision, ...rest] = process.argv.slice(2);
const STATELESS = revision === "2026-07-28";
const load = (name) =>
  import(pathToFileURL(createRequire(join(process.cwd(), "x.js")).resolve(name)).href);

/** A client of v1 or v2. Its methods hide the differences between the two. */
async function connect(command, capabilities, handlers) {
  const transportOptions = { command: "sh", args: ["-c", command] };
  const info = { name: "driver", version: "1" };
  if (line === "v2") {
    const { Client } = await load("@modelcontextprotocol/client");
    const { StdioClientTransport } = await load("@modelcontextprotocol/client/stdio");
    const modes = { legacy: "legacy", modern: { pin: "2026-07-28" }, automatic: "auto" };
    const client = new Client(info, { capabilities, versionNegotiation: { mode: modes[mode] } });
    for (const [method, handler] of Object.entries(handlers.requests)) {
      client.setRequestHandler(method, handler);
    }
    for (const [method, handler] of Object.entries(handlers.notifications)) {
      client.setNotificationHandler(method, handler);
    }
    await client.connect(new StdioClientTransport(transportOptions));
    client.call = (params, options) => client.callTool(params, options);
    assert.equal(client.getNegotiatedProtocolVersion(), revision);
    return client;
  }
  assert.equal(mode, "legacy");
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
  const client = new Client(info, { capabilities });
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

async function run(command, status) {
  const heard = { logs: [], updates: [], changes: [] };
  const asked = [];
  const client = await connect(
    `${command}; echo $? > '${status}'`,
    { sampling: {}, elicitation: { form: {}, url: {} }, roots: {} },
    {
      requests: answers(asked),
      notifications: {
        "notifications/message": ({ params }) => void heard.logs.push([params.level, params.data]),
        "notifications/resources/updated": ({ params }) => void heard.updates.push(params.uri),
        "notifications/tools/list_changed": () => void heard.changes.push("tools"),
        "notifications/resources/list_changed": () => void heard.changes.push("resources"),
        "notifications/prompts/list_changed": () => void heard.changes.push("prompts"),
      },
    },
  );
  assert.equal(client.getServerVersion().name, "everything");
  assert.equal(client.getInstructions(), "Something of everything, to try clients with.");
  await lists(client);
  await calls(client);
  await needs(client, asked);
  await reads(client);
  await (STATELESS ? hearsAlone : hears)(client, heard);
  if (STATELESS) await guards(client);
  await cancels(client);
  await client.close();
  assert.equal(readFileSync(status, "utf8").trim(), "0");
}

async function lists(client) {
  const names = (list) => list.map((item) => item.name);
  assert.deepEqual(names((await client.listTools()).tools), TOOLS);
  assert.equal((await client.listPrompts()).prompts.length, 5);
  const uris = (await client.listResources()).resources.map((resource) => resource.uri);
  assert.deepEqual(uris, ["test://static-text", "test://static-binary", "test://watched-resource"]);
  const templates = (await client.listResourceTemplates()).resourceTemplates;
  assert.deepEqual(templates.map((template) => template.uriTemplate), ["test://template/{id}/data"]);
}

async function text(client, name, args, options) {
  const result = await client.call({ name, arguments: args }, options);
  return [result.isError ?? false, result.content.map((block) => block.text)];
}

async function calls(client) {
  assert.deepEqual(await text(client, "echo", { text: "é\n😀" }), [false, ["é\n😀"]]);
  assert.deepEqual(await text(client, "add_numbers", { a: 2, b: 3.5 }), [false, ["5.5"]]);
  assert.deepEqual(await text(client, "test_error_handling"), [
    true, ["This tool intentionally returns an error for testing"],
  ]);
  await assert.rejects(client.call({ name: "no_such_tool" }), { code: -32602 });
  const reports = [];
  const onprogress = ({ progress, total }) => void reports.push([progress, total]);
  await text(client, "test_tool_with_progress", undefined, { onprogress });
  // These clients can lose a progress notification that arrives together with the result.
  const all = [[0, 100], [50, 100], [100, 100]];
  assert.deepEqual(reports, all.slice(0, Math.max(2, reports.length)));
  assert.deepEqual(await text(client, "slow", { ms: 200 }), [false, ["slept 200 ms"]]);
}

/** Calls the tools that need client input. The server must send each input request exactly once. */
async function needs(client, asked) {
  for (const [name, args, questions, said] of NEEDS) {
    asked.length = 0;
    const refused = refusal(name, questions, revision);
    const expected = refused === undefined ? [false, [said]] : [true, [refused]];
    const [failed, all] = await text(client, name, args);
    assert.deepEqual([name, [failed, all.map(withoutKey)]], [name, expected]);
    assert.deepEqual(asked.sort(), refused === undefined ? questions : []);
  }
  if (revision < "2025-06-18") return;
  const prompt = await client.getPrompt({ name: "test_input_required_result_prompt" });
  assert.equal(prompt.messages[0].content.text, "The context is: a test");
}

async function reads(client) {
  const { contents } = await client.readResource({ uri: "test://template/123/data" });
  assert.deepEqual(contents, [{
    uri: "test://template/123/data",
    mimeType: "application/json",
    text: '{"id":"123","templateTest":true,"data":"Data for ID: 123"}',
  }]);
  // v2 replaces the error code of the legacy era by that of the modern era.
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

async function hears(client, { logs, updates, changes }) {
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
  // A gateway announces a list when it has read it again, which may be after the result.
  await until(() => changes.length === 3);
  assert.deepEqual(changes.toSorted(), ["prompts", "resources", "tools"]);
  await client.ping();
}

/** Checks that a slow call delays no other call, and ends when it is cancelled. */
async function cancels(client) {
  const controller = new AbortController();
  const { signal } = controller;
  const slow = client.call({ name: "slow", arguments: { ms: 60000 } }, { signal });
  const refused = assert.rejects(slow);
  for (let number = 0; number < 50; number += 1) {
    assert.deepEqual(await text(client, "echo", { text: `${number}` }), [false, [`${number}`]]);
  }
  controller.abort("enough");
  await refused;
  assert.deepEqual(await text(client, "echo", { text: "on" }), [false, ["on"]]);
}

/** Checks that a client without capabilities gets errors that name the missing capability. */
async function refuses(command) {
  const client = await connect(command, {}, { requests: {}, notifications: {} });
  for (const [name, args, missing] of [
    ["test_elicitation", { message: "Who?" }, "elicitation"],
    ["test_sampling", { prompt: "What is it?" }, "sampling"],
    ["list_roots", {}, "roots"],
    ["test_missing_capability", {}, "sampling"],
  ]) {
    if (STATELESS) {
      const data = { requiredCapabilities: { [missing]: {} } };
      await assert.rejects(text(client, name, args), { code: -32021, data });
    } else if (missing !== "elicitation" || "2025-06-18" <= revision) {
      const said = `Missing required client capability: ${missing}`;
      assert.deepEqual([name, await text(client, name, args)], [name, [true, [said]]]);
    }
  }
  assert.deepEqual(await text(client, "test_input_required_result_capabilities"), [
    false, ["The client can give nothing"],
  ]);
  await client.close();
}

const directory = mkdtempSync(join(tmpdir(), "peer-"));
const command = [`'${server}'`, ...rest].join(" ");
try {
  await run(command, join(directory, "status"));
  await refuses(command);
} finally {
  rmSync(directory, { recursive: true });
}
console.log(`TypeScript client ${line}, ${mode}, ${[revision, ...rest].join(" ")}: ok`);
