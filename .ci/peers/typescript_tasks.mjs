// Tests the tasks of everything_server with the official TypeScript task clients, in revision 2025-11-25.
//
// Usage: typescript_tasks.mjs v1|v2 EVERYTHING_SERVER [ARGUMENT...]
//
// v1 is `client.experimental.tasks` of @modelcontextprotocol/sdk; v2 is @modelcontextprotocol/ext-tasks
// on @modelcontextprotocol/client, which has no tasks itself. Node.js resolves them from the directory of
// this file. The arguments are for the server. Every assertion is exact. The server has to end by itself.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Questions, RELATED, TERMINAL, check, connect, within } from "./typescript_task_clients.mjs";

const [line, server, ...rest] = process.argv.slice(2);
const EITHER = ["optional", "required"];
const SUPPORT = {
  slow_compute: ["optional"], failing_job: ["required"], protocol_error_job: EITHER,
  confirm_delete: EITHER, multi_input: EITHER, echo: [undefined],
};

async function declares(peer) {
  const declared = { list: {}, cancel: {}, requests: { tools: { call: {} } } };
  assert.deepEqual(peer.capabilities.tasks, declared, "declared tasks");
  const tools = new Map((await peer.tools()).map((tool) => [tool.name, tool]));
  for (const [name, supports] of Object.entries(SUPPORT)) {
    const support = tools.get(name)?.execution?.taskSupport;
    assert.ok(tools.has(name) && supports.includes(support), `${name}: ${support}`);
  }
}

/** Runs a tool as a task to its end, and answers `count` elicitations in between. */
async function run(peer, questions, name, args, end, count = 0) {
  questions.prepare(count);
  const { taskId, created, finish } = await peer.start(name, args);
  questions.created(taskId);
  check(created, taskId, ["working"]);
  const statuses = [created.status];
  const told = await within(30, `the end of ${name}`, finish((task) => {
    check(task, taskId, ["working", "input_required", end]);
    assert.equal(task.createdAt, created.createdAt);
    if (task.status !== statuses.at(-1)) statuses.push(task.status);
    if (task.status === "input_required") questions.saw();
  }));
  if (end === "completed" && told.error) throw told.error;
  assert.equal(questions.asked.length, count, `questions of ${name}`);
  // A client that has seen `input_required` may stop polling, and wait for the result.
  const asked = ["working", "input_required"];
  const ways = count === 0
    ? [["working", end]]
    : [asked, [...asked, end], [...asked, "working", end]];
  assert.ok(ways.some((way) => way.join() === statuses.join()), `${name} was ${statuses}`);
  check(await peer.get(taskId), taskId, [end]);
  return { taskId, ...told };
}

/** Runs a task to its end. Every request for the result gets the same one. */
async function completes(peer, questions) {
  const args = { seconds: 1, label: "x-label" };
  const { taskId, result } = await run(peer, questions, "slow_compute", args, "completed");
  assert.match(result.content[0].text, /x-label/);
  const results = [await peer.result(taskId), await peer.result(taskId)];
  assert.deepEqual(results[0], results[1]);
  assert.deepEqual(results[0]._meta[RELATED], { taskId });
  assert.deepEqual(results[0].content, result.content);
  return taskId;
}

/** Cancels a task while a `tasks/result` request waits for it. */
async function cancels(peer) {
  const { taskId, finish } = await peer.start("slow_compute", { seconds: 60, label: "y" });
  const waiting = assert.rejects(peer.result(taskId), { code: -32603 });
  const end = finish(() => {});
  check(await peer.cancel(taskId), taskId, ["cancelled"]);
  await within(10, "the response to tasks/result of a cancelled task", waiting);
  assert.ok((await within(10, "the end of the cancelled task", end)).error);
  await assert.rejects(peer.cancel(taskId), { code: -32602 });
  check(await peer.get(taskId), taskId, ["cancelled"]);
  return taskId;
}

/** Runs a task with one elicitation, and a task with two at once. */
async function answers(peer, questions) {
  const args = { filename: "a-file.txt" };
  const deleted = await run(peer, questions, "confirm_delete", args, "completed", 1);
  assert.equal(questions.asked[0].properties.confirm.type, "boolean");
  assert.match(deleted.result.content[0].text, /a-file\.txt/);
  const both = await run(peer, questions, "multi_input", {}, "completed", 2);
  assert.ok(!both.result.isError && both.result.content[0].text);
  return [deleted.taskId, both.taskId];
}

/** Runs a task that fails with a result whose `isError` is true, and one that fails with a JSON-RPC error. */
async function fails(peer, questions) {
  const failing = await run(peer, questions, "failing_job", {}, "failed");
  assert.ok(failing.error);
  assert.equal((await peer.result(failing.taskId)).isError, true);
  const broken = await run(peer, questions, "protocol_error_job", {}, "failed");
  assert.ok(broken.error);
  const refused = ({ code }) => Number.isInteger(code) && code !== -32602;
  await assert.rejects(peer.result(broken.taskId), refused);
  return [failing.taskId, broken.taskId];
}

/** Checks that the pages of `tasks/list` contain every task once. */
async function lists(peer, taskIds) {
  const listed = [];
  for (let cursor, page = 0; page === 0 || cursor; page += 1) {
    assert.ok(page < 100, "tasks/list does not end");
    const { tasks, nextCursor } = await peer.list(cursor);
    listed.push(...tasks);
    cursor = nextCursor;
  }
  for (const taskId of taskIds) {
    const found = listed.filter((task) => task.taskId === taskId);
    assert.equal(found.length, 1);
    check(found[0], taskId, TERMINAL);
  }
  await assert.rejects(peer.send("tasks/list", { cursor: "no such page" }), { code: -32602 });
}

async function refuses(peer) {
  for (const ask of [peer.get, peer.result, peer.cancel]) {
    await assert.rejects(ask("no such task"), { code: -32602 });
  }
  const call = (name, args, task) => peer.send("tools/call", { name, arguments: args, ...task });
  await assert.rejects(call("failing_job", {}), { code: -32601 });
  await assert.rejects(call("echo", { text: "x" }, { task: {} }), { code: -32601 });
  const plain = await call("slow_compute", { seconds: 0, label: "z-label" });
  assert.match(plain.content[0].text, /z-label/);
}

const directory = mkdtempSync(join(tmpdir(), "peer-"));
const status = join(directory, "status");
try {
  const [questions, wrong, last] = [new Questions(), [], new Map()];
  const notified = (task) => {
    try {
      check(task, task.taskId, ["working", "input_required", ...TERMINAL]);
      assert.ok(!TERMINAL.includes(last.get(task.taskId)), `${task.taskId} changed after its end`);
      last.set(task.taskId, task.status);
    } catch (error) {
      wrong.push(error);
    }
  };
  const command = [`'${server}'`, ...rest].join(" ");
  const peer = await connect(line, `${command}; echo $? > '${status}'`, questions, notified, wrong);
  try {
    await declares(peer);
    const completed = await completes(peer, questions);
    const cancelled = await cancels(peer);
    const answered = await answers(peer, questions);
    const failed = await fails(peer, questions);
    await lists(peer, [completed, cancelled, ...answered, ...failed]);
    await refuses(peer);
  } finally {
    // The errors that no call returned may be the cause of a failed assertion.
    for (const error of wrong) console.error(error);
  }
  assert.equal(wrong.length, 0);
  await peer.close();
  assert.equal(readFileSync(status, "utf8").trim(), "0");
} finally {
  rmSync(directory, { recursive: true });
}
console.log(`TypeScript tasks ${line}, ${["2025-11-25", ...rest].join(" ")}: ok`);
