/**
 * End-to-end test of a workspace of two folders: the sessions of both are listed.
 *
 * Environment: ACP_SERVER, VSIX, CHROMIUM and SCREENSHOTS, as for the journey.
 */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { HERE, installedFolder } from "./codeServer.mjs";
import { closeWindow, openWindow } from "./sharedWindow.mjs";

const { ACP_SERVER: server, VSIX: vsix, CHROMIUM: program = "/usr/bin/chromium", SCREENSHOTS: shots } = process.env;
const model = `scripted:${join(HERE, "places.script")}`;

test("the sessions of both folders of a workspace are listed, and one of the second folder comes back in it", async (t) => {
  const { code, window } = await openWindow(program, { installed: installedFolder(), server, vsix, model, folders: ["second"] });
  t.after(closeWindow);
  const { chat } = window;
  await window.openChat();
  await chat.ask("in the first folder");
  await writeFile(join(dirname(code.workspace), "second", "other.txt"), "other\n");
  await window.openFile("other.txt");
  await chat.at("header-new").click();
  await chat.at("user-message").first().waitFor({ state: "detached" });
  await chat.ask("in the second folder");
  await chat.at("header-sessions").click();
  await chat.at("session").nth(1).waitFor();
  const rows = await chat.at("session").evaluateAll((nodes) =>
    nodes.map((node) => [node.querySelector(".ellipsis").textContent, node.querySelector("[data-testid=session-folder]").textContent]),
  );
  assert.deepEqual(rows.sort(), [["in the first folder", "project"], ["in the second folder", "second"]]);
  if (shots !== undefined) await window.page.screenshot({ path: join(shots, "two-folders.png") });
  await window.page.reload();
  await window.ready();
  await chat.at("user-message").getByText("in the second folder").waitFor();
});
