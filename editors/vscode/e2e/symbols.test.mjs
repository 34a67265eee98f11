/** Symbols in VS Code: the server asks VS Code's own language features. Environment: see view.test.mjs. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { CodeServer, HERE, installedFolder } from "./codeServer.mjs";
import { Window } from "./window.mjs";

const { ACP_SERVER: server, VSIX: vsix, CHROMIUM: program = "/usr/bin/chromium" } = process.env;
const ORDER = "export class Order {\n  total(): number {\n    return 1;\n  }\n}\n";
/** A comment and another class's method have the name, too: only a language service tells them apart. */
const USE = [
  'import { Order } from "./order";',
  "class Other { total(): number { return 2; } }",
  "// total",
  "export const due = new Order().total() + new Other().total();",
  "",
].join("\n");

let code;
let window;

before(async () => {
  code = await CodeServer.start({ installed: installedFolder(), server, vsix, model: `scripted:${join(HERE, "symbols.script")}` });
  await writeFile(join(code.workspace, "order.ts"), ORDER);
  await writeFile(join(code.workspace, "use.ts"), USE);
  window = await Window.open(code.url, { program });
  await window.openChat();
});

after(async () => {
  await window?.close();
  await code?.stop();
});

test("definition, references and a rename come from VS Code's language features", async () => {
  await window.openFile("use.ts");
  await window.openFile("order.ts");
  await window.chat.ask("where is total");
  const calls = await window.chat.at("tool-call").all();
  const texts = [];
  for (const call of calls) {
    await call.getByRole("button").first().click();
    texts.push(await call.textContent());
  }
  const [definition, references, rename, outline] = texts;
  assert.match(definition, /order\.ts:2-4 method Order\.total/);
  assert.match(references, /2 found/);
  assert.match(rename, /\+export const due = new Order\(\)\.sum\(\) \+ new Other\(\)\.total\(\);/);
  assert.match(outline, /Order/);
});
