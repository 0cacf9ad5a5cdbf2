// Tests the tasks of everything_server with the official TypeScript client of the extension
// io.modelcontextprotocol/tasks, in revision 2026-07-28.
//
// Usage: typescript_tasks_stateless.mjs EVERYTHING_SERVER [ARGUMENT...]
//
// The client is @modelcontextprotocol/ext-tasks on @modelcontextprotocol/client. Node.js resolves both from
// the directory of this file. The arguments are for the server. Every assertion is exact. The server has to
// end by itself.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { createTaskSessionFromClient } from "@modelcontextprotocol/ext-tasks/client";
import { INFO, RELATED, filled, within } from "./typescript_task_clients.mjs";
import { CAPABILITIES, DECLARED, REVISION, TASKS, ask, beside } from "./typescript_task_messages.mjs";

const [server, ...rest] = process.argv.slice(2);
const TOOLS = [
  "slow_compute", "failing_job", "protocol_error_job", "confirm_delete", "multi_input",
  "test_tool_with_task", "echo",
];

class Peer {
  constructor(parts) {
    Object.assign(this, parts);
  }

  async start(name, args) {
    const execution = await this.session.callTool(name, args, { task: { preference: "require" } });
    assert.equal(execution.kind, "task");
    return execution;
  }

  /** Runs a tool as a task to its end. The client answers elicitations before the task and within it. */
  async run(name, args, end, scopes = []) {
    this.asked.length = 0;
    const execution = await this.start(name, args);
    const { taskId } = execution.handle;
    const statuses = [];
    const onEvent = ({ type, task }) => {
      if (type === "outcome") return;
      assert.equal(task.taskId, taskId);
      if (statuses.at(-1) !== task.status) statuses.push(task.status);
    };
    const { outcome } = await within(30, `the end of ${name}`, execution.settle({ onEvent }));
    assert.deepEqual(this.asked.map(([scope]) => scope), scopes);
    const keys = this.asked.map(([, key]) => key);
    assert.equal(new Set(keys).size, keys.length, "a key was used twice");
    const ways = scopes.includes("task")
      ? [["working", "input_required", end], ["working", "input_required", "working", end]]
      : [["working", end]];
    assert.ok(ways.some((way) => way.join() === statuses.join()), `${name} was ${statuses}`);
    const { status, raw: { result, error } } = await this.session.task(taskId).snapshot();
    assert.deepEqual([status, result?._meta?.[RELATED]], [end, undefined]);
    if (end === "completed") assert.deepEqual([result, outcome.error], [outcome.result, undefined]);
    return { taskId, result, error, outcome };
  }

  async declares() {
    const { extensions, tasks } = this.client.getServerCapabilities();
    assert.deepEqual([extensions?.[TASKS], tasks], [{}, undefined], "declared tasks");
    const { tools } = await ask(this.dispatch, "tools/list", {}, DECLARED);
    for (const name of TOOLS) {
      const tool = tools.find((one) => one.name === name);
      assert.deepEqual([name, tool?.name, tool?.execution], [name, name, undefined]);
    }
  }

  async completes() {
    const { result } = await this.run("slow_compute", { seconds: 1, label: "x-label" }, "completed");
    assert.match(result.content[0].text, /x-label/);
  }

  async cancels() {
    const execution = await this.start("slow_compute", { seconds: 60, label: "y" });
    const task = this.session.task(execution.handle.taskId);
    await execution.cancel();
    assert.equal((await execution.result()).status, "cancelled");
    // The status above comes from the client, this one from the server.
    const { status } = await within(10, "the end of the cancelled task", task.result());
    assert.equal(status, "cancelled");
    // The server acknowledges requests about a task that has ended, and ignores them.
    await task.cancel();
    await task.update({ nothing: { action: "cancel" } });
    assert.equal((await task.snapshot()).status, "cancelled");
  }

  async answers() {
    const args = { filename: "a-file.txt" };
    const deleted = await this.run("confirm_delete", args, "completed", ["task"]);
    assert.equal(this.asked[0][2].properties.confirm.type, "boolean");
    assert.match(deleted.result.content[0].text, /a-file\.txt/);
    const both = await this.run("multi_input", {}, "completed", ["task", "task"]);
    assert.ok(!both.result.isError && both.result.content[0].text);
    // This call requires input before it becomes a task.
    const greeted = await this.run("test_tool_with_task", {}, "completed", ["request"]);
    assert.match(greeted.result.content[0].text, /Ada/);
  }

  /** Answers the two input requests of a task one after the other. */
  async answersInPart() {
    const call = { name: "multi_input", arguments: {} };
    const { taskId } = await ask(this.dispatch, "tools/call", call, DECLARED);
    const task = this.session.task(taskId);
    const open = async (count) => {
      for (;;) {
        const { status, raw } = await task.snapshot();
        assert.ok(["working", "input_required"].includes(status), status);
        const requests = Object.entries(raw.inputRequests ?? {});
        if (requests.length === count) return requests;
        await new Promise((done) => setTimeout(done, 50));
      }
    };
    const answer = ([key, { params }]) => task.update({ [key]: filled(params.requestedSchema) });
    const [first, second] = await within(10, "two questions", open(2));
    await answer(first);
    assert.deepEqual(await within(10, "one question left", open(1)), [second]);
    // The server ignores responses to input requests that are answered or unknown.
    await answer(first);
    await task.update({ "no such key": { action: "cancel" } });
    assert.deepEqual(await within(10, "one question left", open(1)), [second]);
    await answer(second);
    const outcome = await within(10, "the end of multi_input", task.result());
    assert.equal(outcome.status, "completed");
  }

  /** Checks that a result whose `isError` is true completes a task, and that a JSON-RPC error fails it. */
  async fails() {
    const failing = await this.run("failing_job", {}, "completed");
    assert.equal(failing.result.isError, true);
    const { error, outcome } = await this.run("protocol_error_job", {}, "failed");
    assert.equal(outcome.status, "failed");
    assert.deepEqual([outcome.error.code, outcome.error.message], [error.code, error.message]);
    assert.ok(Number.isInteger(error.code) && outcome.task.statusMessage);
  }

  async refuses() {
    const unknown = this.session.task("no such task");
    await assert.rejects(unknown.snapshot(), { code: -32602 });
    await assert.rejects(unknown.cancel(), { code: -32602 });
    await assert.rejects(unknown.update({}), { code: -32602 });
    // Methods of the legacy era do not exist. The others require that the request declares the extension.
    for (const method of ["tasks/list", "tasks/result"]) {
      const params = { taskId: "no such task" };
      await assert.rejects(ask(this.dispatch, method, params, DECLARED), { code: -32601 });
    }
    const params = { taskId: "no such task", inputResponses: {} };
    const data = { requiredCapabilities: DECLARED };
    for (const method of ["tasks/get", "tasks/update", "tasks/cancel"]) {
      const legacy = { tasks: { list: {}, cancel: {} } };
      await assert.rejects(ask(this.dispatch, method, params, legacy), { code: -32021, data });
    }
    const call = (name, args) => this.client.callTool({ name, arguments: args });
    await assert.rejects(call("failing_job", {}), { code: -32021, data });
    const plain = await call("slow_compute", { seconds: 0, label: "z-label" });
    assert.match(plain.content[0].text, /z-label/);
    // The `task` parameter of the legacy era creates no task.
    const echo = { name: "echo", arguments: { text: "é" }, task: { ttl: 1000 } };
    const echoed = await ask(this.dispatch, "tools/call", echo, DECLARED);
    assert.deepEqual([echoed.resultType, echoed.content[0].text], ["complete", "é"]);
  }
}

const directory = mkdtempSync(join(tmpdir(), "peer-"));
const status = join(directory, "status");
try {
  const [asked, wrong] = [[], []];
  const command = [`'${server}'`, ...rest].join(" ");
  const transport = new StdioClientTransport({
    command: "sh", args: ["-c", `${command}; echo $? > '${status}'`],
  });
  const mode = { pin: REVISION };
  const client = new Client(INFO, { capabilities: CAPABILITIES, versionNegotiation: { mode } });
  client.onerror = (error) => wrong.push(error);
  await client.connect(transport);
  const dispatch = beside(transport);
  const session = createTaskSessionFromClient(client, {
    endpointId: "everything",
    rawDispatch: dispatch,
    v2RequestFraming: {
      protocolVersion: REVISION, clientInfo: INFO, clientCapabilities: CAPABILITIES,
    },
    async onInputRequest({ kind, params }, { scope, inputId }) {
      assert.equal(kind, "elicitation");
      asked.push([scope, inputId, params.requestedSchema]);
      return filled(params.requestedSchema);
    },
    onError: (error) => wrong.push(error),
  });
  const peer = new Peer({ client, dispatch, session, asked });
  try {
    await peer.declares();
    await peer.completes();
    await peer.cancels();
    await peer.answers();
    await peer.answersInPart();
    await peer.fails();
    await peer.refuses();
  } finally {
    for (const error of wrong) console.error(error);
  }
  assert.equal(wrong.length, 0);
  await session.close();
  await client.close();
  assert.equal(readFileSync(status, "utf8").trim(), "0");
} finally {
  rmSync(directory, { recursive: true });
}
console.log(`TypeScript tasks v2, ${[REVISION, ...rest].join(" ")}: ok`);
