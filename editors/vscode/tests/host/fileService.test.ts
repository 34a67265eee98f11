import assert from "node:assert/strict";
import { test } from "node:test";
import { FileService } from "../../src/host/fileService.js";
import { FakeFiles } from "../support/fakes.js";

const ignoreWrite = (): void => undefined;
const write = (files: FileService, content: string): Promise<void> =>
  files.write({ sessionId: "s", path: "/a", content }, ignoreWrite);

test("a file is read with its unsaved changes", async () => {
  const fake = new FakeFiles();
  fake.disk.set("/a", "saved");
  fake.openDocument("/a", "unsaved", true);
  const answer = await new FileService(fake, fake).read({ sessionId: "s", path: "/a" });
  assert.deepEqual(answer, { content: "unsaved" });
});

test("a range of lines is read, counted from 1", async () => {
  const fake = new FakeFiles();
  fake.disk.set("/a", "one\ntwo\nthree\nfour");
  const answer = await new FileService(fake, fake).read({ sessionId: "s", path: "/a", line: 2, limit: 2 });
  assert.deepEqual(answer, { content: "two\nthree\n" });
});

test("a missing file is a not-found error", async () => {
  const fake = new FakeFiles();
  await assert.rejects(new FileService(fake, fake).read({ sessionId: "s", path: "/a" }), { code: -32002 });
});

test("a path that is not absolute is refused", async () => {
  const fake = new FakeFiles();
  await assert.rejects(new FileService(fake, fake).read({ sessionId: "s", path: "a" }), { code: -32602 });
});

test("an open document is edited only where it differs, and saved", async () => {
  const fake = new FakeFiles();
  const document = fake.openDocument("/a", "one\ntwo\nthree\n");
  await write(new FileService(fake, fake), "one\n2\nthree\n");
  assert.deepEqual(document.edits, [[4, 7, "2"]]);
  assert.deepEqual([document.isDirty, fake.disk.get("/a")], [false, "one\n2\nthree\n"]);
});

test("a document with unsaved changes is edited and stays unsaved", async () => {
  const fake = new FakeFiles();
  fake.disk.set("/a", "saved");
  const document = fake.openDocument("/a", "unsaved", true);
  await write(new FileService(fake, fake), "unsaved too");
  assert.deepEqual([document.text, document.isDirty, fake.disk.get("/a")], ["unsaved too", true, "saved"]);
});

test("an open document keeps its line endings", async () => {
  const fake = new FakeFiles();
  const document = fake.openDocument("/a", "one\r\ntwo\r\n");
  await write(new FileService(fake, fake), "one\n2\n");
  assert.equal(document.text, "one\r\n2\r\n");
});

test("a closed file is written to disk, and its previous text is reported", async () => {
  const fake = new FakeFiles();
  fake.disk.set("/a", "old");
  const writes: unknown[] = [];
  await new FileService(fake, fake).write({ sessionId: "s", path: "/a", content: "new" }, (...news) =>
    writes.push(news),
  );
  assert.deepEqual([fake.disk.get("/a"), writes], ["new", [["s", "/a", "old"]]]);
});
