/**
 * Renders Markdown tokens as DOM nodes.
 *
 * HTML is never parsed: tags in a text are shown as text, so there is nothing to sanitise. Links have
 * no target of their own; a click calls `onLink`.
 */
import type { MarkedToken, Token, Tokens } from "marked";
import { highlightInto } from "./highlight.js";
import { fileReferences, isFileReference } from "./fileReferences.js";
import type { MathToken } from "./mathTokens.js";
import { diagramImage, mathElement, sandboxedRenderers } from "./sandbox.js";
import { t } from "../../shared/l10n.js";

export type OnLink = (href: string) => void;

export interface RenderOptions {
  readonly onLink: OnLink;
  /** Whether the text still streams; long code is then not highlighted. */
  readonly isGrowing: boolean;
  /** Whether the text is in a link, so that it gets no further links. */
  readonly isInLink?: boolean;
}

const MAX_GROWING_CODE_CHARACTERS = 4000;
/** Diagrams and formulas of one text that are rendered; further ones stay source. */
const MAX_RENDERED = 200;
const COPIED_MILLISECONDS = 2000;
const LINE_BREAK = /^<br\s*\/?>$/i;
const COMMENT = /^<!--[\s\S]*-->\s*$/;
const DATA_IMAGE = /^data:image\/(png|jpeg|gif|webp);base64,/;

/** Return the element of a block token; null for an invisible one. */
export function renderBlock(token: Token, options: RenderOptions): HTMLElement | null {
  const marked = token as MarkedToken;
  switch (marked.type) {
    case "heading":
      return renderElement(`h${String(Math.min(marked.depth + 2, 6))}`, marked.tokens, options);
    case "paragraph":
      return renderElement("p", marked.tokens, options);
    case "text":
      return renderElement("p", marked.tokens ?? [marked], options);
    case "code":
      return renderCode(marked, options);
    case "list":
      return renderList(marked, options);
    case "blockquote":
      return appendBlocks(document.createElement("blockquote"), marked.tokens, options);
    case "table":
      return renderTable(marked, options);
    case "hr":
      return document.createElement("hr");
    case "html":
      return COMMENT.test(marked.raw.trim()) ? null : renderHtmlText(marked.raw.trim());
    case "space":
    case "def":
      return null;
    default:
      return isMath(token) ? renderMath(token, options) : textElement("p", token.raw);
  }
}

function isMath(token: Token): token is Token & MathToken {
  return token.type === "math" && "isBlock" in token;
}

/** Show a tag as text, except for line breaks. */
function renderHtmlText(raw: string): HTMLElement {
  const parts = raw.split(/<br\s*\/?>/i);
  const paragraph = document.createElement("p");
  for (const [index, part] of parts.entries()) {
    if (index > 0) paragraph.append(document.createElement("br"));
    paragraph.append(decodeEntities(part));
  }
  return paragraph;
}

function appendBlocks<E extends HTMLElement>(parent: E, tokens: readonly Token[], options: RenderOptions): E {
  for (const token of tokens) {
    const node = renderBlock(token, options);
    if (node !== null) parent.append(node);
  }
  return parent;
}

function renderCode(token: Tokens.Code, options: RenderOptions): HTMLElement {
  const language = (token.lang ?? "").split(/\s/, 1)[0] ?? "";
  const block = document.createElement("div");
  block.className = "code-block";
  const bar = document.createElement("div");
  bar.className = "code-bar";
  bar.append(textElement("span", language), copyButton(token.text));
  const pre = document.createElement("pre");
  pre.tabIndex = 0; // it scrolls, so it must be focusable by keyboard
  const code = document.createElement("code");
  const isPlain = options.isGrowing && token.text.length > MAX_GROWING_CODE_CHARACTERS;
  if (isPlain) code.append(token.text);
  else highlightInto(code, token.text, language.toLowerCase());
  pre.append(code);
  block.append(bar, pre);
  if (!options.isGrowing && language.toLowerCase() === "mermaid") renderDiagram(token.text, block, bar);
  if (!options.isGrowing && language.toLowerCase() === "math") {
    void showFormula(token.text, true, block);
  }
  return block;
}

let renderedCount = 0;

/** Show a diagram above its source, which can be shown with a button. */
function renderDiagram(source: string, block: HTMLElement, bar: HTMLElement): void {
  renderedCount += 1;
  if (renderedCount > MAX_RENDERED) return;
  const { classList } = document.body;
  const isDark =
    classList.contains("vscode-dark") ||
    (classList.contains("vscode-high-contrast") && !classList.contains("vscode-high-contrast-light"));
  void sandboxedRenderers.render("diagrams", { source, isBlock: true, isDark }).then((result) => {
    const image = diagramImage(result);
    if (image === null) return;
    const toggle = document.createElement("button");
    toggle.type = "button";
    toggle.className = "copy";
    const show = (isSource: boolean): void => {
      block.classList.toggle("shows-diagram", !isSource);
      toggle.textContent = isSource ? t("Diagram") : t("Source");
    };
    toggle.addEventListener("click", () => {
      show(block.classList.contains("shows-diagram"));
    });
    image.addEventListener("error", () => {
      show(true);
      image.remove();
      toggle.remove();
    });
    bar.append(toggle);
    bar.after(image);
    show(false);
  });
}

function renderMath({ text, raw, isBlock }: MathToken, { isGrowing }: RenderOptions): HTMLElement {
  const element = textElement(isBlock ? "p" : "span", raw.trim());
  element.className = "math";
  if (!isGrowing) void showFormula(text, isBlock, element);
  return element;
}

/** Replace the content of an element by a formula, if it can be rendered. */
async function showFormula(source: string, isBlock: boolean, element: HTMLElement): Promise<void> {
  renderedCount += 1;
  if (renderedCount > MAX_RENDERED) return;
  const formula = mathElement(await sandboxedRenderers.render("math", { source, isBlock, isDark: false }));
  if (formula === null) return;
  element.replaceChildren(formula);
  element.classList.add("is-formula");
  element.title = source;
}

function copyButton(text: string): HTMLElement {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = t("Copy");
  button.setAttribute("aria-label", t("Copy code"));
  button.addEventListener("click", () => {
    void navigator.clipboard.writeText(text).then(() => {
      button.textContent = t("Copied");
      setTimeout(() => {
        button.textContent = t("Copy");
      }, COPIED_MILLISECONDS);
    });
  });
  return button;
}

function renderList(token: Tokens.List, options: RenderOptions): HTMLElement {
  const list = document.createElement(token.ordered ? "ol" : "ul");
  if (token.ordered && token.start !== "" && token.start !== 1) {
    list.setAttribute("start", String(token.start));
  }
  list.append(...token.items.map((item) => renderItem(item, options)));
  return list;
}

function renderItem(token: Tokens.ListItem, options: RenderOptions): HTMLElement {
  const item = document.createElement("li");
  if (token.task) {
    item.className = "task";
    item.append(token.checked === true ? "☑ " : "☐ ");
  }
  for (const child of token.tokens) {
    if (child.type === "checkbox") continue;
    const inline = child.type === "text" ? (child as Tokens.Text) : null;
    if (inline === null) appendBlocks(item, [child], options);
    else appendInlines(item, inline.tokens ?? [inline], options);
  }
  return item;
}

function renderTable(token: Tokens.Table, options: RenderOptions): HTMLElement {
  const scroller = document.createElement("div");
  scroller.className = "table";
  scroller.tabIndex = 0;
  scroller.setAttribute("role", "group");
  scroller.setAttribute("aria-label", t("Table"));
  const table = document.createElement("table");
  const head = table.createTHead().insertRow();
  head.append(...token.header.map((cell) => renderCell("th", cell, options)));
  const body = table.createTBody();
  for (const cells of token.rows) {
    body.insertRow().append(...cells.map((cell) => renderCell("td", cell, options)));
  }
  scroller.append(table);
  return scroller;
}

function renderCell(tag: "th" | "td", cell: Tokens.TableCell, options: RenderOptions): HTMLElement {
  const node = renderElement(tag, cell.tokens, options);
  if (cell.align !== null) node.classList.add(`align-${cell.align}`);
  return node;
}

function renderElement(tag: string, tokens: readonly Token[], options: RenderOptions): HTMLElement {
  return appendInlines(document.createElement(tag), tokens, options);
}

function appendInlines(parent: HTMLElement, tokens: readonly Token[], options: RenderOptions): HTMLElement {
  for (const token of tokens) parent.append(renderInline(token as MarkedToken, options));
  return parent;
}

function renderInline(token: MarkedToken, options: RenderOptions): Node {
  switch (token.type) {
    case "text":
      if (token.tokens !== undefined) return renderElement("span", token.tokens, options);
      return renderText(decodeEntities(token.text), options);
    case "escape":
      return document.createTextNode(token.text);
    case "strong":
    case "em":
    case "del":
      return renderElement(token.type, token.tokens, options);
    case "codespan":
      return renderCodeSpan(token.text, options);
    case "html":
      if (LINE_BREAK.test(token.raw.trim())) return document.createElement("br");
      return document.createTextNode(COMMENT.test(token.raw) ? "" : token.raw);
    case "br":
      return document.createElement("br");
    case "link":
      return renderLink(token, options);
    case "image":
      return renderImage(token, options);
    default: {
      const other: Token = token;
      return isMath(other) ? renderMath(other, options) : document.createTextNode(token.raw);
    }
  }
}

/** Render a text; file references with a line, such as `src/app.ts:20`, become links. */
function renderText(text: string, options: RenderOptions): Node {
  const parts = options.isInLink === true ? [] : fileReferences(text);
  if (!parts.some(({ isFile }) => isFile)) return document.createTextNode(text);
  const fragment = document.createDocumentFragment();
  for (const part of parts) fragment.append(part.isFile ? linkTo(part.text, part.text, options) : part.text);
  return fragment;
}

function renderCodeSpan(text: string, options: RenderOptions): Node {
  if (options.isInLink === true || !isFileReference(text)) return textElement("code", text);
  const link = linkTo(text, "", options);
  link.append(textElement("code", text));
  return link;
}

function linkTo(href: string, text: string, { onLink }: RenderOptions): HTMLElement {
  const link = document.createElement("a");
  link.href = "#";
  link.title = t("Open {0}", href);
  link.append(text);
  link.addEventListener("click", (event) => {
    event.preventDefault();
    onLink(href);
  });
  return link;
}

function renderLink(token: Tokens.Link, { onLink, isGrowing }: RenderOptions): HTMLElement {
  const link = linkTo(token.href, "", { onLink, isGrowing });
  link.title = token.href;
  return appendInlines(link, token.tokens, { onLink, isGrowing, isInLink: true });
}

/**
 * Render data images inline and remote images as links: loading a remote image could leak
 * information to its server.
 */
function renderImage(token: Tokens.Image, { onLink }: RenderOptions): HTMLElement {
  if (DATA_IMAGE.test(token.href)) {
    const image = document.createElement("img");
    image.src = token.href;
    image.alt = token.text;
    return image;
  }
  const name = token.text === "" ? token.href : token.text;
  const text: Tokens.Text = { type: "text", raw: name, text: name, escaped: false };
  return renderLink({ ...token, type: "link", tokens: [text] }, { onLink, isGrowing: false });
}

function textElement(tag: string, text: string): HTMLElement {
  const node = document.createElement(tag);
  node.textContent = text;
  return node;
}

const ENTITY = /&(?:[a-z][a-z0-9]*|#\d+|#x[0-9a-f]+);/gi;

/** Decode character references. The browser parses each alone, so that no markup is ever parsed. */
function decodeEntities(text: string): string {
  if (!text.includes("&")) return text;
  return text.replaceAll(ENTITY, (entity) => new DOMParser().parseFromString(entity, "text/html").body.textContent);
}
