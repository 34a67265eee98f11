/** The short question above what is asked. */
import type { ToolCallState } from "../shared/state.js";
import { formatPath } from "./format.js";
import { t } from "../shared/l10n.js";

/** A title that is a question itself, and not longer, is the heading. */
const MAX_TITLE_CHARACTERS = 80;

/** Headings by the kind of a call. */
const HEADINGS: Readonly<Partial<Record<ToolCallState["kind"], (name: string, isOutside: boolean) => string>>> = {
  execute: () => t("Run this command?"),
  edit: (name) => t("Edit {0}?", name),
  delete: (name) => t("Delete {0}?", name),
  move: (name) => t("Move {0}?", name),
  read: (name, isOutside) => (isOutside ? t("Read a file outside the workspace?") : t("Read {0}?", name)),
  search: () => t("Search files?"),
  fetch: () => t("Fetch this from the web?"),
};

/** Return what an answer allows as a question, such as "Edit src/app.ts?". */
export function headingOf({ title, kind, content, locations }: ToolCallState, command: string, folder: string): string {
  if (title.endsWith("?") && title.length <= MAX_TITLE_CHARACTERS && !isSaidBy(title, command, "")) return title;
  const paths = pathsOf(content, locations);
  const [path = ""] = paths;
  const shown = formatPath(path, folder);
  const several = paths.length === 0 ? t("files") : t("{0} files", paths.length);
  const isOutside = folder !== "" && path !== "" && shown === path;
  return HEADINGS[kind]?.(paths.length === 1 ? shown : several, isOutside) ?? t("Allow this?");
}

/** The files that a call changes, or else those that it is about. */
function pathsOf(content: ToolCallState["content"], locations: ToolCallState["locations"]): readonly string[] {
  const changed = content.flatMap((part) => (part.type === "diff" ? [part.path] : []));
  return [...new Set(changed.length > 0 ? changed : locations.map(({ path }) => path))];
}

/** Whether a title says no more than the command, of which it may be the beginning, or than the heading. */
export function isSaidBy(title: string, command: string, heading: string): boolean {
  const words = wordsOf(title.replace(/\s*(…|\.\.\.)(?=`?$)/, ""));
  return [words, `${words}?`].includes(wordsOf(heading)) || wordsOf(command).startsWith(words);
}

function wordsOf(text: string): string {
  return text.replace(/[`\s]+/g, " ").trim();
}
