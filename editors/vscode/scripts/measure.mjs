// Measures the view's frame times in Chromium while an answer of 5,000 chunks streams.
// Environment: CHROMIUM (default /usr/bin/chromium).

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { chromium } from "playwright-core";
import { ROOT, testsOf, VIEW } from "./bundling.mjs";
import { THEMES } from "./themes.mjs";

const CHUNKS = 5000;
await build({ ...VIEW, outdir: "out/measure", minify: true });
await build(testsOf(["tests/support/conversation.ts"]));
const { SESSION_OPENED } = await import(pathToFileURL(join(ROOT, "out/tests/support/conversation.mjs")).href);
const [script, styles] = await Promise.all(
  ["webview.js", "webview.css"].map((name) => readFile(join(ROOT, "out/measure", name), "utf8")),
);
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox"],
});
try {
  const page = await browser.newPage({ viewport: { width: 400, height: 760 } });
  const { body, variables } = THEMES.dark;
  await page.setContent(`<!DOCTYPE html><html lang="en" style="${variables}"><head><style>${styles}</style></head>
    <body class="${body}"><div id="root"></div></body></html>`);
  await page.evaluate(() => {
    window.acquireVsCodeApi = () => ({ postMessage() {}, getState() {}, setState() {} });
  });
  await page.addScriptTag({ content: script });
  console.log(JSON.stringify(await page.evaluate(measure, { opened: SESSION_OPENED, chunks: CHUNKS })));
} finally {
  await browser.close();
}

// Runs in the page: streams an answer of paragraphs, lists and code at 1,000 chunks per second.
async function measure({ opened, chunks }) {
  const block =
    "A sentence with `code`, **weight** and a [link](src/a.py#L3) in it. ".repeat(3) +
    "\n\n- one\n- two\n- three\n\n```python\ndef greet(name: str) -> str:\n    return name\n```\n\n";
  const text = block.repeat(300);
  const size = Math.ceil(text.length / chunks);
  const longTasks = [];
  new PerformanceObserver((list) => longTasks.push(...list.getEntries().map(({ duration }) => duration))).observe({
    entryTypes: ["longtask"],
  });
  const post = (events, kind = "events") => window.postMessage({ kind, events });
  post([...opened, { type: "running", startedAt: 1 }], "replay");
  const frames = [];
  let last = performance.now();
  let isDone = false;
  const watch = (now) => {
    frames.push(now - last);
    last = now;
    if (!isDone) requestAnimationFrame(watch);
  };
  requestAnimationFrame(watch);
  const started = performance.now();
  for (let at = 0; at < chunks; at += 12) {
    const part = Array.from({ length: Math.min(12, chunks - at) }, (_, n) => text.slice((at + n) * size, (at + n + 1) * size));
    const update = (piece) => ({
      type: "update",
      update: { sessionUpdate: "agent_message_chunk", messageId: "m", content: { type: "text", text: piece } },
    });
    post(part.map(update));
    await new Promise((resolve) => setTimeout(resolve, 12));
  }
  await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
  isDone = true;
  frames.sort((a, b) => a - b);
  const at = (share) => Math.round(frames[Math.floor((frames.length - 1) * share)]);
  return {
    chunks,
    characters: text.length,
    seconds: Math.round((performance.now() - started) / 100) / 10,
    frames: frames.length,
    medianMilliseconds: at(0.5),
    p99Milliseconds: at(0.99),
    longestMilliseconds: at(1),
    tasksOver50Milliseconds: longTasks.length,
    codeBlocks: document.querySelectorAll(".code-block").length,
  };
}
