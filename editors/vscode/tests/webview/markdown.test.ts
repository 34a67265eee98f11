import assert from "node:assert/strict";
import { test } from "node:test";
import "../support/page.js";
import { ansiSpans } from "../../src/webview/ansi.js";
import { diffLines } from "../../src/webview/parts/DiffView.js";

const { GrowingMarkdown } = await import("../../src/webview/markdown/growingMarkdown.js");

const SAMPLE = `# Title

A *paragraph* with \`code\`, a [link](src/a.py#L3) & <b>no HTML</b>.

- one
- two
  - inner

1. first
2. second

- [x] done

\`\`\`python
def f():
    return 1
\`\`\`

| a | b |
|---|:-:|
| 1 | 2 |

> quote

Last line`;

function render(text: string, chunk = text.length, onLink: (href: string) => void = () => undefined): HTMLElement {
  const parent = document.createElement("div");
  const markdown = new GrowingMarkdown(parent, onLink);
  for (let end = chunk; end < text.length; end += chunk) markdown.show(text.slice(0, end), true);
  markdown.show(text, false);
  return parent;
}

test("a streamed text renders like the complete text", () => {
  const whole = render(SAMPLE);
  for (const chunk of [1, 3, 7, 50]) assert.ok(render(SAMPLE, chunk).isEqualNode(whole), String(chunk));
});

test("HTML tags are text, scripts do not run, and remote images are links", () => {
  const parent = render('<script>alert(1)</script>\n\nx <img src=x onerror=alert(1)> ![pic](https://e.test/p.png)');
  assert.equal(parent.querySelector("script, img"), null);
  assert.match(parent.textContent, /<script>alert\(1\)<\/script>/);
  assert.equal(parent.querySelector("a")?.title, "https://e.test/p.png");
});

test("links only call the handler", () => {
  const followed: string[] = [];
  const parent = render("[x](javascript:alert(1))", 100, (href) => followed.push(href));
  const link = parent.querySelector("a");
  assert.ok(link);
  assert.equal(link.getAttribute("href"), "#");
  link.click();
  assert.deepEqual(followed, ["javascript:alert(1)"]);
});

test("code is highlighted by its language", () => {
  const keyword = render(SAMPLE).querySelector("pre .hljs-keyword");
  assert.equal(keyword?.textContent, "def");
});

test("finished blocks are not rendered again", () => {
  const parent = document.createElement("div");
  const markdown = new GrowingMarkdown(parent, () => undefined);
  markdown.show("one\n\ntwo", true);
  const first = parent.firstElementChild;
  markdown.show("one\n\ntwo\n\nthree", true);
  assert.equal(parent.firstElementChild, first);
  assert.equal(parent.children.length, 3);
});

test("a link definition applies to later blocks", () => {
  const parent = render("[a]: https://e.test/\n\ntext\n\nsee [a]", 5);
  assert.equal(parent.querySelector("a")?.title, "https://e.test/");
});

test("terminal colours become classes, and an overwritten line shows its last version", () => {
  assert.deepEqual(ansiSpans("10%\r100%\n\u001b[1;31mred\u001b[0m plain\u001b[2K"), [
    { text: "100%\n", classes: "" },
    { text: "red", classes: "ansi-red bold" },
    { text: " plain", classes: "" },
  ]);
});

test("a diff shows three lines around each change and gaps between", () => {
  const old = Array.from({ length: 30 }, (_, n) => `${String(n + 1)}\n`);
  const newLines = old.with(9, "ten\n").with(27, "x\n");
  const shown = diffLines(old.join(""), newLines.join("")).map(({ kind, text }) => `${kind[0] ?? ""}${text}`);
  assert.deepEqual(shown, [
    "g", "s7", "s8", "s9", "r10", "aten", "s11", "s12", "s13",
    "g", "s25", "s26", "s27", "r28", "ax", "s29", "s30",
  ]);
});
