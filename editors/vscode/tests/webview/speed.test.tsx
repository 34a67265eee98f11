import assert from "node:assert/strict";
import { test } from "node:test";
import { act, dom, TestPage } from "../support/page.js";
import { SESSION_OPENED } from "../support/conversation.js";
import type { ViewEvent } from "../../src/shared/events.js";

const { Store } = await import("../../src/webview/store.js");

/** How many chunks a long answer has; `CHUNKS` asks for more. */
const CHUNKS = Number(process.env["CHUNKS"] ?? 800);
/** How often the blocks are repeated in it. */
const REPETITIONS = Math.ceil(CHUNKS * 0.06);
const PER_FRAME = 25;
/**
 * Limit for a responsive view; jsdom is several times slower than a browser. CPU time is measured, so
 * that other load on the machine does not make the test fail.
 */
const LONGEST_FRAME_MILLISECONDS = 100;

const PARAGRAPH = "A sentence with `code`, **weight** and a [link](src/a.py#L3) in it, some words long. ";
const BLOCKS = [
  `${PARAGRAPH.repeat(3)}\n\n`,
  "- one\n- two\n- three\n\n",
  '```python\ndef greet(name: str) -> str:\n    return f"Hello {name}"\n```\n\n',
];

function chunks(): string[] {
  const text = BLOCKS.join("").repeat(REPETITIONS);
  const size = Math.ceil(text.length / CHUNKS);
  return Array.from({ length: CHUNKS }, (_, n) => text.slice(n * size, (n + 1) * size));
}

const agentChunk = (text: string): ViewEvent => ({
  type: "update",
  update: { sessionUpdate: "agent_message_chunk", messageId: "m", content: { type: "text", text } },
});

test("the view renders once per frame, however many messages arrive", () => {
  let draws = 0;
  const frames: (() => void)[] = [];
  const store = new Store(
    () => (draws += 1),
    (frame) => frames.push(frame),
  );
  for (let n = 0; n < 100; n += 1) store.receive({ kind: "events", events: [agentChunk("x")] });
  assert.deepEqual([draws, frames.length], [0, 1]);
  frames[0]?.();
  assert.equal(draws, 1);
});

test("an answer of very many chunks does not freeze the view, and its beginning is rendered once", async (context) => {
  const page = await new TestPage().dispatch(...SESSION_OPENED, { type: "running", startedAt: 1 });
  const all = chunks();
  const frames: number[] = [];
  let first: Element | null | undefined;
  for (let at = 0; at < all.length; at += PER_FRAME) {
    const before = process.cpuUsage();
    await page.dispatch(...all.slice(at, at + PER_FRAME).map(agentChunk));
    const { user, system } = process.cpuUsage(before);
    frames.push((user + system) / 1000);
    first ??= page.root.querySelector(".markdown p");
  }
  await act(() => undefined);
  const lateMedian = frames.slice(-20).sort((a, b) => a - b)[10] ?? 0;
  const longest = Math.max(...frames);
  context.diagnostic(`longest frame ${longest.toFixed(1)} ms, median of the last ${lateMedian.toFixed(1)} ms`);
  assert.equal(page.root.querySelector(".markdown p"), first);
  assert.equal(page.root.querySelectorAll(".markdown .code-block").length, REPETITIONS);
  assert.ok(lateMedian < LONGEST_FRAME_MILLISECONDS, `${String(lateMedian)} ms`);
  assert.ok(dom.window.document.body.contains(page.root));
});
