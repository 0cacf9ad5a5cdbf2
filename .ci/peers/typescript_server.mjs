// A server of the official TypeScript SDKs that exercises every feature of a client.
//
// Usage: node typescript_server.mjs sessions|both|stateless FILE
//
// `sessions` is @modelcontextprotocol/sdk, which supports only the legacy era; the others are
// @modelcontextprotocol/server. The tool `wait` writes `cancelled` into FILE when its call is cancelled.

import { writeFileSync } from "node:fs";

const WATCHED = "test://watched";
const FORM = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const MESSAGES = [{ role: "user", content: { type: "text", text: "?" } }];
const [eras, file] = process.argv.slice(2);

const text = (words) => ({ content: [{ type: "text", text: words }] });
const answered = (model, { roots }, filled) => (
  text(`${model.content.text}|${roots[0].uri}|${filled.action} {'city': '${filled.content.city}'}`)
);

async function tell(server, log, notify, progressToken) {
  await log("info", "too quiet");
  await log("warning", "loud enough");
  const params = { progressToken, progress: 1, total: 2, message: "half" };
  await notify({ method: "notifications/progress", params });
  await server.sendResourceUpdated({ uri: WATCHED });
  await server.sendToolListChanged();
  return text("told");
}

function wait(signal) {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => {
      writeFileSync(file, "cancelled");
      reject(new Error("cancelled"));
    });
  });
}

const CAPABILITIES = {
  tools: { listChanged: true }, prompts: {}, completions: {}, logging: {},
  resources: { subscribe: true },
};

/** The request handlers for both SDKs. */
const ANSWERS = {
  "tools/list": ({ params }) => {
    const tool = (name) => ({ name, inputSchema: { type: "object" } });
    return params?.cursor === undefined
      ? { tools: [tool("ask"), tool("tell")], nextCursor: "2" }
      : { tools: [tool("wait")] };
  },
  "resources/list": () => ({ resources: [{ uri: WATCHED, name: "watched" }] }),
  "resources/read": ({ params }) => ({ contents: [{ uri: params.uri, text: "words" }] }),
  "prompts/list": () => (
    { prompts: [{ name: "travel", arguments: [{ name: "city", required: true }] }] }
  ),
  "prompts/get": ({ params }) => {
    const content = { type: "text", text: `Off to ${params.arguments.city}` };
    return { messages: [{ role: "user", content }] };
  },
  "completion/complete": ({ params }) => {
    const values = ["paris", "park"].filter((city) => city.startsWith(params.argument.value));
    return { completion: { values } };
  },
};

async function serveSessions() {
  const { Server } = await import("@modelcontextprotocol/sdk/server/index.js");
  const { StdioServerTransport } = await import("@modelcontextprotocol/sdk/server/stdio.js");
  const schema = await import("@modelcontextprotocol/sdk/types.js");
  const server = new Server({ name: "typescript", version: "1" }, { capabilities: CAPABILITIES });
  const schemas = {
    "tools/list": schema.ListToolsRequestSchema,
    "resources/list": schema.ListResourcesRequestSchema,
    "resources/read": schema.ReadResourceRequestSchema,
    "prompts/list": schema.ListPromptsRequestSchema,
    "prompts/get": schema.GetPromptRequestSchema,
    "completion/complete": schema.CompleteRequestSchema,
  };
  for (const [method, answer] of Object.entries(ANSWERS)) {
    server.setRequestHandler(schemas[method], answer);
  }
  const ask = async () => {
    const model = await server.createMessage({ messages: MESSAGES, maxTokens: 9 });
    const roots = await server.listRoots();
    const form = { message: "Which city?", requestedSchema: FORM };
    return answered(model, roots, await server.elicitInput(form));
  };
  const log = (level, data) => server.sendLoggingMessage({ level, logger: "l", data });
  server.setRequestHandler(schema.CallToolRequestSchema, ({ params }, extra) => {
    switch (params.name) {
      case "ask": return ask();
      case "tell": return tell(server, log, extra.sendNotification, extra._meta.progressToken);
      default: return wait(extra.signal);
    }
  });
  server.setRequestHandler(schema.SubscribeRequestSchema, async ({ params }) => {
    await server.sendResourceUpdated({ uri: params.uri });
    return {};
  });
  await server.connect(new StdioServerTransport());
}

async function serveBoth() {
  const { Server, inputRequired } = await import("@modelcontextprotocol/server");
  const { serveStdio } = await import("@modelcontextprotocol/server/stdio");

  // Requires input in two rounds. The state of the second round holds the answers of the first one.
  const ask = ({ inputResponses, requestState }) => {
    const state = requestState();
    if (state === undefined) {
      const inputRequests = {
        model: inputRequired.createMessage({ messages: MESSAGES, maxTokens: 9 }),
        roots: inputRequired.listRoots(),
      };
      return inputRequired({ inputRequests, requestState: "begun" });
    }
    if (state === "begun") {
      const city = inputRequired.elicit({ message: "Which city?", requestedSchema: FORM });
      const requestState = JSON.stringify(inputResponses);
      return inputRequired({ inputRequests: { city }, requestState });
    }
    const { model, roots } = JSON.parse(state);
    return answered(model, roots, inputResponses.city);
  };

  const make = () => {
    const info = { name: "typescript", version: "1" };
    const server = new Server(info, { capabilities: CAPABILITIES });
    for (const [method, answer] of Object.entries(ANSWERS)) {
      server.setRequestHandler(method, answer);
    }
    server.setRequestHandler("tools/call", ({ params }, { mcpReq }) => {
      const log = (level, data) => mcpReq.log(level, data, "l");
      switch (params.name) {
        case "ask": return ask(mcpReq);
        case "tell": return tell(server, log, mcpReq.notify, mcpReq._meta.progressToken);
        default: return wait(mcpReq.signal);
      }
    });
    server.setRequestHandler("resources/subscribe", async ({ params }) => {
      await server.sendResourceUpdated({ uri: params.uri });
      return {};
    });
    return server;
  };
  serveStdio(make, { legacy: eras === "both" ? "serve" : "reject" });
}

await (eras === "sessions" ? serveSessions() : serveBoth());
