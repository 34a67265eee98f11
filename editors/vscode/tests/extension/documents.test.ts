/** Open documents and virtual documents in VS Code. */
import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { DiffDocuments, openDiffs, type Diff } from "../../src/extension/diffDocuments.js";
import { VsCodeDocuments } from "../../src/extension/documents.js";
import { FileService } from "../../src/host/fileService.js";
import { FakeFiles } from "../support/fakes.js";
import { editor, resetEditor, TextDocument, Uri } from "../support/vscode.js";

const PATH = "/project/a.txt";
const OLD = "one\ntwo\nthree\n";

let documents = new VsCodeDocuments();
let disk = new FakeFiles();

beforeEach(() => {
  resetEditor();
  documents = new VsCodeDocuments();
  disk = new FakeFiles();
});

function open(text: string, saved = text, uri = Uri.file(PATH)): TextDocument {
  const document = new TextDocument(uri, text, saved);
  editor.documents.push(document);
  return document;
}

function fileService(): FileService {
  return new FileService(documents, disk);
}

async function write(content: string): Promise<(string | null)[]> {
  const before: (string | null)[] = [];
  await fileService().write({ sessionId: "s", path: PATH, content }, (_session, _path, text) => before.push(text));
  return before;
}

test("only open files are found, no other kinds of documents", () => {
  open("x", "x", new Uri("git", PATH));
  open("x", "x", Uri.file("/project/b.txt"));
  const closed = open("x");
  closed.isClosed = true;
  assert.equal(documents.find(PATH), undefined);
  closed.isClosed = false;
  assert.equal(documents.find(PATH)?.text, "x");
});

test("a read includes unsaved changes, also when counting lines", async () => {
  open("mine\none\ntwo\n", OLD);
  disk.disk.set(PATH, OLD);
  const request = { sessionId: "s", path: PATH };
  assert.deepEqual(await fileService().read(request), { content: "mine\none\ntwo\n" });
  assert.deepEqual(await fileService().read({ ...request, line: 2, limit: 1 }), { content: "one\n" });
});

test("a write edits only the differing range, and saves if nothing was unsaved", async () => {
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

test("writing the same text makes no edit", async () => {
  open(OLD);
  await write(OLD);
  assert.deepEqual(editor.edits, []);
});

test("an edit that VS Code refuses and a failed save are errors", async () => {
  const document = open(OLD);
  editor.acceptsEdits = false;
  await assert.rejects(write("x"), { data: { message: `the editor refused to change ${PATH}` } });
  editor.acceptsEdits = true;
  document.canSave = false;
  await assert.rejects(write("x"), { data: { message: `${PATH} could not be saved` } });
});

test("a file that is not open is written to the disk", async () => {
  assert.deepEqual(await write("new\n"), [null]);
  assert.equal(disk.disk.get(PATH), "new\n");
});

test("a diff shows two texts as virtual documents", async () => {
  const diffs = new DiffDocuments();
  const content = (uri: unknown): string | undefined => editor.contents.get("acp-server-diff")?.(uri as Uri);
  await diffs.showCopies(PATH, "old", "new");
  const [[, left, right, title, options] = []] = editor.executedCommands;
  assert.deepEqual([content(left), content(right), title], ["old", "new", "a.txt (proposed)"]);
  // VS Code derives the language from the path, as for a file.
  assert.deepEqual([(left as Uri).path, (left as Uri).scheme, options], [PATH, "acp-server-diff", { preview: true }]);
});

test("only the newest copies are kept, and none after disposal", async () => {
  const diffs = new DiffDocuments();
  const content = (number: number): string | undefined =>
    editor.contents.get("acp-server-diff")?.(new Uri("acp-server-diff", PATH, `old-copy-${String(number)}`));
  for (let number = 1; number <= 31; number += 1) await diffs.showCopies(PATH, String(number), "");
  assert.deepEqual([content(1), content(2), content(31)], ["", "2", "31"]);
  diffs.dispose();
  assert.equal(content(31), "");
});

test("of several diffs the first one is in front once all are open", async () => {
  const diffs = ["a", "b", "c"].map((name): Diff => [Uri.file(name), Uri.file(`${name}2`), name] as unknown as Diff);
  const opened = (): unknown[] => editor.executedCommands.filter(([name]) => name === "vscode.diff").map((args) => args[3]);
  await openDiffs(diffs, {});
  assert.deepEqual(opened(), ["a", "b", "c", "a"]);
  await openDiffs(diffs.slice(1, 2), {});
  assert.deepEqual(opened().slice(4), ["b"]);
});
