/**
 * Captures the CSS variables that our styles use in four of VS Code's themes.
 *
 * Environment: VSIX (the packed extension) and CHROMIUM. Writes `scripts/themes.json`, which the
 * screenshots and the contrast test use.
 */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { CodeServer, EXTENSION, installedFolder } from "./codeServer.mjs";
import { Window } from "./window.mjs";

const { VSIX: vsix, CHROMIUM: program = "/usr/bin/chromium" } = process.env;
const THEMES = {
  dark: "Default Dark Modern",
  light: "Default Light Modern",
  contrast: "Default High Contrast",
  "contrast-light": "Default High Contrast Light",
};

const styles = await readFile(join(EXTENSION, "src", "webview", "style.css"), "utf8");
const used = [...new Set(styles.match(/--vscode-[\w-]+/g))].sort();
const captured = {};
for (const [name, theme] of Object.entries(THEMES)) captured[name] = await capture(theme);
await writeFile(join(EXTENSION, "scripts", "themes.json"), `${JSON.stringify(captured, null, 1)}\n`);

async function capture(theme) {
  const settings = { "workbench.colorTheme": theme };
  const code = await CodeServer.start({ installed: installedFolder(), server: "acp-server", vsix, model: "", settings });
  const window = await Window.open(code.url, { program });
  try {
    await window.openChat("app");
    return await window.chat.frame.locator("body").evaluate(readTheme, used);
  } finally {
    await window.close();
    await code.stop();
  }
}

/** Runs in the webview. */
function readTheme(body, names) {
  const { style } = body.ownerDocument.documentElement;
  const values = names.map((name) => [name, style.getPropertyValue(name).trim()]);
  return { body: body.className, variables: Object.fromEntries(values.filter(([, value]) => value !== "")) };
}
