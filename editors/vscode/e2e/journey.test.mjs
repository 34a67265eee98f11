/**
 * End-to-end test in VS Code, from the first prompt to a resumed session.
 *
 * The tests are steps of one journey: each continues from the state of the previous one. Environment:
 * ACP_SERVER (the program), VSIX (the packed extension), CHROMIUM, SCREENSHOTS (output directory;
 * none are taken without it), THEME (name of a VS Code theme), STATIONS (pattern of step names;
 * default all), MESSAGES_API, MESSAGES_API_KEY and MODEL (an endpoint to use instead of the scripted
 * model).
 */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { HERE, installedFolder } from "./codeServer.mjs";
import { closeWindow, openWindow } from "./sharedWindow.mjs";
import { defineSteps, takePicture } from "./stations.mjs";
import { until } from "./window.mjs";

const { ACP_SERVER: server, VSIX: vsix, CHROMIUM: program = "/usr/bin/chromium" } = process.env;
const settings = process.env.THEME === undefined ? {} : { "workbench.colorTheme": process.env.THEME };
const { MESSAGES_API: endpoint, MESSAGES_API_KEY: key = "", MODEL: modelName } = process.env;
const model = endpoint === undefined ? `scripted:${process.env.SCRIPT ?? join(HERE, "work.script")}` : modelName;
const environment = endpoint === undefined ? {} : { ANTHROPIC_BASE_URL: endpoint, ANTHROPIC_API_KEY: key };
/** A longer gap counts as a frozen view, also on two shared cores; an idle machine needs 200. */
const FROZEN_MILLISECONDS = 1500;

let code;
let window;
let chat;

before(async () => {
  ({ code, window } = await openWindow(program, { installed: installedFolder(), server, vsix, model, environment, settings }));
  chat = window.chat;
});

after(closeWindow);

const step = defineSteps(() => window);

function picture(name) {
  return takePicture(window, name);
}

function onDisk(name) {
  return readFile(join(code.workspace, name), "utf8");
}

async function serverId() {
  return Number(await readFile(code.pidFile, "utf8"));
}

/** Scroll to the first prompt: the beginning of a session is rendered when it comes near the visible part. */
async function showBeginning() {
  await until(async () => {
    await chat.at("transcript").evaluate((node) => { node.scrollTop = 0; });
    return /greet me/.test(await chat.at("user-message").first().textContent());
  });
}

step("the packed extension is installed, and the first prompt is answered", async () => {
  assert.match(code.installOutput, /successfully installed/);
  await window.openChat();
  await window.widenSideBar();
  await picture("welcome");
  assert.match(await chat.ask("Please greet me"), /Hello! I see averages\.py/);
  await picture("answer");
});

step("a diff grows as it is written, and a key allows it", async () => {
  await chat.watchDiffs();
  await chat.send("mend the median");
  await chat.at("permission").last().waitFor();
  const lengths = await chat.diffLengths();
  assert.ok(lengths.length >= 3, `the diff was seen in these lengths: ${lengths.join(", ")}`);
  assert.deepEqual(lengths, [...lengths].sort((one, other) => one - other));
  await window.page.locator('.part.editor .editor-actions a[aria-label^="Accept the Change of This File"]').first().waitFor();
  await picture("permission");
  assert.doesNotMatch(await onDisk("averages.py"), /no middle/);
  await chat.answerByKey("y");
  assert.match(await chat.answered(), /mean of the middle two/);
  assert.match(await onDisk("averages.py"), /there is no middle/);
});

step("an edit lands in an open document with unsaved changes, and is undone by itself", async () => {
  const before = await onDisk("notes.txt");
  await window.openFile("notes.txt");
  await window.enterEditor();
  await window.page.keyboard.type("Mine first\n");
  await until(() => window.isDirty("notes.txt"));
  await chat.send("buy bread");
  await chat.answerByKey("y");
  await chat.answered();
  const both = "Mine first\nShopping\n- apples\n- pears\n- bread\n";
  await until(async () => (await window.editorText()) === both);
  assert.equal(await onDisk("notes.txt"), before);
  assert.ok(await window.isDirty("notes.txt"));
  await picture("unsaved");
  await window.enterEditor();
  await window.page.keyboard.press("Control+Z");
  await until(async () => (await window.editorText()) === both.replace("- bread\n", ""));
  assert.ok(await window.isDirty("notes.txt"));
  // Other tests of this window begin with the file as it is on disk.
  await window.run("File: Revert File");
  await until(async () => !(await window.isDirty("notes.txt")));
});

step("a command asks, and runs in a terminal of VS Code's", async () => {
  await chat.send("run it");
  await chat.answerByKey("y");
  const running = await chat.call("execute", "in_progress");
  await running.getByTestId("show-terminal").click();
  const terminal = window.page.locator(".part.panel .xterm-rows");
  await until(async () => (await terminal.innerText()).replaceAll("\u00a0", " ").includes("median of 5"));
  await picture("terminal");
  // The command runs until this file exists.
  await writeFile(join(code.workspace, "enough"), "");
  assert.match(await chat.answered(), /mean of the two/);
  const card = await chat.call("execute", "completed");
  assert.match(await card.getByTestId("terminal").innerText(), /median of 4 is 2\.5/);
  await window.run("View: Toggle Panel Visibility");
});

step("Escape ends a turn at once, and the next prompt is answered", async () => {
  await chat.send("explain the module");
  await until(async () => (await chat.at("agent-message").last().innerText()).includes("divides"));
  await chat.input.press("Escape");
  await chat.idle();
  assert.doesNotMatch(await chat.at("agent-message").last().innerText(), /all there is in it/, "the turn went on");
  await chat.at("ending").last().waitFor();
  await picture("stopped");
  assert.match(await chat.ask("is it right now?"), /right for odd and even/);
});

step("an answer of 5,000 chunks leaves the view alive", async () => {
  await chat.watchGaps();
  await chat.send("list every case");
  await until(async () => (await chat.at("agent-message").last().innerText()).includes("is 2.5; median"));
  const startedAt = Date.now();
  await chat.input.pressSequentially("typed meanwhile");
  const typed = Date.now() - startedAt;
  const answer = await chat.answered();
  assert.equal(answer.match(/median/g)?.length, 5000);
  const longest = await chat.longestGap();
  console.log(`typing while it streams: ${typed} ms; longest gap: ${longest} ms`);
  assert.ok(longest < FROZEN_MILLISECONDS, `the view froze for ${longest} ms`);
  assert.equal(await chat.input.inputValue(), "typed meanwhile");
  await chat.input.fill("");
});

step("the window is reloaded in the middle of a turn, and the conversation is there again", async () => {
  await chat.send("explain the module");
  await until(async () => (await chat.at("agent-message").last().innerText()).includes("divides"));
  await window.page.reload();
  await window.ready();
  await chat.input.waitFor();
  await until(async () => (await chat.at("user-message").allInnerTexts()).some((text) => text.includes("explain the module")));
  await until(async () => /Stopped: the connection/.test(await chat.at("ending").last().innerText()));
  await showBeginning();
  // The user stopped one turn, the reload interrupted the other.
  assert.equal(await chat.at("ending").count(), 2);
  assert.match(await chat.ask("is it right now?"), /right for odd and even/);
  await picture("reloaded");
});

step("changes from before the reload can be reverted after it", async () => {
  const changed = await onDisk("averages.py");
  await chat.at("changes-toggle").click();
  const file = chat.at("changed-file").filter({ hasText: "averages.py" });
  await file.getByTestId("changed-file-toggle").click();
  const hunks = await file.getByTestId("hunk").count();
  await picture("changes");
  await file.getByTestId("revert-hunk").first().click();
  await until(async () => (await onDisk("averages.py")) !== changed);
  assert.ok(hunks > 1, `there were ${hunks} hunks`);
  await until(async () => (await file.getByTestId("hunk").count()) === hunks - 1);
  await file.getByTestId("revert-file").click();
  await file.waitFor({ state: "detached" });
  assert.equal(await onDisk("averages.py"), await readFile(join(HERE, "project", "averages.py"), "utf8"));
});

step("a server that is killed is started again, and the session goes on", async () => {
  const killed = await serverId();
  process.kill(killed, "SIGKILL");
  await chat.at("banner-restarting").waitFor();
  await chat.input.fill("is it right now?");
  await chat.input.press("Enter");
  await picture("restarting");
  await chat.at("banner-restarting").waitFor({ state: "detached" });
  assert.notEqual(await serverId(), killed);
  assert.match(await chat.at("notice").last().innerText(), /ended by the system or another program/);
  // Text typed during the restart is still in the input, and is sent now.
  assert.equal(await chat.input.inputValue(), "is it right now?");
  assert.match(await chat.ask("is it right now?"), /right for odd and even/);
  await showBeginning();
});

step("a session of the list is taken up again", async () => {
  await chat.at("header-new").click();
  await chat.at("user-message").first().waitFor({ state: "detached" });
  assert.match(await chat.ask("is it right now?"), /right for odd and even/);
  assert.equal(await chat.at("user-message").count(), 1);
  await chat.at("header-sessions").click();
  await chat.at("session").nth(1).waitFor();
  await picture("sessions");
  await chat.at("session-open").filter({ hasText: "greet me" }).click();
  await chat.at("user-message").nth(2).waitFor();
  await showBeginning();
  assert.match(await chat.ask("is it right now?"), /right for odd and even/);
});

step("a file is mentioned by its name, a picture is pasted, and the panel shows the active context", async () => {
  await chat.input.click();
  await chat.input.pressSequentially("what does @aver");
  await chat.at("completion").filter({ hasText: "averages.py" }).first().waitFor();
  await picture("completions");
  await chat.input.press("Enter");
  await until(async () => (await chat.input.inputValue()).includes("averages.py"));
  await chat.pastePicture();
  await chat.at("attached-image").waitFor();
  assert.match(await chat.ask(`${await chat.input.inputValue()} do?`), /right for odd and even/);
  assert.match(await chat.at("user-message").last().innerText(), /averages\.py/);
  await chat.at("header-context").click();
  await chat.at("context-instruction").filter({ hasText: /^AGENTS\.md/ }).waitFor();
  await picture("context");
});

step("in follow mode the editor opens where the agent works", async () => {
  await chat.at("header-context").click();
  await chat.at("header-new").click();
  await chat.at("user-message").first().waitFor({ state: "detached" });
  await chat.at("header-follow").click();
  await chat.send("mend the median");
  await window.tab("averages.py").waitFor();
  await chat.answerByKey("y");
  assert.match(await chat.answered(), /now the mean/);
  await picture("followed");
});
