import assert from "node:assert/strict";
import { test } from "node:test";
import { openSettings } from "../../src/host/links.js";
import { FakeEditorWindow } from "../support/fakes.js";

const FILE = "/home/ada/.gemini/settings.yaml";

test("the settings of an agent that does not start are opened where its reason says, or else as a whole", async () => {
  const editorWindow = new FakeEditorWindow();
  const mentionReader = { readText: (path: string) => Promise.resolve(path === FILE ? "a: 1" : null) };
  const viewPublisher = { shownAgentId: "" };
  for (const reason of [
    "",
    `The agent stopped (exit code 1).\nError in ${FILE}: not YAML at line 4: mapping values are not allowed here`,
    `File "${FILE}", line 7`,
    `${FILE}:9:1: unexpected key`,
    "/home/ada/gone.yaml:9: unexpected key",
    "The agent stopped (exit code 2).\nError: No such option: --modle",
    "ended by the system",
  ]) {
    await openSettings({ editorWindow, mentionReader, viewPublisher }, reason);
  }
  const opened = [4, 7, 9].map((line) => `open ${FILE}:${String(line)} focused`);
  assert.deepEqual(editorWindow.actions, ["settings command", ...opened, "settings ", "settings arguments", "settings "]);
});

test("the settings of another agent than the own server are those of agents, unless its reason names a file", async () => {
  const editorWindow = new FakeEditorWindow();
  const mentionReader = { readText: (path: string) => Promise.resolve(path === FILE ? "a: 1" : null) };
  const host = { editorWindow, mentionReader, viewPublisher: { shownAgentId: "gemini" } };
  for (const reason of ["The agent stopped (exit code 1).\nUnknown argument: --acp", "ended by the system", `${FILE}:9:1: unexpected key`]) {
    await openSettings(host, reason);
  }
  assert.deepEqual(editorWindow.actions, ["settings agents", "settings agents", `open ${FILE}:9 focused`]);
});
