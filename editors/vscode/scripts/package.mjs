// Packs the extension with vsce. Arguments are passed on, such as --out FILE.
//
// VS Code's page of an extension shows only pictures with an https address. vsce gives them one if it knows the
// repository; otherwise the packed README leads to the guide, which shows them from the package (`build.mjs`).

import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./bundling.mjs";

const PACKED_README = "out/README.md";
const PICTURE = /^!\[.*\]\(.*\)\n\n/gm;
const PICTURES = /^## How it looks\n[^]*?(?=^## )/m;
const GUIDE = "## How it looks\n\nRun `Hermes Agent: Open the Guide` for this page with pictures.\n\n";

const { repository } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
const hasAddresses = ["github.com", "gitlab.com"].includes(new URL(repository.url).hostname);
const readme = readFileSync(join(ROOT, "README.md"), "utf8");
mkdirSync(join(ROOT, "out"), { recursive: true });
writeFileSync(join(ROOT, PACKED_README), readme.replace(PICTURES, GUIDE).replaceAll(PICTURE, ""));
const links = hasAddresses ? [] : ["--no-rewrite-relative-links", "--readme-path", PACKED_README];
const args = ["package", "--no-dependencies", ...links, "--out", "acp-server.vsix", ...process.argv.slice(2)];
const { status } = spawnSync("npx", ["--yes", "@vscode/vsce@3.7.1", ...args], {
  cwd: ROOT,
  stdio: "inherit",
  shell: process.platform === "win32",
});
process.exit(status ?? 1);
