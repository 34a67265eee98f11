// Bundles the extension into dist/, with the README as the guide that a command opens. Options: --minify, --watch.

import { copyFile } from "node:fs/promises";
import { join } from "node:path";
import { build, context } from "esbuild";
import { HOST, ROOT, VIEW } from "./bundling.mjs";

const minify = process.argv.includes("--minify");
const bundles = [HOST, VIEW].map((bundle) => ({ ...bundle, minify, sourcemap: !minify }));

// VS Code's preview shows pictures from the folder of a page and below.
await copyFile(join(ROOT, "README.md"), join(ROOT, "guide.md"));

if (process.argv.includes("--watch")) {
  for (const bundle of bundles) await (await context(bundle)).watch();
} else {
  await Promise.all(bundles.map((bundle) => build(bundle)));
}
