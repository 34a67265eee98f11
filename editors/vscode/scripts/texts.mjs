// Finds the texts that users see in the sources, by their syntax trees.
//
// A text stands as `t("…")` (`src/shared/l10n.ts`), in English. `textsIn` returns those of a source file, and
// `strayTextsIn` the prose that no `t` surrounds. Run as a program, this writes the file for translators.

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { ROOT } from "./bundling.mjs";

// Imported as a module, it is scanned for its exports first, which takes twice as long as to load it.
const ts = createRequire(import.meta.url)("typescript");

const SOURCES = join(ROOT, "src");
export const BUNDLE = join(ROOT, "l10n", "bundle.l10n.json");
/** Attributes of elements and properties of components with text for people. */
const TEXT_ATTRIBUTES = new Set(["alt", "aria-label", "aria-description", "aria-roledescription", "label", "placeholder", "title", "text", "message"]);
/** Methods whose arguments are for developers: the log, and the page's own interface. */
const UNSEEN_CALLS = new Set(["info", "warn", "error", "trace", "querySelector", "querySelectorAll", "closest", "matches", "addEventListener"]);

let parsed;

/** Return the syntax trees of all sources, by path below `src/`. */
export function sources() {
  return (parsed ??= parse());
}

function parse() {
  const names = readdirSync(SOURCES, { recursive: true }).filter((name) => /\.tsx?$/.test(name) && !name.endsWith(".d.ts"));
  return names.sort().map((name) => {
    const text = readFileSync(join(SOURCES, name), "utf8");
    return { name: name.replaceAll("\\", "/"), tree: ts.createSourceFile(name, text, ts.ScriptTarget.ES2022, true) };
  });
}

/** Return the texts that a source passes to `t`. @throws if one is not a literal, because it could not be listed. */
export function textsIn(tree) {
  const found = [];
  visit(tree, (node) => {
    if (!isTranslation(node)) return;
    const [text] = node.arguments;
    if (text === undefined || !ts.isStringLiteralLike(text)) throw new Error(`${tree.fileName}: the text of t() must be a literal: ${node.getText()}`);
    found.push(text.text);
  });
  return found;
}

/** Return the content of the file for translators: each text of the sources, sorted, with itself as its translation. */
export function bundleOf(trees) {
  const texts = [...new Set(trees.flatMap(({ tree }) => textsIn(tree)))].sort();
  return `${JSON.stringify(Object.fromEntries(texts.map((text) => [text, text])), null, 2)}\n`;
}

/** Return the prose of a source that is not translated, with its line. */
export function strayTextsIn(tree) {
  const found = [];
  visit(tree, (node) => {
    const text = textOf(node);
    if (text === null || isUnseen(node) || !(isAlwaysShown(node) ? /[A-Za-z]{2}/.test(text) : isProse(text))) return;
    const { line } = tree.getLineAndCharacterOfPosition(node.getStart());
    found.push({ line: line + 1, text: text.trim() });
  });
  return found;
}

function visit(node, action) {
  action(node);
  ts.forEachChild(node, (child) => visit(child, action));
}

function isTranslation(node) {
  return ts.isCallExpression(node) && ts.isIdentifier(node.expression) && node.expression.text === "t";
}

/** Return the text of a literal, with `{}` for each value in it; null for any other node. */
function textOf(node) {
  if (ts.isJsxText(node) || ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node)) return node.text;
  if (!ts.isTemplateExpression(node)) return null;
  return [node.head.text, ...node.templateSpans.map((span) => span.literal.text)].join("{}");
}

/** Whether a literal is the text of an element, or of an attribute for people. */
function isAlwaysShown(node) {
  return ts.isJsxText(node) || (ts.isJsxAttribute(node.parent) && TEXT_ATTRIBUTES.has(node.parent.name.getText()));
}

/** Whether a text is made of words: a capitalized one, or several. */
function isProse(text) {
  return /^\d+ [a-z]|^\W*[A-Z][a-z]+(?:$|[^A-Za-z])/.test(text) || /[A-Za-z]{2,}[,.:]? +[A-Za-z{]|\} [a-z]{2,}/.test(text);
}

/** Whether a literal's place in the tree says that nobody sees it, or that it is translated. */
function isUnseen(node) {
  const { parent } = node;
  if (ts.isImportDeclaration(parent) || ts.isExportDeclaration(parent) || ts.isLiteralTypeNode(parent)) return true;
  if (ts.isCaseClause(parent) || ts.isElementAccessExpression(parent)) return true;
  if (ts.isPropertyAssignment(parent) && parent.name === node) return true;
  if (ts.isBinaryExpression(parent) && [ts.SyntaxKind.EqualsEqualsEqualsToken, ts.SyntaxKind.ExclamationEqualsEqualsToken].includes(parent.operatorToken.kind)) return true;
  for (let each = node; each !== undefined && !ts.isStatement(each); each = each.parent) {
    if (isTranslation(each)) return true;
    if (ts.isJsxAttribute(each)) return !TEXT_ATTRIBUTES.has(each.name.getText());
    const called = each.parent !== undefined && ts.isCallExpression(each.parent) && each.parent.expression !== each ? each.parent.expression : undefined;
    if (called !== undefined && ts.isPropertyAccessExpression(called) && UNSEEN_CALLS.has(called.name.text)) return true;
  }
  return false;
}

if (process.argv[1] === import.meta.filename) writeFileSync(BUNDLE, bundleOf(sources()));
