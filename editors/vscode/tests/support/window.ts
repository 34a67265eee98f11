/** A whole host over an agent in memory, and the view that its messages make. */
import { Controller } from "../../src/host/controller.js";
import { Hub } from "../../src/host/hub.js";
import type { Launch } from "../../src/host/locating.js";
import type { Problem } from "../../src/host/ports.js";
import type { HostState, Wire } from "../../src/host/surroundings.js";
import type { HostMessage } from "../../src/shared/events.js";
import type { Intent } from "../../src/shared/intents.js";
import { reduceAll } from "../../src/shared/reducer.js";
import { EMPTY_VIEW, type ViewState } from "../../src/shared/state.js";
import { FakeAgent } from "./agent.js";
import { FakeDesk, FakeDrawer, FakeFiles, FakeLog, FakeMemory, FakePanel } from "./surroundings.js";

export const LAUNCH: Launch = {
  command: "/bin/acp-server",
  program: [],
  serving: ["serve"],
  environment: {},
};

/** No test waits so long, unless something is wrong. */
const DEADLINE_MILLISECONDS = 30_000;

export class Window {
  readonly agent = new FakeAgent();
  readonly desk = new FakeDesk();
  readonly files: FakeFiles;
  readonly panel = new FakePanel();
  readonly log = new FakeLog();
  readonly memory: FakeMemory;
  readonly drawer: FakeDrawer;
  readonly host: Controller;
  readonly problems = new Map<string, readonly Problem[]>();
  readonly states: HostState[] = [];
  readonly notified: string[] = [];
  readonly waits: number[] = [];
  view: ViewState = EMPTY_VIEW;
  isTrusted = true;
  starts = 0;
  locate: () => Promise<Launch> = () => Promise.resolve(LAUNCH);
  #crash: (reason: string) => void = () => undefined;
  readonly #watchers = new Set<() => void>();

  /** `earlier` is a window whose workspace, memory and drawer this one has, as after a reload. */
  constructor(earlier?: Window) {
    this.files = earlier?.files ?? new FakeFiles();
    this.memory = earlier?.memory ?? new FakeMemory();
    this.drawer = earlier?.drawer ?? new FakeDrawer();
    this.host = new Controller(
      {
        version: "1",
        desk: this.desk,
        documents: this.files,
        disk: this.files,
        panel: this.panel,
        memory: this.memory,
        drawer: this.drawer,
        log: this.log,
        locate: () => this.locate(),
        start: () => this.#start(),
        run: (_launch, [topic]) => Promise.resolve(topic === "context" ? "[]" : "{}"),
        problemsOf: (path) => this.problems.get(path) ?? [],
        isTrusted: () => this.isTrusted,
        followsAtFirst: () => false,
        wait: (milliseconds) => {
          this.waits.push(milliseconds);
          return Promise.resolve();
        },
        now: () => 0,
        onState: (state) => this.states.push(state),
        onPermission: (questionId, title) => this.notified.push(`${questionId} ${title}`),
      },
      new Hub(0),
    );
    this.attach();
  }

  /** Make the view anew, as a reload does. */
  attach(): void {
    this.host.hub.attach((message: HostMessage) => {
      const before = message.kind === "replay" ? EMPTY_VIEW : this.view;
      this.view = reduceAll(before, message.events);
      for (const watcher of [...this.#watchers]) watcher();
    });
  }

  /** Start, and wait until a session is there. */
  async begin(): Promise<this> {
    void this.do({ type: "ready" });
    await this.until((view) => view.connection.status === "ready" && view.session.id !== "");
    return this;
  }

  do(intent: Intent): Promise<void> {
    return this.host.do(intent);
  }

  /** Send a text as a prompt; resolves when it has been answered. */
  say(text: string, manner: "turn" | "steer" | "queue" = "turn"): Promise<void> {
    const switches = { withSelection: false, withFile: false, withProblems: false };
    return this.do({ type: "send", draft: { text, images: [], files: [], ...switches }, manner });
  }

  /** Wait until the view is so. */
  until(isSo: (view: ViewState) => boolean): Promise<ViewState> {
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => {
        reject(new Error(`the view did not become so: ${JSON.stringify(this.view)}`));
      }, DEADLINE_MILLISECONDS);
      const look = (): void => {
        if (!isSo(this.view)) return;
        clearTimeout(late);
        this.#watchers.delete(look);
        resolve(this.view);
      };
      this.#watchers.add(look);
      look();
    });
  }

  /** Let the server end by itself. */
  crash(reason: string): void {
    this.#crash(reason);
  }

  close(): void {
    this.host.dispose();
  }

  #start(): Wire {
    this.starts += 1;
    const { stream, close } = this.agent.open();
    const ended = new Promise<string>((resolve) => {
      this.#crash = (reason) => {
        close();
        resolve(reason);
      };
    });
    return { stream, ended, dispose: close };
  }
}
