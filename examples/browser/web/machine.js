// A machine of the WebAssembly module, and the loop that drives it.

const encoder = new TextEncoder();
const decoder = new TextDecoder();

// The longest message. The memory of a module never shrinks, so a longer one is not copied into it.
const LONGEST_MESSAGE = 16 * 2 ** 20;

// The longest time that `setTimeout` can wait.
const LONGEST = 2 ** 31 - 1;

/** A server or a client: an instance of the module, and the port to its peer. */
export class Machine {
    /**
     * Instantiates the module at this URL. `port` has `postMessage`, and receives messages as events. `onEvent` is called
     * with each event of a client, and `onMessage` with each message and whether it is outgoing.
     */
    static async load(url, port, { onEvent = () => {}, onMessage = () => {} } = {}) {
        const bytes = await (await fetch(url)).arrayBuffer();
        const { instance } = await WebAssembly.instantiate(bytes, {});
        return new Machine(instance.exports, port, onEvent, onMessage);
    }

    constructor(exports, port, onEvent, onMessage) {
        this.exports = exports;
        this.port = port;
        this.onEvent = onEvent;
        this.onMessage = onMessage;
        this.timer = undefined;
        port.addEventListener("message", ({ data }) => {
            // Messages are strings.
            if (typeof data !== "string" || data.length > LONGEST_MESSAGE) {
                console.warn("ignored a message that is too long or not a string");
                return;
            }
            onMessage(data, false);
            this.write(data);
            exports.receive(performance.now());
            this.flush();
        });
    }

    startServer() {
        this.exports.start_server();
        this.flush();
    }

    startClient() {
        this.exports.start_client(performance.now());
        this.flush();
    }

    /** Makes a call. Returns its number, which its events contain, or -1 if the client cannot make the call. */
    call(method, params) {
        this.write(JSON.stringify({ method, params }));
        const number = this.exports.call(performance.now());
        // The page learns the number before the events.
        queueMicrotask(() => this.flush());
        return number;
    }

    cancel(number) {
        this.exports.cancel(number);
        this.flush();
    }

    /** Sends the messages, reports the events, and sets the timer for the next timeout. */
    flush() {
        for (let length; (length = this.exports.next_message()) >= 0; ) {
            const message = this.read(length);
            this.onMessage(message, true);
            this.port.postMessage(message);
        }
        for (let length; (length = this.exports.next_event()) >= 0; ) {
            this.onEvent(JSON.parse(this.read(length)));
        }
        clearTimeout(this.timer);
        const due = this.exports.poll_timeout();
        if (due !== Infinity) {
            const wait = Math.ceil(due - performance.now());
            this.timer = setTimeout(() => {
                this.exports.handle_timeout(performance.now());
                this.flush();
            }, Math.min(Math.max(wait, 0), LONGEST));
        }
    }

    /** Writes a text to the memory of the module. */
    write(text) {
        const bytes = encoder.encode(text);
        const address = this.exports.space(bytes.length);
        // The memory may have moved when it grew.
        new Uint8Array(this.exports.memory.buffer, address, bytes.length).set(bytes);
    }

    /** Reads a text of this length from the memory of the module. */
    read(length) {
        return decoder.decode(new Uint8Array(this.exports.memory.buffer, this.exports.text(), length));
    }
}
