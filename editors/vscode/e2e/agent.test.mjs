/**
 * End-to-end test of the view of what the agent works with, and of what the window shows beside the chat.
 *
 * Environment: ACP_SERVER, VSIX, CHROMIUM, SCREENSHOTS and STATIONS, as for the journey. THEME is the name of
 * a colour theme of VS Code, for the pictures.
 */
import assert from "node:assert/strict";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before } from "node:test";
import { HERE, installedFolder } from "./codeServer.mjs";
import { closeWindow, openWindow } from "./sharedWindow.mjs";
import { defineStation, takePicture } from "./stations.mjs";
import { until } from "./window.mjs";

const { ACP_SERVER: server, VSIX: vsix, CHROMIUM: program = "/usr/bin/chromium", THEME: theme = "Default Dark Modern" } = process.env;
const model = `scripted:${join(HERE, "agent.script")}`;
const MEMORY = ["Tests run with just", "The sum is of floats"];

let code;
let window;
let chat;

before(async () => {
  const settings = { "workbench.colorTheme": theme };
  ({ code, window } = await openWindow(program, { installed: installedFolder(), server, vsix, model, settings }));
  await inHome("config.yaml", JSON.stringify({ mcp_servers: { clock: { command: process.execPath, args: [join(HERE, "mcpServer.mjs")] } } }));
  await inHome("memories/MEMORY.md", MEMORY.join("\n§\n"));
  await inHome("skills/greeting/SKILL.md", "---\nname: greeting\ndescription: Greets people.\n---\nSay hello.\n");
  await window.openChat();
  chat = window.chat;
});

after(closeWindow);

async function inHome(name, text) {
  const path = join(code.home, name);
  await mkdir(join(path, ".."), { recursive: true });
  await writeFile(path, text);
}

function station(name, action) {
  defineStation(name, () => window, action);
}

const homeFile = (name) => readFile(join(code.home, name), "utf8");
const row = (text) => window.page.locator(".part.sidebar .monaco-list-row", { hasText: text }).first();

async function expand(text) {
  await row(text).click();
  await until(async () => (await row(text).getAttribute("aria-expanded")) === "true");
}

/** Press an action that a row shows while the pointer is over it. */
async function press(text, label) {
  await row(text).hover();
  await row(text).locator(`.action-label[aria-label^="${label}"]`).click();
}

station("the view of the agent shows what the server has, and its actions change that", async () => {
  await chat.send("run it");
  const card = chat.at("permission").last();
  await card.waitFor();
  await card.getByTestId("permission-more").click();
  await card.getByTestId("permission-allow_always").filter({ hasText: "in this workspace" }).first().click();
  assert.match(await chat.answered(), /It is made/);
  assert.match(await homeFile("acp/permissions.json"), /mkdir/);
  await window.run("Hermes Agent: Show Servers, Skills, Memory and Permissions");
  await row("MCP Servers").waitFor();
  await takePicture(window, "agent-closed");
  await window.page.locator('.part.sidebar .pane-header[aria-label^="Explorer Section"]').click(); // makes room
  for (const name of ["Context", "Permissions", "Memory", "Skills", "MCP Servers"]) await expand(name);
  await row("Notes of the Agent").waitFor();
  await expand("Notes of the Agent");
  await row("clock").getByText("connected · 1 tool").waitFor();
  for (const text of [...MEMORY, "greeting", "configure-acp-server", "mkdir made", "What It Knows About You"]) await row(text).waitFor();
  await row("AGENTS.md").getByText("loaded").waitFor();
  await expand("clock");
  await row("Tells the time.").waitFor();
  await takePicture(window, "agent-open");

  await press(MEMORY[0], "Delete the Entry");
  await takePicture(window, "agent-delete");
  await window.answerDialog("Cancel");
  assert.equal(await homeFile("memories/MEMORY.md"), MEMORY.join("\n§\n"));
  await press(MEMORY[0], "Delete the Entry");
  await window.answerDialog("Delete");
  await row(MEMORY[0]).waitFor({ state: "detached" });
  assert.equal((await homeFile("memories/MEMORY.md")).trim(), MEMORY[1]);

  await press("greeting", "Disable the Skill");
  await row("greeting").getByText("(disabled)").waitFor();
  assert.match(await homeFile("acp/config.yaml"), /disabled[^a-z]*greeting/);

  await press("mkdir made", "Forget the Answer");
  await row("mkdir made").waitFor({ state: "detached" });
  assert.doesNotMatch(await homeFile("acp/permissions.json"), /mkdir/);
  await takePicture(window, "agent-changed");
});

station("the status bar tells the model and the mode", async () => {
  await window.openChat();
  await chat.ask("hello");
  await window.page.locator('.statusbar-item a[aria-label^="Hermes Agent"]').hover();
  const hover = window.page.locator(".workbench-hover");
  for (const text of ["The agent is ready.", "Model: Script: agent", "Mode: Ask"]) await hover.getByText(text).waitFor();
  assert.match(await window.page.locator(".statusbar").innerText(), /Script: agent · Ask/);
  await takePicture(window, "status-bar");
});

station("each step of the walkthrough has its text and a picture", async () => {
  await window.run("View: Close Primary Side Bar"); // makes room for the pictures
  await window.run("Welcome: Open Walkthrough");
  const input = window.page.locator(".quick-input-widget input");
  await window.page.locator(".quick-input-list .monaco-list-row", { hasText: "Hermes" }).first().waitFor();
  await input.fill("Hermes");
  await input.press("Enter");
  const steps = window.page.locator(".getting-started-step");
  await steps.first().waitFor();
  for (const [index, step] of (await steps.all()).entries()) {
    await step.click();
    await until(async () => ((await step.getAttribute("class")) ?? "").includes("expanded"));
    assert.doesNotMatch(await step.innerText(), /[*_]/, "marks of bold text that VS Code does not read");
    const image = window.page.locator(".getting-started-media img").last();
    await until(() => image.evaluate((node) => node.complete && node.naturalWidth > 0));
    await takePicture(window, `walkthrough-${index + 1}`);
  }
  assert.equal(await steps.count(), 6);
});
