import assert from "node:assert/strict";
import { test } from "node:test";
import { Files } from "../../src/host/files.js";
import { FakeFiles } from "../support/surroundings.js";

const nobody = (): void => undefined;
const write = (files: Files, content: string): Promise<void> =>
  files.write({ sessionId: "s", path: "/a", content }, nobody);

test("a file is read as the user has it, unsaved changes included", async () => {
  const fake = new FakeFiles();
  fake.disk.set("/a", "saved");
  fake.openDocument("/a", "unsaved", true);
  const answer = await new Files(fake, fake).read({ sessionId: "s", path: "/a" });
  assert.deepEqual(answer, { content: "unsaved" });
});

test("a part of a file is read by its lines, from 1", async () => {
  const fake = new FakeFiles();
  fake.disk.set("/a", "one\ntwo\nthree\nfour");
  const answer = await new Files(fake, fake).read({ sessionId: "s", path: "/a", line: 2, limit: 2 });
  assert.deepEqual(answer, { content: "two\nthree\n" });
});

test("a file that is not there is told as such", async () => {
  const fake = new FakeFiles();
  await assert.rejects(new Files(fake, fake).read({ sessionId: "s", path: "/a" }), { code: -32002 });
});

test("a path that is not absolute is refused", async () => {
  const fake = new FakeFiles();
  await assert.rejects(new Files(fake, fake).read({ sessionId: "s", path: "a" }), { code: -32602 });
});

test("an open document is edited only where it differs, and saved", async () => {
  const fake = new FakeFiles();
  const document = fake.openDocument("/a", "one\ntwo\nthree\n");
  await write(new Files(fake, fake), "one\n2\nthree\n");
  assert.deepEqual(document.edits, [[4, 7, "2"]]);
  assert.deepEqual([document.isDirty, fake.disk.get("/a")], [false, "one\n2\nthree\n"]);
});

test("a document with unsaved changes is edited and stays unsaved", async () => {
  const fake = new FakeFiles();
  fake.disk.set("/a", "saved");
  const document = fake.openDocument("/a", "unsaved", true);
  await write(new Files(fake, fake), "unsaved too");
  assert.deepEqual([document.text, document.isDirty, fake.disk.get("/a")], ["unsaved too", true, "saved"]);
});

test("an open document keeps its line endings", async () => {
  const fake = new FakeFiles();
  const document = fake.openDocument("/a", "one\r\ntwo\r\n");
  await write(new Files(fake, fake), "one\n2\n");
  assert.equal(document.text, "one\r\n2\r\n");
});

test("a file that is not open is written to disk, and what it held is told", async () => {
  const fake = new FakeFiles();
  fake.disk.set("/a", "old");
  const told: unknown[] = [];
  await new Files(fake, fake).write({ sessionId: "s", path: "/a", content: "new" }, (...news) =>
    told.push(news),
  );
  assert.deepEqual([fake.disk.get("/a"), told], ["new", [["s", "/a", "old"]]]);
});
