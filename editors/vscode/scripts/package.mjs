// Packs the extension with vsce. Arguments are passed on, such as --out FILE.
//
// VS Code's page of an extension shows only pictures with an https address, so vsce rewrites the README's
// relative links to the repository. For a repository that vsce cannot address, they stay relative; the
// pictures are in the package in both cases.

import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./bundling.mjs";

const { repository } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
const { hostname } = new URL(repository.url);
const links = ["github.com", "gitlab.com"].includes(hostname) ? [] : ["--no-rewrite-relative-links"];
const args = ["package", "--no-dependencies", ...links, "--out", "acp-server.vsix", ...process.argv.slice(2)];
const { status } = spawnSync("npx", ["--yes", "@vscode/vsce@3.7.1", ...args], {
  cwd: ROOT,
  stdio: "inherit",
  shell: process.platform === "win32",
});
process.exit(status ?? 1);
