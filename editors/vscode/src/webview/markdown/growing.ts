/**
 * Markdown that grows.
 *
 * Owns which part of a text can change no more: all blocks but the last one. They are drawn once and
 * left alone, so a long answer costs no more per chunk than a short one.
 */
import { Lexer, type MarkedToken, type Token } from "marked";
import { blockOf, type OnLink } from "./nodes.js";

export class GrowingMarkdown {
  readonly #parent: HTMLElement;
  readonly #onLink: OnLink;
  #text = "";
  #isGrowing = true;
  /** So many characters are drawn for good. */
  #settledLength = 0;
  #growing: HTMLElement[] = [];
  /** Link definitions of settled blocks, which later ones may use. */
  #links: Lexer["tokens"]["links"] = {};

  constructor(parent: HTMLElement, onLink: OnLink) {
    this.#parent = parent;
    this.#onLink = onLink;
  }

  /** Show a text; one that goes on from the last costs only what is new. */
  show(given: string, isGrowing: boolean): void {
    const text = given.includes("\r") ? given.replaceAll("\r\n", "\n") : given;
    if (text === this.#text && isGrowing === this.#isGrowing) return;
    if (!this.#isGrowing || !text.startsWith(this.#text)) this.#reset();
    this.#text = text;
    this.#isGrowing = isGrowing;
    this.#draw();
  }

  #reset(): void {
    this.#parent.replaceChildren();
    this.#settledLength = 0;
    this.#growing = [];
    this.#links = {};
  }

  #draw(): void {
    const lexer = new Lexer({ gfm: true });
    lexer.tokens.links = { ...this.#links };
    const tokens = lexer.lex(this.#text.slice(this.#settledLength));
    const last = tokens.findLastIndex(({ type }) => type !== "space");
    const settled = this.#isGrowing ? tokens.slice(0, Math.max(last, 0)) : tokens;
    for (const node of this.#growing) node.remove();
    this.#settle(settled);
    this.#growing = this.#append(tokens.slice(settled.length), true);
  }

  #settle(tokens: readonly Token[]): void {
    if (tokens.length === 0) return;
    this.#append(tokens, false);
    for (const token of tokens as MarkedToken[]) {
      this.#settledLength += token.raw.length;
      if (token.type === "def") this.#links[token.tag] = { href: token.href, title: token.title };
    }
  }

  #append(tokens: readonly Token[], isGrowing: boolean): HTMLElement[] {
    const drawing = { onLink: this.#onLink, isGrowing };
    const nodes = tokens.flatMap((token) => blockOf(token, drawing) ?? []);
    this.#parent.append(...nodes);
    return nodes;
  }
}
