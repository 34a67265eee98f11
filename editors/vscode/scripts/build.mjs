// Bundles the extension into dist/. Options: --minify, --watch.

import { build, context } from "esbuild";
import { HOST, VIEW } from "./bundling.mjs";

const minify = process.argv.includes("--minify");
const bundles = [HOST, VIEW].map((bundle) => ({ ...bundle, minify, sourcemap: !minify }));

if (process.argv.includes("--watch")) {
  for (const bundle of bundles) await (await context(bundle)).watch();
} else {
  await Promise.all(bundles.map((bundle) => build(bundle)));
}
