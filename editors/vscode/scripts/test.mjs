// Bundles and runs the test files. Arguments: parts of file names to select tests, and --server=PATH
// to also test against a real server.

import { spawnSync } from "node:child_process";
import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { ROOT, testsOf } from "./bundling.mjs";

const OUT = join(ROOT, "out", "tests");
const SERVER = "--server=";
const args = process.argv.slice(2);
const namePatterns = args.filter((word) => !word.startsWith(SERVER));
const server = args.find((word) => word.startsWith(SERVER))?.slice(SERVER.length);
const testFiles = readdirSync(join(ROOT, "tests"), { recursive: true })
  .filter((name) => /\.test\.tsx?$/.test(name))
  .filter((name) => namePatterns.length === 0 || namePatterns.some((part) => name.includes(part)));

rmSync(OUT, { recursive: true, force: true });
await build(testsOf(testFiles.map((name) => join("tests", name))));

// Each test of the view has a process, because its page is made of globals; the others share one.
const modules = testFiles.map((name) => name.replaceAll("\\", "/").replace(/\.tsx?$/, ".mjs"));
const [alone, together] = [true, false].map((own) => modules.filter((name) => name.startsWith("webview/") === own));
const SHARED = "together.mjs";
writeFileSync(join(OUT, SHARED), together.map((name) => `import "./${name}";\n`).join(""));
const files = [...(together.length > 0 ? [SHARED] : []), ...alone].map((name) => join(OUT, name));
const { status } = spawnSync(process.execPath, ["--enable-source-maps", "--test", "--test-reporter=spec", ...files], {
  cwd: ROOT,
  stdio: "inherit",
  env: server === undefined ? process.env : { ...process.env, ACP_SERVER: server },
});
process.exit(status ?? 1);
