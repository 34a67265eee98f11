import assert from "node:assert/strict";
import { test } from "node:test";
import { isIntent } from "../../src/shared/intents.js";

const draft = {
  text: "hi",
  images: [],
  mentions: [{ kind: "file", path: "/a", firstLine: 0, lastLine: 0 }],
  withSelection: true,
  withFile: false,
  withProblems: false,
};

for (const [name, value, expected] of [
  ["a prompt", { type: "send", draft, busyMode: "steer" }, true],
  ["an answer to a form", { type: "fillIn", questionId: "q", content: { a: 1, b: ["x"] } }, true],
  ["a prompt without its draft", { type: "send", busyMode: "turn" }, false],
  ["a busy mode that does not exist", { type: "send", draft, busyMode: "shout" }, false],
  ["an image that is a number", { type: "send", draft: { ...draft, images: [1] }, busyMode: "turn" }, false],
  ["a mention of an unknown kind", { type: "send", draft: { ...draft, mentions: [{ kind: "moon" }] }, busyMode: "turn" }, false],
  ["a script that does not exist", { type: "loadScript", name: "../secrets" }, false],
  ["a form with an object in it", { type: "fillIn", questionId: "q", content: { a: {} } }, false],
  ["an intent that does not exist", { type: "format-disk" }, false],
  ["an inherited property name", { type: "constructor" }, false],
  ["nothing", null, false],
  ["a list", [], false],
] as const) {
  test(`${name} is ${expected ? "" : "not "}accepted`, () => {
    assert.equal(isIntent(value), expected);
  });
}
