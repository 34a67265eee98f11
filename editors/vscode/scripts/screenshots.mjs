// Takes screenshots of the view in VS Code's themes with Chromium, for review and for the README.
// Environment: CHROMIUM (default /usr/bin/chromium). Argument: the output directory.

import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { ROOT } from "./bundling.mjs";
import { drawScene, loadScenes } from "./scenes.mjs";
import { THEMES } from "./themes.mjs";

const WIDTHS = { "": 400, "-narrow": 240 };

const out = process.argv[2] ?? join(ROOT, "out", "screenshots");
await mkdir(out, { recursive: true });
const view = await loadScenes();
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox"],
});
try {
  for (const [suffix, width] of Object.entries(WIDTHS)) {
    for (const [theme, look] of Object.entries(THEMES)) {
      const page = await browser.newPage({ viewport: { width, height: 760 }, deviceScaleFactor: 2 });
      for (const [name, scene] of Object.entries(view.scenes)) {
        await drawScene(page, view, look, scene);
        await page.screenshot({ path: join(out, `${name}-${theme}${suffix}.png`) });
      }
      await page.close();
    }
  }
} finally {
  await browser.close();
}
