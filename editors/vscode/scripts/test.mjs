// Bundles the tests, each file by itself, and runs them. Arguments: parts of names to run alone, and
// --server=PATH for a real server to talk to besides.

import { spawnSync } from "node:child_process";
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { ROOT, testsOf } from "./bundling.mjs";

const SERVER = "--server=";
const given = process.argv.slice(2);
const wanted = given.filter((word) => !word.startsWith(SERVER));
const server = given.find((word) => word.startsWith(SERVER))?.slice(SERVER.length);
const found = readdirSync(join(ROOT, "tests"), { recursive: true })
  .filter((name) => /\.test\.tsx?$/.test(name))
  .filter((name) => wanted.length === 0 || wanted.some((part) => name.includes(part)));

rmSync(join(ROOT, "out", "tests"), { recursive: true, force: true });
await build(testsOf(found.map((name) => join("tests", name))));

const files = found.map((name) => join("out", "tests", name.replace(/\.tsx?$/, ".mjs")));
const { status } = spawnSync(process.execPath, ["--enable-source-maps", "--test", "--test-reporter=spec", ...files], {
  cwd: ROOT,
  stdio: "inherit",
  env: server === undefined ? process.env : { ...process.env, ACP_SERVER: server },
});
process.exit(status ?? 1);
