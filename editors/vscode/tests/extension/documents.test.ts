/** Open documents and texts that are no files, in VS Code's words. */
import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { DiffDocuments } from "../../src/extension/diffDocuments.js";
import { EditorDocuments } from "../../src/extension/documents.js";
import { Files } from "../../src/host/files.js";
import { FakeFiles } from "../support/surroundings.js";
import { editor, resetEditor, TextDocument, Uri } from "../support/vscode.js";

const PATH = "/project/a.txt";
const OLD = "one\ntwo\nthree\n";

let documents = new EditorDocuments();
let disk = new FakeFiles();

beforeEach(() => {
  resetEditor();
  documents = new EditorDocuments();
  disk = new FakeFiles();
});

function open(text: string, saved = text, uri = Uri.file(PATH)): TextDocument {
  const document = new TextDocument(uri, text, saved);
  editor.documents.push(document);
  return document;
}

function files(): Files {
  return new Files(documents, disk);
}

async function write(content: string): Promise<(string | null)[]> {
  const before: (string | null)[] = [];
  await files().write({ sessionId: "s", path: PATH, content }, (_session, _path, text) => before.push(text));
  return before;
}

test("only files that are open are found, whatever else VS Code has open", () => {
  open("x", "x", new Uri("git", PATH));
  open("x", "x", Uri.file("/project/b.txt"));
  const closed = open("x");
  closed.isClosed = true;
  assert.equal(documents.find(PATH), undefined);
  closed.isClosed = false;
  assert.equal(documents.find(PATH)?.text, "x");
});

test("a read sees what is not saved yet, and lines are counted in that", async () => {
  open("mine\none\ntwo\n", OLD);
  disk.disk.set(PATH, OLD);
  const request = { sessionId: "s", path: PATH };
  assert.deepEqual(await files().read(request), { content: "mine\none\ntwo\n" });
  assert.deepEqual(await files().read({ ...request, line: 2, limit: 1 }), { content: "one\n" });
});

test("a write is one edit of the part that differs, saved where nothing was unsaved", async () => {
  const document = open(OLD);
  assert.deepEqual(await write("one\n2\nthree\n"), [OLD]);
  assert.deepEqual(editor.edits, [["two", "2"]]);
  assert.deepEqual([document.text, document.isDirty], ["one\n2\nthree\n", false]);
  assert.equal(disk.disk.has(PATH), false);
});

test("a document with unsaved changes stays unsaved", async () => {
  const document = open(`mine\n${OLD}`, OLD);
  await write(`mine\n${OLD}four\n`);
  assert.deepEqual([document.text, document.saved], [`mine\n${OLD}four\n`, OLD]);
});

test("line endings of the document are kept", async () => {
  const document = open("one\r\ntwo\r\n");
  await write("one\ntwo\nthree\n");
  assert.equal(document.text, "one\r\ntwo\r\nthree\r\n");
});

test("the same text is no edit", async () => {
  open(OLD);
  await write(OLD);
  assert.deepEqual(editor.edits, []);
});

test("an edit that VS Code refuses, and a file that cannot be saved, are failures", async () => {
  const document = open(OLD);
  editor.takesEdits = false;
  await assert.rejects(write("x"), { data: { message: `the editor refused to change ${PATH}` } });
  editor.takesEdits = true;
  document.canSave = false;
  await assert.rejects(write("x"), { data: { message: `${PATH} could not be saved` } });
});

test("a file that is not open is written to the disk", async () => {
  assert.deepEqual(await write("new\n"), [null]);
  assert.equal(disk.disk.get(PATH), "new\n");
});

test("two texts are shown side by side as documents of their own", async () => {
  const diffs = new DiffDocuments();
  const content = (uri: unknown): string | undefined => editor.contents.get("acp-server-diff")?.(uri as Uri);
  await diffs.show(PATH, "old", "new");
  await diffs.show(PATH, "older", null);
  const [[, left, right, title, options] = [], [, before, now, later] = []] = editor.ran;
  assert.deepEqual([content(left), content(right), title], ["old", "new", "a.txt (proposed)"]);
  assert.deepEqual([content(before), String(now), later], ["older", `file:${PATH}`, "a.txt (before ↔ now)"]);
  // The language is told by the name, as of a file.
  assert.deepEqual([(left as Uri).path, (left as Uri).scheme, options], [PATH, "acp-server-diff", { preview: true }]);
});

test("of such texts the newest are kept, and none behind the end", async () => {
  const diffs = new DiffDocuments();
  const content = (number: number): string | undefined =>
    editor.contents.get("acp-server-diff")?.(new Uri("acp-server-diff", PATH, String(number)));
  for (let number = 1; number <= 61; number += 1) await diffs.show(PATH, String(number), null);
  assert.deepEqual([content(1), content(2), content(61)], ["", "2", "61"]);
  diffs.dispose();
  assert.equal(content(61), "");
});
