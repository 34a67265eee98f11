import assert from "node:assert/strict";
import { test } from "node:test";
import { ChangeTracker } from "../../src/host/changeTracker.js";
import type { DiffBlock } from "../../src/host/diffBlocks.js";
import { FileService } from "../../src/host/fileService.js";
import { FakeFiles } from "../support/fakes.js";

const OLD = "one\ntwo\nthree\nfour\n";
const NEW = "1\ntwo\nthree\n4\n";

function diff(path: string, oldText: string | null, newText: string): DiffBlock {
  return { type: "diff", path, oldText, newText };
}

async function changed(): Promise<{ fake: FakeFiles; tracker: ChangeTracker }> {
  const fake = new FakeFiles();
  fake.disk.set("/a", NEW);
  const tracker = new ChangeTracker(new FileService(fake, fake), (path) => path.slice(1));
  await tracker.recordWrite("/a", OLD);
  return { fake, tracker };
}

test("a changed file has its hunks and line counts", async () => {
  const { tracker } = await changed();
  const [file] = await tracker.list();
  assert.deepEqual([file?.label, file?.kind, file?.added, file?.removed], ["a", "changed", 2, 2]);
  assert.deepEqual(
    file?.hunks.map((hunk) => [hunk.newLine, hunk.removed, hunk.added]),
    [
      [1, ["one\n"], ["1\n"]],
      [4, ["four\n"], ["4\n"]],
    ],
  );
});

test("keeping a hunk leaves the file and the other hunk unchanged", async () => {
  const { fake, tracker } = await changed();
  const [file] = await tracker.list();
  await tracker.keep("/a", file?.hunks[0]?.id ?? "");
  const [after] = await tracker.list();
  assert.deepEqual(after?.hunks.map((hunk) => hunk.added), [["4\n"]]);
  assert.equal(fake.disk.get("/a"), NEW);
});

test("reverting a hunk undoes only that part", async () => {
  const { fake, tracker } = await changed();
  const [file] = await tracker.list();
  await tracker.revert("/a", file?.hunks[1]?.id ?? "");
  assert.equal(fake.disk.get("/a"), "1\ntwo\nthree\nfour\n");
  assert.equal((await tracker.list())[0]?.hunks.length, 1);
});

test("an unknown hunk changes nothing", async () => {
  const { fake, tracker } = await changed();
  await tracker.revert("/a", "0:0:gone");
  assert.equal(fake.disk.get("/a"), NEW);
});

test("reverting a file restores the text from before the first write", async () => {
  const { fake, tracker } = await changed();
  fake.disk.set("/a", "later\n");
  await tracker.recordWrite("/a", NEW);
  await tracker.revert("/a", "");
  assert.deepEqual([fake.disk.get("/a"), await tracker.list()], [OLD, []]);
});

test("reverting a new file removes it", async () => {
  const fake = new FakeFiles();
  fake.disk.set("/new", "x\n");
  const tracker = new ChangeTracker(new FileService(fake, fake), (path) => path);
  await tracker.recordWrite("/new", null);
  assert.equal((await tracker.list())[0]?.kind, "added");
  await tracker.revert("/new", "");
  assert.equal(fake.disk.has("/new"), false);
});

test("a file with its original text is not a change", async () => {
  const { fake, tracker } = await changed();
  fake.disk.set("/a", OLD);
  assert.deepEqual(await tracker.list(), []);
});

test("a file changed by others is detected", async () => {
  const { fake, tracker } = await changed();
  assert.equal(await tracker.isChangedByOthers("/a"), false);
  fake.disk.set("/a", `${NEW}mine\n`);
  assert.equal(await tracker.isChangedByOthers("/a"), true);
});

test("a tool call's diff counts only if the file matches it", async () => {
  const fake = new FakeFiles();
  fake.disk.set("/whole", "b");
  fake.disk.set("/part", "a long file");
  const tracker = new ChangeTracker(new FileService(fake, fake), (path) => path);
  await tracker.recordDiffs("/whole", [diff("/whole", "a", "b")]);
  await tracker.recordDiffs("/part", [diff("/part", "x", "y")]);
  await tracker.recordDiffs("/gone", [diff("/gone", "a", "")]);
  const listed = (await tracker.list()).map(({ path, kind }) => `${path} ${kind}`);
  assert.deepEqual(listed, ["/gone deleted", "/whole changed"]);
});

test("a tool call that brings back the original text leaves no change, although its diff comes after its write", async () => {
  const { fake, tracker } = await changed();
  fake.disk.set("/new", "new");
  await tracker.recordWrite("/new", null);
  fake.disk.set("/a", OLD);
  await tracker.recordWrite("/a", NEW);
  fake.disk.delete("/new");
  assert.deepEqual(await tracker.list(), []);
  await tracker.recordDiffs("/a", [diff("/a", NEW, OLD)]);
  await tracker.recordDiffs("/new", [diff("/new", "new", "")]);
  assert.deepEqual(await tracker.list(), []);
  // A later tool call changes it again.
  fake.disk.set("/a", NEW);
  await tracker.recordDiffs("/a", [diff("/a", OLD, NEW)]);
  assert.deepEqual((await tracker.list()).map(({ path }) => path), ["/a"]);
});

test("a write that brings back the original text leaves no change, although the editor shows it before it is recorded", async () => {
  const { fake, tracker } = await changed();
  fake.disk.set("/a", OLD);
  assert.deepEqual(await tracker.list(), []);
  await tracker.recordWrite("/a", NEW);
  await tracker.recordDiffs("/a", [diff("/a", NEW, OLD)]);
  assert.deepEqual(await tracker.list(), []);
});

test("a change that was kept while its tool call ran is not recorded again at its end", async () => {
  const { tracker } = await changed();
  await tracker.keep("/a", "");
  await tracker.recordDiffs("/a", [diff("/a", OLD, NEW)]);
  assert.deepEqual(await tracker.list(), []);
});

test("a diff of a part is placed where its text is, and not if that is uncertain", async () => {
  const fake = new FakeFiles();
  fake.disk.set("/part", "1\nsame\n2\nsame\n");
  const tracker = new ChangeTracker(new FileService(fake, fake), (path) => path);
  await tracker.recordDiffs("/part", [diff("/part", "same", "same")]);
  assert.deepEqual(await tracker.list(), []);
  await tracker.recordDiffs("/part", [diff("/part", "one", "1"), diff("/part", "two", "2")]);
  assert.equal(tracker.before("/part"), "one\nsame\ntwo\nsame\n");
});

test("what others changed between two writes is reverted only after confirmation, also after a reload", async () => {
  const { fake, tracker } = await changed();
  fake.disk.set("/a", `mine\n${NEW}`);
  await tracker.recordWrite("/a", `mine\n${NEW}`);
  fake.disk.set("/a", `mine\n${NEW}end\n`);
  await tracker.recordWrite("/a", `mine\n${NEW}`);
  assert.equal(await tracker.isChangedByOthers("/a"), true);
  const again = new ChangeTracker(new FileService(fake, fake), (path) => path, tracker.saved);
  assert.equal(await again.isChangedByOthers("/a"), true);
  const [file] = await tracker.list();
  const isAgents = await Promise.all((file?.hunks ?? []).map(({ id }) => tracker.isAgentsHunk("/a", id)));
  assert.deepEqual(file?.hunks.map(({ added }) => added), [["mine\n", "1\n"], ["4\n", "end\n"]]);
  assert.deepEqual(isAgents, [false, false]);
});
