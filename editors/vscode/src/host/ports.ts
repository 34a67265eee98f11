/**
 * Interfaces to the editor that the host depends on.
 *
 * `extension/` implements them with VS Code, tests with fakes. No module of `host/` imports `vscode`.
 */

export interface Disposable {
  dispose(): void;
}

/** Log of the extension. A trace line is one protocol message as JSON. */
export interface Log {
  info(text: string): void;
  warn(text: string): void;
  error(text: string): void;
  trace(line: string): void;
}

/** A document that is open in the editor. Offsets count UTF-16 units of `text`. */
export interface OpenDocument {
  readonly text: string;
  readonly isDirty: boolean;
  /** Replace a range, with undo; return false if the editor refused. */
  replace(start: number, end: number, text: string): Promise<boolean>;
  save(): Promise<boolean>;
}

export interface Documents {
  /** Return the open document of a file; undefined if it is not open. */
  find(path: string): OpenDocument | undefined;
}

/** Files on disk, as UTF-8 text. A missing file reads as null. */
export interface Disk {
  read(path: string): Promise<string | null>;
  write(path: string, text: string): Promise<void>;
  remove(path: string): Promise<void>;
}

/** A command's terminal in the editor's panel. */
export interface PanelTerminal {
  write(data: string): void;
  /** Show that the command has exited; its output stays readable. */
  end(status: string): void;
  show(): void;
  release(): void;
}

export interface TerminalPanel {
  /** Open a terminal; `interrupt` is called when the user presses Ctrl+C in it. */
  open(name: string, interrupt: () => void): PanelTerminal;
}

/**
 * The user's active file, selection and problems. Lines count from 1; `file` is empty without an
 * active file.
 */
export interface EditorSnapshot {
  readonly file: string;
  readonly firstLine: number;
  readonly lastLine: number;
  readonly selectedText: string;
  readonly problems: readonly Problem[];
}

/** An entry of the Problems panel; lines count from 1. */
export interface Problem {
  readonly severity: "error" | "warning" | "info" | "hint";
  readonly message: string;
  readonly line: number;
  readonly endLine: number;
  readonly source: string;
  readonly code: string;
}

/** A symbol that a language server knows; lines count from 1. */
export interface WorkspaceSymbol {
  readonly name: string;
  readonly path: string;
  readonly firstLine: number;
  readonly lastLine: number;
}

export interface CommandLine {
  readonly command: string;
  readonly arguments: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly cwd: string;
}

/** The editor's window: its workspace folders, editors, dialogs and commands. */
export interface EditorWindow {
  /** Absolute paths of the workspace folders, in the workspace's order. */
  readonly folders: readonly string[];
  snapshot(): EditorSnapshot;
  openFile(path: string, line: number, takesFocus: boolean): Promise<void>;
  openExternal(href: string): Promise<void>;
  /** Run a command in a visible terminal; return its exit code, null if the terminal was closed. */
  runInTerminal(name: string, commandLine: CommandLine): Promise<number | null>;
  /** Ask for confirmation of an action that cannot be undone. */
  confirm(question: string, action: string): Promise<boolean>;
  /** Ask in a dialog with several answers, of which the first is the default; undefined if it is cancelled. */
  choose(question: string, answers: readonly string[]): Promise<string | undefined>;
  /** Show a message with action buttons; return the chosen one, undefined for none. */
  showInformation(message: string, actions: readonly string[]): Promise<string | undefined>;
  /** Show a message about something that failed, wholly or in part, as `showInformation` does. */
  showWarning(message: string, actions: readonly string[]): Promise<string | undefined>;
  /** Ask for a secret; undefined if the user dismisses the input. */
  askSecret(title: string, prompt: string): Promise<string | undefined>;
  /** Let the user pick one of some labels; undefined if the user dismisses the list. */
  pick(title: string, labels: readonly string[]): Promise<string | undefined>;
  /** Let the user choose files in a dialog. */
  chooseFiles(): Promise<readonly string[]>;
  /** Return the paths of the workspace's files, without excluded ones. */
  listFiles(): Promise<readonly string[]>;
  /** Return the paths of the files in the open tabs. */
  openFiles(): readonly string[];
  findSymbols(query: string): Promise<readonly WorkspaceSymbol[]>;
  problemCount(): number;
  copy(text: string): Promise<void>;
  showLog(): void;
  /** Open a setting of the extension, or all of them without a name. */
  openSettings(name: string): void;
  manageTrust(): void;
  openFolder(): void;
  /** Reveal the chat that the user last used. */
  revealChat(): void;
  /** Open an editor tab with a session; empty for a new one. */
  openChatTab(sessionId: string): void;
}

/** Named texts that persist across editor restarts, per workspace. */
export interface TextStore {
  read(name: string): Promise<string | null>;
  write(name: string, text: string): Promise<void>;
  remove(name: string): Promise<void>;
}

/** Small values that persist across editor restarts, per workspace; reads are synchronous. */
export interface WorkspaceState {
  get(key: string): string | undefined;
  set(key: string, value: string | undefined): void;
}
