/** What the package consists of: sizes, licences, and the page's policy. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { test } from "node:test";
import { build, type BuildOptions, type Metafile } from "esbuild";

/** Limit for the files that are loaded at activation and with the view, in bytes. */
const MAX_LOADED_BYTES = 400 * 1024;
const LOADED_AT_FIRST_USE = ["highlight", "diagrams", "math", "review", "symbols", "actions", "agents", "mcpServers"];

const bundling = pathToFileURL(join(process.cwd(), "scripts", "bundling.mjs")).href;
const { HOST, VIEW } = (await import(bundling)) as { HOST: BuildOptions; VIEW: BuildOptions };

async function outputsOf(options: BuildOptions): Promise<Metafile> {
  return (await build({ ...options, minify: true, metafile: true, write: false })).metafile;
}

test("what is loaded at activation and with the view is small, and every bundled package is listed", async () => {
  const metafiles = await Promise.all([outputsOf(HOST), outputsOf(VIEW)]);
  const outputs = metafiles.flatMap(({ outputs: all }) => Object.entries(all));
  const isLoaded = ([name]: [string, unknown]): boolean => !LOADED_AT_FIRST_USE.some((part) => name.endsWith(`/${part}.js`));
  const bytes = outputs.filter(isLoaded).reduce((sum, [, output]) => sum + output.bytes, 0);
  assert.ok(bytes < MAX_LOADED_BYTES, `${String(bytes)} bytes`);
  const inputs = outputs.flatMap(([, output]) => Object.entries(output.inputs).filter(([, { bytesInOutput }]) => bytesInOutput > 0));
  const names = new Set(inputs.flatMap(([path]) => /node_modules\/((?:@[^/]+\/)?[^/]+)\/(?!.*node_modules\/)/.exec(path)?.[1] ?? []));
  const listed = await readFile("THIRD_PARTY.md", "utf8");
  assert.deepEqual([...names].filter((name) => !listed.includes(`| ${name} |`)).sort(), []);
});

test("no bundle of the host reads the browser's global `navigator`", async () => {
  const { outputFiles } = await build({ ...HOST, minify: true, write: false });
  assert.doesNotMatch(outputFiles[0]?.text ?? "", /\bnavigator\b/);
});
