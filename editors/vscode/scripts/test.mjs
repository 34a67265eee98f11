// Bundles and runs the test files. Arguments: parts of file names to select tests, and --server=PATH
// to also test against a real server. Errors of selected tests are placed in the sources; to read the maps of all
// takes as long as many tests.

import { spawnSync } from "node:child_process";
import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { ROOT, testsOf } from "./bundling.mjs";

const OUT = join(ROOT, "out", "tests");
const SERVER = "--server=";
const args = process.argv.slice(2);
const namePatterns = args.filter((word) => !word.startsWith(SERVER));
const isSelection = namePatterns.length > 0;
const server = args.find((word) => word.startsWith(SERVER))?.slice(SERVER.length);
const testFiles = readdirSync(join(ROOT, "tests"), { recursive: true })
  .filter((name) => /\.test\.tsx?$/.test(name))
  .filter((name) => !isSelection || namePatterns.some((part) => name.includes(part)));

// The tests of the view share one page, which takes as long to load as many tests; but the language of its
// texts is chosen before it is loaded. The other tests have modules of their own.
const isOfView = (name) => name.startsWith("webview") && !name.includes("pseudoLocale");
const groups = [
  { runner: "host.mjs", names: testFiles.filter((name) => !name.startsWith("webview")), splitting: false },
  { runner: "view.mjs", names: testFiles.filter(isOfView), splitting: true },
  { runner: "language.mjs", names: testFiles.filter((name) => name.startsWith("webview") && !isOfView(name)), splitting: false },
].filter(({ names }) => names.length > 0);

/** Return a program that runs test files in one process, each as a suite, so that hooks of one concern no other. */
function runnerOf(names) {
  const suites = names
    .map((name) => name.replaceAll("\\", "/").replace(/\.tsx?$/, ".mjs"))
    .map((name) => `await describe("${name}", () => import("./${name}"));\n`);
  return `import { describe } from "node:test";\n${suites.join("")}`;
}

rmSync(OUT, { recursive: true, force: true });
for (const { runner, names, splitting } of groups) {
  await build(testsOf(names.map((name) => join("tests", name)), { splitting, sourcemap: isSelection }));
  writeFileSync(join(OUT, runner), runnerOf(names));
}
// More room for young objects: jsdom makes many, and to look for garbage among them took a tenth of the time.
const options = ["--max-semi-space-size=64", ...(isSelection ? ["--enable-source-maps"] : []), "--test-reporter=spec", "--test"];
const { status } = spawnSync(process.execPath, [...options, ...groups.map(({ runner }) => join(OUT, runner))], {
  cwd: ROOT,
  stdio: "inherit",
  // The runners load the same large packages.
  env: { ...process.env, NODE_COMPILE_CACHE: join(ROOT, "node_modules", ".compile-cache"), ...(server === undefined ? {} : { ACP_SERVER: server }) },
});
process.exit(status ?? 1);
