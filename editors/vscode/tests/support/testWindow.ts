/** A whole host with an in-memory agent, and the view state from its messages. */
import assert from "node:assert/strict";
import { hostMessageOf, isViewEvent } from "../../src/shared/hostMessages.js";
import type { McpServer } from "@agentclientprotocol/sdk";
import { Controller } from "../../src/host/controller.js";
import { ReviewService } from "../../src/host/reviewService.js";
import { ViewPublisher } from "../../src/host/viewPublisher.js";
import type { AgentChoice } from "../../src/host/agentChoice.js";
import { ServerMissingError, type ServerCommand } from "../../src/host/serverLocator.js";
import type { Problem } from "../../src/host/ports.js";
import type { HostState, ServerHandle } from "../../src/host/hostServices.js";
import type { HostMessage } from "../../src/shared/events.js";
import type { Intent } from "../../src/shared/intents.js";
import { reduceAll } from "../../src/shared/reducer.js";
import { EMPTY_VIEW, type ViewState } from "../../src/shared/state.js";
import { UNUSED_SERVICES } from "./services.js";
import { FakeAgent } from "./agent.js";
import { FakeEditorWindow, FakeReviewDisplay, FakeTextStore, FakeFiles, FakeLog, FakeWorkspaceState, FakeTerminalPanel } from "./fakes.js";

export const SERVER_COMMAND: ServerCommand = {
  command: "/bin/acp-server",
  programArguments: [],
  serveArguments: ["serve"],
  environment: {},
};

/** Only a failing test waits this long. */
const DEADLINE_MILLISECONDS = 30_000;

export class TestWindow {
  /** The own server. */
  readonly agent = new FakeAgent();
  /** Other agents by their commands. */
  readonly agents = new Map<string, FakeAgent>();
  /** The agent that the user chooses next. */
  choice: AgentChoice | null | undefined;
  readonly editorWindow = new FakeEditorWindow();
  readonly files: FakeFiles;
  readonly terminalPanel = new FakeTerminalPanel();
  readonly display = new FakeReviewDisplay(this.editorWindow.actions);
  /** The review, once it is loaded. */
  reviews: ReviewService | undefined;
  readonly log = new FakeLog();
  readonly workspaceState: FakeWorkspaceState;
  readonly textStore: FakeTextStore;
  readonly controller: Controller;
  readonly problems = new Map<string, readonly Problem[]>();
  readonly states: HostState[] = [];
  readonly notifications: string[] = [];
  readonly backoffs: number[] = [];
  view: ViewState = EMPTY_VIEW;
  isTrusted = true;
  mcpServers: McpServer[] = [];
  starts = 0;
  readonly started: ServerCommand[] = [];
  readonly storedKeys: string[] = [];
  readonly commandLines: string[] = [];
  readonly scripts: [string, string][] = [];
  uv: string | null = "/bin/uv";
  locateServer: () => Promise<ServerCommand> = () => Promise.resolve(SERVER_COMMAND);
  readonly #crashes = new Map<string, (reason: string) => void>();
  readonly #watchers = new Set<() => void>();

  /** Reuse the files, workspace state and text store of an `earlier` window, as after a reload. */
  constructor(earlier?: TestWindow) {
    this.files = earlier?.files ?? new FakeFiles();
    this.workspaceState = earlier?.workspaceState ?? new FakeWorkspaceState();
    this.textStore = earlier?.textStore ?? new FakeTextStore();
    for (const [command, agent] of earlier?.agents ?? []) this.agents.set(command, agent);
    this.controller = new Controller(
      {
        version: "1",
        editorWindow: this.editorWindow,
        documents: this.files,
        disk: this.files,
        terminalPanel: this.terminalPanel,
        workspaceState: this.workspaceState,
        textStore: this.textStore,
        log: this.log,
        locateServer: (choice) => (choice === null ? this.locateServer() : this.#locateOther(choice)),
        startServer: (serverCommand) => {
          this.started.push(serverCommand);
          return this.#start(serverCommand.command);
        },
        runCommandLine: ({ command }, words) => {
          this.commandLines.push([command, ...words].join(" "));
          return Promise.resolve(words[0] === "context" ? "[]" : "{}");
        },
        problemsOf: (path) => this.problems.get(path) ?? [],
        isTrusted: () => this.isTrusted,
        shouldFollowInitially: () => false,
        wait: (milliseconds) => {
          this.backoffs.push(milliseconds);
          return Promise.resolve();
        },
        now: () => 0,
        onState: (state) => this.states.push(state),
        onQuestion: ({ questionId, text }) => this.notifications.push(`${questionId} ${text}`),
        ...UNUSED_SERVICES,
        mcpServers: () => Promise.resolve(this.mcpServers),
        chooseAgent: () => Promise.resolve(this.choice),
        loadReviews: (context) => Promise.resolve((this.reviews = new ReviewService(context, this.display))),
        storeKey: (_serverCommand, providerId, key) => {
          this.storedKeys.push(`${providerId} ${key}`);
          return Promise.resolve();
        },
        locateUv: () => Promise.resolve(this.uv),
      },
      new ViewPublisher(0),
    );
    this.attach();
  }

  /** Attach a new view, as a reload does. */
  attach(): void {
    this.controller.viewPublisher.attach((message: HostMessage) => {
      if (message.kind === "script") {
        this.scripts.push([message.name, message.text]);
        return;
      }
      assert.equal(hostMessageOf(message)?.kind, message.kind);
      assert.deepEqual(message.events.filter((event) => !isViewEvent(event)), [], "the view would ignore these events");
      const before = message.kind === "replay" ? EMPTY_VIEW : this.view;
      this.view = reduceAll(before, message.events);
      for (const watcher of [...this.#watchers]) watcher();
    });
  }

  /** Start the server and wait for a session. */
  async connect(): Promise<this> {
    void this.handle({ type: "ready", session: "" });
    await this.until((view) => view.connection.status === "ready" && view.session.id !== "");
    return this;
  }

  handle(intent: Intent): Promise<void> {
    return this.controller.handle(intent);
  }

  /** Send a prompt; resolves when its turn has ended. */
  prompt(text: string, busyMode: "turn" | "steer" | "queue" = "turn"): Promise<void> {
    const switches = { withSelection: false, withFile: false, withProblems: false };
    return this.handle({ type: "send", draft: { text, images: [], mentions: [], ...switches }, busyMode });
  }

  /** Wait until the view matches. */
  until(isMatch: (view: ViewState) => boolean): Promise<ViewState> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        reject(new Error(`the view did not reach the expected state: ${JSON.stringify(this.view)}`));
      }, DEADLINE_MILLISECONDS);
      const check = (): void => {
        if (!isMatch(this.view)) return;
        clearTimeout(timer);
        this.#watchers.delete(check);
        resolve(this.view);
      };
      this.#watchers.add(check);
      check();
    });
  }

  /** Check again what `until` waits for, because another view has changed. */
  check(): void {
    for (const watcher of [...this.#watchers]) watcher();
  }

  /** Make an agent stop unexpectedly, by default the own server. */
  crash(reason: string, command: string = SERVER_COMMAND.command): void {
    this.#crashes.get(command)?.(reason);
  }

  close(): void {
    this.controller.dispose();
  }

  #locateOther(choice: AgentChoice): Promise<ServerCommand> {
    if (!this.agents.has(choice.command)) return Promise.reject(new ServerMissingError(`${choice.name} is gone`));
    return Promise.resolve({ ...SERVER_COMMAND, command: choice.command, environment: choice.environment });
  }

  #start(command: string): ServerHandle {
    this.starts += 1;
    const { stream, close } = (this.agents.get(command) ?? this.agent).open();
    const ended = new Promise<string>((resolve) => {
      this.#crashes.set(command, (reason) => {
        close();
        resolve(reason);
      });
    });
    return { stream, ended, dispose: close };
  }
}
