import assert from "node:assert/strict";
import { test } from "node:test";
import { MentionSearch } from "../../src/host/mentionSearch.js";
import { FakeEditorWindow } from "../support/fakes.js";

function search(): { mentions: MentionSearch; editorWindow: FakeEditorWindow } {
  const editorWindow = new FakeEditorWindow();
  editorWindow.files = ["/project/src/host/controller.ts", "/project/src/app.ts", "/project/read me.md"];
  editorWindow.symbols = [{ name: "appendBlocks", path: "/project/src/app.ts", firstLine: 3, lastLine: 9 }];
  return { mentions: new MentionSearch(editorWindow, (path) => path.replace("/project/", "")), editorWindow };
}

const labels = async (mentions: MentionSearch, query: string): Promise<string[]> =>
  (await mentions.find(query)).map(({ label }) => label);

test("without a query there are problems, terminal output and the open files", async () => {
  const { mentions } = search();
  assert.deepEqual(await labels(mentions, ""), ["problems", "terminal", "src/host/controller.ts"]);
});

test("files and folders are found fuzzily, and symbols after them", async () => {
  const { mentions } = search();
  assert.deepEqual(await labels(mentions, "hcon"), ["src/host/controller.ts", "appendBlocks"]);
  assert.deepEqual((await labels(mentions, "host")).slice(0, 2).sort(), ["src/host/", "src/host/controller.ts"]);
  const [folder] = (await mentions.find("src/")).filter(({ mention }) => mention.kind === "folder");
  assert.deepEqual([folder?.label, folder?.mention.path], ["src/", "/project/src"]);
  const symbol = (await mentions.find("app")).find(({ mention }) => mention.kind === "symbol");
  assert.deepEqual([symbol?.detail, symbol?.mention.firstLine, symbol?.mention.lastLine], ["src/app.ts:3", 3, 9]);
});

test("lines of a file are mentioned with a fragment", async () => {
  const { mentions } = search();
  const [choice] = await mentions.find("app.ts#L20-4");
  assert.deepEqual(choice, {
    mention: { kind: "file", path: "/project/src/app.ts", firstLine: 4, lastLine: 20 },
    label: "src/app.ts#L20-4",
    detail: "",
  });
});

test("new files are found after the list was invalidated", async () => {
  const { mentions, editorWindow } = search();
  await mentions.find("new");
  editorWindow.files = ["/project/new.py"];
  assert.deepEqual(await labels(mentions, "new.p"), ["appendBlocks"]);
  mentions.invalidate();
  assert.deepEqual(await labels(mentions, "new.p"), ["new.py", "appendBlocks"]);
});
