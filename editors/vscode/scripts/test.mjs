// Bundles and runs the test files. Arguments: parts of file names to select tests, and --server=PATH
// to also test against a real server.

import { spawnSync } from "node:child_process";
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { ROOT, testsOf } from "./bundling.mjs";

const SERVER = "--server=";
const args = process.argv.slice(2);
const namePatterns = args.filter((word) => !word.startsWith(SERVER));
const server = args.find((word) => word.startsWith(SERVER))?.slice(SERVER.length);
const testFiles = readdirSync(join(ROOT, "tests"), { recursive: true })
  .filter((name) => /\.test\.tsx?$/.test(name))
  .filter((name) => namePatterns.length === 0 || namePatterns.some((part) => name.includes(part)));

rmSync(join(ROOT, "out", "tests"), { recursive: true, force: true });
await build(testsOf(testFiles.map((name) => join("tests", name))));

const files = testFiles.map((name) => join("out", "tests", name.replace(/\.tsx?$/, ".mjs")));
const { status } = spawnSync(process.execPath, ["--enable-source-maps", "--test", "--test-reporter=spec", ...files], {
  cwd: ROOT,
  stdio: "inherit",
  env: server === undefined ? process.env : { ...process.env, ACP_SERVER: server },
});
process.exit(status ?? 1);
