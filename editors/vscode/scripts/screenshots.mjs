// Takes screenshots of the view in VS Code's themes with Chromium, for review and for the README.
// Environment: CHROMIUM (default /usr/bin/chromium), SCENES and LOOKS (patterns of scene names and of
// "theme width"; default all). Argument: the output directory.

import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { ROOT } from "./bundling.mjs";
import { drawScene, loadScenes } from "./scenes.mjs";
import { THEMES } from "./themes.mjs";

const { SCENES: scenePattern = "", LOOKS: lookPattern = "" } = process.env;
const WIDTHS = [400, 300, 800];

const out = process.argv[2] ?? join(ROOT, "out", "screenshots");
await mkdir(out, { recursive: true });
const view = await loadScenes();
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox"],
  ignoreDefaultArgs: ["--hide-scrollbars"], // users see them
});
try {
  for (const width of WIDTHS) {
    for (const [theme, look] of Object.entries(THEMES)) {
      if (!new RegExp(lookPattern).test(`${theme} ${width}`)) continue;
      const page = await browser.newPage({ viewport: { width, height: 760 }, deviceScaleFactor: 2 });
      for (const [name, scene] of Object.entries(view.scenes)) {
        if (!new RegExp(scenePattern).test(name)) continue;
        await drawScene(page, view, look, scene);
        await page.screenshot({ path: join(out, `${name}-${theme}-${width}.png`) });
      }
      await page.close();
    }
  }
} finally {
  await browser.close();
}
