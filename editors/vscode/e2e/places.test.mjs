/**
 * End-to-end tests of the chat in other places than the side bar, and of actions outside of it.
 *
 * Environment: ACP_SERVER, VSIX, CHROMIUM, SCREENSHOTS and STATIONS, as for the journey.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before } from "node:test";
import { EXTENSION, HERE, installedFolder } from "./codeServer.mjs";
import { closeWindow, openWindow } from "./sharedWindow.mjs";
import { defineStation, takePicture } from "./stations.mjs";
import { SHOWING_MILLISECONDS, Chat, until } from "./window.mjs";

const { ACP_SERVER: server, VSIX: vsix, CHROMIUM: program = "/usr/bin/chromium" } = process.env;
const model = `scripted:${join(HERE, "places.script")}`;

const ECHO = { command: process.execPath, arguments: [join(EXTENSION, "tests", "support", "agent.mjs")] };
const SETTINGS = { "git.enabled": true, "acpServer.agents": { Echo: ECHO } };

let code;
let window;
let chat;

before(async () => {
  ({ code, window } = await openWindow(program, { installed: installedFolder(), server, vsix, model, settings: SETTINGS, extension: join(HERE, "tester") }));
  await window.openChat();
  chat = window.chat;
});

after(closeWindow);

function station(name, action) {
  defineStation(name, () => window, action);
}

function onDisk(name) {
  return readFile(join(code.workspace, name), "utf8");
}

function picture(name) {
  return takePicture(window, name);
}

async function switchTo(name) {
  await window.run("Hermes Agent: Switch the Agent");
  const input = window.page.locator(".quick-input-widget input");
  await window.page.locator(".quick-input-list .monaco-list-row", { hasText: "Echo" }).waitFor();
  await input.fill(name);
  await input.press("Enter");
}

station("another agent answers in a session of its own, and each session goes back to its agent", async () => {
  assert.match(await chat.ask("who is there?"), /It is me/);
  await switchTo("Echo");
  await chat.at("user-message").first().waitFor({ state: "detached" });
  await chat.input.waitFor();
  assert.match(await chat.ask("received"), /^\[/);
  assert.equal(await chat.at("header-agent").innerText(), "Echo");
  await chat.at("header-sessions").click();
  const row = (title) => chat.at("session").filter({ hasText: title });
  await row("received").waitFor();
  assert.equal(await row("received").getByTestId("session-agent").innerText(), "Echo");
  await picture("agents-listed");
  await row("who is there?").getByTestId("session-open").click();
  await chat.at("user-message").getByText("who is there?").waitFor();
  assert.match(await chat.ask("and now?"), /It is me/);
  await picture("own-agent-again");
  await chat.at("header-sessions").click();
  await row("received").getByTestId("session-open").click();
  await chat.at("user-message").getByText("received").waitFor();
  assert.match(await chat.ask("received"), /^\[/);
  await switchTo("acp-server");
  await chat.at("welcome").waitFor();
});

station("MCP servers of VS Code are passed on after the user has agreed", async () => {
  const server = { command: process.execPath, args: [join(HERE, "mcpServer.mjs")] };
  await mkdir(join(code.workspace, ".vscode"), { recursive: true });
  await writeFile(join(code.workspace, ".vscode", "mcp.json"), JSON.stringify({ servers: { clock: server } }));
  await chat.at("header-new").click();
  const toast = window.page.locator(".notifications-toasts .notification-list-item", { hasText: "MCP servers for VS Code: clock" });
  // The pointer is still on the status bar, whose hover would cover the button.
  await window.page.mouse.move(640, 200);
  await window.page.locator(".monaco-hover", { hasText: "The agent is ready." }).waitFor({ state: "hidden" });
  await toast.getByRole("button", { name: "Review…" }).click();
  await window.page.locator(".monaco-dialog-box").getByText("mcpServer.mjs").waitFor();
  await picture("mcp-review");
  await window.answerDialog("Start Server");
  await until(async () => /clock/.test(await chat.ask("/mcp", SHOWING_MILLISECONDS).catch(() => "")));
  await picture("mcp");
});

station("an editor tab has a session of its own, and is there again after a reload", async () => {
  await chat.ask("who is there?");
  await window.run("Hermes Agent: New Session in an Editor Tab");
  await window.page.locator(".part.editor .tab", { hasText: "Hermes Agent" }).waitFor();
  const tab = await window.chatWith("welcome", "Explain this project");
  await tab.ask("this is the tab");
  const sideBar = await window.chatWith("user-message", "who is there?");
  assert.ok(!(await sideBar.at("user-message").allInnerTexts()).includes("this is the tab"));
  await picture("tab");
  // VS Code saves the open tabs every few seconds.
  await until(() => window.page.evaluate(isTabStored, "this is the tab"));
  await window.page.reload();
  await window.ready();
  const again = await window.chatWith("user-message", "this is the tab");
  assert.equal(await again.at("user-message").count(), 1);
  await window.chatWith("user-message", "who is there?");
  await window.page.locator(".part.editor .tab", { hasText: "this is the tab" }).click();
  await window.run("View: Close All Editors");
  await until(async () => (await window.page.locator("iframe.webview.ready").count()) === 1);
});

/** Runs in the page: whether VS Code has stored the open tabs, with one of a title, in the browser. */
async function isTabStored(title) {
  const settled = (request) => new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
  for (const { name } of await indexedDB.databases()) {
    const database = await settled(indexedDB.open(name));
    const stores = [...database.objectStoreNames];
    const values = await Promise.all(stores.map((store) => settled(database.transaction(store).objectStore(store).getAll())));
    database.close();
    const isTabIn = (value) => typeof value === "string" && ["editorpart.state", "acpServer.chatTab", title].every((part) => value.includes(part));
    if (values.flat().some(isTabIn)) return true;
  }
  return false;
}

station("the chat is in the secondary side bar too", async () => {
  await window.run("Hermes Agent: Open the Chat in the Secondary Side Bar");
  await window.page.locator(".part.auxiliarybar").getByText("Hermes Agent").first().waitFor();
  await until(async () => (await window.page.locator("iframe.webview.ready").count()) === 2);
  await (await window.chatWith("welcome", "Explain this project")).input.waitFor();
  await picture("secondary");
  await window.run("View: Toggle Secondary Side Bar Visibility");
  // The hidden one is disposed of; what finds it meanwhile would be left with a removed frame.
  await until(async () => (await window.page.locator("iframe.webview.ready").count()) === 1);
  await chat.at("user-message").first().waitFor();
});

station("selected lines are explained, and edited with a change to review in the editor", async () => {
  await window.openFile("averages.py");
  await window.enterEditor();
  await window.page.keyboard.press("Shift+ArrowDown");
  await window.page.keyboard.press("Shift+ArrowDown");
  await window.run("Hermes Agent: Explain with Hermes");
  await until(async () => (await chat.at("user-message").allInnerTexts()).some((text) => /Explain this code[^]*averages\.py:1-2/.test(text)));
  assert.match(await chat.answered(), /It is me/);
  await window.enterEditor();
  for (let line = 0; line < 3; line += 1) await window.page.keyboard.press("ArrowDown");
  await window.page.keyboard.press("Shift+ArrowDown");
  await window.page.keyboard.press("Control+Alt+I");
  const input = window.page.locator(".quick-input-widget input");
  await input.fill("add a comment");
  await input.press("Enter");
  const place = window.page.locator(".part.editor .review-widget", { hasText: "Edit: add a comment" });
  await place.getByText("Accept This Part").waitFor();
  assert.match(await place.innerText(), /\+ # The arithmetic mean[^]*Reject All 2 Parts[^]*Review All 2 Parts/);
  assert.equal(await window.page.locator(".part.editor .tab").count(), 1, "a diff was opened over the editor");
  assert.ok(!(await window.page.locator(".part.panel").isVisible()), "VS Code's list of comments was opened");
  await picture("inline-edit");
  assert.doesNotMatch(await onDisk("averages.py"), /arithmetic/);
  await window.page.keyboard.press("Control+Alt+Y");
  await place.waitFor({ state: "detached" });
  await chat.answered();
  assert.match(await onDisk("averages.py"), /arithmetic mean[^]*the sum/);
  // What was accepted at its place is reviewed, and the other part was not written.
  await until(async () => (await chat.at("changes-toggle").count()) === 0);
  await window.page.keyboard.press("Escape");
  await picture("inline-edit-accepted");
});

const lastPrompt = async (text) => (await chat.at("user-message").allInnerTexts()).some((each) => each.includes(text));

/** Open the menu of an element, and choose an entry. */
async function chooseInMenu(element, label) {
  await element.click({ button: "right" });
  await window.page.locator(".monaco-menu .action-label", { hasText: label }).first().hover();
  // By the keyboard: a menu ignores a click that comes soon after it has opened.
  await window.page.locator(".monaco-menu .action-item.focused", { hasText: label }).waitFor();
  await window.page.keyboard.press("Enter");
}

station("a problem is fixed from the light bulb and from the command", async () => {
  await window.run("Test: Run All Tests");
  await window.openFile("averages.py");
  await window.enterEditor();
  await window.page.locator(".squiggly-error").first().waitFor();
  await window.openCodeActions();
  const row = window.page.locator(".action-widget .monaco-list-row", { hasText: "Fix with Hermes" });
  await row.waitFor();
  await picture("light-bulb");
  await row.click();
  await until(() => lastPrompt('line 1: the test "mean of nothing" fails: ZeroDivisionError: division by zero (tester)'));
  assert.match(await chat.answered(), /It is me/);
  const before = await chat.at("user-message").count();
  await window.enterEditor();
  await window.run("Hermes Agent: Fix with Hermes");
  await until(async () => (await chat.at("user-message").count()) > before);
  assert.match(await chat.at("user-message").last().innerText(), /division by zero/);
  await chat.answered();
});

station("a failing test is fixed from the list of tests", async () => {
  await window.run("Test: Run All Tests");
  await window.run("Testing: Focus on Test Explorer View");
  const item = window.page.locator(".test-explorer .monaco-list-row", { hasText: "mean of nothing" });
  await item.locator(".testing-run-glyph, .codicon-testing-failed-icon, .codicon-testing-error-icon").first().waitFor();
  await chooseInMenu(item, "Fix the Test with Hermes");
  await until(() => lastPrompt("The test mean of nothing fails."));
  await chat.answered();
  await picture("fix-test");
});

station("a file of the explorer is mentioned, and the selection of a terminal explained", async () => {
  await window.run("View: Show Explorer");
  await chooseInMenu(window.page.locator(".explorer-folders-view .monaco-list-row", { hasText: "notes.txt" }), "Mention in the Chat");
  await until(async () => /@notes\.txt/.test(await chat.input.inputValue()));
  await picture("mentioned");
  await window.openView("Explorer");
  await chat.input.waitFor({ state: "hidden" });
  await window.openChat();
  assert.equal((await chat.input.inputValue()).match(/@notes/g)?.length, 1, "it was mentioned again");
  await chat.input.fill("");
  await window.page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await window.run("Terminal: Create New Terminal");
  const terminal = window.page.locator(".terminal-wrapper.active .xterm");
  await terminal.waitFor();
  await terminal.click();
  await window.page.keyboard.type("echo it is $((40 + 2))");
  await window.page.keyboard.press("Enter");
  await until(async () => /it is 42/.test(await terminal.locator(".xterm-rows").innerText()));
  await window.run("Terminal: Select All");
  await chooseInMenu(terminal.locator(".xterm-screen"), "Explain with Hermes");
  await until(() => lastPrompt("it is 42"));
  await chat.answered();
  await picture("terminal-selection");
  await window.run("Terminal: Kill All Terminals");
});

station("a session is renamed, found, archived, forked and deleted in the list", async () => {
  await chat.at("header-new").click();
  await chat.at("welcome").waitFor();
  await chat.ask("this one is for the list");
  await chat.at("header-sessions").click();
  const row = (title) => chat.at("session").filter({ hasText: title });
  const press = async (title, action) => {
    await row(title).first().hover();
    await row(title).first().getByTestId(`session-${action}`).click();
  };
  await press("this one is for the list", "rename");
  await chat.at("session-title-input").fill("Renamed");
  await chat.at("session-title-input").press("Enter");
  await row("Renamed").waitFor();
  await chat.at("session-search").fill("renam");
  await until(async () => (await chat.at("session").count()) === 1);
  await press("Renamed", "archive");
  await chat.at("session-archive-toggle").click();
  await press("Renamed", "archive");
  await chat.at("session-archive-toggle").click();
  await picture("session-list");
  await press("Renamed", "fork");
  await until(async () => /^this one is for the list/.test((await chat.at("user-message").allInnerTexts()).join()));
  await chat.at("header-sessions").click();
  await press("Renamed", "delete");
  await window.answerDialog("Delete");
  await row("Renamed").waitFor({ state: "detached" });
  await chat.at("session-list-close").click();
});

station("a session is in a window of its own", async () => {
  const opened = window.page.context().waitForEvent("page");
  await window.run("Hermes Agent: New Session in a New Window");
  const page = await opened;
  const own = new Chat(page);
  await own.input.waitFor();
  assert.match(await own.ask("alone here"), /It is me/);
  await takePicture({ page }, "own-window");
  assert.ok(!(await chat.at("user-message").allInnerTexts()).includes("alone here"));
  await page.close();
});

station("the agent writes a commit message, and its session is not listed", async () => {
  const git = (...words) => execFileSync("git", words, { cwd: code.workspace });
  git("init", "-q");
  git("add", "-A");
  await window.page.reload();
  await window.ready();
  await window.chat.input.waitFor(); // VS Code has restored the side bar
  await window.openView("Source Control");
  const input = window.page.locator(".scm-editor .view-lines");
  await input.waitFor();
  await window.run("Hermes Agent: Write a Commit Message with Hermes");
  await until(async () => (await input.innerText()).replaceAll("\u00a0", " ").includes("Add averages"));
  await picture("commit-message");
  await window.openChat();
  chat = window.chat;
  await chat.ask("still there?");
  await chat.at("header-sessions").click();
  await chat.at("session").first().waitFor();
  assert.ok(!(await chat.at("session").allInnerTexts()).some((text) => text.includes("Write a commit message")));
});
