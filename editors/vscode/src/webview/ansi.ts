/**
 * Converts terminal output with ANSI escape sequences to styled spans.
 *
 * Supports SGR colours and weights, and carriage returns that overwrite a line. All other sequences are
 * removed, because this is a transcript, not a terminal screen.
 */

export interface Span {
  readonly text: string;
  /** A variable of VS Code's theme, or empty. */
  readonly color: string;
  readonly classes: string;
}

const ESCAPE_SEQUENCE = /\u001b(?:\[([0-9;?]*)([A-Za-z])|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[()][A-Z0-9]|[=>])/g;
const COLORS = ["Black", "Red", "Green", "Yellow", "Blue", "Magenta", "Cyan", "White"];

interface Style {
  color: string;
  isBold: boolean;
  isDim: boolean;
}

const PLAIN: Readonly<Style> = { color: "", isBold: false, isDim: false };

/** Convert output to spans, in order. */
export function ansiSpans(output: string): Span[] {
  const text = withoutOverwrites(output);
  const spans: Span[] = [];
  let style: Style = { ...PLAIN };
  let last = 0;
  const add = (part: string): void => {
    if (part !== "") spans.push({ text: part, color: style.color === "" ? "" : `var(--vscode-terminal-ansi${style.color})`, classes: classesOf(style) });
  };
  for (const match of text.matchAll(ESCAPE_SEQUENCE)) {
    add(text.slice(last, match.index));
    last = match.index + match[0].length;
    if (match[2] === "m") style = applySgr(style, match[1] ?? "");
  }
  add(text.slice(last));
  return spans;
}

/** Return output with only the last version of each overwritten line. */
function withoutOverwrites(output: string): string {
  const lines = output.replaceAll("\r\n", "\n").split("\n");
  return lines.map((line) => line.replace(/\r+$/, "").split("\r").at(-1) ?? "").join("\n");
}

function applySgr(style: Style, parameters: string): Style {
  let next = { ...style };
  const codes = parameters.split(";").map(Number);
  for (let index = 0; index < codes.length; index += 1) {
    const code = codes[index] ?? 0;
    if (code === 38 || code === 48) index += codes[index + 1] === 5 ? 2 : 4;
    else if (code === 0) next = { ...PLAIN };
    else if (code === 1) next.isBold = true;
    else if (code === 2) next.isDim = true;
    else if (code === 22) next = { ...next, isBold: false, isDim: false };
    else if (code === 39) next.color = "";
    else next.color = colorOf(code) ?? next.color;
  }
  return next;
}

function colorOf(code: number): string | undefined {
  if (code >= 30 && code <= 37) return COLORS[code - 30];
  if (code >= 90 && code <= 97) return `Bright${COLORS[code - 90] ?? "White"}`;
  return undefined;
}

function classesOf({ isBold, isDim }: Style): string {
  return [isBold ? "bold" : "", isDim ? "dim" : ""].filter((each) => each !== "").join(" ");
}
