// The messages of the tasks extension of 2026-07-28, which bypass the TypeScript client, and their checks.

import assert from "node:assert/strict";
import { INFO, TERMINAL, check, within } from "./typescript_task_clients.mjs";

export const REVISION = "2026-07-28";
export const TASKS = "io.modelcontextprotocol/tasks";
export const CAPABILITIES = { elicitation: { form: {} } };
export const DECLARED = { extensions: { [TASKS]: {} } };
const OWN = ["inputRequests", "result", "error", "ttl", "pollInterval", "requestState", "task"];

/** Returns a function that sends requests of the task session. The client itself does not know these messages. */
export function beside(transport) {
  const waiting = new Map();
  const deliver = transport.onmessage;
  transport.onmessage = (message, ...more) => {
    const settle = message.method === undefined && waiting.get(message.id);
    if (!settle) return deliver(message, ...more);
    waiting.delete(message.id);
    return settle(message);
  };
  let number = 0;
  return async (request) => {
    const id = `beside-${(number += 1)}`;
    const answer = new Promise((done) => waiting.set(id, done));
    await transport.send({ jsonrpc: "2.0", id, ...request });
    const { result, error } = await within(10, request.method, answer);
    if (error) return { kind: "error", error };
    looks(request.method, result);
    return { kind: "result", result };
  };
}

/** Checks that a task has the members of its status, and no members of another revision. */
function looks(method, result) {
  if (method !== "tasks/get" && result.resultType !== "task") {
    const told = Object.keys(result).filter((member) => member !== "_meta");
    if (method.startsWith("tasks/")) assert.deepEqual(told, ["resultType"]);
    return;
  }
  const { ttlMs: ttl, pollIntervalMs: pollInterval, taskId, status, resultType } = result;
  assert.equal(resultType, method === "tasks/get" ? "complete" : "task");
  check(result, taskId, ["working", "input_required", ...TERMINAL], { ttl, pollInterval });
  const has = Object.keys(result).filter((member) => OWN.includes(member));
  const own = { input_required: ["inputRequests"], completed: ["result"], failed: ["error"] };
  assert.deepEqual(has, method === "tasks/get" ? own[status] ?? [] : [], `${method}: ${status}`);
}

/** Sends a request that declares these capabilities, with or without the extension. */
export async function ask(dispatch, method, params, capabilities) {
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": REVISION,
    "io.modelcontextprotocol/clientInfo": INFO,
    "io.modelcontextprotocol/clientCapabilities": { ...CAPABILITIES, ...capabilities },
  };
  const answer = await dispatch({ method, params: { ...params, _meta } });
  if (answer.kind === "result") return answer.result;
  throw Object.assign(new Error(answer.error.message), answer.error);
}
