/**
 * Entry point of the extension.
 *
 * Connects the host to VS Code: services, commands and listeners, all disposed of on deactivation.
 */
import "./translations.js";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import {
  chat,
  commands,
  languages,
  lm,
  window,
  workspace,
  type ExtensionContext,
  Uri,
  type CodeActionProvider,
  type Memento,
} from "vscode";
import { Controller } from "../host/controller.js";
import { ViewPublisher } from "../host/viewPublisher.js";
import type { AgentChoice } from "../host/agentChoice.js";
import { OWN_AGENT } from "../host/agentIds.js";
import { messageOf } from "../host/errors.js";
import { t } from "../shared/l10n.js";
import { findProgram, locateServer, locateUv, ServerMissingError, type ServerCommand } from "../host/serverLocator.js";
import { DirectoryTextStore } from "../host/directoryTextStore.js";
import type { TextStore, WorkspaceState } from "../host/ports.js";
import { NodeDisk } from "../host/nodeDisk.js";
import { commandsIn } from "../host/sessionDescription.js";
import { startServer } from "../host/serverProcess.js";
import type { AskedQuestion, HostState, ServerHandle } from "../host/hostServices.js";
import { isRecord } from "../shared/validation.js";
import { AgentTree } from "./agentTree.js";
import { registerChat } from "./chatParticipant.js";
import { ChatViews } from "./chatViews.js";
import { agentViewHostOf, chatHostOf, mcpFiles } from "./viewHosts.js";
import { allProblems, VsCodeWindow, problemsOf } from "./editorWindow.js";
import { VsCodeDocuments } from "./documents.js";
import { ChannelLog } from "./log.js";
import { TerminalOutput } from "./terminalOutput.js";
import { VsCodeTerminalPanel } from "./terminalPanel.js";
import type { EditorReview } from "./editorReview.js";
import { shouldFollowInitially, isTraceEnabled, shouldOpenDiffs, shouldNotifyWhenHidden, SERVER_SETTINGS, SECTION, serverSettings } from "./settings.js";
import type { ActionHost } from "./actions.js";
import type { InlineEdit } from "./inlineEdits.js";
import type { McpContext } from "./mcpServers.js";
import { StatusBar } from "./statusBar.js";

/** Commands of the review, carried out by `EditorReview`, which is loaded with the first change. */
const REVIEW_COMMANDS = [
  ...["allow", "allowAll", "reject", "rejectAll", "keepHunk", "revertHunk", "restoreHunks", "nextChange", "previousChange"],
  ...["openChange", "openParts", "keepFile", "revertFile", "keepAll", "revertAll"],
];
/** Actions outside of the chat, loaded with the first one. */
const ACTION_COMMANDS = ["fix", "explain", "inlineEdit", "fixTest", "mentionFiles", "commitMessage", "reviewChanges", "explainTerminal", "runCommand"];

/** Called once by VS Code. Everything created here is disposed of with the extension's subscriptions. */
export function activate(context: ExtensionContext): void {
  const log = new ChannelLog();
  const panel = new VsCodeTerminalPanel();
  const statusBar = new StatusBar();
  const terminalOutput = new TerminalOutput();
  const editorWindow = new VsCodeWindow(log, () => views);
  const viewPublisher = new ViewPublisher();
  const workspaceState = workspaceStateOf(context.workspaceState);
  const views = new ChatViews(context.extensionUri, viewPublisher, log, (intent, viewId) => {
    void controller.handle(intent, viewId);
  });
  const mcpContext: McpContext = {
    workspaceState,
    secrets: context.secrets,
    open: (path) => editorWindow.openFile(path, 1, true),
    onAgreed: () => {
      controller.agents.restartAll();
    },
  };
  const agentTree = new AgentTree(() => agentViewHostOf(controller, actionHost, mcpContext));
  const onState = (state: HostState): void => {
    statusBar.show(state);
    views.showOpenQuestions(state.openQuestions);
    agentTree.update(`${viewPublisher.shownSessionId} ${String(state.isRunning)}`);
    void commands.executeCommand("setContext", "acpServer.isRunning", state.isRunning);
    void commands.executeCommand("setContext", "acpServer.hasQuestion", state.openQuestions > 0);
  };
  const notify = async (question: AskedQuestion): Promise<void> => {
    await (await import("./questionNotice.js")).showNotice({
      views,
      show: (questionId) => controller.questionAnnouncer.show(questionId),
      reject: (questionId) => controller.handle({ type: "permit", questionId, optionId: controller.questions.optionOf(questionId, "reject_once"), reason: "" }),
    }, question);
  };
  let review: EditorReview | undefined;
  const manifest: unknown = context.extension.packageJSON;
  const controller: Controller = new Controller({
    version: isRecord(manifest) ? String(manifest["version"]) : "",
    editorWindow,
    documents: new VsCodeDocuments(),
    disk: new NodeDisk(),
    terminalPanel: panel,
    workspaceState,
    textStore: reviewStoreIn(context.storageUri),
    log,
    locateServer: locateAgent,
    chooseAgent,
    startServer: (serverCommand, cwd) => startServerProcess(serverCommand, cwd, log),
    problemsOf,
    isTrusted: () => workspace.isTrusted,
    shouldFollowInitially,
    wait: (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds)),
    now: () => Date.now(),
    onState,
    onQuestion: (question) => {
      if (!views.isShowing(question.sessionId) && shouldNotifyWhenHidden()) void notify(question);
    },
    locateUv: () => locateUv(process.env),
    readScript: (name) => readFile(join(context.extensionPath, "dist", `${name}.js`), "utf8"),
    loadReviews: async (reviewContext) => {
      const { service, display } = (await import("./review.js")).loadReview(reviewContext, editorWindow, shouldOpenDiffs);
      context.subscriptions.push((review = display));
      return service;
    },
    mcpServers: async () => (await mcpFiles(editorWindow.folders, async (file, folder) => (await import("./mcpServers.js")).agreedServers(file, folder, mcpContext))).flat(),
    symbols: async (params) => (await import("./symbols.js")).answerSymbols(params),
    mentionSources: { allProblems, terminalOutput: () => terminalOutput.last },
  }, viewPublisher);
  const actionHost = actionHostOf(controller, (edit) => review?.beginInlineEdit(edit));
  const disposables = [agentTree, log, panel, statusBar, terminalOutput, controller, views];
  const reviewCommands = REVIEW_COMMANDS.map((name) =>
    commands.registerCommand(`acpServer.${name}`, async (...args: unknown[]) => {
      await controller.reviews.load();
      await review?.run(name, args);
    }),
  );
  const actionCommands = registerActions(actionHost);
  context.subscriptions.push(...disposables, ...registerChat(chat, lm, chatHostOf(controller, actionHost)), ...reviewCommands, ...actionCommands, ...registerCommands(controller, views, Uri.joinPath(context.extensionUri, "guide.md")), ...registerListeners(controller));
}

/** Called by VS Code on shutdown. The subscriptions dispose of everything that `activate` created. */
export function deactivate(): void {
  // Nothing exists outside the subscriptions.
}

function startServerProcess(serverCommand: ServerCommand, cwd: string, log: ChannelLog): ServerHandle {
  const server = startServer(serverCommand, cwd, log, isTraceEnabled);
  const ended = server.exited.then(({ status, stderrTail }) =>
    [t("The agent stopped ({0}).", status), stderrTail].filter((part) => part !== "").join("\n"),
  );
  return {
    stream: server.stream,
    ended,
    dispose: () => {
      server.dispose();
    },
  };
}

/** Find the program of an agent, null for the own server.
 *
 * @throws {ServerMissingError} if it was not found.
 */
async function locateAgent(choice: AgentChoice | null): Promise<ServerCommand> {
  if (choice === null) return locateServer(serverSettings(), process.env);
  const command = choice.command === "" ? null : await findProgram(choice.command, process.env);
  if (command === null) throw new ServerMissingError(t("{0} was not found on this machine: {1}", choice.name, choice.command));
  return { command, programArguments: choice.arguments, serveArguments: [], environment: choice.environment };
}

async function chooseAgent(): Promise<AgentChoice | null | undefined> {
  try {
    return await (await import("./agents.js")).chooseAgent(process.env);
  } catch (error) {
    throw new Error(t("The list of agents could not be read: {0}", messageOf(error)));
  }
}

function workspaceStateOf(state: Memento): WorkspaceState {
  return {
    get: (key) => state.get<string>(key),
    set: (key, value) => {
      void state.update(key, value);
    },
  };
}

/**
 * Return the store of saved reviews. Without a workspace there is no storage directory, and the
 * server does not start either.
 */
function reviewStoreIn(storageUri: Uri | undefined): TextStore {
  if (storageUri !== undefined) return new DirectoryTextStore(join(storageUri.fsPath, "reviews"));
  const nothingStored = (): Promise<null> => Promise.resolve(null);
  return { read: nothingStored, write: async () => { await nothingStored(); }, remove: async () => { await nothingStored(); } };
}

/** Let actions outside of the chat use it: it is revealed, and its agent started. */
function actionHostOf(controller: Controller, beginInlineEdit: (edit: InlineEdit) => void): ActionHost {
  const start = (): Promise<boolean> => {
    const agent = controller.agents.shown;
    agent.start();
    return agent.whenReady();
  };
  const switches = { withSelection: false, withFile: false, withProblems: false };
  const { viewPublisher } = controller;
  const send: ActionHost["send"] = async (text, mentions) => {
    if (await start()) await controller.handle({ type: "send", draft: { text, mentions, images: [], ...switches }, busyMode: "queue" });
  };
  return {
    start,
    send,
    ask: async (text, mentions) => {
      controller.editorWindow.revealChat();
      await send(text, mentions);
    },
    editInline: async (text, mentions, edit) => {
      if (!(await start())) {
        controller.editorWindow.revealChat();
        return;
      }
      await controller.reviews.load();
      const isQueued = controller.sessions.shown?.isRunning === true;
      beginInlineEdit({ ...edit, sessionId: viewPublisher.shownSessionId, isQueued });
      await controller.handle({ type: "send", draft: { text, mentions, images: [], ...switches }, busyMode: "queue" });
    },
    askInBackground: async (text) => {
      if (await start()) return controller.askInBackground(text);
      controller.editorWindow.revealChat();
      return "";
    },
    commands: async () => ((await start()) ? commandsIn(viewPublisher.eventsOf(viewPublisher.shownSessionId)) : []),
    draft: async (text) => {
      controller.editorWindow.revealChat();
      if ((await start()) && text !== "") viewPublisher.record(viewPublisher.shownSessionId, { type: "restore", text, number: Date.now() });
    },
    attach: (paths) => {
      controller.editorWindow.revealChat();
      controller.attach(paths);
    },
  };
}

function registerActions(host: ActionHost): { dispose(): void }[] {
  const provider: CodeActionProvider = {
    provideCodeActions: async (document, range, context) =>
      workspace.isTrusted ? (await import("./actions.js")).codeActionsFor(document, range, context) : [],
  };
  const registered = ACTION_COMMANDS.map((name) =>
    commands.registerCommand(`acpServer.${name}`, async (...args: unknown[]) => {
      await (await import("./actions.js")).runAction(name, host, args);
    }),
  );
  const links = window.registerUriHandler({ handleUri: async (uri) => (await import("./actions.js")).openLink(host, uri) });
  return [...registered, links, languages.registerCodeActionsProvider({ scheme: "file" }, provider)];
}

function registerCommands(controller: Controller, views: ChatViews, guide: Uri): { dispose(): void }[] {
  const revealAndRequest = (action: "focusInput" | "showSessions" | "showContext"): void => {
    controller.editorWindow.revealChat();
    controller.requestViewAction(action);
  };
  const handlers: Readonly<Record<string, () => unknown>> = {
    focus: () => {
      revealAndRequest("focusInput");
    },
    showQuestion: () => controller.questionAnnouncer.show(),
    newSession: () => controller.handle({ type: "newSession" }),
    showSessions: () => {
      revealAndRequest("showSessions");
    },
    showContext: () => {
      revealAndRequest("showContext");
    },
    toggleFollow: () => controller.handle({ type: "follow", isOn: !controller.followMode.isOn }),
    addSelection: () => {
      controller.reportEditorState();
      revealAndRequest("focusInput");
    },
    stop: () => controller.handle({ type: "stop" }),
    restart: () => controller.handle({ type: "restart" }),
    signIn: () => pickSignIn(controller),
    switchAgent: () => controller.handle({ type: "switchAgent" }),
    showLog: () => controller.handle({ type: "showLog" }),
    openTab: () => {
      views.openTab("");
    },
    openWindow: () => views.openWindow(),
    openSecondarySideBar: () => views.openSecondarySideBar(),
    showAgentView: () => commands.executeCommand("acpServer.agent.focus"),
    openGuide: () => commands.executeCommand("markdown.showPreview", guide),
  };
  return Object.entries(handlers).map(([name, handler]) => commands.registerCommand(`acpServer.${name}`, handler));
}

async function pickSignIn(controller: Controller): Promise<void> {
  const items = controller.agents.shown.connectionEvent.signInMethods.map(({ id, name, description }) => ({ id, label: name, detail: description }));
  if (items.length === 0) {
    await controller.editorWindow.showWarning(t("The agent offers no sign-in method, or has not started yet."), []);
    return;
  }
  const placeHolder = t("How do you want to sign in?");
  const chosen = items.length === 1 ? items[0] : await window.showQuickPick(items, { placeHolder });
  if (chosen !== undefined) await controller.handle({ type: "signIn", methodId: chosen.id });
}

function registerListeners(controller: Controller): { dispose(): void }[] {
  const reportEditorState = (): void => {
    controller.reportEditorState();
  };
  const forgetFiles = (): void => {
    controller.mentionSearch.invalidate();
  };
  return [
    window.onDidChangeActiveTextEditor(reportEditorState),
    window.onDidChangeTextEditorSelection(reportEditorState),
    languages.onDidChangeDiagnostics(({ uris }) => {
      controller.editorReporter.onDiagnosticsChanged(pathsOf(uris));
      reportEditorState();
    }),
    workspace.onDidCreateFiles(forgetFiles),
    workspace.onDidDeleteFiles(forgetFiles),
    workspace.onDidRenameFiles(forgetFiles),
    workspace.onDidSaveTextDocument(() => {
      forgetFiles();
      controller.refreshChanges();
    }),
    workspace.onDidGrantWorkspaceTrust(() => {
      controller.agents.restartAll();
    }),
    workspace.onDidChangeConfiguration((change) => {
      const affectsServer = SERVER_SETTINGS.some((name) => change.affectsConfiguration(`${SECTION}.${name}`));
      if (affectsServer) void offerRestart(controller);
    }),
  ];
}

function pathsOf(uris: readonly Uri[]): string[] {
  return uris.filter(({ scheme }) => scheme === "file").map(({ fsPath }) => fsPath);
}

async function offerRestart(controller: Controller): Promise<void> {
  const action = t("Restart the Server");
  const chosen = await controller.editorWindow.showInformation(t("The server settings changed. Restart the server to apply them."), [action]);
  if (chosen === action) controller.agents.get(OWN_AGENT).restart();
}
