/** Virtual documents for VS Code's diff editor; only the newest are kept in memory. */
import { basename } from "node:path";
import { commands, Uri, workspace, type Disposable as Registration } from "vscode";
import type { Disposable } from "../host/ports.js";

const SCHEME = "acp-server-diff";
const MAX_DOCUMENTS = 60;

export class DiffDocuments implements Disposable {
  readonly #texts = new Map<string, string>();
  readonly #registration: Registration;
  #createdCount = 0;

  constructor() {
    this.#registration = workspace.registerTextDocumentContentProvider(SCHEME, {
      provideTextDocumentContent: (uri) => this.#texts.get(uri.query) ?? "",
    });
  }

  /** Show a diff of two texts; if `newText` is null, the right side is the file itself. */
  async show(path: string, oldText: string, newText: string | null): Promise<void> {
    const left = this.#documentOf(path, oldText);
    const right = newText === null ? Uri.file(path) : this.#documentOf(path, newText);
    const title = `${basename(path)} (${newText === null ? "before ↔ now" : "proposed"})`;
    await commands.executeCommand("vscode.diff", left, right, title, { preview: true });
  }

  dispose(): void {
    this.#registration.dispose();
    this.#texts.clear();
  }

  #documentOf(path: string, text: string): Uri {
    this.#createdCount += 1;
    const query = String(this.#createdCount);
    this.#texts.set(query, text);
    this.#texts.delete(String(this.#createdCount - MAX_DOCUMENTS));
    return Uri.file(path).with({ scheme: SCHEME, query });
  }
}
