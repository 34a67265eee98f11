/**
 * What the host needs of the editor around it.
 *
 * Owns the shapes only. `extension/` provides them with VS Code's interfaces, tests with fakes; no
 * module of `host/` imports `vscode`.
 */

export interface Disposable {
  dispose(): void;
}

/** The one log. A trace line is a message of the wire, as JSON. */
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
  /** Replace a part, undoably; false if the editor refused. */
  replace(start: number, end: number, text: string): Promise<boolean>;
  save(): Promise<boolean>;
}

export interface Documents {
  /** Return the open document of a file; undefined where none is open. */
  find(path: string): OpenDocument | undefined;
}

/** Files on disk, as UTF-8 text. A file that is not there is null. */
export interface Disk {
  read(path: string): Promise<string | null>;
  write(path: string, text: string): Promise<void>;
  remove(path: string): Promise<void>;
}

/** A command's terminal in the editor's panel. */
export interface PanelTerminal {
  print(data: string): void;
  /** The command has ended; what it printed can still be read. */
  end(status: string): void;
  show(): void;
  release(): void;
}

export interface TerminalPanel {
  /** Open a terminal; `interrupt` is called when the user presses Ctrl+C in it. */
  open(name: string, interrupt: () => void): PanelTerminal;
}

export interface Glance {
  readonly file: string;
  readonly firstLine: number;
  readonly lastLine: number;
  readonly selectedText: string;
  readonly problems: readonly Problem[];
}

/** Something wrong with a file; lines count from 1. */
export interface Problem {
  readonly severity: "error" | "warning" | "info" | "hint";
  readonly message: string;
  readonly line: number;
  readonly endLine: number;
  readonly source: string;
  readonly code: string;
}

export interface CommandLine {
  readonly command: string;
  readonly arguments: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly cwd: string;
}

/** What is done in the editor's window on behalf of the user. */
export interface Desk {
  /** Absolute paths of the workspace's folders, the first one first. */
  readonly folders: readonly string[];
  glance(): Glance;
  openFile(path: string, line: number, takesFocus: boolean): Promise<void>;
  /** Show two texts side by side; the right one is the file itself where `fresh` is null. */
  openDiff(path: string, old: string, fresh: string | null): Promise<void>;
  openExternal(href: string): Promise<void>;
  /** Run a command in a terminal that the user sees; return its exit code, null if closed. */
  runInTerminal(name: string, line: CommandLine): Promise<number | null>;
  /** Ask before something that cannot be undone. */
  confirm(question: string, action: string): Promise<boolean>;
  /** Show a message with actions; return the chosen one, undefined for none. */
  tell(message: string, actions: readonly string[]): Promise<string | undefined>;
  findFiles(query: string, most: number): Promise<readonly string[]>;
  showLog(): void;
  openSettings(): void;
  manageTrust(): void;
  openFolder(): void;
  revealChat(): void;
}

/** Texts that are kept between runs of the editor, per workspace, by names of our own making. */
export interface Drawer {
  read(name: string): Promise<string | null>;
  write(name: string, text: string): Promise<void>;
  remove(name: string): Promise<void>;
}

/** What is kept between runs of the editor, per workspace: little, and read at once. */
export interface Memory {
  get(key: string): string | undefined;
  set(key: string, value: string | undefined): void;
}
