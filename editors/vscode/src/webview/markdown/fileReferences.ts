/** References to lines of files in texts, such as `src/app.ts:20` or `app.py:3:5`. Pure functions. */

export interface TextPart {
  readonly text: string;
  readonly isFile: boolean;
}

const REFERENCE = /(?<![\w/\\.:@-])(?:[A-Za-z]:[\\/])?(?:[\w.@+-]+[\\/])*[\w.@+-]*\w\.[A-Za-z]\w{0,9}:\d{1,7}(?::\d{1,5})?(?![\w:/\\])/g;
const WHOLE = new RegExp(`^/?${REFERENCE.source}$`);

/** Split a text at its references. Joining the parts restores the text. */
export function fileReferences(text: string): TextPart[] {
  const parts: TextPart[] = [];
  let end = 0;
  for (const match of text.matchAll(REFERENCE)) {
    if (match.index > end) parts.push({ text: text.slice(end, match.index), isFile: false });
    parts.push({ text: match[0], isFile: true });
    end = match.index + match[0].length;
  }
  if (end < text.length || parts.length === 0) parts.push({ text: text.slice(end), isFile: false });
  return parts;
}

/** Whether a text is one reference, and nothing else. */
export function isFileReference(text: string): boolean {
  return WHOLE.test(text);
}
