/** Ranks what a prompt can mention with an @: files and folders, by a fuzzy comparison. Loaded with the first search. */
import type { MentionChoice } from "../shared/events.js";
import { fuzzyScore } from "../shared/fuzzy.js";

const MAX_CHOICES = 50;

/** Return the files and their folders that match, the best first; with lines, such as `L10-20`, if there are any. */
export function filesLike(query: string, lines: string, files: readonly MentionChoice[]): MentionChoice[] {
  const scored = [...files, ...foldersOf(files)].map((choice) => ({ choice, score: fuzzyScore(choice.label, query) }));
  const found = scored.filter(({ score }) => score > 0).sort((a, b) => b.score - a.score).slice(0, MAX_CHOICES);
  return found.map(({ choice }) => (lines === "" ? choice : withLines(choice, lines)));
}

function withLines(choice: MentionChoice, lines: string): MentionChoice {
  const [first = 0, last = first] = [...lines.matchAll(/\d+/g)].map(([digits]) => Number(digits));
  const mention = { ...choice.mention, firstLine: Math.min(first, last), lastLine: Math.max(first, last) };
  return { ...choice, mention, label: `${choice.label}#${lines}` };
}

/** Return the folders that contain the files, with a slash at the end of their labels. */
function foldersOf(files: readonly MentionChoice[]): MentionChoice[] {
  const folders = new Map<string, MentionChoice>();
  for (const { mention, label } of files) {
    let [path, folder] = [mention.path, label];
    while (folder.lastIndexOf("/") > 0) {
      folder = folder.slice(0, folder.lastIndexOf("/"));
      path = path.slice(0, Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\")));
      if (folders.has(folder)) break;
      folders.set(folder, { mention: { kind: "folder", path, firstLine: 0, lastLine: 0 }, label: `${folder}/`, detail: "" });
    }
  }
  return [...folders.values()];
}
