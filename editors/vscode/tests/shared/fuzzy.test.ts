import assert from "node:assert/strict";
import { test } from "node:test";
import { fuzzyScore } from "../../src/shared/fuzzy.js";

const PATHS = ["src/webview/parts/ToolCard.tsx", "src/host/controller.ts", "tests/host/controller.test.ts", "docs/tools.md", "src/"];

function best(query: string): string | undefined {
  const scored = PATHS.map((path) => [path, fuzzyScore(path, query)] as const).filter(([, score]) => score > 0);
  return scored.sort(([, a], [, b]) => b - a)[0]?.[0];
}

for (const [query, expected] of [
  ["toolcard", "src/webview/parts/ToolCard.tsx"],
  ["tc", "src/webview/parts/ToolCard.tsx"],
  ["controller.ts", "src/host/controller.ts"],
  ["hctl", "src/host/controller.ts"],
  ["test/contr", "tests/host/controller.test.ts"],
  ["src\\host", "src/host/controller.ts"],
  ["src", "src/"],
  ["xyz", undefined],
] as const) {
  test(`${query} finds ${expected ?? "nothing"} first`, () => {
    assert.equal(best(query), expected);
  });
}
