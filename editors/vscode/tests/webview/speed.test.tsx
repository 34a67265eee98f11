import assert from "node:assert/strict";
import { test } from "node:test";
import { act, dom, Page } from "../support/page.js";
import { OPENED } from "../support/story.js";
import type { ViewEvent } from "../../src/shared/events.js";

const { Store } = await import("../../src/webview/store.js");

const CHUNKS = 5000;
const PER_FRAME = 25;
/**
 * A frame of a view that feels alive; jsdom is several times slower than a browser. Counted is the
 * time of the processor: what else the machine does makes no test fail.
 */
const LONGEST_FRAME_MILLISECONDS = 100;

const PARAGRAPH = "A sentence with `code`, **weight** and a [link](src/a.py#L3) in it, some words long. ";
const BLOCKS = [
  `${PARAGRAPH.repeat(3)}\n\n`,
  "- one\n- two\n- three\n\n",
  '```python\ndef greet(name: str) -> str:\n    return f"Hello {name}"\n```\n\n',
];

function chunks(): string[] {
  const text = BLOCKS.join("").repeat(300);
  const size = Math.ceil(text.length / CHUNKS);
  return Array.from({ length: CHUNKS }, (_, n) => text.slice(n * size, (n + 1) * size));
}

const said = (text: string): ViewEvent => ({
  type: "update",
  update: { sessionUpdate: "agent_message_chunk", messageId: "m", content: { type: "text", text } },
});

test("however many messages come, the view is drawn once per frame", () => {
  let draws = 0;
  const frames: (() => void)[] = [];
  const store = new Store(
    () => (draws += 1),
    (frame) => frames.push(frame),
  );
  for (let n = 0; n < 100; n += 1) store.receive({ kind: "events", events: [said("x")] });
  assert.deepEqual([draws, frames.length], [0, 1]);
  frames[0]?.();
  assert.equal(draws, 1);
});

test("an answer of 5,000 chunks never freezes the view, and its beginning is drawn once", async (context) => {
  const page = await new Page().tell(...OPENED, { type: "running", startedAt: 1 });
  const all = chunks();
  const frames: number[] = [];
  let first: Element | null | undefined;
  for (let at = 0; at < all.length; at += PER_FRAME) {
    const before = process.cpuUsage();
    await page.tell(...all.slice(at, at + PER_FRAME).map(said));
    const { user, system } = process.cpuUsage(before);
    frames.push((user + system) / 1000);
    first ??= page.root.querySelector(".markdown p");
  }
  await act(() => undefined);
  const late = frames.slice(-20).sort((a, b) => a - b)[10] ?? 0;
  const longest = Math.max(...frames);
  context.diagnostic(`longest frame ${longest.toFixed(1)} ms, median of the last ${late.toFixed(1)} ms`);
  assert.equal(page.root.querySelector(".markdown p"), first);
  assert.equal(page.root.querySelectorAll(".markdown .code-block").length, 300);
  assert.ok(late < LONGEST_FRAME_MILLISECONDS, `${String(late)} ms`);
  assert.ok(dom.window.document.body.contains(page.root));
});
