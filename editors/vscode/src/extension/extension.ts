/**
 * Where VS Code begins.
 *
 * Owns the joining of the host with VS Code: commands, listeners and everything that is disposed of
 * at the end. Refuses to know what any of it means.
 */
import { join } from "node:path";
import {
  commands,
  languages,
  window,
  workspace,
  type ExtensionContext,
  type Memento,
  type Uri,
} from "vscode";
import { Controller } from "../host/controller.js";
import { Hub } from "../host/hub.js";
import { locate, type Launch } from "../host/locating.js";
import { NodeDrawer } from "../host/nodeDrawer.js";
import type { Drawer, Memory } from "../host/ports.js";
import { NodeDisk } from "../host/nodeDisk.js";
import { startServer } from "../host/serverProcess.js";
import type { HostState, Wire } from "../host/surroundings.js";
import { isRecord } from "../shared/intents.js";
import { ChatView } from "./chatView.js";
import { EditorDesk, problemsOf } from "./desk.js";
import { DiffDocuments } from "./diffDocuments.js";
import { EditorDocuments } from "./documents.js";
import { ChannelLog } from "./log.js";
import { EditorPanel } from "./panel.js";
import { followsAtFirst, isTraced, notifiesWhenHidden, OF_THE_SERVER, SECTION, serverSettings } from "./settings.js";
import { StatusBar } from "./statusBar.js";

const ALLOW = "Allow Once";
const REJECT = "Reject";
const SHOW = "Show Chat";

/** Called by VS Code once; all that is made here is disposed of with the extension. */
export function activate(context: ExtensionContext): void {
  const log = new ChannelLog();
  const diffs = new DiffDocuments();
  const panel = new EditorPanel();
  const statusBar = new StatusBar();
  const desk = new EditorDesk(diffs, log);
  const hub = new Hub();
  const view = new ChatView(context.extensionUri, hub, log, (intent) => {
    void controller.do(intent);
  });
  const onState = (state: HostState): void => {
    statusBar.show(state);
    view.setWaiting(state.waiting);
    void commands.executeCommand("setContext", "acpServer.isRunning", state.isRunning);
  };
  const about: unknown = context.extension.packageJSON;
  const controller: Controller = new Controller({
    version: isRecord(about) ? String(about["version"]) : "",
    desk,
    documents: new EditorDocuments(),
    disk: new NodeDisk(),
    panel,
    memory: memoryOf(context.workspaceState),
    drawer: drawerOf(context.storageUri),
    log,
    locate: () => locate(serverSettings(), process.env),
    start: (launch, cwd) => wireTo(launch, cwd, log),
    problemsOf,
    isTrusted: () => workspace.isTrusted,
    followsAtFirst,
    wait: (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds)),
    now: () => Date.now(),
    onState,
    onPermission: (questionId, title) => {
      if (!view.isVisible && notifiesWhenHidden()) void notify(controller, questionId, title);
    },
  }, hub);
  const owned = [log, diffs, panel, statusBar, controller, view];
  context.subscriptions.push(...owned, ...registered(controller), ...listeners(controller));
}

/** Called by VS Code before the end; what `activate` made is disposed of by its subscriptions. */
export function deactivate(): void {
  // Nothing is held outside of the subscriptions.
}

function wireTo(launch: Launch, cwd: string, log: ChannelLog): Wire {
  const server = startServer(launch, cwd, log, isTraced);
  const ended = server.ended.then(({ status, lastWords }) =>
    lastWords === "" ? `The server has ended with ${status}.` : lastWords,
  );
  return {
    stream: server.stream,
    ended,
    dispose: () => {
      server.dispose();
    },
  };
}

function memoryOf(state: Memento): Memory {
  return {
    get: (key) => state.get<string>(key),
    set: (key, value) => {
      void state.update(key, value);
    },
  };
}

/** Without a workspace there is nowhere to keep anything, and nothing is started either. */
function drawerOf(folder: Uri | undefined): Drawer {
  if (folder !== undefined) return new NodeDrawer(join(folder.fsPath, "reviews"));
  const nothing = (): Promise<null> => Promise.resolve(null);
  return { read: nothing, write: async () => { await nothing(); }, remove: async () => { await nothing(); } };
}

/** Ask in a notification, which answers nothing by itself: the question waits in the chat. */
async function notify(controller: Controller, questionId: string, title: string): Promise<void> {
  const chosen = await window.showInformationMessage(`Hermes asks: ${title}`, ALLOW, REJECT, SHOW);
  if (chosen === ALLOW) controller.questions.permitBy(questionId, "allow_once");
  else if (chosen === REJECT) controller.questions.permitBy(questionId, "reject_once");
  else if (chosen === SHOW) controller.desk.revealChat();
}

function registered(controller: Controller): { dispose(): void }[] {
  const reveal = (what: "focusInput" | "showSessions" | "showContext"): void => {
    controller.desk.revealChat();
    controller.request(what);
  };
  const deeds: Readonly<Record<string, () => unknown>> = {
    focus: () => {
      reveal("focusInput");
    },
    newSession: () => controller.do({ type: "newSession" }),
    showSessions: () => {
      reveal("showSessions");
    },
    showContext: () => {
      reveal("showContext");
    },
    toggleFollow: () => controller.do({ type: "follow", isOn: !controller.following.isOn }),
    addSelection: () => {
      controller.look();
      reveal("focusInput");
    },
    stop: () => controller.do({ type: "stop" }),
    restart: () => controller.do({ type: "restart" }),
    signIn: () => pickSignIn(controller),
    showLog: () => controller.do({ type: "showLog" }),
  };
  return Object.entries(deeds).map(([name, deed]) => commands.registerCommand(`acpServer.${name}`, deed));
}

async function pickSignIn(controller: Controller): Promise<void> {
  const items = controller.signInWays.map(({ id, name, description }) => ({ id, label: name, detail: description }));
  if (items.length === 0) {
    await controller.desk.tell("The agent offers no way to sign in, or is not there yet.", []);
    return;
  }
  const placeHolder = "How do you want to sign in?";
  const chosen = items.length === 1 ? items[0] : await window.showQuickPick(items, { placeHolder });
  if (chosen !== undefined) await controller.do({ type: "signIn", wayId: chosen.id });
}

function listeners(controller: Controller): { dispose(): void }[] {
  const look = (): void => {
    controller.look();
  };
  return [
    window.onDidChangeActiveTextEditor(look),
    window.onDidChangeTextEditorSelection(look),
    languages.onDidChangeDiagnostics(({ uris }) => {
      controller.presence.checked(pathsOf(uris));
      look();
    }),
    workspace.onDidSaveTextDocument(() => {
      controller.refreshChanges();
    }),
    workspace.onDidGrantWorkspaceTrust(() => {
      controller.restart();
    }),
    workspace.onDidChangeConfiguration((change) => {
      const isOfServer = OF_THE_SERVER.some((name) => change.affectsConfiguration(`${SECTION}.${name}`));
      if (isOfServer) void offerRestart(controller);
    }),
  ];
}

function pathsOf(uris: readonly Uri[]): string[] {
  return uris.filter(({ scheme }) => scheme === "file").map(({ fsPath }) => fsPath);
}

async function offerRestart(controller: Controller): Promise<void> {
  const action = "Restart the Server";
  const chosen = await controller.desk.tell("The server's settings have changed.", [action]);
  if (chosen === action) controller.restart();
}
