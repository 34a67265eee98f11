// Checks the types of sources and tests, unless the same files passed before.

import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { ROOT } from "./bundling.mjs";

const STAMP = join(ROOT, "out", "typecheck.stamp");

/** Return a digest of all that the result depends on; the lock stands for the packages. */
function digestOfInputs() {
  const inFolders = ["src", "tests"].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath ?? entry.path, entry.name)),
  );
  const hash = createHash("sha256");
  for (const path of [...inFolders.sort(), ...["tsconfig.json", "package.json", "package-lock.json"].map((name) => join(ROOT, name))]) {
    const content = readFileSync(path);
    hash.update(`${path}\0${String(content.length)}\0`).update(content);
  }
  return hash.digest("hex");
}

function passedBefore(digest) {
  try {
    return readFileSync(STAMP, "ascii") === digest;
  } catch {
    return false;
  }
}

const digest = digestOfInputs();
if (!passedBefore(digest)) {
  const tsc = createRequire(import.meta.url).resolve("typescript/bin/tsc");
  const { status } = spawnSync(process.execPath, [tsc, "--noEmit"], { cwd: ROOT, stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
  mkdirSync(dirname(STAMP), { recursive: true });
  writeFileSync(STAMP, digest);
}
