/** Actions outside of the chat: what they ask the agent, about which lines. */
import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import type { CodeActionContext, Range as VsCodeRange, TextDocument as VsCodeDocument } from "vscode";
import { codeActionsFor, openLink, runAction, type ActionHost } from "../../src/extension/actions.js";
import type { SelectionEdit } from "../../src/extension/inlineEdits.js";
import type { Mention } from "../../src/shared/events.js";
import { editor, Position, Range, resetEditor, TextDocument, Uri } from "../support/vscode.js";

let asked: [string, readonly Mention[]][] = [];
let edits: SelectionEdit[] = [];
let drafts: string[] = [];
let attached: string[] = [];
let inBackground: string[] = [];
let answer = "";

const host: ActionHost = {
  start: () => Promise.resolve(true),
  send: () => Promise.resolve(),
  ask: (text, mentions) => Promise.resolve(void asked.push([text, mentions])),
  editInline: (text, mentions, edit) => Promise.resolve(void (asked.push([text, mentions]), edits.push(edit))),
  askInBackground: (text) => {
    inBackground.push(text);
    return Promise.resolve(answer);
  },
  commands: () => Promise.resolve([{ name: "memory", description: "What is remembered" }, { name: "skills", description: "" }]),
  draft: (text) => Promise.resolve(void drafts.push(text)),
  attach: (paths) => void attached.push(...paths),
};

beforeEach(() => {
  resetEditor();
  drafts = [];
  [asked, edits, attached, inBackground, answer] = [[], [], [], [], ""];
});

const lines = (first: number, last: number, to = 0): Range => new Range(new Position(first - 1, 0), new Position(last - 1, to));
const mention = (path: string, firstLine: number, lastLine: number): Mention => ({ kind: "file", path, firstLine, lastLine });
const PROBLEM = { range: lines(3, 3, 5), message: "Name `x` is not defined", source: "pyright" };

function actionsAt(range: Range, diagnostics: object[]): { title: string; command?: { command: string; arguments?: unknown[] } }[] {
  const document = new TextDocument(Uri.file("/p/a.py"), "a\nb\nc\n");
  return codeActionsFor(document as unknown as VsCodeDocument, range as unknown as VsCodeRange, { diagnostics } as unknown as CodeActionContext);
}

test("a problem can be fixed and explained, a selection explained, and a mere cursor offers nothing", async () => {
  const [fix, explain] = actionsAt(lines(3, 3, 5), [PROBLEM]);
  assert.deepEqual([fix?.title, explain?.title], ["Fix with Hermes", "Explain with Hermes"]);
  assert.deepEqual(actionsAt(lines(1, 2), []).map(({ title }) => title), ["Explain with Hermes"]);
  assert.deepEqual(actionsAt(lines(1, 1), []), []);
  await runAction("fix", host, fix?.command?.arguments ?? []);
  const [[text, mentions] = ["", []]] = asked;
  assert.match(text, /^Fix the problems here[^]*- line 3: Name `x` is not defined \(pyright\)$/);
  assert.deepEqual(mentions, [mention("/p/a.py", 3, 3)]);
});

test("without a target, the selected lines are meant, and without an editor the user is told so", async () => {
  await runAction("explain", host, []);
  assert.deepEqual([asked, editor.calls], [[], ["information Open a file and select code first. []"]]);
  editor.active = { document: new TextDocument(Uri.file("/p/a.py"), "a\nb\n"), selection: lines(1, 2, 1) };
  await runAction("explain", host, []);
  assert.deepEqual(asked[0]?.[1], [mention("/p/a.py", 1, 2)]);
});

test("without the light bulb, the problems in the selected lines are fixed", async () => {
  const problem = (line: number, message: string): object => ({ message, range: lines(line, line), source: "ruff" });
  editor.diagnostics.set("/p/a.py", [problem(1, "here"), problem(3, "elsewhere")]);
  editor.active = { document: new TextDocument(Uri.file("/p/a.py"), "a\nb\n"), selection: lines(1, 1, 1) };
  await runAction("fix", host, []);
  assert.match(asked[0]?.[0] ?? "", /\n- line 1: here \(ruff\)$/);
});

test("an edit of the selection asks what should change, and does nothing if that is dismissed", async () => {
  editor.active = { document: new TextDocument(Uri.file("/p/a.py"), "a\nb\n"), selection: lines(1, 2, 1) };
  await runAction("inlineEdit", host, []);
  assert.deepEqual(asked, []);
  editor.entered = "use a dict";
  await runAction("inlineEdit", host, []);
  assert.deepEqual(asked, [["Change the mentioned lines, and only what this needs: use a dict", [mention("/p/a.py", 1, 2)]]]);
  assert.deepEqual(edits, [{ path: "/p/a.py", firstLine: 1, lastLine: 2, text: "a\nb\n", request: "use a dict" }]);
  editor.active.selection = lines(1, 2, 0); // the whole first line
  await runAction("inlineEdit", host, []);
  assert.deepEqual(asked[1]?.[1], [mention("/p/a.py", 1, 1)]);
});

test("a link puts its prompt into the input, and sends nothing; other links do nothing", async () => {
  await openLink(host, { path: "/open", query: `prompt=${encodeURIComponent("why is\nit & slow?")}` });
  await openLink(host, { path: "/open", query: "" });
  await openLink(host, { path: "/run", query: "prompt=x" });
  assert.deepEqual([drafts, asked], [["why is\nit & slow?", ""], []]);
});

test("a failing test is fixed with its message and its place", async () => {
  const item = { label: "test_mean", uri: Uri.file("/p/test_a.py"), range: lines(4, 9) };
  await runAction("fixTest", host, [{ test: item, message: { message: { value: "assert 2 == 3" } } }]);
  await runAction("fixTest", host, [item]);
  assert.match(asked[0]?.[0] ?? "", /The test test_mean fails\.[^]*It failed with:\n\nassert 2 == 3$/);
  assert.doesNotMatch(asked[1]?.[0] ?? "", /It failed with/);
  assert.deepEqual(asked.map(([, mentions]) => mentions), [[mention("/p/test_a.py", 4, 9)], [mention("/p/test_a.py", 4, 9)]]);
});

test("the files that are selected in the explorer are mentioned", async () => {
  await runAction("mentionFiles", host, [Uri.file("/p/a"), [Uri.file("/p/a"), Uri.file("/p/b")]]);
  await runAction("mentionFiles", host, [Uri.file("/p/c"), undefined]);
  assert.deepEqual(attached, ["/p/a", "/p/b", "/p/c"]);
});

test("a commit message is written for the staged changes of the repository, or for all", async () => {
  const repository = (name: string, staged: string, all: string): object => ({
    ...{ rootUri: Uri.file(name), inputBox: { value: "mine" } },
    diff: (isStaged: boolean) => Promise.resolve(isStaged ? staged : all),
  });
  const [one, two] = [repository("/one", "", "ALL"), repository("/two", "STAGED", "ALL")] as { inputBox: { value: string } }[];
  editor.repositories = [one, two] as object[];
  answer = "Add a mean\n";
  await runAction("commitMessage", host, [{ rootUri: Uri.file("/two") }]);
  await runAction("commitMessage", host, []);
  assert.deepEqual(inBackground.map((text) => text.split("\n").at(-1)), ["STAGED", "ALL"]);
  assert.deepEqual([one?.inputBox.value, two?.inputBox.value], ["Add a mean", "Add a mean"]);
});

test("an empty commit message leaves the user's own, and without changes nothing is asked", async () => {
  const inputBox = { value: "mine" };
  editor.repositories = [{ rootUri: Uri.file("/one"), inputBox, diff: () => Promise.resolve("DIFF") }];
  await runAction("commitMessage", host, []);
  assert.equal(inputBox.value, "mine");
  editor.repositories = [];
  await runAction("commitMessage", host, []);
  assert.deepEqual([inBackground.length, editor.calls], [1, ["information There are no changes to describe. []"]]);
});

test("the selected text of a terminal is explained, and the clipboard is as before", async () => {
  editor.clipboard = "mine";
  editor.terminalSelection = "Traceback: boom";
  await runAction("explainTerminal", host, []);
  assert.match(asked[0]?.[0] ?? "", /Traceback: boom/);
  editor.terminalSelection = "";
  await runAction("explainTerminal", host, []);
  assert.deepEqual(asked[1]?.[1], [{ kind: "terminal", path: "", firstLine: 0, lastLine: 0 }]);
  assert.equal(editor.clipboard, "mine");
});

test("the agent's commands can be picked and run", async () => {
  await runAction("runCommand", host, []);
  assert.deepEqual([asked, editor.calls], [[], ["pick /memory, /skills"]]);
  editor.choice = "/skills";
  await runAction("runCommand", host, []);
  assert.deepEqual(asked, [["/skills", []]]);
});
