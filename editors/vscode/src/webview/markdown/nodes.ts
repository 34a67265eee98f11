/**
 * Markdown's tokens as nodes of the page.
 *
 * Owns how each kind of token looks. No HTML is ever parsed: tags in a text are shown as text, so
 * there is nothing to sanitise. Links are told to whoever asked, and go nowhere by themselves.
 */
import type { MarkedToken, Token, Tokens } from "marked";
import { highlighted } from "./highlight.js";

export type OnLink = (href: string) => void;

export interface Drawing {
  readonly onLink: OnLink;
  /** Code that still grows is not coloured above a size. */
  readonly isGrowing: boolean;
}

const MOST_GROWING = 4000;
const DATA_IMAGE = /^data:image\/(png|jpeg|gif|webp);base64,/;

/** Return the node of a block; null for one that shows nothing. */
export function blockOf(token: Token, drawing: Drawing): HTMLElement | null {
  const marked = token as MarkedToken;
  switch (marked.type) {
    case "heading":
      return filled(`h${String(Math.min(marked.depth + 2, 6))}`, marked.tokens, drawing);
    case "paragraph":
      return filled("p", marked.tokens, drawing);
    case "text":
      return filled("p", marked.tokens ?? [marked], drawing);
    case "code":
      return codeOf(marked, drawing);
    case "list":
      return listOf(marked, drawing);
    case "blockquote":
      return withBlocks(document.createElement("blockquote"), marked.tokens, drawing);
    case "table":
      return tableOf(marked, drawing);
    case "hr":
      return document.createElement("hr");
    case "html":
      return textIn("p", marked.raw.trim());
    case "space":
    case "def":
      return null;
    default:
      return textIn("p", token.raw);
  }
}

function withBlocks<E extends HTMLElement>(parent: E, tokens: readonly Token[], drawing: Drawing): E {
  for (const token of tokens) {
    const node = blockOf(token, drawing);
    if (node !== null) parent.append(node);
  }
  return parent;
}

function codeOf(token: Tokens.Code, drawing: Drawing): HTMLElement {
  const language = (token.lang ?? "").split(/\s/, 1)[0] ?? "";
  const block = document.createElement("div");
  block.className = "code-block";
  const bar = document.createElement("div");
  bar.className = "code-bar";
  bar.append(textIn("span", language), copyButton(token.text));
  const pre = document.createElement("pre");
  pre.tabIndex = 0; // it scrolls, so it must be reachable by keys
  const code = document.createElement("code");
  const isPlain = drawing.isGrowing && token.text.length > MOST_GROWING;
  code.append(isPlain ? token.text : highlighted(token.text, language.toLowerCase()));
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

function listOf(token: Tokens.List, drawing: Drawing): HTMLElement {
  const list = document.createElement(token.ordered ? "ol" : "ul");
  if (token.ordered && token.start !== "" && token.start !== 1) {
    list.setAttribute("start", String(token.start));
  }
  list.append(...token.items.map((item) => itemOf(item, drawing)));
  return list;
}

function itemOf(token: Tokens.ListItem, drawing: Drawing): HTMLElement {
  const item = document.createElement("li");
  if (token.task) item.append(token.checked === true ? "☑ " : "☐ ");
  for (const child of token.tokens) {
    if (child.type === "checkbox") continue;
    const inline = child.type === "text" ? (child as Tokens.Text) : null;
    if (inline === null) withBlocks(item, [child], drawing);
    else withInlines(item, inline.tokens ?? [inline], drawing);
  }
  return item;
}

function tableOf(token: Tokens.Table, drawing: Drawing): HTMLElement {
  const scroller = document.createElement("div");
  scroller.className = "table";
  scroller.tabIndex = 0;
  scroller.setAttribute("role", "group");
  scroller.setAttribute("aria-label", "Table");
  const table = document.createElement("table");
  const head = table.createTHead().insertRow();
  head.append(...token.header.map((cell) => cellOf("th", cell, drawing)));
  const body = table.createTBody();
  for (const cells of token.rows) {
    body.insertRow().append(...cells.map((cell) => cellOf("td", cell, drawing)));
  }
  scroller.append(table);
  return scroller;
}

function cellOf(tag: "th" | "td", cell: Tokens.TableCell, drawing: Drawing): HTMLElement {
  const node = filled(tag, cell.tokens, drawing);
  if (cell.align !== null) node.classList.add(`align-${cell.align}`);
  return node;
}

function filled(tag: string, tokens: readonly Token[], drawing: Drawing): HTMLElement {
  return withInlines(document.createElement(tag), tokens, drawing);
}

function withInlines(parent: HTMLElement, tokens: readonly Token[], drawing: Drawing): HTMLElement {
  for (const token of tokens) parent.append(inlineOf(token as MarkedToken, drawing));
  return parent;
}

function inlineOf(token: MarkedToken, drawing: Drawing): Node {
  switch (token.type) {
    case "text":
      if (token.tokens !== undefined) return filled("span", token.tokens, drawing);
      return document.createTextNode(unescaped(token.text));
    case "escape":
      return document.createTextNode(token.text);
    case "strong":
    case "em":
    case "del":
      return filled(token.type, token.tokens, drawing);
    case "codespan":
      return textIn("code", token.text);
    case "br":
      return document.createElement("br");
    case "link":
      return linkOf(token, drawing);
    case "image":
      return imageOf(token, drawing);
    default:
      return document.createTextNode(token.raw);
  }
}

function linkOf(token: Tokens.Link, { onLink, isGrowing }: Drawing): HTMLElement {
  const link = document.createElement("a");
  link.href = "#";
  link.title = token.href;
  link.addEventListener("click", (event) => {
    event.preventDefault();
    onLink(token.href);
  });
  return withInlines(link, token.tokens, { onLink, isGrowing });
}

/** Pictures from elsewhere are not loaded: that would tell somebody what is read. */
function imageOf(token: Tokens.Image, { onLink }: Drawing): HTMLElement {
  if (DATA_IMAGE.test(token.href)) {
    const image = document.createElement("img");
    image.src = token.href;
    image.alt = token.text;
    return image;
  }
  const name = token.text === "" ? token.href : token.text;
  const text: Tokens.Text = { type: "text", raw: name, text: name, escaped: false };
  return linkOf({ ...token, type: "link", tokens: [text] }, { onLink, isGrowing: false });
}

function textIn(tag: string, text: string): HTMLElement {
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

function unescaped(text: string): string {
  return text.replaceAll(/&(?:amp|lt|gt|quot|#39|nbsp);/g, (entity) => ENTITIES[entity] ?? entity);
}
