// Takes screenshots of the view in VS Code's themes with Chromium, for review and for the README.
// Environment: CHROMIUM (default /usr/bin/chromium), SCENES and LOOKS (patterns of scene names and of
// "theme width"; default all). Argument: the output directory. With --readme, only what the README's picture of the
// themes consists of is drawn, and composed into docs/themes.png.

import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { ROOT } from "./bundling.mjs";
import { compose } from "./composing.mjs";
import { drawScene, loadScenes } from "./scenes.mjs";
import { THEMES } from "./themes.mjs";

const { SCENES: scenePattern = "", LOOKS: lookPattern = "" } = process.env;
const WIDTHS = [400, 300, 800];
/** The README's picture: scenes and their themes, from left to right. */
const README = { beginning: "light", changes: "contrast", conversation: "contrast-light", parallel: "dark" };
const README_WIDTH = 300;

const args = process.argv.slice(2);
const isForReadme = args.includes("--readme");
const out = args.find((word) => !word.startsWith("--")) ?? join(ROOT, "out", "screenshots");
const pathOf = (name, theme, width) => join(out, `${name}-${theme}-${width}.png`);
const isDrawn = (name, theme, width) =>
  isForReadme ? README[name] === theme && width === README_WIDTH : new RegExp(lookPattern).test(`${theme} ${width}`) && new RegExp(scenePattern).test(name);
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
      const scenes = Object.entries(view.scenes).filter(([name]) => isDrawn(name, theme, width));
      if (scenes.length === 0) continue;
      const page = await browser.newPage({ viewport: { width, height: 760 }, deviceScaleFactor: 2 });
      for (const [name, scene] of scenes) {
        await drawScene(page, view, look, scene);
        await page.screenshot({ path: pathOf(name, theme, width) });
      }
      await page.close();
    }
  }
  if (isForReadme) {
    const pictures = Object.entries(README).map(([name, theme]) => ({ path: pathOf(name, theme, README_WIDTH), caption: "" }));
    await compose(browser, pictures, { columns: pictures.length, width: README_WIDTH }, join(ROOT, "docs", "themes.png"));
  }
} finally {
  await browser.close();
}
