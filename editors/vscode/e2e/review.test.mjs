/**
 * End-to-end test of the review in VS Code's editors: proposals and changes are accepted, rejected and partly
 * kept by the keyboard alone.
 *
 * Environment: ACP_SERVER, VSIX, CHROMIUM, SCREENSHOTS, STATIONS; see `journey.test.mjs`.
 */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { after, before, test } from "node:test";
import { CodeServer, HERE, installedFolder } from "./codeServer.mjs";
import { defineStation, takePicture } from "./stations.mjs";
import { until, Window } from "./window.mjs";

const { ACP_SERVER: server, VSIX: vsix, CHROMIUM: program = "/usr/bin/chromium" } = process.env;
const OLD = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\n";
const NEW = "1\ntwo\nthree\nfour\nfive\nsix\nseven\n8\n";
const ONLY_LAST = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n8\n";
const KEYS = {
  accept: "Control+Alt+Y",
  reject: "Control+Alt+N",
  keepPart: "Control+Alt+Shift+Y",
  rejectPart: "Control+Alt+Shift+N",
  next: "Alt+F5",
  editor: "Control+1",
};
/** The extension opens no diff over a file in which the user was active so recently. */
const BUSY_MILLISECONDS = 3200;
const SETTLING_MILLISECONDS = 1000;

let code;
let window;
let chat;

before(async () => {
  code = await CodeServer.start({ installed: installedFolder(), server, vsix, model: `scripted:${join(HERE, "review.script")}` });
  await writeFile(path(), OLD);
  window = await Window.open(code.url, { program, width: 1400 });
  chat = window.chat;
  await window.openChat();
});

after(async () => {
  await window?.close();
  await code?.stop();
});

function path() {
  return join(code.workspace, "list.txt");
}

function onDisk() {
  return readFile(path(), "utf8");
}

/** Define a station that begins with the old file, in a new session. */
function station(name, action) {
  defineStation(name, () => window, async () => {
    await closeEditors();
    await writeFile(path(), OLD);
    await chat.at("header-new").click();
    await chat.at("user-message").first().waitFor({ state: "detached" });
    await action();
  });
}

function picture(name) {
  return takePicture(window, name);
}

function press(key) {
  return window.page.keyboard.press(key);
}

async function closeEditors() {
  await window.run("File: Revert File").catch(() => undefined);
  await window.run("View: Close All Editors");
}

/** Ask for the change, wait for the diff, and move the focus into it. */
async function propose() {
  await chat.send("change two lines");
  await window.tab("list.txt (proposed)").waitFor();
  await chat.at("permission").waitFor();
  await focusDiff();
  await untilBound("Accept the Change of This File");
}

/** Wait until the keys are bound: they depend on the same as the buttons in the editor's title. */
async function untilBound(label) {
  await window.page.locator(`.part.editor .editor-actions a[aria-label^="${label}"]`).first().waitFor();
}

/** Move the focus from the chat, which takes it for the question, into the diff. */
async function focusDiff() {
  await until(async () => {
    await press(KEYS.editor);
    return window.page.evaluate(() => document.activeElement?.closest(".monaco-diff-editor") !== null);
  });
}

async function acceptEdits() {
  const picker = chat.at("picker-mode");
  // A session that is still being created comes with its own mode.
  await until(async () => {
    await picker.selectOption("accept_edits");
    await wait(SETTLING_MILLISECONDS);
    return (await picker.inputValue()) === "accept_edits";
  });
}

/** Open the changed file with the marks of the change, with the cursor at its beginning. */
async function openChanged() {
  await window.openFile("list.txt");
  await window.enterEditor();
  // A file that was open before shows its old text at first, and reading it again moves the cursor.
  await until(async () => (await window.editorText()) === NEW);
  await until(async () => {
    await press("Control+Home");
    return /Ln 1, Col 1\b/.test(await window.page.locator(".statusbar").innerText());
  });
  await window.page.locator(".codelens-decoration", { hasText: "Revert" }).first().waitFor();
  await untilBound("Keep the Changes");
}

station("a proposal is accepted by the keyboard", async () => {
  await propose();
  await picture("proposal");
  assert.equal(await onDisk(), OLD);
  await press(KEYS.accept);
  await chat.answered();
  assert.equal(await onDisk(), NEW);
  await window.tab("list.txt (proposed)").waitFor({ state: "detached" });
});

station("a proposal is rejected by the keyboard", async () => {
  await propose();
  await press(KEYS.reject);
  await chat.answered();
  assert.equal(await onDisk(), OLD);
  await window.tab("list.txt (proposed)").waitFor({ state: "detached" });
});

station("of several proposed files the first one is in front, and stays there", async () => {
  await chat.send("change three files");
  await chat.at("permission").waitFor();
  await window.tab("most.txt (proposed, 3 of 3)").waitFor();
  const first = window.tab("list.txt (proposed, 1 of 3)");
  await until(async () => (await first.getAttribute("aria-selected")) === "true");
  await wait(SETTLING_MILLISECONDS);
  assert.equal(await first.getAttribute("aria-selected"), "true");
  for (const [index, name] of ["list", "more", "most"].entries()) assert.equal(await window.tab(`${name}.txt (proposed, ${index + 1} of 3)`).count(), 1);
  await window.page.locator(".codelens-decoration", { hasText: "Accept all 3 files" }).waitFor();
  assert.match(await chat.at("question-dock").innerText(), /^Edit 3 files\?/);
  await picture("proposal-files");
  await focusDiff();
  await untilBound("Reject the Changes of All Proposed Files");
  await press(KEYS.reject);
  await chat.answered();
});

station("a part of a proposal is rejected by the keyboard before anything is written", async () => {
  await propose();
  await press(KEYS.rejectPart);
  await window.page.locator(".codelens-decoration", { hasText: "Restore the rejected part" }).waitFor();
  await picture("proposal-part");
  assert.equal(await onDisk(), OLD);
  await press(KEYS.accept);
  await chat.answered();
  assert.equal(await onDisk(), ONLY_LAST);
  assert.equal(await chat.at("told-parts").innerText(), "Told the agent what you rejected in list.txt");
});

station("a proposal for a file with unsaved changes loses none of them", async () => {
  await window.openFile("list.txt");
  await window.enterEditor();
  await window.page.keyboard.type("Mine 0");
  // Enter would accept a suggestion.
  await press("Escape");
  await press("Enter");
  await until(() => window.isDirty("list.txt"));
  await wait(BUSY_MILLISECONDS);
  await propose();
  await press(KEYS.rejectPart);
  await window.page.locator(".codelens-decoration", { hasText: "Restore the rejected part" }).waitFor();
  await until(async () => (await chat.at("permission-allow_once").innerText()).startsWith("Allow 1 of 2"));
  await picture("proposal-rejected-part");
  await press(KEYS.accept);
  await chat.answered();
  assert.equal(await onDisk(), OLD);
  const card = chat.at("tool-call").last();
  assert.deepEqual(await card.locator(".diff-line.rejected .code").allInnerTexts(), ["1"]);
  assert.match(await card.innerText(), /Allowed 1 of 2 parts/);
  await until(async () => (await window.editorText()).startsWith("Mine 0\none\n") && (await window.editorText()).includes("\n8\n"));
  assert.ok(await window.isDirty("list.txt"));
  await picture("proposal-unsaved");
});

station("a written change is marked in the file, and kept and reverted part by part by the keyboard", async () => {
  await acceptEdits();
  await chat.ask("change two lines");
  await until(async () => (await onDisk()) === NEW);
  await openChanged();
  await picture("changed-file");
  await press(KEYS.keepPart);
  await press(KEYS.next);
  await press(KEYS.rejectPart);
  await until(async () => (await onDisk()) === NEW.replace("8", "eight"));
  await chat.at("changes").waitFor({ state: "detached" });
});

station("a written change is reverted as a whole, and the user's unsaved lines are not lost with it", async () => {
  await acceptEdits();
  await chat.ask("change two lines");
  await openChanged();
  await press("Control+End");
  await window.page.keyboard.type("mine");
  await until(() => window.isDirty("list.txt"));
  await press("Control+Home");
  await press(KEYS.reject);
  await picture("revert-question");
  await window.answerDialog("Cancel");
  assert.equal(await window.editorText(), `${NEW}mine`);
  await press(KEYS.reject);
  await window.answerDialog("Revert Only the Agent's Changes");
  await until(async () => (await window.editorText()) === `${OLD}mine`);
  assert.ok(await window.isDirty("list.txt"));
});

station("after a reload, a change is listed, opened as a diff and reverted by the keyboard", async () => {
  await acceptEdits();
  await chat.ask("change two lines");
  await until(async () => (await onDisk()) === NEW);
  await window.page.reload();
  await window.ready();
  await chat.input.waitFor();
  await chat.at("changes").waitFor();
  await window.run("View: Show Source Control");
  const item = window.page.locator(".tree-explorer-viewlet-tree-view .monaco-list-row", { hasText: "list.txt" });
  await item.click();
  await window.tab("list.txt (before ↔ now)").waitFor();
  await picture("changes-list");
  await focusDiff();
  await untilBound("Keep the Changes");
  await press("Control+Home");
  await press(KEYS.rejectPart);
  await until(async () => (await onDisk()) === ONLY_LAST);
  await press(KEYS.reject);
  await until(async () => (await onDisk()) === OLD);
  await chat.at("changes").waitFor({ state: "detached" });
});
