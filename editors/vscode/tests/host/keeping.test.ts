/** What is kept between runs of the editor: how much of it, in which form, and what is not ours. */
import assert from "node:assert/strict";
import { mkdtemp, readdir, rm, stat, utimes } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { Endings } from "../../src/host/endings.js";
import { NodeDrawer } from "../../src/host/nodeDrawer.js";
import { ReviewArchive, type KeptChange } from "../../src/host/reviewArchive.js";
import { FakeDrawer, FakeMemory } from "../support/surroundings.js";

const MEBI = 1024 * 1024;

function change(path: string, before: string | null): KeptChange {
  return { path, before, left: "print" };
}

test("changes come back as they were, and only those of their session", async () => {
  const archive = new ReviewArchive(new FakeDrawer());
  const changes = [change("/new", null), change("/a", "old")];
  await archive.save("one/../session", changes);
  assert.deepEqual(await archive.load("one/../session"), changes);
  assert.deepEqual(await archive.load("another"), []);
});

test("the name of a text says nothing of its session and leads nowhere else", async () => {
  const drawer = new FakeDrawer();
  await new ReviewArchive(drawer).save("../../etc/passwd", [change("/a", "old")]);
  assert.match([...drawer.texts.keys()].join(), /^[0-9a-f]{32}\.json$/);
});

test("what is too large is left out, and all together is bounded", async () => {
  const archive = new ReviewArchive(new FakeDrawer());
  const many = Array.from({ length: 10 }, (_, index) => change(`/${String(index)}`, "x".repeat(MEBI)));
  await archive.save("s", [change("/large", "x".repeat(MEBI + 1)), ...many, change("/small", "x")]);
  const kept = await archive.load("s");
  assert.deepEqual(kept.map(({ path }) => path), ["/small", "/0", "/1", "/2", "/3", "/4", "/5", "/6"]);
});

test("the same is written once, and nothing leaves nothing", async () => {
  const drawer = new FakeDrawer();
  let writes = 0;
  const counting = Object.assign(Object.create(drawer) as FakeDrawer, {
    write: (name: string, text: string) => {
      writes += 1;
      return drawer.write(name, text);
    },
  });
  const archive = new ReviewArchive(counting);
  await archive.save("s", [change("/a", "old")]);
  await archive.save("s", [change("/a", "old")]);
  assert.equal(writes, 1);
  await archive.save("s", []);
  assert.deepEqual([...drawer.texts], []);
});

for (const [name, text] of Object.entries({
  half: '{"version":1,"sessionId":"s","changes":[{"path"',
  "a list": "[]",
  "a later version's": '{"version":2,"sessionId":"s","changes":[]}',
  "another session's": '{"version":1,"sessionId":"t","changes":[{"path":"/a","before":null,"left":""}]}',
  "of other shapes": '{"version":1,"sessionId":"s","changes":[{"path":1},null,{"path":"/a","before":0,"left":""}]}',
})) {
  test(`a text that is ${name} holds no change`, async () => {
    const drawer = new FakeDrawer();
    const archive = new ReviewArchive(drawer);
    await archive.save("s", [change("/a", "old")]);
    for (const key of drawer.texts.keys()) drawer.texts.set(key, text);
    assert.deepEqual(await archive.load("s"), []);
  });
}

let folder = "";

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "acp-server-drawer-"));
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

test("a drawer keeps texts for the user alone, and the newest so many", async () => {
  const place = join(folder, "deep", "reviews");
  const drawer = new NodeDrawer(place, 2);
  assert.equal(await drawer.read("a"), null);
  await drawer.write("a", "1");
  await utimes(join(place, "a"), 1, 1);
  await drawer.write("b", "2");
  await utimes(join(place, "b"), 2, 2);
  await drawer.write("c", "3");
  assert.deepEqual((await readdir(place)).sort(), ["b", "c"]);
  assert.equal(await drawer.read("c"), "3");
  if (process.platform !== "win32") assert.equal((await stat(join(place, "c"))).mode & 0o777, 0o600);
  await drawer.remove("c");
  await drawer.remove("never there");
  assert.deepEqual(await readdir(place), ["b"]);
});

test("marks of endings are bounded by session and in all", () => {
  const memory = new FakeMemory();
  const endings = new Endings(memory);
  const fail = (id: string): void => {
    endings.note(id, { type: "prompted", id: "p", blocks: [], manner: "turn" });
    endings.note(id, { type: "running", startedAt: 0 });
    endings.note(id, { type: "ended", reason: "error", error: "x".repeat(1000) });
  };
  for (let session = 0; session < 35; session += 1) fail(`s${String(session)}`);
  for (let turn = 0; turn < 34; turn += 1) fail("s34");
  const kept = JSON.parse(memory.get("endings") ?? "") as Record<string, { prompts: number; error: string }[]>;
  assert.deepEqual([Object.keys(kept).length, Object.keys(kept)[0]], [30, "s5"]);
  const marks = kept["s34"] ?? [];
  assert.deepEqual([marks.length, marks[0]?.prompts, marks[0]?.error.length], [30, 6, 300]);
});

for (const text of ["nonsense", "[]", '{"s":3}', '{"s":[null,{"prompts":"1"}]}']) {
  test(`a memory that says ${text} has no marks`, () => {
    const memory = new FakeMemory();
    memory.set("endings", text);
    assert.deepEqual(new Endings(memory).restored("s", []), []);
  });
}
