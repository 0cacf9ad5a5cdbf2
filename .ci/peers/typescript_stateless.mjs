// Checks of the TypeScript client for the modern era only.

import assert from "node:assert/strict";
import { until } from "./typescript_checks.mjs";

const LEVEL = "io.modelcontextprotocol/logLevel";
const WATCHED = "test://watched-resource";

export async function hears(client, { logs, updates, changes }) {
  // A request without a log level gets no log messages, and no request gets messages below its level.
  const log = (level) => client.call({
    name: "test_tool_with_logging", _meta: level === undefined ? {} : { [LEVEL]: level },
  });
  await log();
  await log("error");
  assert.deepEqual(logs, []);
  await log("info");
  assert.deepEqual(logs, [
    ["info", "Tool execution started"],
    ["info", "Tool processing data"],
    ["info", "Tool execution completed"],
  ]);
  // Without a subscription, the server sends no notifications about changes.
  const change = async () => {
    await client.call({ name: "announce_changes" });
    await client.call({ name: "test_trigger_resource_update" });
  };
  await change();
  assert.deepEqual([changes, updates], [[], []]);
  const filter = {
    toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true,
    resourceSubscriptions: [WATCHED],
  };
  const everything = await client.listen(filter);
  assert.deepEqual(everything.honoredFilter, filter);
  const prompts = await client.listen({ promptsListChanged: true });
  assert.deepEqual(prompts.honoredFilter, { promptsListChanged: true });
  await change();
  // A gateway announces a list when it has read it again, which may be after the result.
  await until(() => changes.length === 4 && updates.length === 1);
  assert.deepEqual(changes.toSorted(), ["prompts", "prompts", "resources", "tools"]);
  assert.deepEqual(updates, [WATCHED]);
  await everything.close();
  assert.equal(await everything.closed, "local");
  await change();
  await client.call({ name: "test_trigger_tool_change" });
  await client.call({ name: "test_trigger_prompt_change" });
  await until(() => changes.length === 6);
  assert.deepEqual(changes.slice(4), ["prompts", "prompts"]);
  assert.deepEqual(updates, [WATCHED]);
  await prompts.close();
  await change();
  assert.equal(changes.length, 6);
}

/** Checks that the server accepts a `requestState` only as it has issued it. */
export async function guards(client) {
  const call = (params) => client.call(
    { name: "test_input_required_result_tampered_state", arguments: {}, ...params },
    { allowInputRequired: true },
  );
  const asked = await call({});
  assert.equal(asked.resultType, "input_required");
  assert.equal(asked.inputRequests.confirm.params.message, "Please confirm");
  const inputResponses = { confirm: { action: "accept", content: { ok: true } } };
  const { requestState } = asked;
  const last = requestState.endsWith("A") ? "B" : "A";
  for (const tampered of [`${requestState.slice(0, -1)}${last}`, `x${requestState}`, ""]) {
    const refused = call({ inputResponses, requestState: tampered });
    await assert.rejects(refused, { code: -32602, message: /requestState: / });
  }
  // The state of one tool is not valid for another tool.
  const name = "test_input_required_result_request_state";
  await assert.rejects(call({ name, inputResponses, requestState }), { code: -32602 });
  // Without the answer, the server requires the input again.
  assert.equal((await call({ requestState })).resultType, "input_required");
  const done = await call({ inputResponses, requestState });
  assert.equal(done.content[0].text, "unchanged");
}
