// The server, in a worker. Messages from the page wait until the module is loaded.

import { Machine } from "./machine.js";
import { MODULE } from "./module.js";

const waiting = [];
const wait = (event) => waiting.push(event.data);
self.addEventListener("message", wait);

const machine = await Machine.load(MODULE, self);
self.removeEventListener("message", wait);
machine.startServer();
for (const data of waiting) {
    self.dispatchEvent(new MessageEvent("message", { data }));
}
