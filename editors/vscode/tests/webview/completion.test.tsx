/** Completion of commands and mentions in the input. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { SESSION_OPENED } from "../support/conversation.js";
import { TestPage } from "../support/page.js";

test("commands are completed from a slash, with the keyboard alone", async () => {
  const page = await new TestPage().dispatch(...SESSION_OPENED);
  const input = page.find("composer-input") as HTMLTextAreaElement;
  await page.write(input, "/co");
  assert.deepEqual(
    page.findAll("completion").map((each) => each.textContent),
    ["/compactSummarize the conversation", "/contextShow the system prompt"],
  );
  await page.key(input, "ArrowDown");
  await page.key(input, "Enter");
  assert.equal(input.value, "/context ");
  assert.equal(page.findAll("completion").length, 0);
});

test("Enter sends a typed command that works without an argument, and completes another", async () => {
  const availableCommands = [
    { name: "mcp", description: "Show the MCP servers", input: { hint: "[sign-in or sign-out] [server]" } },
    { name: "mcp-log", description: "Show their output" },
    { name: "queue", description: "Send it after this turn", input: { hint: "<prompt>" } },
    { name: "fix", description: "Fix an issue", input: { hint: "[branch] <issue>" } },
  ];
  const page = await new TestPage().dispatch(...SESSION_OPENED, { type: "update", update: { sessionUpdate: "available_commands_update", availableCommands } });
  const input = page.find("composer-input") as HTMLTextAreaElement;
  const type = async (text: string, ...keys: string[]): Promise<string> => {
    await page.write(input, text);
    for (const key of keys) await page.key(input, key);
    const sent = page.posted.at(-1);
    return sent?.type === "send" && input.value === "" ? `sent ${sent.draft.text}` : input.value;
  };
  assert.equal(await type("/mcp", "Enter"), "sent /mcp");
  assert.equal(await type("/mcp", "Tab"), "/mcp ");
  assert.equal(await type("/mc", "Enter"), "/mcp ");
  assert.equal(await type("/mcp", "ArrowDown", "Enter"), "/mcp-log ");
  assert.equal(await type("/queue", "Enter"), "/queue ");
  assert.equal(await type("/fix", "Enter"), "/fix ");
});

test("files are completed from an at sign, and go with the prompt", async () => {
  const page = await new TestPage().dispatch(...SESSION_OPENED);
  const input = page.find("composer-input") as HTMLTextAreaElement;
  await page.write(input, "see @gree");
  assert.deepEqual(page.posted, [{ type: "findMentions", query: "gree" }]);
  const mention = { kind: "file", path: "/project/src/greeting.py", firstLine: 0, lastLine: 0 } as const;
  await page.dispatch({ type: "mentions", query: "gree", choices: [{ mention, label: "src/greeting.py", detail: "" }] });
  await page.key(input, "Tab");
  assert.equal(input.value, "see @src/greeting.py ");
  await page.key(input, "Enter");
  const sent = page.posted.at(-1);
  assert.deepEqual(sent?.type === "send" && sent.draft.mentions, [mention]);
});

test("a choice of an earlier query is not accepted: what was typed since stays", async () => {
  const page = await new TestPage().dispatch(...SESSION_OPENED);
  const input = page.find("composer-input") as HTMLTextAreaElement;
  const mention = { kind: "file", path: "/project/app.py", firstLine: 0, lastLine: 0 } as const;
  await page.write(input, "@app");
  await page.dispatch({ type: "mentions", query: "app", choices: [{ mention, label: "app.py", detail: "" }] });
  await page.write(input, "@app.py#L8-12");
  await page.key(input, "Enter");
  assert.equal(input.value, "@app.py#L8-12");
  const lines = { ...mention, firstLine: 8, lastLine: 12 };
  await page.dispatch({ type: "mentions", query: "app.py#L8-12", choices: [{ mention: lines, label: "app.py#L8-12", detail: "" }] });
  assert.equal(input.value, "@app.py#L8-12 ");
  await page.key(input, "Enter");
  const sent = page.posted.at(-1);
  assert.deepEqual(sent?.type === "send" && sent.draft.mentions, [lines]);
});
