import assert from "node:assert/strict";
import { chmod, link, lstat, mkdtemp, readFile, readdir, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { NodeDisk } from "../../src/host/nodeDisk.js";

const disk = new NodeDisk();
let folder = "";
let file = "";

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "acp-server-disk-"));
  file = join(folder, "a.sh");
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

test("a missing file reads as null, and removing it is no error", async () => {
  assert.equal(await disk.read(file), null);
  await disk.remove(file);
});

test("a new file's directories are created", async () => {
  const deep = join(folder, "b", "c", "d.txt");
  await disk.write(deep, "x");
  assert.equal(await disk.read(deep), "x");
});

test("a file keeps its mode and byte order mark, and no temporary file remains", async () => {
  await writeFile(file, "\uFEFFold");
  await chmod(file, 0o755);
  assert.equal(await disk.read(file), "old");
  await disk.write(file, "new");
  assert.equal(await readFile(file, "utf8"), "\uFEFFnew");
  assert.equal((await stat(file)).mode & 0o777, 0o755);
  assert.deepEqual(await readdir(folder), ["a.sh"]);
});

test("symbolic links and hard links are preserved", async () => {
  const [pointer, other] = [join(folder, "pointer"), join(folder, "other")];
  await writeFile(file, "old");
  await symlink(file, pointer);
  await disk.write(pointer, "through the link");
  assert.ok((await lstat(pointer)).isSymbolicLink());
  assert.equal(await readFile(file, "utf8"), "through the link");
  await link(file, other);
  await disk.write(other, "both");
  assert.equal(await readFile(file, "utf8"), "both");
});

test("an unreadable file is an error, not a missing file", async () => {
  await assert.rejects(disk.read(folder), { code: "EISDIR" });
});
