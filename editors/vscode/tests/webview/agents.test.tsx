/** What the view shows of several agents. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { SessionSummary } from "../../src/shared/events.js";
import { READY, SESSION_OPENED, UNKNOWN_ARGUMENT } from "../support/conversation.js";
import { TestPage } from "../support/page.js";

test("sessions of several agents are listed with their agents, found by them, and offer what their agent can", async () => {
  const session = (id: string, agent: string, canFork: boolean): SessionSummary => ({
    ...{ id, title: id, cwd: "/a", updatedAt: "", isRunning: false, openQuestions: 0, isArchived: false, agent, canFork, canDelete: !canFork },
  });
  const sessions = [session("one", "Hermes", true), session("two", "Gemini CLI", false)];
  const page = await new TestPage().dispatch(...SESSION_OPENED, { type: "sessions", sessions });
  assert.equal(page.find("header-agent").textContent, "Hermes Agent");
  await page.press("header-sessions");
  assert.deepEqual(page.findAll("session-agent").map((agent) => agent.textContent), ["Hermes", "Gemini CLI"]);
  const offers = (testId: string): (string | undefined)[] => page.findAll(testId).map((button) => button.closest<HTMLElement>("[data-session-id]")?.dataset["sessionId"]);
  assert.deepEqual([offers("session-fork"), offers("session-delete")], [["one"], ["two"]]);
  await page.write(page.find("session-search"), "gemini");
  assert.deepEqual(page.findAll("session").map((row) => row.dataset["sessionId"]), ["two"]);
});

test("a session of an agent that is not installed any more says so, and leads to another agent", async () => {
  const missing = { ...READY, status: "missing", agentId: "gemini", agent: "Gemini CLI", message: "Gemini CLI was not found: /bin/gemini" } as const;
  const page = await new TestPage().dispatch(missing);
  assert.match(page.find("welcome-missing-agent").textContent, /Gemini CLI is not installed.*\/bin\/gemini/);
  for (const intent of ["newSession", "switchAgent", "restart"]) await page.press(`welcome-${intent}`);
  assert.deepEqual(page.posted.slice(-3), [{ type: "newSession" }, { type: "switchAgent" }, { type: "restart" }]);
});

test("the header names an agent of others", async () => {
  const page = await new TestPage().dispatch(...SESSION_OPENED);
  assert.equal(page.findAll("header-agent").length, 0);
  await page.dispatch({ ...READY, agent: "Gemini CLI", canStoreKey: false });
  assert.equal(page.find("header-agent").textContent, "Gemini CLI");
  await page.press("header-agent");
  assert.deepEqual(page.posted.at(-1), { type: "switchAgent" });
});

test("another agent that does not start is named", async () => {
  const page = await new TestPage().dispatch({ ...READY, agentId: "gemini", agent: "Gemini CLI", status: "failed", message: UNKNOWN_ARGUMENT });
  assert.match(page.find("welcome-failed").textContent, /^Gemini CLI could not be startedThe agent stopped/);
});
