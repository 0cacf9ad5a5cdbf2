// Shared parts of the checks of the TypeScript clients: the tools of the server, and the answers of the client.

import assert from "node:assert/strict";

export const TOOLS = [
  "echo", "add_numbers", "slow", "test_trigger_resource_update", "test_simple_text",
  "test_image_content", "test_audio_content", "test_embedded_resource",
  "test_multiple_content_types", "test_tool_with_logging", "test_tool_with_progress",
  "test_error_handling", "test_sampling", "test_elicitation",
  "test_elicitation_sep1034_defaults", "test_elicitation_sep1330_enums",
  "json_schema_2020_12_tool", "test_reconnection", "test_missing_capability",
  "test_streaming_elicitation", "test_logging_tool", "test_trigger_tool_change",
  "test_trigger_prompt_change", "test_input_required_result_elicitation",
  "test_input_required_result_sampling", "test_input_required_result_list_roots",
  "test_input_required_result_request_state", "test_input_required_result_tampered_state",
  "test_input_required_result_multiple_inputs", "test_input_required_result_multi_round",
  "test_input_required_result_capabilities", "test_x_mcp_header", "list_roots",
  "announce_changes", "visit_page", "greet", "slow_compute", "failing_job",
  "protocol_error_job", "confirm_delete", "multi_input", "test_tool_with_task", "needs_visit",
];

const ROUND = "test_input_required_result_";
const NAME = "form: What is your name?";
const CONFIRM = "form: Please confirm";
const STEPS = ["form: Step 1: What is your name?", "form: Step 2: What is your favorite color?"];

/** Tools that need client input: the name, the arguments, the input requests, and the text of the result. */
export const NEEDS = [
  ["test_sampling", { prompt: "What is it?" }, ["sample: What is it?"],
    "LLM response: It is a test."],
  ["test_elicitation", { message: "Who?" }, ["form: Who?"],
    'User response: action=accept, content={"username":"u","email":"e@x.org"}'],
  ["list_roots", {}, ["roots"], "file:///somewhere"],
  ["test_missing_capability", {}, [], "The client has a model"],
  ["test_streaming_elicitation", {}, [NAME], "Hello, Ada!"],
  [`${ROUND}elicitation`, {}, [NAME], "Hello, Ada!"],
  [`${ROUND}sampling`, {}, ["sample: What is the capital of France?"], "Paris"],
  [`${ROUND}list_roots`, {}, ["roots"], "The roots are: file:///somewhere"],
  [`${ROUND}request_state`, {}, [CONFIRM], "state-ok"],
  [`${ROUND}tampered_state`, {}, [CONFIRM], "unchanged"],
  [`${ROUND}multiple_inputs`, {}, [NAME, "roots", "sample: Generate a greeting"],
    "Good day, Ada! You have 1 roots."],
  [`${ROUND}multi_round`, {}, STEPS, "Ada likes blue"],
  ["visit_page", {}, ["url: Please sign in"], "The user has been to the page"],
];

/** Replaces the key of an input request, which each tool chooses, by `KEY`. */
export const withoutKey = (said) => said.replace(/inputRequests\.\w+\./, "inputRequests.KEY.");

/** Returns the error text of a tool whose input request does not exist in the revision, or else `undefined`. */
export function refusal(tool, questions, revision) {
  const asks = (kind) => questions.some((question) => question.startsWith(kind));
  if (asks("url") && revision < "2025-11-25") {
    return revision < "2025-06-18"
      ? "the request may not be sent: the revision of the session does not have it"
      : "the request could not be written: mode does not exist in this revision";
  }
  if (asks("form") && revision < "2025-06-18") {
    // The whole input request does not exist in the revision. Encoding fails at this member.
    return "the answer could not be written: inputRequests.KEY.params.mode does not exist in this revision";
  }
  return undefined;
}

const FORMS = {
  "Who?": { username: "u", email: "e@x.org" },
  "What is your name?": { name: "Ada" },
  "Please confirm": { ok: true },
  "Step 1: What is your name?": { name: "Ada" },
  "Step 2: What is your favorite color?": { color: "blue" },
  "What context should the prompt use?": { context: "a test" },
};
const SAMPLES = {
  "What is it?": [100, "It is a test."],
  "What is the capital of France?": [100, "Paris"],
  "Generate a greeting": [50, "Good day"],
};

/** The answers of a client, which adds each received request to `asked`. */
export const answers = (asked) => ({
  "sampling/createMessage": async ({ params }) => {
    const question = params.messages[0].content.text;
    asked.push(`sample: ${question}`);
    const [most, text] = SAMPLES[question];
    assert.equal(params.maxTokens, most);
    return { role: "assistant", model: "m", content: { type: "text", text } };
  },
  "elicitation/create": async ({ params }) => {
    asked.push(`${params.mode ?? "form"}: ${params.message}`);
    if (params.mode !== "url") return { action: "accept", content: FORMS[params.message] };
    assert.equal(params.url, "https://example.com/sign-in");
    return { action: "accept" };
  },
  "roots/list": async () => {
    asked.push("roots");
    return { roots: [{ uri: "file:///somewhere" }] };
  },
});

/** Waits until the condition holds, at most 10 seconds. */
export async function until(condition) {
  for (let tries = 0; tries < 1000 && !condition(); tries += 1) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
