/** Paths of Windows, tested on every platform. */
import assert from "node:assert/strict";
import { win32 } from "node:path";
import { test } from "node:test";
import { pathInside } from "../../src/host/workspacePaths.js";
import { parseFileLink } from "../../src/host/links.js";
import { baseName, withLowerDrive } from "../../src/shared/paths.js";
import { fileReferences } from "../../src/webview/markdown/fileReferences.js";

for (const [href, path, line] of [
  ["src\\app.ts:20", "C:\\work\\src\\app.ts", 20],
  ["src/app.ts#L7", "C:\\work\\src\\app.ts", 7],
  ["D:\\other\\a.py:3:9", "D:\\other\\a.py", 3],
  ["file:///C:/code/a%20b.py#L2", "C:\\code\\a b.py", 2],
  ["vscode://command", "", 1],
] as const) {
  test(`the link ${href} leads to ${path || "nothing"}`, () => {
    assert.deepEqual(parseFileLink(href, "C:\\work", win32), { path, line });
  });
}

for (const [folder, path, expected] of [
  ["C:\\work", "C:\\work\\src\\app.ts", "src/app.ts"],
  ["c:\\work", "C:\\work\\app.ts", "app.ts"],
  ["C:\\work", "D:\\work\\app.ts", null],
  ["C:\\work", "C:\\worker\\app.ts", null],
  ["C:\\work", "C:\\work", null],
  ["C:\\work", "C:\\work\\..data\\a", "..data/a"],
] as const) {
  test(`${path} is ${expected ?? "not"} in ${folder}`, () => {
    assert.equal(pathInside(folder, path, win32), expected);
  });
}

test("names and drives are read as VS Code writes them", () => {
  assert.deepEqual(["C:\\a\\b.py", "/a/b.py", "src\\x/", "b"].map(baseName), ["b.py", "b.py", "x", "b"]);
  assert.deepEqual(["C:\\a", "/A", "\\\\host\\a"].map(withLowerDrive), ["c:\\a", "/A", "\\\\host\\a"]);
});

test("a reference to a line of a file is found in a text, on both platforms", () => {
  const found = (text: string): string[] => fileReferences(text).filter(({ isFile }) => isFile).map((part) => part.text);
  assert.deepEqual(found("see src/app.ts:20 and C:\\work\\a.py:3, at 10:30 or http://x.org:80"), ["src/app.ts:20", "C:\\work\\a.py:3"]);
  assert.equal(fileReferences("a b.py:1 c").map(({ text }) => text).join(""), "a b.py:1 c");
});
