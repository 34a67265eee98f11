/** CodeLenses over each part of a change: to keep or revert it, or to reject a proposed part. */
import { CodeLens, EventEmitter, languages, Range, type CodeLensProvider, type Disposable as Registration, type TextDocument } from "vscode";
import type { Disposable } from "../host/ports.js";
import type { Hunk } from "../shared/hunks.js";
import { SCHEME } from "./diffDocuments.js";
import { t } from "../shared/l10n.js";

const MAX_REMOVED_CHARACTERS = 60;

/** What a document shows: a file with changes, or the new side of a proposal. */
export interface ReviewedDocument {
  readonly isProposal: boolean;
  readonly path: string;
  readonly hunks: readonly Hunk[];
  /** Number of the parts that the user rejected; 0 for a file. */
  readonly rejectedCount: number;
  /** Number of the files of the proposal; 0 for a file. */
  readonly fileCount: number;
}

export class ChangeLenses implements CodeLensProvider, Disposable {
  readonly #changed = new EventEmitter<void>();
  readonly onDidChangeCodeLenses = this.#changed.event;
  readonly #find: (document: TextDocument) => ReviewedDocument | undefined;
  readonly #registration: Registration;

  constructor(find: (document: TextDocument) => ReviewedDocument | undefined) {
    this.#find = find;
    this.#registration = languages.registerCodeLensProvider([{ scheme: "file" }, { scheme: SCHEME }], this);
  }

  refresh(): void {
    this.#changed.fire();
  }

  provideCodeLenses(document: TextDocument): CodeLens[] {
    const found = this.#find(document);
    if (found === undefined) return [];
    const { isProposal, path, hunks, rejectedCount, fileCount } = found;
    const lastLine = Math.max(document.lineCount - 1, 0);
    const lens = (line: number, title: string, command: string, ...args: unknown[]): CodeLens =>
      new CodeLens(new Range(line, 0, line, 0), { title, command: `acpServer.${command}`, arguments: [path, ...args] });
    const ofHunks = hunks.flatMap(({ id, newLine, removed }) => {
      const line = Math.min(newLine - 1, lastLine);
      if (isProposal) return [lens(line, `$(close)\u00a0${t("Reject this part")}`, "revertHunk", id)];
      const answers = [lens(line, `$(check)\u00a0${t("Keep")}`, "keepHunk", id), lens(line, `$(discard)\u00a0${t("Revert")}`, "revertHunk", id)];
      return removed.length === 0 ? answers : [...answers, lens(line, removedTitle(removed), "openChange")];
    });
    const ofAll = [lens(0, `$(check) ${t("Accept all {0} files", fileCount)}`, "allow"), lens(0, `$(close) ${t("Reject all {0} files", fileCount)}`, "reject")];
    const restore = rejectedCount === 1 ? t("Restore the rejected part") : t("Restore {0} rejected parts", rejectedCount);
    return [...(fileCount > 1 ? ofAll : []), ...(rejectedCount > 0 ? [lens(0, `$(discard) ${restore}`, "restoreHunks")] : []), ...ofHunks];
  }

  dispose(): void {
    this.#registration.dispose();
    this.#changed.dispose();
  }
}

/** Return the first removed line, as an editor cannot show lines that it does not have, and how many follow. */
function removedTitle(removed: readonly string[]): string {
  const lines = removed.map((line) => line.trim()).filter((line) => line !== "");
  const [first = ""] = lines;
  const shown = first.length > MAX_REMOVED_CHARACTERS ? `${first.slice(0, MAX_REMOVED_CHARACTERS)}…` : first;
  const more = lines.length > 1 ? ` ${t("and {0} more", lines.length - 1)}` : "";
  return `−\u00a0${shown.replaceAll("$(", "$\u200b(")}${more}`; // no icon
}
