/**
 * The short form of the journey and of the view's tests, in one VS Code window.
 *
 * Environment: as for the journey; STATIONS chooses among the steps of both files.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { HERE } from "./codeServer.mjs";

const folder = mkdtempSync(join(tmpdir(), "acp-e2e-script-"));
const script = join(folder, "short.script");
const [journey, view] = ["work.script", "view.script"].map((name) => readFileSync(join(HERE, name), "utf8"));
// The last prompt of each script is the one that answers everything else: one of them is enough.
writeFileSync(script, `${view.slice(0, view.lastIndexOf("prompt: *"))}\n${journey}`);
process.env.SCRIPT = script;
after(() => { rmSync(folder, { recursive: true, force: true }); });

await import("./journey.test.mjs");
await import("./view.test.mjs");
