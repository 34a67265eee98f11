/**
 * Formulas in Markdown, as extensions of the lexer.
 *
 * `$$...$$` and `\[...\]` are blocks; `$...$` and `\(...\)` are inline. A single dollar opens a formula only
 * before a non-space and closes it only after one and not before a digit, so that prices stay text.
 */
import type { MarkedOptions, TokenizerExtensionFunction, TokenizerStartFunction } from "marked";

export interface MathToken {
  readonly type: "math";
  readonly raw: string;
  readonly text: string;
  readonly isBlock: boolean;
}

const BLOCK = /^ {0,3}(?:\$\$([^$]+?)\$\$|\\\[([\s\S]+?)\\\])[ \t]*(?:\n+|$)/;
const INLINE = /^(?:\$\$([^$\n]+?)\$\$|\$(?!\s)((?:\\.|[^$\\\n`])+?)(?<!\s)\$(?!\d)|\\\((.+?)\\\))/;

function tokenizerOf(pattern: RegExp, isBlock: boolean): TokenizerExtensionFunction {
  return (source) => {
    const match = pattern.exec(source);
    if (match === null) return undefined;
    const [raw, ...texts] = match;
    const text = (texts as (string | undefined)[]).find((each) => each !== undefined && each.trim() !== "")?.trim();
    return text === undefined ? undefined : { type: "math", raw, text, isBlock };
  };
}

function startOf(pattern: RegExp): TokenizerStartFunction {
  return (source) => {
    const index = source.search(pattern);
    return index < 0 ? undefined : index;
  };
}

/** Options of the lexer: GitHub's Markdown with formulas. */
export const LEXER_OPTIONS: MarkedOptions = {
  gfm: true,
  extensions: {
    renderers: {},
    childTokens: {},
    block: [tokenizerOf(BLOCK, true)],
    startBlock: [startOf(/(?:^|\n) {0,3}(?:\$\$|\\\[)/)],
    inline: [tokenizerOf(INLINE, false)],
    startInline: [startOf(/\$|\\\(/)],
  },
};
