/** The list of files that the agent changed, in the side bar below the chat. */
import { EventEmitter, ThemeIcon, TreeItem, Uri, window, type TreeView } from "vscode";
import type { Disposable } from "../host/ports.js";
import type { ReviewedFile } from "../host/reviewService.js";
import { t } from "../shared/l10n.js";

export const TREE_ID = "acpServer.changes";
const ICONS = { added: "diff-added", changed: "diff-modified", deleted: "diff-removed" } as const;

export class ChangesTree implements Disposable {
  readonly #changed = new EventEmitter<undefined>();
  readonly #view: TreeView<ReviewedFile>;
  #files: readonly ReviewedFile[] = [];

  constructor() {
    this.#view = window.createTreeView(TREE_ID, {
      treeDataProvider: {
        onDidChangeTreeData: this.#changed.event,
        getTreeItem: itemOf,
        getChildren: (parent?: ReviewedFile) => (parent === undefined ? [...this.#files] : []),
      },
    });
  }

  show(files: readonly ReviewedFile[]): void {
    this.#files = files;
    this.#view.description = files.length === 1 ? t("1 file") : t("{0} files", files.length);
    this.#changed.fire(undefined);
  }

  dispose(): void {
    this.#view.dispose();
  }
}

function itemOf(file: ReviewedFile): TreeItem {
  const item = new TreeItem(file.label);
  const counts = `+${String(file.added)} −${String(file.removed)}`;
  item.id = file.path;
  item.resourceUri = Uri.file(file.path);
  item.iconPath = new ThemeIcon(ICONS[file.kind]);
  item.description = file.kind === "changed" ? counts : `${counts} ${file.kind}`;
  item.tooltip = file.path;
  item.contextValue = "changedFile";
  item.command = { command: "acpServer.openChange", title: t("Open the Change"), arguments: [file] };
  return item;
}
