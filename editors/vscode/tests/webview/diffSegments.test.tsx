/** Syntax colours and changed words in the chat's diffs. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { DiffLine } from "../../src/webview/parts/DiffView.js";
import type { ViewEvent } from "../../src/shared/events.js";
import { SESSION_OPENED } from "../support/conversation.js";
import { act, TestPage } from "../support/page.js";

const { ENGINE_EVENT } = await import("../../src/webview/markdown/highlight.js");

function line(kind: DiffLine["kind"], text: string): DiffLine {
  return { kind, text, number: 1 };
}

const DIFF: ViewEvent = {
  type: "update",
  update: {
    sessionUpdate: "tool_call",
    toolCallId: "c",
    title: "Edit a.py",
    kind: "edit",
    status: "completed",
    content: [{ type: "diff", path: "/project/a.py", oldText: "def first():\n    return 1\n", newText: "def second():\n    return 1\n" }],
  },
};

test("a diff is plain until the languages are loaded, and then has colours and marked words", async () => {
  const page = await new TestPage().dispatch(...SESSION_OPENED, DIFF);
  const texts = (selector: string): string[] => [...page.root.querySelectorAll(selector)].map((node) => node.textContent);
  const before = texts(".diff-line");
  assert.deepEqual(texts(".changed-word"), []);
  const { ENGINE } = await import("../../src/webview/markdown/highlightEngine.js");
  await act(() => {
    document.dispatchEvent(new CustomEvent(ENGINE_EVENT, { detail: ENGINE }));
  });
  assert.deepEqual(texts(".diff-line.removed .changed-word"), ["first"]);
  assert.deepEqual(texts(".diff-line.added .changed-word"), ["second"]);
  assert.deepEqual(texts(".diff-line.same .hljs-keyword"), ["return"]);
  assert.deepEqual(texts(".diff-line"), before);
});

test("a line is coloured as a part of its side, also inside of a string of several lines", async () => {
  const { ENGINE } = await import("../../src/webview/markdown/highlightEngine.js");
  const lines = [line("same", 'text = """'), line("removed", "return old"), line("added", "return new"), line("same", '"""')];
  const classes = ENGINE.diffSegments(lines, "py").map((segments) => segments.map(({ className }) => className));
  assert.deepEqual(classes[1], ["hljs-string", "hljs-string"]);
  assert.deepEqual(classes[2], ["hljs-string", "hljs-string"]);
});

test("words are marked in lines that replace each other one by one, and have a word in common", async () => {
  const { ENGINE } = await import("../../src/webview/markdown/highlightEngine.js");
  const marked = (...lines: DiffLine[]): string[][] =>
    ENGINE.diffSegments(lines, "").map((segments) => segments.filter(({ isChanged }) => isChanged).map(({ text }) => text));
  assert.deepEqual(marked(line("removed", "the red car"), line("added", "the blue car")), [["red"], ["blue"]]);
  assert.deepEqual(marked(line("removed", "one"), line("added", "two")), [[], []]);
  assert.deepEqual(marked(line("removed", "a b"), line("added", "a c"), line("added", "a d")), [[], [], []]);
  const long = "word ".repeat(200);
  assert.deepEqual(marked(line("removed", `${long}1`), line("added", `${long}2`)), [[], []]);
});
