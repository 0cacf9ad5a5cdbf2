// Tests the example `browser` in headless Chromium.
//
// Usage: node browser.mjs CHROMIUM ROOT [SCREENSHOT]
//
// ROOT is the root of the repository. The WebAssembly module has been built there.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";
import { chromium } from "playwright-core";

const [executablePath, root, screenshot] = process.argv.slice(2);
const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".wasm": "application/wasm" };
const PATIENCE = 120_000;

const files = createServer(async (request, response) => {
    const path = normalize(decodeURIComponent(new URL(request.url, "http://localhost").pathname));
    const name = path.endsWith("/") ? `${path}index.html` : path;
    try {
        const bytes = await readFile(join(root, name));
        response.writeHead(200, { "content-type": TYPES[extname(name)] ?? "application/octet-stream" });
        response.end(bytes);
    } catch {
        response.writeHead(404).end();
    }
});
await new Promise((resolve) => files.listen(0, "127.0.0.1", resolve));

const browser = await chromium.launch({
    executablePath,
    args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
        "--disable-quic", "--disable-sync", "--no-first-run"],
});
try {
    const page = await browser.newPage();
    page.setDefaultTimeout(PATIENCE);
    const failures = [];
    page.on("pageerror", (error) => failures.push(String(error)));
    page.on("console", (message) => message.type() === "error" && failures.push(message.text()));
    await page.goto(`http://127.0.0.1:${files.address().port}/examples/browser/web/`);
    await run(page);
    assert.deepEqual(failures, []);
    if (screenshot) {
        await page.screenshot({ path: screenshot, fullPage: true });
    }
    console.log(`Chromium ${browser.version()}: ok`);
} finally {
    await browser.close();
    files.close();
}

async function run(page) {
    const words = (part) => page.locator(`#count_words ${part}`);
    const countdown = (part) => page.locator(`#count_down ${part}`);
    const shows = async (place, text) => {
        await place.filter({ hasText: text }).waitFor();
        return place.textContent();
    };

    assert.equal(await shows(page.locator("#state"), "revision"), "connected to browser, revision 2026-07-28");
    await words("button").first().waitFor();
    assert.deepEqual(await page.locator(".name").allTextContents(), ["count_words", "count_down"]);

    await words(".arguments").fill('{"text":"é 😀 \\ud83d\\ude00"}');
    await words(".call").click();
    assert.equal(await shows(words(".result"), "words"), '{"words":3,"characters":5}');
    await words(".arguments").fill('{"text":1}');
    await words(".call").click();
    assert.match(await shows(words(".result"), "fit"), /invalid type: integer `1`, expected a string/);

    // The server reports each step, and a cancelled call ends at once.
    await countdown(".arguments").fill('{"from":4,"milliseconds":50}');
    await countdown(".call").click();
    assert.equal(await shows(countdown(".result"), "lift-off"), "lift-off");
    const steps = await page.locator("#log .incoming", { hasText: '"progress":' }).count();
    assert.equal(steps, 3);
    await countdown(".arguments").fill('{"from":100,"milliseconds":10000}');
    await countdown(".call").click();
    await countdown(".cancel").click();
    assert.equal(await shows(countdown(".result"), "cancelled"), "cancelled");
    assert.equal(await page.locator("#log .outgoing", { hasText: "notifications/cancelled" }).count(), 1);

    // The worker ignores data other than strings, and strings that are too long for a message.
    await page.evaluate(() => worker.postMessage({ jsonrpc: "2.0" }));
    await page.evaluate(() => worker.postMessage("x".repeat(17 << 20)));

    // Strings of any length that are no messages do not affect the connection.
    for (const text of ["not a message", "{", "[]", "x".repeat(1 << 20)]) {
        await page.locator("#raw input").fill(text);
        await page.locator("#raw button").click();
    }
    await words(".arguments").fill(JSON.stringify({ text: "word ".repeat(200_000) }));
    await words(".call").click();
    assert.equal(await shows(words(".result"), "200000"), '{"words":200000,"characters":1000000}');
}
