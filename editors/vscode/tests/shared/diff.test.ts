import assert from "node:assert/strict";
import { test } from "node:test";
import { lineChanges, linesOf } from "../../src/shared/diff.js";
import { hunksBetween, withHunkKept, withHunkReverted } from "../../src/shared/hunks.js";

const OLD = "one\ntwo\nthree\nfour\nfive\n";
const NEW = "one\n2\nthree\nfour\nfour and a half\nfive";

test("lines keep their line endings, so joining them restores the text", () => {
  assert.deepEqual(linesOf("a\r\nb\n\nc"), ["a\r\n", "b\n", "\n", "c"]);
  assert.deepEqual(linesOf(""), []);
});

test("equal texts have no changes", () => {
  assert.deepEqual(lineChanges(linesOf(OLD), linesOf(OLD)), []);
});

test("a change is no larger than what differs", () => {
  assert.deepEqual(lineChanges(["a", "b", "c"], ["a", "x", "c"]), [
    { oldStart: 1, oldEnd: 2, newStart: 1, newEnd: 2 },
  ]);
});

test("a new file is one hunk of additions", () => {
  const [hunk, ...rest] = hunksBetween("", "a\nb\n");
  assert.deepEqual([hunk?.removed, hunk?.added, rest], [[], ["a\n", "b\n"], []]);
});

test("keeping every hunk turns the old text into the new text", () => {
  let old = OLD;
  for (let hunk = hunksBetween(old, NEW)[0]; hunk !== undefined; hunk = hunksBetween(old, NEW)[0]) {
    old = withHunkKept(old, hunk);
  }
  assert.equal(old, NEW);
});

test("reverting one hunk leaves the others", () => {
  const [first] = hunksBetween(OLD, NEW);
  assert.ok(first);
  assert.equal(withHunkReverted(NEW, first), NEW.replace("2\n", "two\n"));
});

test("the changes of random edits rebuild the new text", () => {
  let seed = 7;
  const random = (below: number): number => {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    return seed % below;
  };
  for (let round = 0; round < 300; round += 1) {
    const old = Array.from({ length: random(20) }, () => `${String(random(5))}\n`);
    const newLines = Array.from({ length: random(20) }, () => `${String(random(5))}\n`);
    const rebuilt: string[] = [];
    let at = 0;
    for (const change of lineChanges(old, newLines)) {
      rebuilt.push(...old.slice(at, change.oldStart), ...newLines.slice(change.newStart, change.newEnd));
      at = change.oldEnd;
    }
    assert.deepEqual([...rebuilt, ...old.slice(at)], newLines);
  }
});

test("completely different texts are one replacement, computed quickly", () => {
  const many = (mark: string): string[] => Array.from({ length: 5000 }, (_, n) => `${mark}${String(n)}`);
  assert.equal(lineChanges(many("a"), many("b")).length, 1);
});
