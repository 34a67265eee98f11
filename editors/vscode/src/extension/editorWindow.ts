/** Implements the host's `EditorWindow` with VS Code's editors, dialogs and searches. */
import {
  commands,
  DiagnosticSeverity,
  env,
  languages,
  Position,
  Range,
  TabInputText,
  Uri,
  window,
  workspace,
  type Diagnostic,
  type SymbolInformation,
} from "vscode";
import type { CommandLine, EditorWindow, EditorSnapshot, Problem, WorkspaceSymbol } from "../host/ports.js";
import type { FileProblem } from "../host/promptBlocks.js";
import type { ChatViews } from "./chatViews.js";
import type { ChannelLog } from "./log.js";
import { SECTION } from "./settings.js";
import { t } from "../shared/l10n.js";

/** Files that the search for mentions knows. */
const MAX_FILES = 30_000;
const EMPTY_SNAPSHOT: EditorSnapshot = { file: "", firstLine: 0, lastLine: 0, selectedText: "", problems: [] };
const SEVERITIES = {
  [DiagnosticSeverity.Error]: "error",
  [DiagnosticSeverity.Warning]: "warning",
  [DiagnosticSeverity.Information]: "info",
  [DiagnosticSeverity.Hint]: "hint",
} as const;

export class VsCodeWindow implements EditorWindow {
  readonly #log: ChannelLog;
  readonly #chats: () => Pick<ChatViews, "reveal" | "openTab">;

  constructor(log: ChannelLog, chats: () => Pick<ChatViews, "reveal" | "openTab">) {
    this.#log = log;
    this.#chats = chats;
  }

  get folders(): readonly string[] {
    const folders = workspace.workspaceFolders ?? [];
    return folders.filter(({ uri }) => uri.scheme === "file").map(({ uri }) => uri.fsPath);
  }

  snapshot(): EditorSnapshot {
    const editor = window.activeTextEditor;
    if (editor?.document.uri.scheme !== "file") return EMPTY_SNAPSHOT;
    const { document, selection } = editor;
    return {
      file: document.uri.fsPath,
      firstLine: selection.start.line + 1,
      lastLine: selection.end.line + 1,
      selectedText: document.getText(selection),
      problems: problemsOf(document.uri.fsPath),
    };
  }

  async openFile(path: string, line: number, takesFocus: boolean): Promise<void> {
    const position = new Position(Math.max(line - 1, 0), 0);
    const selection = new Range(position, position);
    const options = { preview: true, preserveFocus: !takesFocus, selection };
    await window.showTextDocument(Uri.file(path), options);
  }

  async openExternal(href: string): Promise<void> {
    await env.openExternal(Uri.parse(href, true));
  }

  runInTerminal(name: string, commandLine: CommandLine): Promise<number | null> {
    const terminal = window.createTerminal({
      name,
      shellPath: commandLine.command,
      shellArgs: [...commandLine.arguments],
      env: { ...commandLine.environment },
      cwd: commandLine.cwd,
      isTransient: true,
    });
    terminal.show();
    return new Promise((resolve) => {
      const listener = window.onDidCloseTerminal((closed) => {
        if (closed !== terminal) return;
        listener.dispose();
        resolve(closed.exitStatus?.code ?? null);
      });
    });
  }

  async confirm(question: string, action: string): Promise<boolean> {
    return (await this.choose(question, [action])) === action;
  }

  async choose(question: string, answers: readonly string[]): Promise<string | undefined> {
    return window.showWarningMessage(question, { modal: true }, ...answers);
  }

  async showInformation(message: string, actions: readonly string[]): Promise<string | undefined> {
    return window.showInformationMessage(message, ...actions);
  }

  async showWarning(message: string, actions: readonly string[]): Promise<string | undefined> {
    return window.showWarningMessage(message, ...actions);
  }

  async askSecret(title: string, prompt: string): Promise<string | undefined> {
    return window.showInputBox({ title, prompt, password: true, ignoreFocusOut: true });
  }

  async pick(title: string, labels: readonly string[]): Promise<string | undefined> {
    return window.showQuickPick(labels, { title });
  }

  async chooseFiles(): Promise<readonly string[]> {
    const chosen = await window.showOpenDialog({ canSelectMany: true, openLabel: t("Attach") });
    return (chosen ?? []).filter(({ scheme }) => scheme === "file").map(({ fsPath }) => fsPath);
  }

  async listFiles(): Promise<readonly string[]> {
    const found = await workspace.findFiles("**/*", undefined, MAX_FILES);
    return found.map(({ fsPath }) => fsPath);
  }

  openFiles(): readonly string[] {
    const tabs = window.tabGroups.all.flatMap((group) => group.tabs);
    const paths = tabs.flatMap(({ input }) =>
      input instanceof TabInputText && input.uri.scheme === "file" ? [input.uri.fsPath] : [],
    );
    return [...new Set(paths)];
  }

  async findSymbols(query: string): Promise<readonly WorkspaceSymbol[]> {
    const found = await commands.executeCommand<SymbolInformation[] | undefined>("vscode.executeWorkspaceSymbolProvider", query);
    return (found ?? [])
      .filter(({ location }) => location.uri.scheme === "file")
      .map(({ name, location: { uri, range } }) => ({
        name,
        path: uri.fsPath,
        firstLine: range.start.line + 1,
        lastLine: range.end.line + 1,
      }));
  }

  problemCount(): number {
    return allProblems().length;
  }

  async copy(text: string): Promise<void> {
    await env.clipboard.writeText(text);
  }

  showLog(): void {
    this.#log.show();
  }

  openSettings(name: string): void {
    void commands.executeCommand("workbench.action.openSettings", `${SECTION}.${name}`);
  }

  manageTrust(): void {
    void commands.executeCommand("workbench.trust.manage");
  }

  openFolder(): void {
    void commands.executeCommand("vscode.openFolder");
  }

  revealChat(): void {
    this.#chats().reveal();
  }

  openChatTab(sessionId: string): void {
    this.#chats().openTab(sessionId);
  }
}

/** Return a file's entries of the Problems panel. */
export function problemsOf(path: string): Problem[] {
  return languages.getDiagnostics(Uri.file(path)).map(problemOf);
}

/** Return the entries of the Problems panel, of all files on disk. */
export function allProblems(): FileProblem[] {
  return languages
    .getDiagnostics()
    .filter(([uri]) => uri.scheme === "file")
    .flatMap(([uri, diagnostics]) => diagnostics.map((each) => ({ ...problemOf(each), path: uri.fsPath })));
}

function problemOf(diagnostic: Diagnostic): Problem {
  const { code } = diagnostic;
  const value = typeof code === "object" ? code.value : code;
  return {
    severity: SEVERITIES[diagnostic.severity],
    message: diagnostic.message,
    line: diagnostic.range.start.line + 1,
    endLine: diagnostic.range.end.line + 1,
    source: diagnostic.source ?? "",
    code: value === undefined ? "" : String(value),
  };
}
