/** Fuzzy matching of names and paths, as editors do it. Pure functions. */

const CONSECUTIVE = 6;
const AT_WORD = 8;
const IN_NAME = 4;
const EXACT_NAME = 60;
const NAME_PREFIX = 30;

/**
 * Return how well a text matches a query; 0 if it does not.
 *
 * All characters of the query must occur in order, in any case. Consecutive characters, starts of words and
 * the last path component score higher, long texts lower.
 */
export function fuzzyScore(text: string, query: string): number {
  const [lower, wanted] = [text.toLowerCase(), query.toLowerCase().replaceAll("\\", "/")];
  const nameStart = lower.replace(/\/$/, "").lastIndexOf("/") + 1;
  const inName = scoreFrom(text, lower, wanted, nameStart, nameStart);
  const score = inName > 0 ? inName : scoreFrom(text, lower, wanted, 0, nameStart);
  if (score === 0) return 0;
  const name = lower.slice(nameStart);
  const bonus = name === wanted ? EXACT_NAME : name.startsWith(wanted) ? NAME_PREFIX : 0;
  return score + bonus + 20 / (text.length + 1);
}

function scoreFrom(text: string, lower: string, wanted: string, start: number, nameStart: number): number {
  let score = 1;
  let last = -2;
  let at = start;
  for (const character of wanted) {
    const found = lower.indexOf(character, at);
    if (found < 0) return 0;
    score += 1;
    if (found === last + 1) score += CONSECUTIVE;
    if (isWordStart(text, found)) score += AT_WORD;
    if (found >= nameStart) score += IN_NAME;
    last = found;
    at = found + 1;
  }
  return score;
}

function isWordStart(text: string, index: number): boolean {
  const before = text[index - 1];
  if (before === undefined || /[^\p{L}\p{N}]/u.test(before)) return true;
  const character = text[index] ?? "";
  return character !== character.toLowerCase() && before === before.toLowerCase();
}
