/**
 * Workspace trust: the server does not start before the user trusts the folder.
 *
 * Environment: ACP_SERVER, VSIX, CHROMIUM and SCREENSHOTS, as for the journey.
 */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { CodeServer, HERE, installedFolder } from "./codeServer.mjs";
import { takePicture } from "./stations.mjs";
import { until, Window } from "./window.mjs";

const { ACP_SERVER: server, VSIX: vsix, CHROMIUM: program = "/usr/bin/chromium" } = process.env;
const model = `scripted:${join(HERE, "work.script")}`;
const settings = {
  "security.workspace.trust.enabled": true,
  "security.workspace.trust.startupPrompt": "always",
};

let code;
let window;

before(async () => {
  code = await CodeServer.start({ installed: installedFolder(), server, vsix, model, settings });
  window = await Window.open(code.url, { program });
});

after(async () => {
  await window?.close();
  await code?.stop();
});

function picture(name) {
  return takePicture(window, name);
}

test("the server does not start in an untrusted folder, and the chat offers to trust it", async () => {
  try {
    await window.page.locator(".monaco-dialog-box").waitFor();
    await picture("trust-asked");
    await window.answerDialog(/^No,/);
    await window.openChat("welcome-untrusted");
    assert.match(await window.statusOf("Hermes Agent"), /starts once this workspace is trusted/);
    await picture("untrusted");
    assert.ok(!existsSync(code.pidFile), "the server was started");
    await window.chat.at("welcome-manageTrust").click();
    await window.page.getByRole("button", { name: /^Trust$/ }).click();
    await window.chat.at("composer-input").waitFor();
    await until(() => existsSync(code.pidFile));
    // VS Code opens a trust editor in front of everything else.
    await window.page.locator(".monaco-modal-editor-block").getByRole("button", { name: /close/i }).click();
    assert.match(await window.chat.ask("Please greet me"), /Hello! I see averages\.py/);
    await picture("trusted");
  } catch (error) {
    await picture("trust-failed");
    throw error;
  }
});
