// Renders media/icon.png, which the marketplace requires, from media/icon.svg with Chromium.
// Environment: CHROMIUM (default /usr/bin/chromium).

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { ROOT } from "./bundling.mjs";

const SIZE = 256;

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox"],
});
try {
  const page = await browser.newPage({ viewport: { width: SIZE, height: SIZE } });
  const svg = await readFile(join(ROOT, "media", "icon.svg"), "utf8");
  await page.setContent(`<style>body { margin: 0 }</style>${svg}`);
  await page.screenshot({ path: join(ROOT, "media", "icon.png"), omitBackground: true });
} finally {
  await browser.close();
}
