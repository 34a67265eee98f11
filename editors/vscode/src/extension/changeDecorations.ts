/** Marks the agent's changes in open files, until they are kept or reverted. */
import { MarkdownString, OverviewRulerLane, Range, ThemeColor, window, type DecorationOptions, type TextEditor } from "vscode";
import type { Disposable } from "../host/ports.js";
import type { ReviewedFile } from "../host/reviewService.js";
import type { Hunk } from "../shared/hunks.js";
import { t } from "../shared/l10n.js";

const MAX_REMOVED_LINES = 30;

export class ChangeDecorations implements Disposable {
  readonly #added = window.createTextEditorDecorationType({
    isWholeLine: true,
    backgroundColor: new ThemeColor("diffEditor.insertedLineBackground"),
    overviewRulerColor: new ThemeColor("editorOverviewRuler.addedForeground"),
    overviewRulerLane: OverviewRulerLane.Left,
  });
  /** The line in front of which lines were removed. */
  readonly #removed = window.createTextEditorDecorationType({
    isWholeLine: true,
    borderColor: new ThemeColor("editorOverviewRuler.deletedForeground"),
    borderStyle: "dashed",
    borderWidth: "1px 0 0 0",
    overviewRulerColor: new ThemeColor("editorOverviewRuler.deletedForeground"),
    overviewRulerLane: OverviewRulerLane.Left,
  });

  /** Mark the changes of a file in an editor; without one, remove the marks. */
  show(editor: TextEditor, file: ReviewedFile | undefined): void {
    const hunks = file?.hunks ?? [];
    const lastLine = Math.max(editor.document.lineCount - 1, 0);
    editor.setDecorations(this.#added, hunks.filter(({ added }) => added.length > 0).map(markOf));
    editor.setDecorations(this.#removed, hunks.filter(({ added }) => added.length === 0).map((hunk) => removalMarkOf(hunk, lastLine)));
  }

  dispose(): void {
    this.#added.dispose();
    this.#removed.dispose();
  }
}

function markOf(hunk: Hunk): DecorationOptions {
  const first = hunk.newLine - 1;
  return { range: new Range(first, 0, first + hunk.added.length - 1, 0), ...hoverOf(hunk) };
}

function removalMarkOf(hunk: Hunk, lastLine: number): DecorationOptions {
  const line = Math.min(hunk.newLine - 1, lastLine);
  return { range: new Range(line, 0, line, 0), ...hoverOf(hunk) };
}

/** Show the removed lines on hover, as code: what files contain is not read as Markdown. */
function hoverOf({ removed }: Hunk): { hoverMessage?: MarkdownString } {
  if (removed.length === 0) return {};
  const more = removed.length > MAX_REMOVED_LINES ? t("… {0} more lines", removed.length - MAX_REMOVED_LINES) : "";
  const text = `${removed.slice(0, MAX_REMOVED_LINES).join("")}${more}`;
  return { hoverMessage: new MarkdownString(t("Before the agent's change:")).appendCodeblock(text) };
}
