// VS Code's CSS variables in four built-in themes, captured in a webview by `e2e/captureThemes.mjs`.

import { readFileSync } from "node:fs";

const CAPTURED = JSON.parse(readFileSync(new URL("themes.json", import.meta.url), "utf8"));
/** Fonts for rendering; the captured fonts may not exist on this machine. */
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
