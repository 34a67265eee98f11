/**
 * Incremental Markdown renderer for streamed text.
 *
 * All blocks but the last are final: they are rendered once, so a long answer costs no more per chunk
 * than a short one.
 */
import { Lexer, type MarkedToken, type Token } from "marked";
import { LEXER_OPTIONS } from "./mathTokens.js";
import { renderBlock, type OnLink } from "./nodes.js";

export class GrowingMarkdown {
  readonly #parent: HTMLElement;
  readonly #onLink: OnLink;
  #text = "";
  #isGrowing = true;
  /** Number of characters in finished blocks. */
  #finishedLength = 0;
  #growing: HTMLElement[] = [];
  /** Link definitions from finished blocks, which later blocks may use. */
  #links: Lexer["tokens"]["links"] = {};

  constructor(parent: HTMLElement, onLink: OnLink) {
    this.#parent = parent;
    this.#onLink = onLink;
  }

  /** Show a text. If it extends the previous one, only the new part is rendered. */
  show(source: string, isGrowing: boolean): void {
    const text = source.includes("\r") ? source.replaceAll("\r\n", "\n") : source;
    if (text === this.#text && isGrowing === this.#isGrowing) return;
    if (!this.#isGrowing || !text.startsWith(this.#text)) this.#reset();
    this.#text = text;
    this.#isGrowing = isGrowing;
    this.#render();
  }

  #reset(): void {
    this.#parent.replaceChildren();
    this.#finishedLength = 0;
    this.#growing = [];
    this.#links = {};
  }

  #render(): void {
    const lexer = new Lexer(LEXER_OPTIONS);
    lexer.tokens.links = { ...this.#links };
    const tokens = lexer.lex(this.#text.slice(this.#finishedLength));
    const last = tokens.findLastIndex(({ type }) => type !== "space");
    const finished = this.#isGrowing ? tokens.slice(0, Math.max(last, 0)) : tokens;
    for (const node of this.#growing) node.remove();
    this.#finish(finished);
    this.#growing = this.#append(tokens.slice(finished.length), true);
  }

  #finish(tokens: readonly Token[]): void {
    if (tokens.length === 0) return;
    this.#append(tokens, false);
    for (const token of tokens as MarkedToken[]) {
      this.#finishedLength += token.raw.length;
      if (token.type === "def") this.#links[token.tag] = { href: token.href, title: token.title };
    }
  }

  #append(tokens: readonly Token[], isGrowing: boolean): HTMLElement[] {
    const options = { onLink: this.#onLink, isGrowing };
    const nodes = tokens.flatMap((token) => renderBlock(token, options) ?? []);
    this.#parent.append(...nodes);
    return nodes;
  }
}
