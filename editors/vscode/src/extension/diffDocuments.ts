/**
 * Texts that are no files, for VS Code's diff editor.
 *
 * Owns the virtual documents and how many are kept.
 */
import { basename } from "node:path";
import { commands, Uri, workspace, type Disposable as Registration } from "vscode";
import type { Disposable } from "../host/ports.js";

const SCHEME = "acp-server-diff";
const MOST_KEPT = 60;

export class DiffDocuments implements Disposable {
  readonly #texts = new Map<string, string>();
  readonly #registration: Registration;
  #made = 0;

  constructor() {
    this.#registration = workspace.registerTextDocumentContentProvider(SCHEME, {
      provideTextDocumentContent: (uri) => this.#texts.get(uri.query) ?? "",
    });
  }

  /** Show two texts side by side; the right one is the file itself where `fresh` is null. */
  async show(path: string, old: string, fresh: string | null): Promise<void> {
    const left = this.#documentOf(path, old);
    const right = fresh === null ? Uri.file(path) : this.#documentOf(path, fresh);
    const title = `${basename(path)} (${fresh === null ? "before ↔ now" : "proposed"})`;
    await commands.executeCommand("vscode.diff", left, right, title, { preview: true });
  }

  dispose(): void {
    this.#registration.dispose();
    this.#texts.clear();
  }

  #documentOf(path: string, text: string): Uri {
    this.#made += 1;
    const query = String(this.#made);
    this.#texts.set(query, text);
    this.#texts.delete(String(this.#made - MOST_KEPT));
    return Uri.file(path).with({ scheme: SCHEME, query });
  }
}
