/** As much of VS Code as the extension's beginning touches; what is asked of it is noted. */

interface Disposable {
  dispose(): void;
}

export const asked: string[] = [];
export const commandsThere = new Map<string, (...given: unknown[]) => unknown>();
export const providers: { resolveWebviewView(view: unknown): void }[] = [];
export let disposed = 0;

function noted(what: string): Disposable {
  asked.push(what);
  return {
    dispose: () => {
      disposed += 1;
    },
  };
}

function channel(name: string): object {
  return { info: nothing, warn: nothing, error: nothing, appendLine: nothing, show: nothing, ...noted(`channel ${name}`) };
}

const nothing = (): undefined => undefined;
const listening =
  (name: string) =>
  (): Disposable =>
    noted(`listener ${name}`);

export const window = {
  state: { focused: true },
  tabGroups: { all: [] },
  activeTextEditor: undefined,
  createOutputChannel: channel,
  createStatusBarItem: () => ({ show: nothing, ...noted("status bar") }),
  registerWebviewViewProvider: (id: string, provider: { resolveWebviewView(view: unknown): void }) => {
    providers.push(provider);
    return noted(`view ${id}`);
  },
  onDidChangeActiveTextEditor: listening("editor"),
  onDidChangeTextEditorSelection: listening("selection"),
  showWarningMessage: (message: string) => {
    asked.push(`warning ${message}`);
    return Promise.resolve(undefined);
  },
};
export const workspace = {
  isTrusted: false,
  workspaceFolders: [],
  textDocuments: [],
  getConfiguration: () => ({ get: nothing }),
  registerTextDocumentContentProvider: (scheme: string) => noted(`documents ${scheme}`),
  onDidSaveTextDocument: listening("save"),
  onDidGrantWorkspaceTrust: listening("trust"),
  onDidChangeConfiguration: listening("configuration"),
};
export const languages = { onDidChangeDiagnostics: listening("diagnostics"), getDiagnostics: () => [] };
export const commands = {
  registerCommand: (name: string, deed: (...given: unknown[]) => unknown) => {
    commandsThere.set(name, deed);
    return noted(`command ${name}`);
  },
  executeCommand: (name: string) => {
    asked.push(`run ${name}`);
    return Promise.resolve();
  },
};
export const env = {};
export const DiagnosticSeverity = { Error: 0, Warning: 1, Information: 2, Hint: 3 };
export const StatusBarAlignment = { Left: 1, Right: 2 };

export class EventEmitter {}
export class MarkdownString {}
export class Position {}
export class Range {}
export class TabInputText {}
export class ThemeColor {}
export class ThemeIcon {}
export class WorkspaceEdit {}
export const Uri = {
  file: (path: string) => ({ path, fsPath: path, scheme: "file", toString: () => path }),
  joinPath: (base: { path: string }, ...parts: string[]) => Uri.file([base.path, ...parts].join("/")),
};
