// Pictures of the view in VS Code's themes, made with Chromium, for looking at and for the README.
// Environment: CHROMIUM (default /usr/bin/chromium). Argument: the folder for the pictures.

import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { chromium } from "playwright-core";
import { ROOT, testsOf, VIEW } from "./bundling.mjs";
import { THEMES } from "./themes.mjs";

const out = process.argv[2] ?? join(ROOT, "out", "screenshots");
await mkdir(out, { recursive: true });
await build({ ...VIEW, outdir: "out/screenshots" });
await build(testsOf(["tests/support/story.ts"]));
const story = await import(pathToFileURL(join(ROOT, "out/tests/support/story.mjs")).href);

const READY_ONLY = [story.READY];
const SCENES = {
  welcome: { events: story.OPENED },
  "sign-in": { events: [...READY_ONLY, { type: "signIn", isNeeded: true, message: "There is no key yet." }] },
  missing: { events: [{ ...story.READY, status: "missing", message: "acp-server was not found." }] },
  conversation: { events: story.WHOLE, presses: ["plan-toggle"] },
  beginning: { events: story.WHOLE, scroll: 0 },
  changes: { events: [...story.OPENED, ...story.TOLD], presses: ["changes-toggle", "changed-file-toggle"] },
  form: { events: [...story.OPENED, ...story.TOLD, story.FORM, story.QUEUED] },
  sessions: { events: story.WHOLE, presses: ["header-sessions"] },
  context: { events: story.WHOLE, presses: ["header-context"] },
  completions: { events: story.OPENED, types: "/co" },
};

const [script, styles] = await Promise.all(
  ["webview.js", "webview.css"].map((name) => readFile(join(ROOT, "out/screenshots", name), "utf8")),
);
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox"],
});
try {
  for (const [theme, { body, variables }] of Object.entries(THEMES)) {
    const page = await browser.newPage({ viewport: { width: 400, height: 760 }, deviceScaleFactor: 2 });
    for (const [name, scene] of Object.entries(SCENES)) await picture(page, theme, body, variables, name, scene);
    await page.close();
  }
} finally {
  await browser.close();
}

async function picture(page, theme, body, variables, name, { events, presses = [], types = "", scroll }) {
  await page.setContent(`<!DOCTYPE html><html lang="en" style="${variables}"><head><style>${styles}</style></head>
    <body class="${body}"><div id="root"></div></body></html>`);
  await page.evaluate(() => {
    window.acquireVsCodeApi = () => ({ postMessage() {}, getState() {}, setState() {} });
  });
  await page.addScriptTag({ content: script });
  await page.evaluate((sent) => window.postMessage({ kind: "replay", events: sent }), events);
  await page.waitForTimeout(150);
  for (const testId of presses) await page.getByTestId(testId).first().click();
  if (types !== "") await page.getByTestId("composer-input").pressSequentially(types);
  if (scroll !== undefined) {
    await page.getByTestId("transcript").evaluate((node, top) => (node.scrollTop = top), scroll);
  }
  await page.waitForTimeout(100);
  await page.screenshot({ path: join(out, `${name}-${theme}.png`) });
}
