/** Virtual documents for VS Code's diff editor. */
import { basename } from "node:path";
import { commands, EventEmitter, TabInputTextDiff, Uri, window, workspace, type Disposable as Registration } from "vscode";
import type { Disposable } from "../host/ports.js";

export const SCHEME = "acp-server-diff";
/** Diffs of finished calls that are kept in memory. */
const MAX_COPIES = 30;

export class DiffDocuments implements Disposable {
  readonly #texts = new Map<string, string>();
  readonly #changed = new EventEmitter<Uri>();
  readonly #registration: Registration;
  #copyCount = 0;

  constructor() {
    this.#registration = workspace.registerTextDocumentContentProvider(SCHEME, {
      onDidChange: this.#changed.event,
      provideTextDocumentContent: (uri) => this.#texts.get(uri.toString()) ?? "",
    });
  }

  /** Open a diff of two texts that do not change. */
  async showCopies(path: string, oldText: string, newText: string): Promise<void> {
    this.#copyCount += 1;
    const [left, right] = ["old", "new"].map((side) => uriOf(path, `${side}-copy-${String(this.#copyCount)}`));
    if (left === undefined || right === undefined) return;
    this.write(left, oldText);
    this.write(right, newText);
    for (const side of ["old", "new"]) this.#forgetCopy(`${side}-copy-${String(this.#copyCount - MAX_COPIES)}`);
    await openDiff(left, right, `${basename(path)} (proposed)`, { preview: true });
  }

  /** Set a document's text; an open editor shows it at once. */
  write(uri: Uri, text: string): void {
    const key = uri.toString();
    if (this.#texts.get(key) === text) return;
    this.#texts.set(key, text);
    this.#changed.fire(uri);
  }

  forget(uri: Uri): void {
    this.#texts.delete(uri.toString());
  }

  dispose(): void {
    this.#registration.dispose();
    this.#texts.clear();
  }

  #forgetCopy(name: string): void {
    for (const key of this.#texts.keys()) if (key.endsWith(`?${name}`)) this.#texts.delete(key);
  }
}

/** Return the address of a virtual document; its path gives it the language of the file. */
export function uriOf(path: string, name: string): Uri {
  return Uri.file(path).with({ scheme: SCHEME, query: name });
}

export async function openDiff(left: Uri, right: Uri, title: string, options: object): Promise<void> {
  await commands.executeCommand("vscode.diff", left, right, title, options);
}

/** Both sides of a diff editor, and its title. */
export type Diff = readonly [left: Uri, right: Uri, title: string];

/** Open several diffs, with the first in front. */
export async function openDiffs(diffs: readonly Diff[], options: object): Promise<void> {
  // What is opened comes to the front, so the first one does once more, when the others are behind it.
  const order = diffs.length > 1 ? [...diffs, ...diffs.slice(0, 1)] : diffs;
  for (const diff of order) await openDiff(...diff, options);
}

/** Close the diff editors whose sides match. */
export async function closeDiffs(isMatch: (left: Uri, right: Uri) => boolean): Promise<void> {
  const tabs = window.tabGroups.all.flatMap((group) => group.tabs);
  const closed = tabs.filter(({ input }) => input instanceof TabInputTextDiff && isMatch(input.original, input.modified));
  if (closed.length > 0) await window.tabGroups.close(closed, true);
}
