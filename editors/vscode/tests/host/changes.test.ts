import assert from "node:assert/strict";
import { test } from "node:test";
import { Changes } from "../../src/host/changes.js";
import { Files } from "../../src/host/files.js";
import { FakeFiles } from "../support/surroundings.js";

const OLD = "one\ntwo\nthree\nfour\n";
const NEW = "1\ntwo\nthree\n4\n";

async function changed(): Promise<{ fake: FakeFiles; changes: Changes }> {
  const fake = new FakeFiles();
  fake.disk.set("/a", NEW);
  const changes = new Changes(new Files(fake, fake), (path) => path.slice(1));
  await changes.note("/a", OLD);
  return { fake, changes };
}

test("a changed file shows its hunks and how much they are", async () => {
  const { changes } = await changed();
  const [file] = await changes.list();
  assert.deepEqual([file?.label, file?.kind, file?.added, file?.removed], ["a", "changed", 2, 2]);
  assert.deepEqual(
    file?.hunks.map((hunk) => [hunk.newLine, hunk.removed, hunk.added]),
    [
      [1, ["one\n"], ["1\n"]],
      [4, ["four\n"], ["4\n"]],
    ],
  );
});

test("keeping a hunk leaves the file and the other hunk", async () => {
  const { fake, changes } = await changed();
  const [file] = await changes.list();
  await changes.keep("/a", file?.hunks[0]?.id ?? "");
  const [after] = await changes.list();
  assert.deepEqual(after?.hunks.map((hunk) => hunk.added), [["4\n"]]);
  assert.equal(fake.disk.get("/a"), NEW);
});

test("reverting a hunk takes back that part alone", async () => {
  const { fake, changes } = await changed();
  const [file] = await changes.list();
  await changes.revert("/a", file?.hunks[1]?.id ?? "");
  assert.equal(fake.disk.get("/a"), "1\ntwo\nthree\nfour\n");
  assert.equal((await changes.list())[0]?.hunks.length, 1);
});

test("a click on a hunk that is no more changes nothing", async () => {
  const { fake, changes } = await changed();
  await changes.revert("/a", "0:0:gone");
  assert.equal(fake.disk.get("/a"), NEW);
});

test("reverting a file gives back what was before the first write", async () => {
  const { fake, changes } = await changed();
  fake.disk.set("/a", "later\n");
  await changes.note("/a", NEW);
  await changes.revert("/a", "");
  assert.deepEqual([fake.disk.get("/a"), await changes.list()], [OLD, []]);
});

test("reverting a file that was not there removes it", async () => {
  const fake = new FakeFiles();
  fake.disk.set("/new", "x\n");
  const changes = new Changes(new Files(fake, fake), (path) => path);
  await changes.note("/new", null);
  assert.equal((await changes.list())[0]?.kind, "added");
  await changes.revert("/new", "");
  assert.equal(fake.disk.has("/new"), false);
});

test("a file that is as it was is no change", async () => {
  const { fake, changes } = await changed();
  fake.disk.set("/a", OLD);
  assert.deepEqual(await changes.list(), []);
});

test("a file that somebody else changed is known as touched", async () => {
  const { fake, changes } = await changed();
  assert.equal(await changes.isTouched("/a"), false);
  fake.disk.set("/a", `${NEW}mine\n`);
  assert.equal(await changes.isTouched("/a"), true);
});

test("what a call shows counts only if the file is so", async () => {
  const fake = new FakeFiles();
  fake.disk.set("/whole", "b");
  fake.disk.set("/part", "a long file");
  const changes = new Changes(new Files(fake, fake), (path) => path);
  await changes.noteShown("/whole", "a", "b");
  await changes.noteShown("/part", "a", "b");
  await changes.noteShown("/gone", "a", "");
  const listed = (await changes.list()).map(({ path, kind }) => `${path} ${kind}`);
  assert.deepEqual(listed, ["/gone deleted", "/whole changed"]);
});
