/**
 * Captures the default stylesheet that VS Code adds to every webview, and the CSS variables that it and our
 * styles use, in four of VS Code's themes. Environment: VSIX (the packed extension) and CHROMIUM. Writes
 * `scripts/themes.json` and `scripts/webviewDefaults.css`, which the screenshots and the contrast test use.
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

const NOTE = "VS Code's default stylesheet of webviews, captured by e2e/captureThemes.mjs. For scenes and tests only.";

const styles = await readFile(join(EXTENSION, "src", "webview", "style.css"), "utf8");
const variablesOf = (...texts) => [...new Set(texts.join().match(/--vscode-[\w-]+/g))].sort();
const captured = {};
let defaults = "";
for (const [name, theme] of Object.entries(THEMES)) captured[name] = await capture(theme);
await writeFile(join(EXTENSION, "scripts", "themes.json"), `${JSON.stringify(captured, null, 1)}\n`);
await writeFile(join(EXTENSION, "scripts", "webviewDefaults.css"), `/* ${NOTE} */\n${dedent(defaults)}\n`);

async function capture(theme) {
  const settings = { "workbench.colorTheme": theme };
  const code = await CodeServer.start({ installed: installedFolder(), server: "acp-server", vsix, model: "", settings });
  const window = await Window.open(code.url, { program });
  try {
    await window.openChat("app");
    defaults = await window.chat.frame.locator("#_defaultStyles").evaluate((node) => node.textContent);
    return await window.chat.frame.locator("body").evaluate(readTheme, variablesOf(styles, defaults));
  } finally {
    await window.close();
    await code.stop();
  }
}

/** Remove the indentation that all lines share, and blank lines at both ends. */
function dedent(text) {
  const lines = text.replaceAll("\t", "  ").replace(/^\n+|\s+$/g, "").split("\n");
  const indents = lines.filter((line) => line.trim() !== "").map((line) => /^ */.exec(line)[0].length);
  return lines.map((line) => line.slice(Math.min(...indents))).join("\n");
}

/** Runs in the webview. */
function readTheme(body, names) {
  const { style } = body.ownerDocument.documentElement;
  const values = names.map((name) => [name, style.getPropertyValue(name).trim()]);
  return { body: body.className, variables: Object.fromEntries(values.filter(([, value]) => value !== "")) };
}
