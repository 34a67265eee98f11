/**
 * Answers `_hermes/symbols` with what VS Code's language features know. Loaded at the first request.
 *
 * An answer has places, never texts of files: the server reads those itself, if its user permits it.
 * Lines count from 1, columns from 0 in UTF-16 units. An action that no extension provides is answered
 * with nothing, and the server looks by itself.
 */
import {
  commands,
  SymbolKind,
  Uri,
  workspace,
  type DocumentSymbol,
  type Location,
  type LocationLink,
  type Position,
  type Range,
  type SymbolInformation,
  type TextEdit,
  type WorkspaceEdit,
} from "vscode";
import { isRecord } from "../shared/validation.js";

const MAX_RESULTS = 1000;
const SEPARATORS = /::|->|[.#]/;

/** A symbol, and the lines of its definition. */
interface SymbolPlace {
  readonly name: string;
  readonly kind: string;
  readonly containers: readonly string[];
  readonly path: string;
  readonly line: number;
  readonly endLine: number;
  readonly nameLine: number;
}

interface TextPlace {
  readonly path: string;
  readonly line: number;
  readonly column: number;
  readonly endLine: number;
  readonly endColumn: number;
}

export interface SymbolAnswer {
  readonly symbols?: readonly SymbolPlace[];
  readonly places?: readonly TextPlace[];
  readonly edits?: readonly (TextPlace & { readonly newText: string })[];
}

/** A name as the agent gives it, such as `Order.total`. */
interface QualifiedName {
  readonly last: string;
  readonly containers: readonly string[];
}

/** Answer one request; see the protocol extensions of the server. */
export async function answerSymbols(params: unknown): Promise<SymbolAnswer> {
  const text = (key: string): string => {
    const value = isRecord(params) ? params[key] : "";
    return typeof value === "string" ? value : "";
  };
  const [action, path] = [text("action"), text("path")];
  if (action === "outline") {
    const symbols = await symbolsOf(Uri.file(path));
    return symbols === null ? {} : { symbols: symbols.slice(0, MAX_RESULTS) };
  }
  const parts = partsOf(text("name").replace(/\(\)$/, ""));
  const name = { last: parts.at(-1) ?? "", containers: parts.slice(0, -1) };
  const found = path === "" ? await inWorkspace(name) : await inFile(Uri.file(path), name);
  if (path === "" && action === "definition") return found.length === 0 ? {} : { symbols: found.map(({ symbol }) => symbol) };
  const [first, ...others] = found;
  if (first === undefined) return {};
  if (action === "definition") return definitionOf(first, name);
  // Only one symbol can be meant; the agent is told of the others, and chooses.
  if (others.length > 0) return { symbols: found.map(({ symbol }) => symbol) };
  return action === "rename" ? renameOf(first, text("newName")) : referencesTo(first);
}

function partsOf(name: string): string[] {
  return name.split(SEPARATORS).filter((part) => part !== "");
}

/** A symbol and the position of its name. */
interface NamePosition {
  readonly symbol: SymbolPlace;
  readonly uri: Uri;
  readonly position: Position;
}

/** Return the symbols that a file defines; null if no extension knows its language. */
async function symbolsOf(uri: Uri): Promise<SymbolPlace[] | null> {
  const found = await run<(DocumentSymbol | SymbolInformation)[]>("vscode.executeDocumentSymbolProvider", uri);
  return found === undefined || found.length === 0 ? null : flatten(uri, found, []).map(({ symbol }) => symbol);
}

function flatten(uri: Uri, symbols: readonly (DocumentSymbol | SymbolInformation)[], containers: readonly string[]): NamePosition[] {
  return symbols.flatMap((each) => {
    if (!("children" in each)) {
      const inside = each.containerName === "" ? [] : [each.containerName];
      const symbol = placeOf(each.name, kindOf(each), inside, each.location);
      return [{ symbol, uri, position: each.location.range.start }];
    }
    const symbol = placeOf(each.name, kindOf(each), containers, { uri, range: each.range }, each.selectionRange);
    return [{ symbol, uri, position: each.selectionRange.start }, ...flatten(uri, each.children, [...containers, each.name])];
  });
}

function kindOf({ kind }: { readonly kind: SymbolKind }): string {
  return SymbolKind[kind].toLowerCase();
}

function placeOf(name: string, kind: string, containers: readonly string[], { uri, range }: Pick<Location, "uri" | "range">, nameRange = range): SymbolPlace {
  return {
    // Some servers add parameters: `total(int)`.
    name: name.replace(/\(.*$/, ""),
    kind,
    containers,
    path: uri.fsPath,
    line: range.start.line + 1,
    endLine: range.end.line + 1,
    nameLine: nameRange.start.line + 1,
  };
}

/** Return the symbols of the workspace that a name may mean. */
async function inWorkspace(name: QualifiedName): Promise<NamePosition[]> {
  const found = await run<SymbolInformation[]>("vscode.executeWorkspaceSymbolProvider", name.last);
  const matching = (found ?? [])
    .filter(({ location }) => location.uri.scheme === "file")
    .map((each) => ({
      symbol: placeOf(each.name, kindOf(each), partsOf(each.containerName), each.location),
      uri: each.location.uri,
      range: each.location.range,
    }))
    .filter(({ symbol }) => isMeant(symbol, name));
  return Promise.all(matching.slice(0, MAX_RESULTS).map(async ({ symbol, uri, range }) => {
    // Some servers give the range of the whole definition: the name is further on.
    const document = await workspace.openTextDocument(uri);
    const start = document.offsetAt(range.start);
    const offset = wordIn(document.getText().slice(start), name.last);
    return { symbol, uri, position: offset < 0 ? range.start : document.positionAt(start + offset) };
  }));
}

/** Return where a file defines a name, or else where it first has the word. */
async function inFile(uri: Uri, name: QualifiedName): Promise<NamePosition[]> {
  const symbols = (await run<(DocumentSymbol | SymbolInformation)[]>("vscode.executeDocumentSymbolProvider", uri)) ?? [];
  const defined = flatten(uri, symbols, []).filter(({ symbol }) => isMeant(symbol, name));
  if (defined.length > 0) return defined;
  const document = await workspace.openTextDocument(uri);
  const offset = wordIn(document.getText(), name.last);
  if (offset < 0) return [];
  const position = document.positionAt(offset);
  const line = position.line + 1;
  return [{ symbol: { name: name.last, kind: "symbol", containers: [], path: uri.fsPath, line, endLine: line, nameLine: line }, uri, position }];
}

function isMeant({ name, containers }: SymbolPlace, wanted: QualifiedName): boolean {
  const inner = containers.slice(containers.length - Math.min(containers.length, wanted.containers.length));
  return name === wanted.last && inner.join(".") === wanted.containers.join(".");
}

/** Return the offset of a whole word in a text; -1 if it is not there. */
function wordIn(text: string, word: string): number {
  let start = text.indexOf(word);
  const isPart = (character: string | undefined): boolean => character !== undefined && /[\p{L}\p{N}_$]/u.test(character);
  while (start >= 0 && (isPart(text[start - 1]) || isPart(text[start + word.length]))) start = text.indexOf(word, start + 1);
  return start;
}

async function definitionOf({ uri, position }: NamePosition, { last }: QualifiedName): Promise<SymbolAnswer> {
  const found = await run<(Location | LocationLink)[]>("vscode.executeDefinitionProvider", uri, position);
  const symbols = (found ?? []).map((each) => {
    const [target, range, name] = "targetUri" in each
      ? [each.targetUri, each.targetRange, each.targetSelectionRange ?? each.targetRange]
      : [each.uri, each.range, each.range];
    return placeOf(last, "symbol", [], { uri: target, range }, name);
  });
  return symbols.length === 0 ? {} : { symbols };
}

async function referencesTo({ uri, position }: NamePosition): Promise<SymbolAnswer> {
  const found = await run<Location[]>("vscode.executeReferenceProvider", uri, position);
  if (found === undefined || found.length === 0) return {};
  return { places: found.slice(0, MAX_RESULTS).map((each) => textPlaceOf(each.uri, each.range)) };
}

async function renameOf({ uri, position }: NamePosition, newName: string): Promise<SymbolAnswer> {
  const edit = await run<WorkspaceEdit>("vscode.executeDocumentRenameProvider", uri, position, newName);
  const edits = (edit?.entries() ?? []).flatMap(([target, all]: [Uri, TextEdit[]]) =>
    all.map(({ range, newText }) => ({ ...textPlaceOf(target, range), newText })),
  );
  return edits.length === 0 ? {} : { edits };
}

function textPlaceOf(uri: Uri, { start, end }: Range): TextPlace {
  return { path: uri.fsPath, line: start.line + 1, column: start.character, endLine: end.line + 1, endColumn: end.character };
}

async function run<Result>(command: string, ...args: unknown[]): Promise<Result | undefined> {
  return commands.executeCommand<Result | undefined>(command, ...args);
}
