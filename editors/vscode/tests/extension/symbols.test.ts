/** `_hermes/symbols`: answers by VS Code's language features, and none without them. */
import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { answerSymbols } from "../../src/extension/symbols.js";
import { editor, Position, Range, resetEditor, SymbolKind, TextDocument, Uri } from "../support/vscode.js";

const ORDERS = "class Order:\n    def total(self):\n        return 1\n";
const SHOP = "subtotal = 2\nprint(total)\n";
const PATH = "/p/orders.py";
const SYMBOLS = "vscode.executeDocumentSymbolProvider";
const WORKSPACE = "vscode.executeWorkspaceSymbolProvider";
const DEFINITION = "vscode.executeDefinitionProvider";
const REFERENCES = "vscode.executeReferenceProvider";
const RENAME = "vscode.executeDocumentRenameProvider";

beforeEach(() => {
  resetEditor();
  editor.documents = [new TextDocument(Uri.file(PATH), ORDERS), new TextDocument(Uri.file("/p/shop.py"), SHOP)];
});

function range(line: number, from: number, endLine: number, to: number): Range {
  return new Range(new Position(line, from), new Position(endLine, to));
}

function location(path: string, where: Range): { uri: Uri; range: Range } {
  return { uri: Uri.file(path), range: where };
}

const METHOD = {
  name: "total(self)",
  kind: SymbolKind.Method,
  range: range(1, 4, 2, 16),
  selectionRange: range(1, 8, 1, 13),
  children: [],
};
const CLASS = { name: "Order", kind: SymbolKind.Class, range: range(0, 0, 2, 16), selectionRange: range(0, 6, 0, 11), children: [METHOD] };
const METHOD_PLACE = { name: "total", kind: "method", containers: ["Order"], path: PATH, line: 2, endLine: 3, nameLine: 2 };

/** Return the file and the position at which a language feature was asked. */
function askedAt(command: string): unknown {
  const [, uri, position] = editor.executedCommands.find(([name]) => name === command) ?? [];
  const { line, character } = position as Position;
  return [(uri as Uri).path, line, character];
}

test("an outline has the symbols with what they are in", async () => {
  editor.commandResults.set(SYMBOLS, [CLASS]);
  const { symbols } = await answerSymbols({ action: "outline", path: PATH });
  const place = { ...METHOD_PLACE, name: "Order", kind: "class", containers: [], line: 1, nameLine: 1 };
  assert.deepEqual(symbols, [place, METHOD_PLACE]);
});

test("an outline of a server that knows no hierarchy is flat", async () => {
  const where = location(PATH, range(1, 4, 2, 16));
  editor.commandResults.set(SYMBOLS, [{ name: "total", kind: SymbolKind.Method, containerName: "Order", location: where }]);
  assert.deepEqual((await answerSymbols({ action: "outline", path: PATH })).symbols, [METHOD_PLACE]);
});

test("without language features there is no answer", async () => {
  for (const action of ["outline", "definition", "references", "rename"]) {
    assert.deepEqual(await answerSymbols({ action, path: PATH, name: "absent", newName: "b" }), {});
    if (action !== "outline") assert.deepEqual(await answerSymbols({ action, name: "total", newName: "b" }), {});
  }
  for (const params of [null, 7, {}, { action: 7, path: [] }]) assert.deepEqual(await answerSymbols(params), {});
});

test("a definition without a path is looked up in the workspace, by its qualified name", async () => {
  const found = (containerName: string, path: string, name = "total"): object =>
    ({ name, kind: SymbolKind.Method, containerName, location: location(path, range(1, 4, 2, 16)) });
  const elsewhere = { ...found("Order", PATH), location: { uri: new Uri("git", PATH), range: range(1, 0, 1, 1) } };
  editor.commandResults.set(WORKSPACE, [found("Order", PATH), found("Other", "/p/shop.py"), elsewhere, found("", PATH, "totals")]);
  assert.deepEqual((await answerSymbols({ action: "definition", name: "Order.total" })).symbols, [METHOD_PLACE]);
  assert.equal((await answerSymbols({ action: "definition", name: "total" })).symbols?.length, 2);
});

test("a definition from a file is asked for at the first whole word", async () => {
  editor.commandResults.set(DEFINITION, [
    { targetUri: Uri.file(PATH), targetRange: range(1, 4, 2, 16), targetSelectionRange: range(1, 8, 1, 13) },
    location("/lib/a.py", range(0, 0, 0, 5)),
  ]);
  const { symbols } = await answerSymbols({ action: "definition", path: "/p/shop.py", name: "total" });
  assert.deepEqual(symbols?.map(({ path, line, endLine }) => [path, line, endLine]), [[PATH, 2, 3], ["/lib/a.py", 1, 1]]);
  assert.deepEqual(askedAt(DEFINITION), ["/p/shop.py", 1, 6]);
});

test("references are asked for at the name of the symbol, also if its range begins before it", async () => {
  editor.commandResults.set(REFERENCES, [location(PATH, range(1, 8, 1, 13)), location("/p/shop.py", range(1, 6, 1, 11))]);
  const where = location(PATH, range(1, 4, 2, 16));
  editor.commandResults.set(WORKSPACE, [{ name: "total", kind: SymbolKind.Method, containerName: "Order", location: where }]);
  const { places } = await answerSymbols({ action: "references", name: "total" });
  assert.deepEqual(places, [
    { path: PATH, line: 2, column: 8, endLine: 2, endColumn: 13 },
    { path: "/p/shop.py", line: 2, column: 6, endLine: 2, endColumn: 11 },
  ]);
  assert.deepEqual(askedAt(REFERENCES), [PATH, 1, 8]);
});

test("a rename is answered with its edits, and changes nothing", async () => {
  editor.commandResults.set(SYMBOLS, [CLASS]);
  const edits = [{ range: range(1, 8, 1, 13), newText: "sum" }];
  editor.commandResults.set(RENAME, { entries: () => [[Uri.file(PATH), edits]] });
  const answer = await answerSymbols({ action: "rename", path: PATH, name: "Order.total", newName: "sum" });
  assert.deepEqual(answer.edits, [{ path: PATH, line: 2, column: 8, endLine: 2, endColumn: 13, newText: "sum" }]);
  assert.deepEqual(askedAt(RENAME), [PATH, 1, 8]);
  assert.equal(editor.documents[0]?.text, ORDERS);
});

test("a name with several meanings is not renamed: the symbols are returned", async () => {
  const other = { ...CLASS, name: "Other", children: [METHOD] };
  editor.commandResults.set(SYMBOLS, [CLASS, other]);
  const answer = await answerSymbols({ action: "rename", path: PATH, name: "total", newName: "sum" });
  assert.deepEqual(answer.symbols?.map(({ containers }) => containers), [["Order"], ["Other"]]);
  assert.deepEqual(editor.executedCommands.filter(([name]) => name === RENAME), []);
});
