/**
 * Searches for what a prompt can mention with an @: files, folders, symbols, problems and terminal output.
 *
 * The list of the workspace's files is read once and reread when files were created or deleted. The sources
 * are in the editor; the ranking is loaded with the first search.
 */
import type { MentionChoice } from "../shared/events.js";
import type { EditorWindow, WorkspaceSymbol } from "./ports.js";
import { t } from "../shared/l10n.js";

const MAX_CHOICES = 50;
const MAX_SYMBOLS = 12;
/** Shorter queries match too many symbols to be useful, and language servers answer them slowly. */
const MIN_SYMBOL_QUERY = 2;
/** Lines after a path, also half typed: `src/app.ts#L10-20`. */
const LINES = /^(.*?)#(?:(L\d+(?:-L?\d+)?)|L?)-?$/;
const ALL: Pick<MentionChoice["mention"], "firstLine" | "lastLine"> = { firstLine: 0, lastLine: 0 };

export class MentionSearch {
  readonly #editorWindow: EditorWindow;
  readonly #labelOf: (path: string) => string;
  /** The query of the most recent search. */
  lastQuery = "";
  #paths: Promise<readonly string[]> | null = null;

  constructor(editorWindow: EditorWindow, labelOf: (path: string) => string) {
    this.#editorWindow = editorWindow;
    this.#labelOf = labelOf;
  }

  /** Forget the list of files, because files were created or deleted. */
  invalidate(): void {
    this.#paths = null;
  }

  /** Return the choices for a query, the best first. Without a query: open files, problems, terminal output. */
  async find(query: string): Promise<MentionChoice[]> {
    this.lastQuery = query;
    const [fragment, path = query, lines = ""] = LINES.exec(query) ?? [];
    if (fragment !== undefined) return this.#filesLike(path, lines);
    const context = this.#contextLike(query);
    if (query === "") return [...context, ...this.#editorWindow.openFiles().map((each) => this.choiceOf(each))];
    const [files, symbols] = await Promise.all([this.#filesLike(query), this.#symbolsLike(query)]);
    return [...context, ...files.slice(0, MAX_CHOICES - symbols.length), ...symbols];
  }

  /** Return the choice that mentions a file. */
  choiceOf(path: string): MentionChoice {
    return { mention: { kind: "file", path, ...ALL }, label: this.#labelOf(path), detail: "" };
  }

  #contextLike(query: string): MentionChoice[] {
    const problems = this.#editorWindow.problemCount();
    const detail = problems === 1 ? t("1 problem in the workspace") : t("{0} problems in the workspace", problems);
    const choices: MentionChoice[] = [
      { mention: { kind: "problems", path: "", ...ALL }, label: "problems", detail },
      { mention: { kind: "terminal", path: "", ...ALL }, label: "terminal", detail: t("Output of the last command in a terminal") },
    ];
    return choices.filter(({ label }) => label.startsWith(query.toLowerCase()));
  }

  async #filesLike(query: string, lines = ""): Promise<MentionChoice[]> {
    this.#paths ??= this.#editorWindow.listFiles();
    const [paths, { filesLike }] = await Promise.all([this.#paths, import("./mentionRanking.js")]);
    return filesLike(query, lines, paths.map((path) => this.choiceOf(path)));
  }

  async #symbolsLike(query: string): Promise<MentionChoice[]> {
    if (query.length < MIN_SYMBOL_QUERY || query.includes("/")) return [];
    const symbols = await this.#editorWindow.findSymbols(query);
    return symbols.slice(0, MAX_SYMBOLS).map((symbol) => this.#symbolChoice(symbol));
  }

  #symbolChoice({ name, path, firstLine, lastLine }: WorkspaceSymbol): MentionChoice {
    const detail = `${this.#labelOf(path)}:${String(firstLine)}`;
    return { mention: { kind: "symbol", path, firstLine, lastLine }, label: name, detail };
  }
}
