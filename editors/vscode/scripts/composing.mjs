// Arranges pictures in a grid, as one picture. Run as a program, this makes a contact sheet of a folder's pictures, in
// the order of their names, with these as captions. Arguments: folder, output, columns (3) and width of one in pixels (400).

import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const LAUNCH = { executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] };
const STYLE = `body { margin: 0; width: max-content; background: #808080; font: 12px system-ui, "DejaVu Sans", sans-serif; }
  main { display: grid; gap: 8px; padding: 8px; align-items: start; }
  figure { margin: 0; } img { display: block; width: 100%; } figcaption { padding: 3px 6px; background: #fff; color: #000; }`;

/** Write pictures with captions, which may be empty, into one: in columns, each of a width in pixels. */
export async function compose(browser, pictures, { columns, width }, out) {
  const figures = await Promise.all(pictures.map(async ({ path, caption }) => {
    const data = (await readFile(path)).toString("base64");
    return `<figure><img src="data:image/png;base64,${data}" alt="">${caption === "" ? "" : `<figcaption>${caption}</figcaption>`}</figure>`;
  }));
  const page = await browser.newPage({ viewport: { width: columns * (width + 8) + 8, height: 100 } });
  await page.setContent(`<style>${STYLE} main { grid-template-columns: repeat(${columns}, ${width}px); }</style><main>${figures.join("")}</main>`);
  await page.screenshot({ path: out, fullPage: true });
  await page.close();
}

/** The caption of a picture: its name, without the number that orders it. */
function captionOf(name) {
  return name.replace(/\.png$/, "").replace(/^\d+-/, "").replaceAll("-", " ");
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [folder, out, columns = "3", width = "400"] = process.argv.slice(2);
  const names = (await readdir(folder)).filter((name) => name.endsWith(".png")).sort();
  const browser = await chromium.launch(LAUNCH);
  await compose(browser, names.map((name) => ({ path: join(folder, name), caption: captionOf(name) })), { columns: Number(columns), width: Number(width) }, out);
  await browser.close();
}
