/**
 * In-memory fake of the parts of VS Code's API that the extension uses.
 *
 * A test sets up `editor` and inspects it afterwards. Registrations and disposals are recorded.
 * `resetEditor` replaces it with a fresh one.
 */

import type {
  CodeAction,
  CodeLens,
  Range,
  TextDocument,
  TreeItem,
  WorkspaceEdit} from "./vscodeTypes.js";
import {
  EventEmitter,
  TabInputText,
  TabInputTextDiff,
  Uri,
  type Disposable,
  type ProgressOptions,
  type ProgressWork,
  runProgress,
  Terminal,
  type CommentThread,
  type Listener,
  type MarkdownString,
  type ThemeColor,
} from "./vscodeTypes.js";

export * from "./vscodeTypes.js";

export const DiagnosticSeverity = { Error: 0, Warning: 1, Information: 2, Hint: 3 };
export const OverviewRulerLane = { Left: 1 };
export const TextEditorRevealType = { InCenterIfOutsideViewport: 2 };
export const StatusBarAlignment = { Left: 1, Right: 2 };

interface StatusBarItem extends Disposable {
  name: string;
  command: string;
  text: string;
  tooltip: MarkdownString | undefined;
  backgroundColor: ThemeColor | undefined;
  accessibilityInformation: { label: string } | undefined;
  show(): void;
}

/** An editor tab with a page. */
export class WebviewPanel {
  title: string;
  visible = true;
  active = true;
  iconPath: Uri | undefined;
  readonly posted: { kind: string; events: { type: string }[] }[] = [];
  readonly #messages = new EventEmitter();
  readonly #state = new EventEmitter();
  readonly #closed = new EventEmitter();
  readonly webview = {
    options: {},
    html: "",
    cspSource: "vscode-resource:",
    asWebviewUri: (uri: Uri) => `webview:${uri.path}`,
    postMessage: (message: (typeof this.posted)[number]) => Promise.resolve(this.posted.push(message) > 0),
    onDidReceiveMessage: this.#messages.event,
  };
  readonly onDidChangeViewState = this.#state.event;
  readonly onDidDispose = this.#closed.event;

  constructor(title: string) {
    this.title = title;
  }

  /** Post a message as the page. */
  post(message: unknown): void {
    this.#messages.fire(message);
  }

  reveal(): void {
    editor.calls.push(`reveal ${this.title}`);
  }

  focus(): void {
    this.#state.fire(undefined);
  }

  close(): void {
    this.#closed.fire(undefined);
  }
}

export enum ViewColumn {
  Active = -1,
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
    panels: [] as WebviewPanel[],
    panelSerializer: undefined as { deserializeWebviewPanel(panel: WebviewPanel): Promise<void> } | undefined,
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
    /** The open diffs: addresses of both sides. */
    diffs: [] as TabInputTextDiff[],
    active: undefined as { document: TextDocument; selection: Range } | undefined,
    visibleEditors: [] as object[],
    codeActionProviders: [] as { provideCodeActions(document: TextDocument, range: Range, context: object): Promise<CodeAction[]> }[],
    clipboard: "",
    /** What the terminal's command copies; empty if nothing is selected. */
    terminalSelection: "",
    /** Repositories of the Git extension. */
    repositories: [] as object[],
    /** What the user enters in input boxes; undefined to dismiss them. */
    entered: undefined as string | undefined,
    lensProviders: [] as { provideCodeLenses(document: TextDocument): CodeLens[] }[],
    threads: [] as CommentThread[],
    uriHandler: undefined as { handleUri(uri: Uri): Promise<void> } | undefined,
    trees: [] as { getChildren(parent?: unknown): unknown[]; getTreeItem(element: unknown): TreeItem }[],
    diagnostics: new Map<string, object[]>(),
    /** The user's choice in dialogs; undefined to dismiss them. */
    choice: undefined as string | undefined,
    /** The user's choices in lists, in order; after them, that in dialogs. */
    picks: [] as string[],
    /** Titles of the notifications of progress in view. */
    notices: [] as string[],
    isTrusted: false,
    isFocused: true,
    events: {
      editor: new EventEmitter(),
      selection: new EventEmitter(),
      visibleEditors: new EventEmitter(),
      edited: new EventEmitter<{ document: TextDocument }>(),
      closedTerminal: new EventEmitter<Terminal>(),
      diagnostics: new EventEmitter<{ uris: Uri[] }>(),
      save: new EventEmitter(),
      trust: new EventEmitter(),
      shellExecution: new EventEmitter(),
      files: new EventEmitter(),
      windowState: new EventEmitter(),
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
    return Promise.resolve(editor.picks.shift() ?? editor.choice);
  };

export const comments = {
  createCommentController: (id: string) => ({
    createCommentThread: (uri: Uri, range: Range, shown: CommentThread["comments"]): CommentThread => {
      const owner = editor;
      const thread = { uri, range, comments: shown, dispose: () => void (owner.threads = owner.threads.filter((each) => each !== thread)) };
      editor.threads.push(thread);
      return thread;
    },
    ...recordCall(`comments ${id}`),
  }),
};

export const window = {
  get state() {
    return { focused: editor.isFocused };
  },
  get tabGroups() {
    const tabs = editor.tabs.map((uri) => ({ input: new TabInputText(uri) }));
    const diffs = editor.diffs.map((input) => ({ input }));
    const close = (closed: { input: unknown }[]): Promise<boolean> => {
      editor.diffs = editor.diffs.filter((each) => !closed.some(({ input }) => input === each));
      return Promise.resolve(true);
    };
    return { all: [{ tabs: [...tabs, ...diffs, { input: {} }] }], close };
  },
  get visibleTextEditors() {
    return editor.visibleEditors;
  },
  createTextEditorDecorationType: (options: object) => ({ options, ...recordCall("decoration") }),
  createTreeView: (id: string, { treeDataProvider }: { treeDataProvider: (typeof editor.trees)[number] }) => {
    editor.trees.push(treeDataProvider);
    return { description: "", ...recordCall(`tree ${id}`) };
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
  registerUriHandler: (handler: { handleUri(uri: Uri): Promise<void> }) => {
    editor.uriHandler = handler;
    return recordCall("links");
  },
  registerWebviewPanelSerializer: (type: string, serializer: typeof editor.panelSerializer) => {
    editor.panelSerializer = serializer;
    return recordCall(`tabs ${type}`);
  },
  createWebviewPanel: (_type: string, title: string): WebviewPanel => {
    const panel = new WebviewPanel(title);
    editor.panels.push(panel);
    return panel;
  },
  registerWebviewViewProvider: (id: string, provider: Provider) => {
    editor.providers.push(provider);
    return recordCall(`view ${id}`);
  },
  showTextDocument: (uri: Uri, options: unknown) => {
    editor.calls.push(`open ${uri.toString()} ${JSON.stringify(options)}`);
    return Promise.resolve();
  },
  showInputBox: (options: unknown) => answer("input")(JSON.stringify(options)).then((choice) => editor.entered ?? choice),
  withProgress: (options: ProgressOptions, work: ProgressWork) => runProgress(options, work, editor),
  showOpenDialog: () => Promise.resolve(editor.foundFiles),
  showWarningMessage: async (message: string, ...rest: { title?: string }[]) => {
    const choice = await answer("warning")(message, ...rest);
    return rest.find(({ title }) => title !== undefined && title === choice) ?? choice;
  },
  showErrorMessage: answer("error"),
  showInformationMessage: answer("information"),
  showQuickPick: (items: ({ label: string } | string)[]) => {
    const labelOf = (item: (typeof items)[number]): string => (typeof item === "string" ? item : item.label);
    editor.calls.push(`pick ${items.map(labelOf).join(", ")}`);
    const choice = editor.picks.shift() ?? editor.choice;
    return Promise.resolve(items.find((item) => labelOf(item) === choice));
  },
  onDidChangeActiveTextEditor: onEvent("editor"),
  onDidChangeWindowState: onEvent("windowState"),
  onDidChangeTextEditorSelection: onEvent("selection"),
  onDidChangeVisibleTextEditors: onEvent("visibleEditors"),
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
  openTextDocument: (uri: Uri): Promise<TextDocument> => {
    const document = editor.documents.find((each) => each.uri.path === uri.path);
    return document === undefined ? Promise.reject(new Error(`no file ${uri.path}`)) : Promise.resolve(document);
  },
  findFiles: (pattern: string, _without: unknown, most: number): Promise<Uri[]> => {
    editor.calls.push(`find ${pattern} ${String(most)}`);
    return Promise.resolve(editor.foundFiles);
  },
  onDidCreateFiles: onEvent("files"),
  onDidDeleteFiles: onEvent("files"),
  onDidRenameFiles: onEvent("files"),
  onDidChangeTextDocument: onEvent("edited"),
  onDidSaveTextDocument: onEvent("save"),
  onDidGrantWorkspaceTrust: onEvent("trust"),
  onDidChangeConfiguration: onEvent("configuration"),
};

export const languages = {
  registerCodeLensProvider: (_selector: unknown, provider: (typeof editor.lensProviders)[number]) => {
    editor.lensProviders.push(provider);
    return recordCall("lenses");
  },
  registerCodeActionsProvider: (_selector: unknown, provider: (typeof editor.codeActionProviders)[number]) => {
    editor.codeActionProviders.push(provider);
    return recordCall("code actions");
  },
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
    if (name === "workbench.action.terminal.copySelection" && editor.terminalSelection !== "") editor.clipboard = editor.terminalSelection;
    if (name === "vscode.diff") editor.diffs.push(new TabInputTextDiff(args[0] as Uri, args[1] as Uri));
    return Promise.resolve(editor.commandResults.get(name));
  },
};

export const extensions = {
  getExtension: (id: string) => {
    if (id !== "vscode.git") return undefined;
    return { activate: () => Promise.resolve({ getAPI: () => ({ repositories: editor.repositories }) }) };
  },
};

export const env = {
  language: "en",
  clipboard: {
    readText: () => Promise.resolve(editor.clipboard),
    writeText: (text: string) => Promise.resolve((editor.clipboard = text)),
  },
  openExternal: (uri: Uri) => Promise.resolve(editor.calls.push(`browse ${uri.toString()}`) > 0),
};

/** VS Code's own chat; hosts without one have none of its methods. */
export const chat = {
  createChatParticipant: (id: string, handler: unknown) => {
    return { handler, ...recordCall(`participant ${id}`) };
  },
};
export const lm = { registerTool: (name: string) => recordCall(`tool ${name}`) };
