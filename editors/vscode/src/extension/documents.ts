/**
 * Open documents and files on disk, as the host needs them.
 *
 * Owns the translation to VS Code's documents and edits. Refuses to decide which of both is meant.
 */
import { chmod, mkdir, readFile, realpath, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { Range, Uri, WorkspaceEdit, workspace, type TextDocument } from "vscode";
import { isMissing } from "../host/failures.js";
import type { Disk, Documents, OpenDocument } from "../host/ports.js";

const BOM = "\uFEFF";

export class EditorDocuments implements Documents {
  find(path: string): OpenDocument | undefined {
    const { fsPath } = Uri.file(path);
    const document = workspace.textDocuments.find(
      (each) => each.uri.scheme === "file" && each.uri.fsPath === fsPath && !each.isClosed,
    );
    return document && new EditorDocument(document);
  }
}

class EditorDocument implements OpenDocument {
  readonly #document: TextDocument;

  constructor(document: TextDocument) {
    this.#document = document;
  }

  get text(): string {
    return this.#document.getText();
  }

  get isDirty(): boolean {
    return this.#document.isDirty;
  }

  async replace(start: number, end: number, text: string): Promise<boolean> {
    const document = this.#document;
    const range = new Range(document.positionAt(start), document.positionAt(end));
    const edit = new WorkspaceEdit();
    edit.replace(document.uri, range, text);
    return workspace.applyEdit(edit);
  }

  async save(): Promise<boolean> {
    return this.#document.save();
  }
}

/** Files on disk. A byte order mark is kept and not shown, as in VS Code. */
export class NodeDisk implements Disk {
  async read(path: string): Promise<string | null> {
    const text = await readOrNull(path);
    return text?.startsWith(BOM) === true ? text.slice(BOM.length) : text;
  }

  /** Write beside the file and put it in its place, so that nobody reads half of it. */
  async write(path: string, text: string): Promise<void> {
    const old = await readOrNull(path);
    const mark = old?.startsWith(BOM) === true && !text.startsWith(BOM) ? BOM : "";
    if (old === null) {
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, text);
      return;
    }
    const { mode, nlink } = await stat(path);
    if (nlink > 1) {
      await writeFile(path, mark + text); // its other names stay names of the same file
      return;
    }
    const real = await realpath(path);
    const beside = `${real}.${process.pid.toString(36)}~`;
    await writeFile(beside, mark + text);
    await chmod(beside, mode);
    await rename(beside, real);
  }

  async remove(path: string): Promise<void> {
    await rm(path, { force: true });
  }
}

async function readOrNull(path: string): Promise<string | null> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}
