/**
 * Renders Markdown tokens as DOM nodes.
 *
 * HTML is never parsed: tags in a text are shown as text, so there is nothing to sanitise. Links have
 * no target of their own; a click calls `onLink`.
 */
import type { MarkedToken, Token, Tokens } from "marked";
import { highlightCode } from "./highlight.js";

export type OnLink = (href: string) => void;

export interface RenderOptions {
  readonly onLink: OnLink;
  /** Whether the text still streams; long code is then not highlighted. */
  readonly isGrowing: boolean;
}

const MAX_GROWING_CODE_CHARACTERS = 4000;
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
      return textElement("p", marked.raw.trim());
    case "space":
    case "def":
      return null;
    default:
      return textElement("p", token.raw);
  }
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
  code.append(isPlain ? token.text : highlightCode(token.text, language.toLowerCase()));
  pre.append(code);
  block.append(bar, pre);
  return block;
}

function copyButton(text: string): HTMLElement {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  button.setAttribute("aria-label", "Copy code");
  button.addEventListener("click", () => {
    void navigator.clipboard.writeText(text).then(() => {
      button.textContent = "Copied";
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
  if (token.task) item.append(token.checked === true ? "☑ " : "☐ ");
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
  scroller.setAttribute("aria-label", "Table");
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
      return document.createTextNode(decodeEntities(token.text));
    case "escape":
      return document.createTextNode(token.text);
    case "strong":
    case "em":
    case "del":
      return renderElement(token.type, token.tokens, options);
    case "codespan":
      return textElement("code", token.text);
    case "br":
      return document.createElement("br");
    case "link":
      return renderLink(token, options);
    case "image":
      return renderImage(token, options);
    default:
      return document.createTextNode(token.raw);
  }
}

function renderLink(token: Tokens.Link, { onLink, isGrowing }: RenderOptions): HTMLElement {
  const link = document.createElement("a");
  link.href = "#";
  link.title = token.href;
  link.addEventListener("click", (event) => {
    event.preventDefault();
    onLink(token.href);
  });
  return appendInlines(link, token.tokens, { onLink, isGrowing });
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

const ENTITIES: Readonly<Record<string, string>> = {
  "&amp;": "&",
  "&lt;": "<",
  "&gt;": ">",
  "&quot;": '"',
  "&#39;": "'",
  "&nbsp;": "\u00a0",
};

function decodeEntities(text: string): string {
  return text.replaceAll(/&(?:amp|lt|gt|quot|#39|nbsp);/g, (entity) => ENTITIES[entity] ?? entity);
}
