// Creates tasks at nodes that end, with the official TypeScript client of the extension io.modelcontextprotocol/tasks.
//
// Usage: typescript_cluster.mjs URL
//
// The script creates tasks of `cluster_node` until its standard input ends, and prints the number of completed tasks.
// Each task must have its result. A request without a response is sent again.

import assert from "node:assert/strict";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { createTaskSessionFromClient } from "@modelcontextprotocol/ext-tasks/client";

const INFO = { name: "typescript_cluster", version: "1" };
const REVISION = "2026-07-28";
const [url] = process.argv.slice(2);
const pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

let isOver = false;
process.stdin.on("end", () => (isOver = true)).resume();

/** Repeats an operation until it succeeds. Fails if the server does not know the task. */
async function again(act) {
  let last;
  for (let attempt = 0; attempt < 300; attempt += 1) {
    try {
      return await act();
    } catch (error) {
      assert.ok(!String(error).includes("no such task"), `a task is lost: ${error}`);
      last = error;
    }
    await pause(100);
  }
  throw new Error("no attempt was served", { cause: last });
}

let number = 0;

/** Sends a request of the task session. The client itself does not know the messages of the extension. */
async function dispatch({ method, params }) {
  const headers = {
    "Content-Type": "application/json",
    Accept: "application/json, text/event-stream",
    "MCP-Protocol-Version": REVISION,
    "Mcp-Method": method,
  };
  const name = params.taskId ?? params.name;
  if (name) headers["Mcp-Name"] = name;
  const id = `beside-${(number += 1)}`;
  const body = JSON.stringify({ jsonrpc: "2.0", id, method, params });
  const response = await fetch(url, { method: "POST", headers, body });
  if (!response.ok) throw new Error(`status ${response.status}`);
  const text = await response.text();
  const events = text.split("\n").filter((line) => line.startsWith("data: {"));
  const message = JSON.parse(events.length > 0 ? events.at(-1).slice(6) : text);
  assert.equal(message.id, id);
  if (message.error) return { kind: "error", error: message.error };
  return { kind: "result", result: message.result };
}

const client = new Client(INFO, { versionNegotiation: { mode: { pin: REVISION } } });
await again(() => client.connect(new StreamableHTTPClientTransport(new URL(url))));
const session = createTaskSessionFromClient(client, {
  endpointId: url,
  rawDispatch: dispatch,
  v2RequestFraming: { protocolVersion: REVISION, clientInfo: INFO, clientCapabilities: {} },
});
let count = 0;
while (!isOver) {
  const args = { seconds: 0.5 + (count % 4), count };
  const execution = await again(() => session.callTool("work", args, { task: { preference: "require" } }));
  assert.equal(execution.kind, "task");
  const task = session.task(execution.handle.taskId);
  for (;;) {
    const { status, raw } = await again(() => task.snapshot());
    if (status === "completed") {
      assert.deepEqual(JSON.parse(raw.result.content[0].text), args);
      break;
    }
    assert.equal(status, "working");
    await pause(100);
  }
  count += 1;
}
console.log(count);
process.exit(0);
