/**
 * A VS Code window for the tests of a process: the first that asks for it starts it, the last one stops it.
 *
 * Most test files run in a process of their own. Those that run together (`short.test.mjs`) share a
 * window, because starting VS Code takes most of their time.
 */
import { CodeServer } from "./codeServer.mjs";
import { Window } from "./window.mjs";

let opened;
let users = 0;

/** Return the code-server and the window; the options of the first caller apply. */
export function openWindow(program, options) {
  users += 1;
  opened ??= open(program, options);
  return opened;
}

async function open(program, options) {
  const code = await CodeServer.start(options);
  try {
    return { code, window: await Window.open(code.url, { program }) };
  } catch (error) {
    await code.stop();
    throw error;
  }
}

/** Close the window after its last user. */
export async function closeWindow() {
  users -= 1;
  if (users > 0 || opened === undefined) return;
  const { code, window } = await opened;
  await window.close();
  await code.stop();
}
