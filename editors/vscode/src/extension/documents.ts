/** Implements the host's `Documents` with VS Code's open documents and edits. */
import { Range, Uri, WorkspaceEdit, workspace, type TextDocument } from "vscode";
import type { Documents, OpenDocument } from "../host/ports.js";

export class VsCodeDocuments implements Documents {
  find(path: string): OpenDocument | undefined {
    const { fsPath } = Uri.file(path);
    const document = workspace.textDocuments.find(
      (each) => each.uri.scheme === "file" && each.uri.fsPath === fsPath && !each.isClosed,
    );
    return document && new VsCodeDocument(document);
  }
}

class VsCodeDocument implements OpenDocument {
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
