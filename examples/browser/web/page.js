// The page: a client, and forms for the tools of the server.

import { Machine } from "./machine.js";
import { MODULE } from "./module.js";

// The number of messages in the log, and the number of characters shown of each.
const LOG = 100;
const LENGTH = 600;

const state = document.querySelector("#state");
const tools = document.querySelector("#tools");
const log = document.querySelector("#log");

const worker = new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
// Makes the worker accessible in the console of the browser.
window.worker = worker;
worker.addEventListener("error", (event) => {
    state.textContent = `the worker failed: ${event.message}`;
});
// The event handler of each pending call, by the number of the call.
const calls = new Map();
const client = await Machine.load(MODULE, worker, { onEvent, onMessage });
client.startClient();

document.querySelector("#raw").addEventListener("submit", (event) => {
    event.preventDefault();
    const text = new FormData(event.target).get("text");
    onMessage(text, true);
    worker.postMessage(text);
});

function onEvent(event) {
    if (event.event === "connected") {
        state.textContent = `connected to ${event.server}, revision ${event.revision}`;
        request("tools/list", {}, ({ result, reason }) => {
            if (result) {
                tools.replaceChildren(...result.tools.map(form));
            } else {
                state.textContent = `tools/list failed: ${reason}`;
            }
        });
    } else if (event.call !== undefined && event.call !== null) {
        calls.get(event.call)?.(event);
    } else {
        state.textContent = `${event.event}: ${event.reason}`;
    }
}

/** Makes a call. `on` is called with each of its events. Returns its number. */
function request(method, params, on) {
    const number = client.call(method, params);
    if (number < 0) {
        on({ event: "failed", reason: "the client cannot make the call" });
        return number;
    }
    calls.set(number, (event) => {
        if (event.event !== "progress") {
            calls.delete(number);
        }
        on(event);
    });
    return number;
}

/** A form that calls a tool. */
function form(tool) {
    const form = document.querySelector("#tool").content.cloneNode(true).querySelector("form");
    const part = (name) => form.querySelector(`.${name}`);
    form.id = tool.name;
    part("name").textContent = tool.name;
    part("description").textContent = tool.description;
    part("arguments").value = JSON.stringify(example(tool.inputSchema));
    let number;
    form.addEventListener("submit", (event) => {
        event.preventDefault();
        let parsed;
        try {
            parsed = JSON.parse(part("arguments").value);
        } catch (error) {
            part("result").textContent = error.message;
            return;
        }
        part("result").textContent = "";
        part("progress").removeAttribute("value");
        part("progress").hidden = false;
        part("cancel").disabled = false;
        part("call").disabled = true;
        number = request("tools/call", { name: tool.name, arguments: parsed }, show);
    });
    part("cancel").addEventListener("click", () => client.cancel(number));

    function show(event) {
        if (event.event === "progress") {
            part("progress").max = event.total ?? 1;
            part("progress").value = event.progress;
            return;
        }
        part("progress").hidden = true;
        part("cancel").disabled = true;
        part("call").disabled = false;
        const texts = event.result?.content.map((block) => block.text).join("\n");
        part("result").textContent = event.event === "result" ? texts : event.reason;
    }

    return form;
}

/** Arguments that fit the schema of a tool. */
function example(schema) {
    const values = { string: "to be or not to be", integer: 5, number: 5, boolean: true };
    const members = Object.entries(schema.properties ?? {});
    return Object.fromEntries(members.map(([name, { type }]) => [name, values[type]]));
}

function onMessage(text, isOutgoing) {
    const line = document.createElement("li");
    line.className = isOutgoing ? "outgoing" : "incoming";
    line.textContent = text.length <= LENGTH ? text : `${text.slice(0, LENGTH)}…`;
    log.prepend(line);
    while (log.children.length > LOG) {
        log.lastChild.remove();
    }
}
