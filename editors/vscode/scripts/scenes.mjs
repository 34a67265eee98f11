// What there is to see in the view, as it is before somebody has done anything: pictures and the
// test of contrasts go through all of it.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { ROOT, testsOf, VIEW } from "./bundling.mjs";

const OUT = "out/scenes";
const STILL_FRAMES = 4;

/** The view with everything that it shows, bundled once. */
export async function loadScenes() {
  await build({ ...VIEW, outdir: OUT });
  await build(testsOf(["tests/support/story.ts"]));
  const story = await import(pathToFileURL(join(ROOT, "out/tests/support/story.mjs")).href);
  const read = (name) => readFile(join(ROOT, OUT, name), "utf8");
  const [script, styles] = await Promise.all([read("webview.js"), read("webview.css")]);
  return { script, styles, scenes: scenesOf(story) };
}

function scenesOf(story) {
  const { OPENED, TOLD, WHOLE, READY } = story;
  const connection = (status, message = "") => ({ events: [{ ...READY, status, message }] });
  return {
    welcome: { events: OPENED },
    "sign-in": { events: [READY, { type: "signIn", isNeeded: true, message: "There is no key yet." }] },
    missing: connection("missing", "acp-server was not found."),
    untrusted: connection("untrusted"),
    failed: connection("failed", "The server has ended with exit code 2."),
    restarting: { events: [...WHOLE, { ...READY, status: "restarting", message: "It was ended by SIGKILL." }] },
    conversation: { events: WHOLE, presses: ["plan-toggle"] },
    beginning: { events: WHOLE, scroll: 0 },
    changes: { events: [...OPENED, ...TOLD], presses: ["changes-toggle", "changed-file-toggle"] },
    form: { events: [...OPENED, ...TOLD, story.FORM, story.QUEUED] },
    sessions: { events: WHOLE, presses: ["header-sessions"] },
    context: { events: WHOLE, presses: ["header-context"] },
    completions: { events: OPENED, types: "/co" },
  };
}

/** Draw a scene in a page of the browser's. */
export async function drawScene(page, { script, styles }, { body, style }, scene) {
  const { events, presses = [], types = "", scroll } = scene;
  await page.setContent(`<!DOCTYPE html><html lang="en" style="${style}"><head><title>Hermes Agent</title>
    <style>${styles}</style></head><body class="${body}"><div id="root"></div></body></html>`);
  await page.evaluate(() => {
    window.acquireVsCodeApi = () => ({ postMessage() {}, getState() {}, setState() {} });
  });
  await page.addScriptTag({ content: script });
  await page.evaluate((sent) => window.postMessage({ kind: "replay", events: sent }), events);
  await untilDrawn(page);
  for (const testId of presses) await page.getByTestId(testId).first().click();
  if (types !== "") await page.getByTestId("composer-input").pressSequentially(types);
  if (scroll !== undefined) {
    await page.getByTestId("transcript").evaluate((node, top) => (node.scrollTop = top), scroll);
  }
  await untilDrawn(page);
}

/** Wait until nothing in the page has changed for some frames. */
function untilDrawn(page) {
  return page.evaluate(async (stillFrames) => {
    let still = 0;
    const watching = new MutationObserver(() => (still = 0));
    watching.observe(document.body, { childList: true, subtree: true, attributes: true, characterData: true });
    while (still < stillFrames || document.querySelector("[data-testid=app]") === null) {
      await new Promise(requestAnimationFrame);
      still += 1;
    }
    watching.disconnect();
  }, STILL_FRAMES);
}
