// One interface for the task clients of 2025-11-25, with their elicitations and the checks of a task.
//
// Node.js resolves the packages from the directory of this file.

import assert from "node:assert/strict";

export const RELATED = "io.modelcontextprotocol/related-task";
export const TERMINAL = ["completed", "failed", "cancelled"];
export const INFO = { name: "driver", version: "1" };
const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/;
const FILLED = { boolean: true, string: "Ada", integer: 36, number: 36 };

export function within(seconds, what, promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not within ${seconds} s: ${what}`)), seconds * 1000);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/** The answer to a form: each field gets a value of its type. */
export const filled = ({ properties }) => ({
  action: "accept",
  content: Object.fromEntries(
    Object.entries(properties).map(([name, { type }]) => [name, FILLED[type]]),
  ),
});

/** Checks a task as every message must describe it. */
export function check(task, taskId, statuses, { ttl, pollInterval } = task) {
  assert.deepEqual([task.taskId, typeof taskId], [taskId, "string"]);
  assert.ok(statuses.includes(task.status), `${task.status} is none of ${statuses}`);
  assert.ok(ttl === null || (Number.isInteger(ttl) && ttl >= 0), `ttl: ${ttl}`);
  assert.ok(pollInterval === undefined || (Number.isInteger(pollInterval) && pollInterval > 0));
  for (const at of [task.createdAt, task.lastUpdatedAt]) assert.match(at, TIME);
  assert.equal(task._meta?.[RELATED], undefined, "a task has related-task in its own `_meta`");
}

/** The elicitations within one task. They get their answers once the poller has seen `input_required`. */
export class Questions {
  constructor() {
    this.prepare(0);
  }
  prepare(count) {
    Object.assign(this, { count, asked: [] });
    this.known = new Promise((done) => (this.created = done));
    this.seen = new Promise((done) => (this.saw = done));
    this.complete = new Promise((done) => (this.all = done));
  }
  async answer({ message, requestedSchema, mode, _meta }) {
    this.asked.push(requestedSchema);
    assert.ok(this.asked.length <= this.count, `asked too often: ${message}`);
    if (this.asked.length === this.count) this.all();
    const taskId = await within(10, "the task that asks", this.known);
    assert.deepEqual([mode ?? "form", _meta?.[RELATED]], ["form", { taskId }], message);
    await within(10, `all ${this.count} questions at once`, this.complete);
    await within(10, "input_required, seen by tasks/get", this.seen);
    return filled(requestedSchema);
  }
}

/**
 * Drops one response to each request that the client has cancelled. The response may cross
 * `notifications/cancelled`, and the client would report it as a response to no request.
 */
function withoutCrossing(transport) {
  const cancelled = new Set();
  const [send, deliver] = [transport.send, transport.onmessage];
  transport.send = (message, ...more) => {
    if (message.method === "notifications/cancelled") cancelled.add(message.params.requestId);
    return send.call(transport, message, ...more);
  };
  transport.onmessage = (message, ...more) => {
    const answers = message.method === undefined;
    if (!answers || !cancelled.delete(message.id)) deliver(message, ...more);
  };
}

/** Connects a client of v1 or v2. Errors that no call returns are added to `wrong`. */
export function connect(line, command, questions, notified, wrong) {
  const answer = (params) => questions.answer(params).catch((error) => {
    wrong.push(error);
    throw error;
  });
  const options = [{ command: "sh", args: ["-c", command] }, { elicitation: { form: {} } }];
  return { v1: connectV1, v2: connectV2 }[line](...options, { questions, answer, notified, wrong });
}

async function connectV1(options, capabilities, { answer, notified, wrong }) {
  const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
  const { StdioClientTransport } = await import("@modelcontextprotocol/sdk/client/stdio.js");
  const types = await import("@modelcontextprotocol/sdk/types.js");
  const client = new Client(INFO, { capabilities });
  client.setRequestHandler(types.ElicitRequestSchema, ({ params }) => answer(params));
  client.setNotificationHandler(types.TaskStatusNotificationSchema, ({ params }) => notified(params));
  client.onerror = (error) => wrong.push(error);
  const transport = new StdioClientTransport(options);
  await client.connect(transport);
  withoutCrossing(transport);
  const { tasks } = client.experimental;
  return {
    capabilities: client.getServerCapabilities(),
    send: (method, params) => client.request({ method, params }, types.ResultSchema),
    tools: async () => (await client.listTools()).tools,
    get: (taskId) => tasks.getTask(taskId),
    result: (taskId) => tasks.getTaskResult(taskId, types.CallToolResultSchema),
    list: (cursor) => tasks.listTasks(cursor),
    cancel: (taskId) => tasks.cancelTask(taskId),
    close: () => client.close(),
    async start(name, args) {
      // The client has listed the tools, so it knows that this call has to create a task.
      const stream = tasks.callToolStream({ name, arguments: args });
      const first = (await stream.next()).value;
      if (first.type === "error") throw first.error;
      assert.equal(first.type, "taskCreated", `${name} has not become a task`);
      const finish = async (saw) => {
        for await (const message of stream) {
          if (message.type !== "taskStatus") return message;
          saw(message.task);
        }
      };
      return { taskId: first.task.taskId, created: first.task, finish };
    },
  };
}

async function connectV2(options, capabilities, { questions, answer, notified, wrong }) {
  const { Client } = await import("@modelcontextprotocol/client");
  const { StdioClientTransport } = await import("@modelcontextprotocol/client/stdio");
  const { createTaskSessionFromClient } = await import("@modelcontextprotocol/ext-tasks/client");
  const client = new Client(INFO, { capabilities, versionNegotiation: { mode: "legacy" } });
  client.onerror = (error) => wrong.push(error);
  client.fallbackNotificationHandler = async ({ method, params }) => {
    if (method === "notifications/tasks/status") notified(params);
  };
  const transport = new StdioClientTransport(options);
  await client.connect(transport);
  withoutCrossing(transport);
  const session = createTaskSessionFromClient(client, {
    endpointId: "everything",
    async onInputRequest({ kind, params }, { scope, delivery, taskId }) {
      const exchange = ["elicitation", "task", "peer-request", await questions.known];
      assert.deepEqual([kind, scope, delivery, taskId], exchange);
      return answer(params);
    },
    onError: (error) => wrong.push(error),
  });
  assert.deepEqual(session.capabilities, {
    inventory: "server-list", execution: true, cancellation: true, inputResponses: false,
    requestedRetention: true,
  });
  const anything = { "~standard": { version: 1, vendor: "driver", validate: (value) => ({ value }) } };
  const send = (method, params) => client.request({ method, params }, anything);
  const get = async (taskId) => (await session.task(taskId).snapshot()).raw;
  return {
    capabilities: client.getServerCapabilities(),
    send,
    tools: async () => (await send("tools/list", {})).tools,
    get,
    // The task session would not request the result of a failed task.
    result: (taskId) => send("tasks/result", { taskId }),
    async list(cursor) {
      const { tasks, nextCursor } = await session.listTasks(cursor);
      return { tasks: tasks.map((task) => task.raw), nextCursor };
    },
    async cancel(taskId) {
      await session.cancelTask(taskId);
      return get(taskId);
    },
    async close() {
      await session.close();
      await client.close();
    },
    async start(name, args) {
      const task = { preference: "require", retentionMs: 60000 };
      const execution = await session.callTool(name, args, { task });
      assert.equal(execution.kind, "task", `${name} has not become a task`);
      const { value } = await execution.updates()[Symbol.asyncIterator]().next();
      const finish = async (saw) => {
        const onEvent = ({ type, task: view }) => void (type === "task" && saw(view.raw));
        const { outcome } = await execution.settle({ onEvent });
        const { result, error = outcome.status === "cancelled" && new Error("cancelled") } = outcome;
        return { result, error };
      };
      return { taskId: execution.handle.taskId, created: value.task.raw, finish };
    },
  };
}
