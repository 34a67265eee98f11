import assert from "node:assert/strict";
import { test } from "node:test";
import { isIntent } from "../../src/shared/intents.js";

const draft = {
  text: "hi",
  images: [],
  files: ["/a"],
  withSelection: true,
  withFile: false,
  withProblems: false,
};

for (const [name, value, expected] of [
  ["a prompt", { type: "send", draft, manner: "steer" }, true],
  ["an answer to a form", { type: "fillIn", questionId: "q", content: { a: 1, b: ["x"] } }, true],
  ["a prompt without its draft", { type: "send", manner: "turn" }, false],
  ["a manner that does not exist", { type: "send", draft, manner: "shout" }, false],
  ["a picture that is a number", { type: "send", draft: { ...draft, images: [1] }, manner: "turn" }, false],
  ["a form with an object in it", { type: "fillIn", questionId: "q", content: { a: {} } }, false],
  ["an intent that does not exist", { type: "format-disk" }, false],
  ["a name that every object has", { type: "constructor" }, false],
  ["nothing", null, false],
  ["a list", [], false],
] as const) {
  test(`${name} is ${expected ? "" : "not "}taken`, () => {
    assert.equal(isIntent(value), expected);
  });
}
