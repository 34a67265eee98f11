// VS Code's variables in four of its own themes, as a webview sees them (`e2e/captureThemes.mjs`).

import { readFileSync } from "node:fs";

const CAPTURED = JSON.parse(readFileSync(new URL("themes.json", import.meta.url), "utf8"));
/** The fonts of the machine that draws, not of the one that was captured on. */
const FONTS = {
  "--vscode-font-family": "system-ui, 'DejaVu Sans', sans-serif",
  "--vscode-editor-font-family": "'DejaVu Sans Mono', monospace",
};

function styleOf(variables) {
  const all = Object.entries({ ...variables, ...FONTS });
  return all.map(([name, value]) => `${name}: ${value.replaceAll('"', "'")}`).join("; ");
}

export const THEMES = Object.fromEntries(
  Object.entries(CAPTURED).map(([name, { body, variables }]) => [name, { body, style: styleOf(variables) }]),
);
