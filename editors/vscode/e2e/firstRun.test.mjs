/**
 * The first run in VS Code: without the server, and without a key.
 *
 * Environment: ACP_SERVER, VSIX, CHROMIUM and SCREENSHOTS, as for the journey.
 */
import assert from "node:assert/strict";
import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, test } from "node:test";
import { CodeServer, installedFolder } from "./codeServer.mjs";
import { takePicture } from "./stations.mjs";
import { until, Window } from "./window.mjs";

const { ACP_SERVER: server, VSIX: vsix, CHROMIUM: program = "/usr/bin/chromium" } = process.env;
const KEY = "sk-ant-api03-entered-in-vs-code";

let code;
let window;

afterEach(async () => {
  await window?.close();
  await code?.stop();
});

async function open(options) {
  code = await CodeServer.start({ installed: installedFolder(), vsix, ...options });
  window = await Window.open(code.url, { program });
}

function picture(name) {
  return takePicture(window, name);
}

/** Write a program of the user's home that a shell runs. */
async function install(path, lines) {
  await mkdir(join(path, ".."), { recursive: true });
  await writeFile(path, ["#!/bin/sh", ...lines].join("\n"));
  await chmod(path, 0o755);
}

test("without the server, a button installs it with uv and shows the demo, without a key", async () => {
  await open({ path: "/usr/bin:/bin" });
  try {
    await window.openChat("welcome-missing");
    await picture("not-installed");
    const text = await window.chat.at("welcome-missing").innerText();
    for (const sentence of [/is not installed/g, /uv tool install/g, /needs no account/g]) assert.equal(text.match(sentence)?.length, 1);
    const bin = join(code.userHome, ".local", "bin");
    const environment = `HERMES_HOME='${code.home}' PYTHON_KEYRING_BACKEND=keyring.backends.null.Keyring`;
    // In place of uv: it installs a program that starts the server of this checkout.
    const started = `exec env ${environment} '${server}' "$@"`;
    const target = join(bin, "acp-server");
    await install(join(bin, "uv"), [
      `echo "$*" > '${join(code.userHome, "uv-arguments")}'`,
      `cat > '${target}' <<'END'`, "#!/bin/sh", started, "END",
      `chmod 755 '${target}'`,
    ]);
    await window.chat.at("welcome-tryDemo").click();
    await window.chat.at("welcome").waitFor({ timeout: 60_000 });
    assert.equal((await readFile(join(code.userHome, "uv-arguments"), "utf8")).trim(), "tool install hermes-acp-server");
    await picture("demo");
    await window.chat.send("The test fails. Find out why and mend it.");
    await window.chat.at("tool-call").first().waitFor();
  } catch (error) {
    await picture("failed-not-installed");
    throw error;
  }
});

test("without a key there is one sign-in card at once, and the server stores what is entered", async () => {
  await open({ server, environment: { ANTHROPIC_API_KEY: "" } });
  try {
    await window.openChat("welcome-sign-in");
    assert.equal(await window.chat.at("banner-sign-in").count(), 0);
    await picture("no-key");
    await window.chat.at("sign-in-enter-key").click();
    const input = window.page.locator(".quick-input-widget input");
    await window.page.locator(".quick-input-list .monaco-list-row", { hasText: "Anthropic" }).waitFor();
    await input.press("Enter");
    await until(async () => (await input.getAttribute("type")) === "password");
    await picture("key");
    await input.fill(KEY);
    await input.press("Enter");
    await window.chat.at("welcome").waitFor({ timeout: 60_000 });
    assert.equal(await window.chat.at("welcome-sign-in").count(), 0);
    assert.ok((await readFile(join(code.home, "acp", "credentials.json"), "utf8")).includes(KEY));
    await picture("signed-in");
  } catch (error) {
    await picture("failed-no-key");
    throw error;
  }
});
