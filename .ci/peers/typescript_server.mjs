// A server of the official TypeScript SDK that does to its client whatever a server can do.
//
// Usage: node typescript_server.mjs FILE
//
// The tool `wait` writes `cancelled` into the file when it is.

import { writeFileSync } from "node:fs";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import * as schema from "@modelcontextprotocol/sdk/types.js";

const WATCHED = "test://watched";
const FORM = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const [file] = process.argv.slice(2);

const capabilities = {
    tools: {}, prompts: {}, completions: {}, logging: {}, resources: { subscribe: true },
};
const server = new Server({ name: "typescript", version: "1" }, { capabilities });
const text = (words) => ({ content: [{ type: "text", text: words }] });

server.setRequestHandler(schema.ListToolsRequestSchema, ({ params }) => {
    const tool = (name) => ({ name, inputSchema: { type: "object" } });
    return params?.cursor === undefined
        ? { tools: [tool("ask"), tool("tell")], nextCursor: "2" }
        : { tools: [tool("wait")] };
});

async function ask() {
    const messages = [{ role: "user", content: { type: "text", text: "?" } }];
    const sampled = await server.createMessage({ messages, maxTokens: 9 });
    const { roots } = await server.listRoots();
    const filled = await server.elicitInput({ message: "Which city?", requestedSchema: FORM });
    const content = `{'city': '${filled.content.city}'}`;
    return text(`${sampled.content.text}|${roots[0].uri}|${filled.action} ${content}`);
}

async function tell(extra) {
    await server.sendLoggingMessage({ level: "info", logger: "l", data: "too quiet" });
    await server.sendLoggingMessage({ level: "warning", logger: "l", data: "loud enough" });
    const { progressToken } = extra._meta;
    const params = { progressToken, progress: 1, total: 2, message: "half" };
    await extra.sendNotification({ method: "notifications/progress", params });
    await server.sendResourceUpdated({ uri: WATCHED });
    return text("told");
}

function wait(extra) {
    return new Promise((_, reject) => {
        extra.signal.addEventListener("abort", () => {
            writeFileSync(file, "cancelled");
            reject(new Error("cancelled"));
        });
    });
}

server.setRequestHandler(schema.CallToolRequestSchema, ({ params }, extra) => {
    switch (params.name) {
        case "ask": return ask();
        case "tell": return tell(extra);
        default: return wait(extra);
    }
});
server.setRequestHandler(schema.ListResourcesRequestSchema, () => (
    { resources: [{ uri: WATCHED, name: "watched" }] }
));
server.setRequestHandler(schema.ReadResourceRequestSchema, ({ params }) => (
    { contents: [{ uri: params.uri, text: "words" }] }
));
server.setRequestHandler(schema.SubscribeRequestSchema, async ({ params }) => {
    await server.sendResourceUpdated({ uri: params.uri });
    return {};
});
server.setRequestHandler(schema.ListPromptsRequestSchema, () => (
    { prompts: [{ name: "travel", arguments: [{ name: "city", required: true }] }] }
));
server.setRequestHandler(schema.GetPromptRequestSchema, ({ params }) => {
    const content = { type: "text", text: `Off to ${params.arguments.city}` };
    return { messages: [{ role: "user", content }] };
});
server.setRequestHandler(schema.CompleteRequestSchema, ({ params }) => {
    const values = ["paris", "park"].filter((city) => city.startsWith(params.argument.value));
    return { completion: { values } };
});

await server.connect(new StdioServerTransport());
