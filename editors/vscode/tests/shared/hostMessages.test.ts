import assert from "node:assert/strict";
import { test } from "node:test";
import { hostMessageOf } from "../../src/shared/hostMessages.js";
import { FORM_REQUEST, FULL_CONVERSATION, QUEUED_PROMPT } from "../support/conversation.js";

test("every event of a conversation is accepted", () => {
  const events = [...FULL_CONVERSATION, FORM_REQUEST, QUEUED_PROMPT];
  assert.deepEqual(hostMessageOf({ kind: "replay", events }), { kind: "replay", events });
  const script = { kind: "script", name: "math", text: "1" };
  assert.deepEqual(hostMessageOf(script), script);
});

for (const [name, event] of [
  ["an unknown type", { type: "explode" }],
  ["an inherited property name", { type: "constructor" }],
  ["a missing field", { type: "title" }],
  ["a wrong field", { type: "queue", prompts: [{ id: 1, text: "x" }] }],
  ["an unknown status", { type: "connection", status: "odd" }],
  ["nothing", null],
] as const) {
  test(`an event with ${name} is left out`, () => {
    assert.deepEqual(hostMessageOf({ kind: "events", events: [event, { type: "title", title: "t" }] }), {
      kind: "events",
      events: [{ type: "title", title: "t" }],
    });
  });
}

test("other messages are none of the host's", () => {
  for (const value of [null, 1, "x", {}, { kind: "events" }, { kind: "script", name: 1, text: "" }, { kind: "other", events: [] }]) {
    assert.equal(hostMessageOf(value), null);
  }
});
