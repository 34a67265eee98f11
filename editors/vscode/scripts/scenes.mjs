// Scenes of the view for the screenshots and the contrast test.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { ROOT, testsOf, VIEW } from "./bundling.mjs";

const OUT = "out/scenes";
const STILL_FRAMES = 4;

/** Bundle the view and return its script, its styles and the scenes. */
export async function loadScenes() {
  const { webview, highlight: highlighting } = VIEW.entryPoints; // no scene has a diagram or a formula
  await build({ ...VIEW, entryPoints: { webview, highlight: highlighting }, outdir: OUT });
  const conversation = {};
  for (const name of ["conversation", "longConversation"]) {
    await build(testsOf([`tests/support/${name}.ts`]));
    Object.assign(conversation, await import(pathToFileURL(join(ROOT, `out/tests/support/${name}.mjs`)).href));
  }
  const read = (name) => readFile(join(ROOT, OUT, name), "utf8");
  const [script, highlight, ...styles] = await Promise.all(["webview.js", "highlight.js", "webview.css", "highlight.css"].map(read));
  const defaults = await readFile(join(ROOT, "scripts", "webviewDefaults.css"), "utf8");
  return { script, highlight, styles: [defaults, ...styles].join("\n"), scenes: scenesOf(conversation) };
}

function scenesOf(conversation) {
  const { SESSION_OPENED, CONVERSATION, FULL_CONVERSATION, PERMISSION_REQUEST, READY } = conversation;
  const { LONG_OPENED, LONG_STORY, PARALLEL_QUESTIONS, ANSWERED_FORM } = conversation;
  const connection = (status, message = "") => ({ events: [{ ...READY, status, message }] });
  return {
    welcome: { events: SESSION_OPENED },
    "sign-in": { events: [READY, { type: "signIn", isNeeded: true, message: "" }] },
    missing: connection("missing", "The chat needs the program acp-server, which is installed separately."),
    untrusted: connection("untrusted"),
    failed: connection("failed", conversation.WRONG_ARGUMENT),
    "failed-agent": { events: [{ ...READY, agentId: "gemini", agent: "Gemini CLI", canStoreKey: false, status: "failed", message: conversation.UNKNOWN_ARGUMENT }] },
    restarting: { events: [...FULL_CONVERSATION, { ...READY, status: "restarting", message: "The agent stopped (ended by the system or another program)." }] },
    conversation: { events: FULL_CONVERSATION },
    beginning: { events: FULL_CONVERSATION, scroll: 0 },
    changes: { events: [...SESSION_OPENED, ...CONVERSATION], presses: ["changes-toggle", "changed-file-toggle"] },
    form: { events: [...SESSION_OPENED, ...CONVERSATION, conversation.FORM_REQUEST, conversation.QUEUED_PROMPT] },
    sessions: { events: FULL_CONVERSATION, presses: ["header-sessions"] },
    context: { events: FULL_CONVERSATION, presses: ["header-context"] },
    options: { events: [READY, { type: "signIn", isNeeded: true, message: "" }, conversation.MANY_OPTIONS] },
    "one-file": { events: [...SESSION_OPENED, ...CONVERSATION, conversation.ONE_CHANGE], presses: ["changes-toggle", "changed-file-toggle"] },
    plan: { events: [...SESSION_OPENED, ...CONVERSATION, conversation.LONG_PLAN], presses: ["plan-toggle"] },
    command: { events: [...SESSION_OPENED, ...conversation.LONG_COMMAND] },
    completions: { events: SESSION_OPENED, types: "/co" },
    story: { events: LONG_STORY },
    parallel: { events: PARALLEL_QUESTIONS },
    short: { events: [...SESSION_OPENED, ...conversation.SHORT_PROMPT] },
    "five-files": { events: conversation.FIVE_FILES },
    "rejected-part": { events: conversation.REJECTED_PART },
    "allowed-part": { events: conversation.ALLOWED_PART },
    "told-parts": { events: conversation.ALLOWED_PART, presses: ["told-parts"] },
    menu: { events: PARALLEL_QUESTIONS, presses: ["permission-more"] },
    "opened-panels": { events: PARALLEL_QUESTIONS, presses: ["plan-toggle", "changes-toggle"] },
    "opened-changes": { events: [...SESSION_OPENED, ...CONVERSATION, ...PERMISSION_REQUEST], presses: ["changes-toggle", "changed-file-toggle"] },
    low: { events: PARALLEL_QUESTIONS, height: 400 },
    "low-menu": { events: PARALLEL_QUESTIONS, presses: ["permission-more"], height: 500 },
    reason: { events: PARALLEL_QUESTIONS, presses: ["permission-reason"] },
    answered: { events: ANSWERED_FORM },
    "all-commands": { events: LONG_OPENED, types: "/", keys: ["ArrowUp"] },
    agent: { events: [...PARALLEL_QUESTIONS, { ...READY, agentId: "gemini", agent: "Gemini CLI", canStoreKey: false }] },
    "long-sessions": { events: PARALLEL_QUESTIONS, presses: ["header-sessions"] },
  };
}

const HEIGHT = 760;

/** Render a scene in a browser page, whose height becomes that of the scene. */
export async function drawScene(page, { script, highlight, styles }, { body, style }, scene) {
  const { events, presses = [], types = "", keys = [], scroll, height = HEIGHT } = scene;
  await page.setViewportSize({ ...page.viewportSize(), height });
  await page.mouse.move(0, 0); // not where the scene before was pressed
  await page.setContent(`<!DOCTYPE html><html lang="en" style="${style}"><head><title>Hermes Agent</title>
    <style>${styles}</style></head><body class="${body}"><div id="root"></div></body></html>`);
  await page.evaluate(() => {
    window.acquireVsCodeApi = () => ({ postMessage() {}, getState() {}, setState() {} });
  });
  await page.addScriptTag({ content: script });
  await page.addScriptTag({ content: highlight });
  await page.evaluate((sent) => window.postMessage({ kind: "replay", events: sent }), events);
  await untilDrawn(page);
  for (const testId of presses) await page.getByTestId(testId).first().click();
  if (types !== "") await page.getByTestId("composer-input").pressSequentially(types);
  for (const key of keys) await page.keyboard.press(key);
  if (scroll !== undefined) {
    await page.getByTestId("transcript").evaluate((node, top) => (node.scrollTop = top), scroll);
  }
  await untilDrawn(page);
}

/** Wait until the page has not changed for some frames. */
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
