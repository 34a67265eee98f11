/**
 * The tests of a window, and its pictures.
 *
 * Environment: STATIONS (pattern of names; default all) and SCREENSHOTS (output directory; none are taken without it).
 */
import { join } from "node:path";
import { test } from "node:test";

const { STATIONS: pattern = "", SCREENSHOTS: folder } = process.env;

/** Take a picture of a window, if there is one. */
export async function takePicture(window, name) {
  if (folder !== undefined) await window?.page.screenshot({ path: join(folder, `${name}.png`) });
}

/** Return a function that defines the steps of a journey; after a failed step, the remaining ones are skipped. */
export function defineSteps(windowOf) {
  let hasFailed = false;
  return (name, action) => {
    defineStation(name, windowOf, async (context) => {
      if (hasFailed) return context.skip("an earlier step failed");
      hasFailed = true;
      await action();
      hasFailed = false;
    });
  };
}

/** Define an independent test, unless it is not chosen; a failed one leaves a picture of the window. */
export function defineStation(name, windowOf, action) {
  if (!new RegExp(pattern).test(name)) return;
  test(name, async (context) => {
    try {
      await action(context);
    } catch (error) {
      await takePicture(windowOf(), `failed ${name}`);
      throw error;
    }
  });
}
