import assert from "node:assert/strict";
import { mock, test } from "node:test";
import "../support/page.js";
import { ansiSpans } from "../../src/webview/ansi.js";
import { diffLines } from "../../src/webview/parts/DiffView.js";

await import("../../src/webview/markdown/highlightEngine.js");
const { diagramImage, mathElement } = await import("../../src/webview/markdown/sandbox.js");
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

test("entities and line breaks are shown as what they mean, and tags as text", () => {
  const parent = render("AT&amp;T &eacute;&#8212;&#x2713; &unknown; a<br>b<br/>c <b>d</b><!-- e --> &lt;script&gt;");
  assert.equal(parent.textContent, "AT&T é—✓ &unknown; abc <b>d</b> <script>");
  assert.equal(parent.querySelectorAll("br").length, 2);
  assert.equal(parent.querySelectorAll("b, script").length, 0);
});

test("references to lines of files are links, also in code, but not in links", () => {
  const followed: string[] = [];
  const parent = render("see src/app.ts:20 and `a.py:3`, [x.py:1](y) `npm:x`", 100, (href) => followed.push(href));
  const links = [...parent.querySelectorAll("a")];
  assert.deepEqual(links.map((link) => link.textContent), ["src/app.ts:20", "a.py:3", "x.py:1"]);
  for (const link of links) link.click();
  assert.deepEqual(followed, ["src/app.ts:20", "a.py:3", "y"]);
});

test("formulas are found, prices are not", () => {
  const formulas = (text: string): string[] => [...render(text).querySelectorAll(".math")].map((each) => each.textContent);
  assert.deepEqual(formulas("a $x^2$ b \\(y\\) and\n\n$$\n\\sum_i i\n$$\n"), ["$x^2$", "\\(y\\)", "$$\n\\sum_i i\n$$"]);
  assert.deepEqual(formulas("from $5 to $10, `$a$`, cost: $ 3 $"), []);
});

test("only known MathML elements and attributes are built of a renderer's answer", () => {
  const tree = ["math", { display: "block", onclick: "x", href: "y" }, [["mi", {}, ["x"]], ["script", {}, ["z"]], "t"]];
  const element = mathElement(tree);
  assert.deepEqual(element?.getAttributeNames(), ["display"]);
  assert.deepEqual([...element.children].map(({ localName }) => localName), ["mi"]);
  assert.equal(element.textContent, "xt");
  for (const wrong of [null, "x", ["mi", {}, []], ["math", {}], { 0: "math" }]) assert.equal(mathElement(wrong), null);
});

test("a diagram is an image, and nothing else", () => {
  assert.match(diagramImage("<svg></svg>")?.src ?? "", /^data:image\/svg\+xml/);
  for (const wrong of [null, 1, "<img src=x>", "javascript:1"]) assert.equal(diagramImage(wrong), null);
});

test("a copied text is announced on its button for a while", async () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  const copied: string[] = [];
  Object.defineProperty(globalThis, "navigator", {
    configurable: true,
    value: { clipboard: { writeText: (text: string) => Promise.resolve(copied.push(text)) } },
  });
  const button = render("```\nx\n```").querySelector<HTMLButtonElement>(".copy");
  button?.click();
  await Promise.resolve();
  await Promise.resolve();
  assert.deepEqual([copied, button?.textContent], [["x"], "Copied"]);
  mock.timers.tick(5000);
  assert.equal(button?.textContent, "Copy");
  mock.timers.reset();
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

test("terminal colours are those of the theme, and an overwritten line shows its last version", () => {
  assert.deepEqual(ansiSpans("10%\r100%\n\u001b[1;31mred\u001b[0m plain\u001b[2K"), [
    { text: "100%\n", color: "", classes: "" },
    { text: "red", color: "var(--vscode-terminal-ansiRed)", classes: "bold" },
    { text: " plain", color: "", classes: "" },
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
