/**
 * In-memory fake of the parts of VS Code's API that the extension uses.
 *
 * A test sets up `editor` and inspects it afterwards. Registrations and disposals are recorded.
 * `resetEditor` replaces it with a fresh one.
 */

interface Disposable {
  dispose(): void;
}

type Listener<T> = (value: T) => void;

export class EventEmitter<T = unknown> {
  readonly #listeners = new Set<Listener<T>>();
  readonly event = (listener: Listener<T>): Disposable => {
    this.#listeners.add(listener);
    return { dispose: () => this.#listeners.delete(listener) };
  };

  fire(value: T): void {
    for (const listener of [...this.#listeners]) listener(value);
  }

  dispose(): void {
    this.#listeners.clear();
  }
}

export class Position {
  readonly line: number;
  readonly character: number;

  constructor(line: number, character: number) {
    this.line = line;
    this.character = character;
  }
}

export class Range {
  readonly start: Position;
  readonly end: Position;

  constructor(start: Position, end: Position) {
    this.start = start;
    this.end = end;
  }
}

export class Uri {
  readonly scheme: string;
  readonly path: string;
  readonly query: string;

  constructor(scheme: string, path: string, query = "") {
    this.scheme = scheme;
    this.path = path;
    this.query = query;
  }

  static file(path: string): Uri {
    return new Uri("file", path);
  }

  static parse(text: string): Uri {
    const [, scheme = "", path = ""] = /^(\w+):(.*)$/.exec(text) ?? [];
    return new Uri(scheme, path);
  }

  static joinPath(base: Uri, ...parts: string[]): Uri {
    return Uri.file([base.path, ...parts].join("/"));
  }

  get fsPath(): string {
    return this.path;
  }

  with(change: { scheme?: string; query?: string }): Uri {
    return new Uri(change.scheme ?? this.scheme, this.path, change.query ?? this.query);
  }

  toString(): string {
    return `${this.scheme}:${this.path}${this.query === "" ? "" : `?${this.query}`}`;
  }
}

/** A document; `saved` is its text on disk. */
export class TextDocument {
  readonly uri: Uri;
  text: string;
  saved: string;
  isClosed = false;
  canSave = true;

  constructor(uri: Uri, text: string, saved: string = text) {
    this.uri = uri;
    this.text = text;
    this.saved = saved;
  }

  get isDirty(): boolean {
    return this.text !== this.saved;
  }

  getText(range?: Range): string {
    return range === undefined ? this.text : this.text.slice(this.offsetAt(range.start), this.offsetAt(range.end));
  }

  positionAt(offset: number): Position {
    const lines = this.text.slice(0, offset).split("\n");
    return new Position(lines.length - 1, lines.at(-1)?.length ?? 0);
  }

  offsetAt({ line, character }: Position): number {
    const before = this.text.split("\n").slice(0, line);
    return before.reduce((sum, each) => sum + each.length + 1, character);
  }

  save(): Promise<boolean> {
    if (this.canSave) this.saved = this.text;
    return Promise.resolve(this.canSave);
  }
}

export class WorkspaceEdit {
  readonly replacements: [Uri, Range, string][] = [];

  replace(uri: Uri, range: Range, text: string): void {
    this.replacements.push([uri, range, text]);
  }
}

export class TabInputText {
  readonly uri: Uri;

  constructor(uri: Uri) {
    this.uri = uri;
  }
}

export class MarkdownString {
  constructor(readonly value: string) {}
}

export class ThemeColor {
  constructor(readonly id: string) {}
}

export class ThemeIcon extends ThemeColor {}

export const DiagnosticSeverity = { Error: 0, Warning: 1, Information: 2, Hint: 3 };
export const StatusBarAlignment = { Left: 1, Right: 2 };

interface Pty {
  readonly onDidWrite: (listener: Listener<string>) => Disposable;
  open(): void;
  close(): void;
  handleInput(data: string): void;
}

/** A terminal in the panel, with the output written to it. */
export class Terminal {
  readonly options: Readonly<Record<string, unknown>> & { readonly name: string; readonly pty?: Pty };
  written = "";
  isShown = false;
  isDisposed = false;
  exitStatus: { code: number | undefined } | undefined;

  constructor(options: Terminal["options"]) {
    this.options = options;
    options.pty?.onDidWrite((data) => {
      this.written += data;
    });
  }

  show(): void {
    this.isShown = true;
    this.options.pty?.open();
  }

  dispose(): void {
    this.isDisposed = true;
  }
}

interface StatusBarItem extends Disposable {
  name: string;
  command: string;
  text: string;
  tooltip: MarkdownString | undefined;
  backgroundColor: ThemeColor | undefined;
  accessibilityInformation: { label: string } | undefined;
  show(): void;
}

interface Provider {
  resolveWebviewView(view: unknown): void;
}

function createEditor() {
  return {
    /** Calls of VS Code's API, as text. */
    calls: [] as string[],
    disposed: 0,
    commands: new Map<string, (...args: unknown[]) => unknown>(),
    executedCommands: [] as [string, ...unknown[]][],
    commandResults: new Map<string, unknown>(),
    providers: [] as Provider[],
    contents: new Map<string, (uri: Uri) => string>(),
    documents: [] as TextDocument[],
    edits: [] as [string, string][],
    acceptsEdits: true,
    terminals: [] as Terminal[],
    statusBar: [] as StatusBarItem[],
    channels: new Map<string, string[]>(),
    settings: new Map<string, unknown>(),
    folders: [] as Uri[],
    foundFiles: [] as Uri[],
    tabs: [] as Uri[],
    active: undefined as { document: TextDocument; selection: Range } | undefined,
    diagnostics: new Map<string, object[]>(),
    /** The user's choice in dialogs; undefined to dismiss them. */
    choice: undefined as string | undefined,
    isTrusted: false,
    isFocused: true,
    events: {
      editor: new EventEmitter(),
      selection: new EventEmitter(),
      closedTerminal: new EventEmitter<Terminal>(),
      diagnostics: new EventEmitter<{ uris: Uri[] }>(),
      save: new EventEmitter(),
      trust: new EventEmitter(),
      shellExecution: new EventEmitter(),
      files: new EventEmitter(),
      configuration: new EventEmitter<{ affectsConfiguration(name: string): boolean }>(),
    },
  };
}

export let editor = createEditor();

export function resetEditor(): void {
  editor = createEditor();
}

function recordCall(call: string, onDispose: () => void = () => undefined): Disposable {
  const { calls } = editor;
  const owner = editor;
  calls.push(call);
  return {
    dispose: () => {
      owner.disposed += 1;
      onDispose();
    },
  };
}

type EventName = keyof ReturnType<typeof createEditor>["events"];

function onEvent(name: EventName): (listener: Listener<never>) => Disposable {
  return (listener) => {
    const registered = (editor.events[name].event as (listener: Listener<never>) => Disposable)(listener);
    return recordCall(`listener ${name}`, () => {
      registered.dispose();
    });
  };
}

function channel(name: string): object {
  const lines: string[] = [];
  editor.channels.set(name, lines);
  const log =
    (level: string) =>
    (text: string): void => {
      lines.push(`${level}${text}`);
    };
  const show = (): void => void editor.calls.push(`show ${name}`);
  const levels = { info: log(""), warn: log("warning: "), error: log("error: "), appendLine: log("") };
  return { ...levels, show, ...recordCall(`channel ${name}`) };
}

const answer =
  (kind: string) =>
  (message: string, ...rest: unknown[]): Promise<string | undefined> => {
    editor.calls.push(`${kind} ${message} ${JSON.stringify(rest)}`);
    return Promise.resolve(editor.choice);
  };

export const window = {
  get state() {
    return { focused: editor.isFocused };
  },
  get tabGroups() {
    const tabs = editor.tabs.map((uri) => ({ input: new TabInputText(uri) }));
    return { all: [{ tabs: [...tabs, { input: {} }] }] };
  },
  get activeTextEditor() {
    return editor.active;
  },
  createOutputChannel: channel,
  createStatusBarItem: (): StatusBarItem => {
    const empty = { tooltip: undefined, backgroundColor: undefined, accessibilityInformation: undefined };
    const item = { name: "", command: "", text: "", ...empty, show: () => undefined, ...recordCall("status bar") };
    editor.statusBar.push(item);
    return item;
  },
  createTerminal: (options: Terminal["options"]): Terminal => {
    const terminal = new Terminal(options);
    editor.terminals.push(terminal);
    return terminal;
  },
  registerWebviewViewProvider: (id: string, provider: Provider) => {
    editor.providers.push(provider);
    return recordCall(`view ${id}`);
  },
  showTextDocument: (uri: Uri, options: unknown) => {
    editor.calls.push(`open ${uri.toString()} ${JSON.stringify(options)}`);
    return Promise.resolve();
  },
  showInputBox: (options: unknown) => answer("input")(JSON.stringify(options)),
  showOpenDialog: () => Promise.resolve(editor.foundFiles),
  showWarningMessage: answer("warning"),
  showInformationMessage: answer("information"),
  showQuickPick: (items: ({ label: string } | string)[]) => {
    const labelOf = (item: (typeof items)[number]): string => (typeof item === "string" ? item : item.label);
    editor.calls.push(`pick ${items.map(labelOf).join(", ")}`);
    return Promise.resolve(items.find((item) => labelOf(item) === editor.choice));
  },
  onDidChangeActiveTextEditor: onEvent("editor"),
  onDidChangeTextEditorSelection: onEvent("selection"),
  onDidCloseTerminal: onEvent("closedTerminal"),
  onDidStartTerminalShellExecution: onEvent("shellExecution"),
};

export const workspace = {
  get isTrusted() {
    return editor.isTrusted;
  },
  get workspaceFolders() {
    return editor.folders.map((uri) => ({ uri }));
  },
  get textDocuments() {
    return editor.documents;
  },
  getConfiguration: (section: string) => ({ get: (name: string) => editor.settings.get(`${section}.${name}`) }),
  registerTextDocumentContentProvider: (
    scheme: string,
    provider: { provideTextDocumentContent(uri: Uri): string },
  ) => {
    editor.contents.set(scheme, (uri) => provider.provideTextDocumentContent(uri));
    return recordCall(`documents ${scheme}`);
  },
  applyEdit: (edit: WorkspaceEdit): Promise<boolean> => {
    for (const [uri, range, text] of editor.acceptsEdits ? edit.replacements : []) {
      const document = editor.documents.find((each) => each.uri.toString() === uri.toString());
      if (document === undefined) continue;
      const [start, end] = [document.offsetAt(range.start), document.offsetAt(range.end)];
      editor.edits.push([document.text.slice(start, end), text]);
      document.text = document.text.slice(0, start) + text + document.text.slice(end);
    }
    return Promise.resolve(editor.acceptsEdits);
  },
  findFiles: (pattern: string, _without: unknown, most: number): Promise<Uri[]> => {
    editor.calls.push(`find ${pattern} ${String(most)}`);
    return Promise.resolve(editor.foundFiles);
  },
  onDidCreateFiles: onEvent("files"),
  onDidDeleteFiles: onEvent("files"),
  onDidRenameFiles: onEvent("files"),
  onDidSaveTextDocument: onEvent("save"),
  onDidGrantWorkspaceTrust: onEvent("trust"),
  onDidChangeConfiguration: onEvent("configuration"),
};

export const languages = {
  onDidChangeDiagnostics: onEvent("diagnostics"),
  getDiagnostics: (uri?: Uri) => {
    if (uri !== undefined) return editor.diagnostics.get(uri.path) ?? [];
    return [...editor.diagnostics].map(([path, diagnostics]) => [Uri.file(path), diagnostics]);
  },
};

export const commands = {
  registerCommand: (name: string, handler: (...args: unknown[]) => unknown) => {
    editor.commands.set(name, handler);
    return recordCall(`command ${name}`);
  },
  executeCommand: (name: string, ...args: unknown[]) => {
    editor.executedCommands.push([name, ...args]);
    return Promise.resolve(editor.commandResults.get(name));
  },
};

export const env = {
  openExternal: (uri: Uri) => Promise.resolve(editor.calls.push(`browse ${uri.toString()}`) > 0),
};
