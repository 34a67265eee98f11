/**
 * A day in VS Code, from the first run to a conversation that goes back to an earlier prompt.
 *
 * The tests are steps of one journey, each with a picture.
 * Environment: ACP_SERVER, VSIX, CHROMIUM, SCREENSHOTS, as for the other journey.
 */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { copyFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { EXTENSION, HERE, installedFolder } from "../codeServer.mjs";
import { closeWindow, openWindow } from "../sharedWindow.mjs";
import { defineSteps, takePicture } from "../stations.mjs";
import { SHOWING_MILLISECONDS, until } from "../window.mjs";

const { ACP_SERVER: server, VSIX: vsix, CHROMIUM: program = "/usr/bin/chromium" } = process.env;
const KEY = "sk-ant-api03-entered-in-vs-code";
const ECHO = { command: process.execPath, arguments: [join(EXTENSION, "tests", "support", "agent.mjs")] };
const SETTINGS = { "acpServer.agents": { Echo: ECHO } };
const FILES = {
  "report.py": 'from averages import mean\n\n\ndef line(numbers: list[float]) -> str:\n    return f"mean {mean(numbers)}"\n',
  "test_report.py":
    'import unittest\n\nfrom report import line\n\n\nclass ReportTest(unittest.TestCase):\n    def test_line(self) -> None:\n        self.assertEqual(line([1.0, 3.0]), "mean 2.0")\n',
  "README.md": "# Report\n\nPrints the mean.\n",
  "order.ts": "export function sum(numbers: number[]): number {\n  let total = 0;\n  for (const each of numbers) total += each;\n  return totl;\n}\n",
};

let code;
let window;
let chat;
let pictures = 0;

before(async () => {
  const options = { installed: installedFolder(), server, vsix, environment: { ANTHROPIC_API_KEY: "" }, settings: SETTINGS, extension: join(HERE, "tester") };
  ({ code, window } = await openWindow(program, options));
  for (const [name, text] of Object.entries(FILES)) await writeFile(join(code.workspace, name), text);
  chat = window.chat;
});

after(closeWindow);

const step = defineSteps(() => window);

/** Take the next picture of the day. */
function picture(name) {
  pictures += 1;
  return takePicture(window, `${String(pictures).padStart(2, "0")}-${name}`);
}

function onDisk(name) {
  return readFile(join(code.workspace, name), "utf8");
}

/** Allow everything that the running turn asks for, one question after the other. */
async function allowTurn() {
  await chat.answerByKey("y");
  while (!(await chat.at("send").isVisible())) {
    if (await chat.at("permission").isVisible()) await chat.answerByKey("y");
    else await wait(200);
  }
}

async function keepAll() {
  await chat.at("keep-all").click();
  await chat.at("changes").waitFor({ state: "detached" });
}

async function closeEditors() {
  await window.run("View: Close All Editors");
  await window.page.locator(".part.editor .tab").first().waitFor({ state: "detached" });
}

/** Choose the agent's fix from the code actions at the cursor, after a picture of them. */
async function fixByCodeAction(name) {
  await window.openCodeActions();
  const action = window.page.locator(".action-widget .monaco-list-row", { hasText: "Fix with Hermes" });
  await action.waitFor();
  await picture(name);
  await action.click();
}

async function isSaid(text) {
  return (await chat.at("user-message").allInnerTexts()).some((each) => each.includes(text));
}

step("the first run asks for a key, which the server stores", async () => {
  await window.openChat("welcome-sign-in");
  await window.widenSideBar();
  await picture("first-run-without-a-key");
  await chat.at("sign-in-enter-key").click();
  const input = window.page.locator(".quick-input-widget input");
  await window.page.locator(".quick-input-list .monaco-list-row", { hasText: "Anthropic" }).waitFor();
  await input.press("Enter");
  await until(async () => (await input.getAttribute("type")) === "password");
  await input.fill(KEY);
  await input.press("Enter");
  await chat.at("welcome").waitFor();
  await picture("signed-in");
  // From here on, the model is a script.
  await code.useModel(`scripted:${join(HERE, "journeys", "day.script")}`);
  const toast = window.page.locator(".notifications-toasts .notification-list-item", { hasText: "The server settings changed" });
  await toast.getByRole("button", { name: "Restart the Server" }).click();
  await until(async () => (await chat.at("composer-input").isVisible()) && /day/.test(await chat.frame.locator(".pickers").innerText()));
});

step("a feature over five files is proposed, written and reviewed by part", async () => {
  await chat.send("Please add the spread");
  await chat.at("permission").waitFor();
  await window.page.locator(".part.editor .tab").nth(4).waitFor();
  await window.page.locator(".part.editor .view-line").first().waitFor();
  await picture("a-feature-over-five-files");
  await chat.answerByKey("y");
  await chat.answered();
  await until(async () => /5 files/.test(await chat.at("changes-toggle").innerText()));
  await closeEditors();
  await window.openFile("averages.py");
  const lenses = window.page.locator(".part.editor .codelens-decoration", { hasText: "Keep" });
  await lenses.nth(1).waitFor();
  await picture("its-changes-in-the-editor");
  await window.enterEditor();
  await window.page.keyboard.press("Control+Alt+Shift+N");
  await until(async () => (await onDisk("averages.py")).startsWith('"""Averages of numbers.'));
  assert.match(await onDisk("averages.py"), /def spread/);
  await until(async () => (await lenses.count()) === 1);
  await chat.at("changes-toggle").click();
  await picture("one-part-reverted");
  await chat.at("changes-toggle").click();
  await keepAll();
  assert.match(await onDisk("docs/spread.md"), /^# Spread/);
});

step("a problem is fixed by a code action, and the agent runs the test", async () => {
  await window.openFile("order.ts");
  await window.enterEditor();
  await window.page.locator(".part.editor .squiggly-error").first().waitFor();
  await window.page.keyboard.press("F8");
  const problem = window.page.locator(".part.editor .marker-widget");
  await problem.waitFor();
  await window.page.keyboard.press("Escape");
  await problem.waitFor({ state: "detached" });
  await fixByCodeAction("a-code-action");
  await until(() => isSaid("Fix the problems here"));
  await allowTurn();
  assert.match(await onDisk("order.ts"), /return total;/);
  assert.match(await (await chat.call("execute", "completed")).innerText(), /OK/);
  await picture("fixed-and-tested");
  await keepAll();
  await closeEditors();
});

step("a failing test is fixed by a code action, and passes when it is run again", async () => {
  await window.openFile("averages.py");
  await window.run("Test: Run All Tests");
  await window.run("Testing: Focus on Test Explorer View");
  const test = window.page.locator(".test-explorer .monaco-list-row", { hasText: "mean of nothing" });
  await test.locator(".codicon-testing-failed-icon").waitFor();
  await window.run("View: Hide Panel");
  await window.enterEditor();
  await fixByCodeAction("a-test-fails");
  await until(() => isSaid('the test "mean of nothing" fails: ZeroDivisionError'));
  await allowTurn();
  assert.match(await onDisk("averages.py"), /if numbers else 0\.0/);
  await picture("the-test-is-fixed");
  await keepAll();
  await window.run("Test: Rerun Last Run");
  await window.run("Testing: Focus on Test Explorer View");
  await test.locator(".codicon-testing-passed-icon").waitFor();
  await window.page.locator(".part.editor .squiggly-error").waitFor({ state: "detached" });
  await picture("the-same-test-passes");
  await window.openChat();
  await window.run("View: Hide Panel");
  await closeEditors();
});

step("two sessions ask at once, and each question is found and answered", async () => {
  await chat.at("header-new").click();
  await chat.at("user-message").first().waitFor({ state: "detached" });
  await chat.send("first question");
  await chat.at("permission").waitFor();
  await chat.at("header-new").click();
  await chat.at("user-message").first().waitFor({ state: "detached" });
  await chat.send("second question");
  await chat.at("permission").waitFor();
  await chat.at("banner-question").waitFor();
  await picture("questions-in-two-sessions");
  await chat.answerByKey("y");
  await chat.answered();
  await window.page.keyboard.press("Control+Alt+J");
  await until(() => isSaid("first question"));
  await chat.answerByKey("y");
  await chat.answered();
  assert.ok(["first.txt", "second.txt"].every((name) => existsSync(join(code.workspace, name))));
});

step("an MCP server of VS Code is passed on after the user has agreed", async () => {
  const program = join(code.workspace, "clock.mjs");
  await copyFile(join(HERE, "mcpServer.mjs"), program);
  const clock = { command: process.execPath, args: [program] };
  await mkdir(join(code.workspace, ".vscode"), { recursive: true });
  await writeFile(join(code.workspace, ".vscode", "mcp.json"), JSON.stringify({ servers: { clock } }));
  await chat.at("header-new").click();
  const toast = window.page.locator(".notifications-toasts .notification-list-item", { hasText: "MCP servers for VS Code: clock" });
  await toast.getByRole("button", { name: "Review…" }).click();
  await window.page.locator(".monaco-dialog-box").getByText("clock.mjs").waitFor();
  await picture("an-MCP-server-to-agree-to");
  await window.answerDialog("Start Server");
  await until(async () => /clock/.test(await chat.ask("/mcp", SHOWING_MILLISECONDS).catch(() => "")));
});

step("another agent answers, and the first one's session comes back", async () => {
  await chat.ask("before the switch");
  await window.run("Hermes Agent: Switch the Agent");
  const input = window.page.locator(".quick-input-widget input");
  await window.page.locator(".quick-input-list .monaco-list-row", { hasText: "Echo" }).waitFor();
  await input.fill("Echo");
  await input.press("Enter");
  await chat.at("user-message").first().waitFor({ state: "detached" });
  assert.match(await chat.ask("received"), /^\[/);
  await chat.at("header-sessions").click();
  const row = chat.at("session").filter({ hasText: "before the switch" });
  await row.waitFor();
  await picture("another-agent");
  await row.getByTestId("session-open").click();
  await until(() => isSaid("before the switch"));
});

step("a reload in the middle of a turn loses nothing", async () => {
  await chat.send("count slowly");
  await until(async () => (await chat.at("agent-message").last().innerText()).includes("five"));
  await window.page.reload();
  await window.ready();
  await chat.input.waitFor();
  await until(() => isSaid("count slowly"));
  await until(async () => /the connection/.test(await chat.at("ending").last().innerText()));
  await picture("after-a-reload");
});

step("a server that crashes is started again, and the session goes on", async () => {
  process.kill(Number(await readFile(code.pidFile, "utf8")), "SIGKILL");
  await chat.at("banner-restarting").waitFor();
  await picture("the-server-crashed");
  await chat.at("banner-restarting").waitFor({ state: "detached" });
  assert.match(await chat.ask("what is left to do?"), /nothing is left to do/);
});

step("files and conversation go back to an earlier prompt", async () => {
  const notes = await onDisk("notes.txt");
  await window.openFile("notes.txt");
  await chat.send("plan the release");
  await allowTurn();
  assert.match(await onDisk("notes.txt"), /release on Monday/);
  assert.match(await onDisk("plan.md"), /^# Plan/);
  await chat.ask("is that all?");
  const prompt = chat.at("user-message").filter({ hasText: "plan the release" });
  await prompt.hover();
  await prompt.getByTestId("restore-prompt").click();
  await picture("restore-to-here");
  await prompt.getByTestId("restore-both").click();
  await chat.at("permission").waitFor();
  await picture("restoring-asks");
  await chat.answerByKey("y");
  await until(async () => (await onDisk("notes.txt")) === notes && !existsSync(join(code.workspace, "plan.md")));
  await until(async () => !(await isSaid("plan the release")) && !(await isSaid("is that all?")));
  assert.ok(await isSaid("what is left to do?"), "an earlier prompt is gone");
  assert.equal(await chat.input.inputValue(), "plan the release");
  await until(async () => !(await window.editorText()).includes("Monday"));
  await chat.at("changes").waitFor({ state: "detached" });
  await picture("files-and-conversation-restored");
});
