/** Persisted state: formats, limits, and invalid data. */
import assert from "node:assert/strict";
import { mkdtemp, readdir, rm, stat, utimes } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { TurnEndStore } from "../../src/host/turnEndStore.js";
import { DirectoryTextStore } from "../../src/host/directoryTextStore.js";
import { ReviewStore, type SavedChange } from "../../src/host/reviewStore.js";
import { FakeTextStore, FakeWorkspaceState } from "../support/fakes.js";

const MEBI = 1024 * 1024;

function change(path: string, before: string | null): SavedChange {
  return { path, before, left: "print" };
}

test("saved changes are loaded unchanged, and only for their session", async () => {
  const archive = new ReviewStore(new FakeTextStore());
  const changes = [change("/new", null), change("/a", "old")];
  await archive.save("one/../session", changes);
  assert.deepEqual(await archive.load("one/../session"), changes);
  assert.deepEqual(await archive.load("another"), []);
});

test("the file name is a hash of the session id and cannot leave the directory", async () => {
  const textStore = new FakeTextStore();
  await new ReviewStore(textStore).save("../../etc/passwd", [change("/a", "old")]);
  assert.match([...textStore.texts.keys()].join(), /^[0-9a-f]{32}\.json$/);
});

test("files that are too large are not saved, and the total size is bounded", async () => {
  const archive = new ReviewStore(new FakeTextStore());
  const many = Array.from({ length: 10 }, (_, index) => change(`/${String(index)}`, "x".repeat(MEBI)));
  await archive.save("s", [change("/large", "x".repeat(MEBI + 1)), ...many, change("/small", "x")]);
  const saved = await archive.load("s");
  assert.deepEqual(saved.map(({ path }) => path), ["/small", "/0", "/1", "/2", "/3", "/4", "/5", "/6"]);
});

test("unchanged changes are written once, and an empty list removes the file", async () => {
  const textStore = new FakeTextStore();
  let writes = 0;
  const counting = Object.assign(Object.create(textStore) as FakeTextStore, {
    write: (name: string, text: string) => {
      writes += 1;
      return textStore.write(name, text);
    },
  });
  const archive = new ReviewStore(counting);
  await archive.save("s", [change("/a", "old")]);
  await archive.save("s", [change("/a", "old")]);
  assert.equal(writes, 1);
  await archive.save("s", []);
  assert.deepEqual([...textStore.texts], []);
});

for (const [name, text] of Object.entries({
  half: '{"version":1,"sessionId":"s","changes":[{"path"',
  "a list": "[]",
  "a later version's": '{"version":2,"sessionId":"s","changes":[]}',
  "another session's": '{"version":1,"sessionId":"t","changes":[{"path":"/a","before":null,"left":""}]}',
  "of other shapes": '{"version":1,"sessionId":"s","changes":[{"path":1},null,{"path":"/a","before":0,"left":""}]}',
})) {
  test(`a text that is ${name} contains no changes`, async () => {
    const textStore = new FakeTextStore();
    const archive = new ReviewStore(textStore);
    await archive.save("s", [change("/a", "old")]);
    for (const key of textStore.texts.keys()) textStore.texts.set(key, text);
    assert.deepEqual(await archive.load("s"), []);
  });
}

let temporaryDirectory = "";

beforeEach(async () => {
  temporaryDirectory = await mkdtemp(join(tmpdir(), "acp-server-text-store-"));
});
afterEach(async () => {
  await rm(temporaryDirectory, { recursive: true });
});

test("a text store is readable by the owner only, and keeps the newest texts", async () => {
  const directory = join(temporaryDirectory, "deep", "reviews");
  const textStore = new DirectoryTextStore(directory, 2);
  assert.equal(await textStore.read("a"), null);
  await textStore.write("a", "1");
  await utimes(join(directory, "a"), 1, 1);
  await textStore.write("b", "2");
  await utimes(join(directory, "b"), 2, 2);
  await textStore.write("c", "3");
  assert.deepEqual((await readdir(directory)).sort(), ["b", "c"]);
  assert.equal(await textStore.read("c"), "3");
  if (process.platform !== "win32") assert.equal((await stat(join(directory, "c"))).mode & 0o777, 0o600);
  await textStore.remove("c");
  await textStore.remove("never there");
  assert.deepEqual(await readdir(directory), ["b"]);
});

test("turn ends are bounded per session and in total", () => {
  const workspaceState = new FakeWorkspaceState();
  const endings = new TurnEndStore(workspaceState);
  const fail = (id: string): void => {
    endings.observe(id, { type: "prompted", id: "p", blocks: [], busyMode: "turn" });
    endings.observe(id, { type: "running", startedAt: 0 });
    endings.observe(id, { type: "ended", reason: "error", error: "x".repeat(1000) });
  };
  for (let session = 0; session < 35; session += 1) fail(`s${String(session)}`);
  for (let turn = 0; turn < 34; turn += 1) fail("s34");
  const saved = JSON.parse(workspaceState.get("endings") ?? "") as Record<string, { prompts: number; error: string }[]>;
  assert.deepEqual([Object.keys(saved).length, Object.keys(saved)[0]], [30, "s5"]);
  const turnEnds = saved["s34"] ?? [];
  assert.deepEqual([turnEnds.length, turnEnds[0]?.prompts, turnEnds[0]?.error.length], [30, 6, 300]);
});

for (const text of ["nonsense", "[]", '{"s":3}', '{"s":[null,{"prompts":"1"}]}']) {
  test(`the saved state ${text} contains no turn ends`, () => {
    const workspaceState = new FakeWorkspaceState();
    workspaceState.set("endings", text);
    assert.deepEqual(new TurnEndStore(workspaceState).withTurnEnds("s", []), []);
  });
}
