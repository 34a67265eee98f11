/**
 * The chat's webviews: in the side bars and in editor tabs.
 *
 * Validates every message from a webview before it is handled.
 */
import { randomUUID } from "node:crypto";
import {
  commands,
  env,
  EventEmitter,
  l10n,
  Uri,
  ViewColumn,
  window,
  type Disposable as Registration,
  type Webview,
  type WebviewPanel,
  type WebviewView,
} from "vscode";
import { SIDE_BAR, type ViewPublisher } from "../host/viewPublisher.js";
import type { Disposable, Log } from "../host/ports.js";
import type { HostMessage } from "../shared/events.js";
import { isIntent, type Intent } from "../shared/intents.js";
import { renderPage } from "./page.js";
import { t } from "../shared/l10n.js";

const SECONDARY_SIDE_BAR = "acpServer.secondaryChat";
const TAB_TYPE = "acpServer.chatTab";
const UNTITLED = "Hermes Agent";

export class ChatViews implements Disposable {
  readonly #folder: Uri;
  readonly #viewPublisher: ViewPublisher;
  readonly #log: Log;
  readonly #onIntent: (intent: Intent, viewId: string) => void;
  readonly #registrations: readonly Registration[];
  /** The resolved views of the side bars, by view id. */
  readonly #views = new Map<string, WebviewView>();
  readonly #panels = new Map<string, WebviewPanel>();
  readonly #changed = new EventEmitter<unknown>();
  /** Fires when what the views show may have changed. */
  readonly onDidChange = this.#changed.event;
  #openQuestions = 0;

  constructor(folder: Uri, viewPublisher: ViewPublisher, log: Log, onIntent: (intent: Intent, viewId: string) => void) {
    this.#folder = folder;
    this.#viewPublisher = viewPublisher;
    this.#log = log;
    this.#onIntent = onIntent;
    const sideBars = [SECONDARY_SIDE_BAR, SIDE_BAR].map((viewId) =>
      window.registerWebviewViewProvider(viewId, {
        resolveWebviewView: (view: WebviewView): void => {
          this.#resolve(view, viewId);
        },
      }),
    );
    const tabs = window.registerWebviewPanelSerializer(TAB_TYPE, {
      deserializeWebviewPanel: (panel: WebviewPanel): Promise<void> => {
        this.#addPanel(panel, "");
        return Promise.resolve();
      },
    });
    this.#registrations = [...sideBars, tabs];
  }

  /** Whether a visible view shows a session, and VS Code's window has the focus. */
  isShowing(sessionId: string): boolean {
    const isVisible = ([viewId, { visible }]: [string, { readonly visible: boolean }]): boolean =>
      visible && this.#viewPublisher.shownBy(viewId) === sessionId;
    return window.state.focused && [...this.#views, ...this.#panels].some(isVisible);
  }

  /** Show the number of unanswered questions as a badge. */
  showOpenQuestions(openQuestions: number): void {
    this.#openQuestions = openQuestions;
    const tooltip = openQuestions === 1 ? t("1 question is waiting for you") : t("{0} questions are waiting for you", openQuestions);
    for (const view of this.#views.values()) view.badge = openQuestions === 0 ? undefined : { value: openQuestions, tooltip };
  }

  /** Reveal the view that the user last used. */
  reveal(): void {
    const { activeId } = this.#viewPublisher;
    const panel = this.#panels.get(activeId);
    if (panel === undefined) void commands.executeCommand(`${activeId}.focus`);
    else panel.reveal();
  }

  /** Open an editor tab with a session; empty for a new one. */
  openTab(sessionId: string): void {
    const panel = window.createWebviewPanel(TAB_TYPE, UNTITLED, ViewColumn.Active, { retainContextWhenHidden: true });
    this.#addPanel(panel, sessionId);
  }

  async openWindow(): Promise<void> {
    this.openTab("");
    await commands.executeCommand("workbench.action.moveEditorToNewWindow");
  }

  async openSecondarySideBar(): Promise<void> {
    await commands.executeCommand(`${SECONDARY_SIDE_BAR}.focus`);
  }

  dispose(): void {
    for (const registration of this.#registrations) registration.dispose();
  }

  #resolve(view: WebviewView, viewId: string): void {
    this.#views.set(viewId, view);
    this.showOpenQuestions(this.#openQuestions);
    const subscription = this.#connect(view.webview, viewId, (message) => {
      const agent = agentIn(message);
      if (agent !== undefined) view.title = agent === "" ? t("Chat") : agent;
    });
    view.onDidChangeVisibility(() => {
      this.#changed.fire(undefined);
      if (!view.visible && this.#viewPublisher.activeId === viewId) this.#viewPublisher.activate(SIDE_BAR);
    });
    view.onDidDispose(() => {
      subscription.dispose();
      if (this.#views.get(viewId) !== view) return;
      this.#views.delete(viewId);
      this.#viewPublisher.detach(viewId);
    });
  }

  #addPanel(panel: WebviewPanel, sessionId: string): void {
    const viewId = randomUUID();
    this.#panels.set(viewId, panel);
    this.#viewPublisher.open(viewId, sessionId);
    this.#viewPublisher.activate(viewId);
    panel.iconPath = Uri.joinPath(this.#folder, "media", "activity.svg");
    const subscription = this.#connect(panel.webview, viewId, (message) => {
      const title = titleIn(message, this.#viewPublisher.shownBy(viewId));
      if (title !== undefined) panel.title = title === "" ? UNTITLED : title;
    });
    panel.onDidChangeViewState(() => {
      this.#changed.fire(undefined);
      if (panel.active) this.#viewPublisher.activate(viewId);
    });
    panel.onDidDispose(() => {
      subscription.dispose();
      this.#panels.delete(viewId);
      this.#viewPublisher.close(viewId);
    });
  }

  /** Load the page of a view, and exchange messages with it; `onMessage` is called with those to it. */
  #connect(webview: Webview, viewId: string, onMessage: (message: HostMessage) => void): Registration {
    const dist = Uri.joinPath(this.#folder, "dist");
    webview.options = { enableScripts: true, localResourceRoots: [dist] };
    const uriOf = (name: string): string => webview.asWebviewUri(Uri.joinPath(dist, name)).toString();
    webview.html = renderPage({
      cspSource: webview.cspSource,
      script: uriOf("webview.js"),
      styles: uriOf("webview.css"),
      language: env.language,
      translations: l10n.bundle === undefined ? "" : JSON.stringify(l10n.bundle),
    });
    const post = (message: HostMessage): void => {
      onMessage(message);
      if (message.kind === "replay") this.#changed.fire(undefined);
      void webview.postMessage(message);
    };
    return webview.onDidReceiveMessage((message: unknown) => {
      this.#receive(message, viewId, post);
    });
  }

  #receive(message: unknown, viewId: string, post: (message: HostMessage) => void): void {
    if (!isIntent(message)) {
      this.#log.warn(`ignored an invalid message from the view: ${JSON.stringify(message)}`);
      return;
    }
    if (message.type === "ready") {
      // The page of a restored tab knows its session.
      const isRestored = viewId !== SIDE_BAR && this.#viewPublisher.shownBy(viewId) === "";
      if (isRestored) this.#viewPublisher.open(viewId, message.session);
      this.#viewPublisher.attach(post, viewId);
    }
    this.#onIntent(message, viewId);
  }
}

/** Return the title of a session in a list of sessions; undefined if a message has none. */
function titleIn(message: HostMessage, sessionId: string): string | undefined {
  if (message.kind === "script") return undefined;
  const list = message.events.findLast((event) => event.type === "sessions");
  return list?.type === "sessions" ? (list.sessions.find(({ id }) => id === sessionId)?.title ?? "") : undefined;
}

/** Return the name of the agent in a message, empty for the own server; undefined if a message has none. */
function agentIn(message: HostMessage): string | undefined {
  if (message.kind === "script") return undefined;
  const connection = message.events.findLast((event) => event.type === "connection");
  return connection?.type === "connection" ? (connection.agentId && connection.agent) : undefined;
}
