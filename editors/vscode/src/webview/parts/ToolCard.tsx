/**
 * One tool call: title, status and content. Its permission request is in `QuestionDock`.
 *
 * Decides whether it is expanded, until the user toggles it.
 */
import type { ToolCallContent, ToolCallLocation } from "@agentclientprotocol/sdk";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { ToolCallState, SessionState } from "../../shared/state.js";
import { Icon, type IconName } from "../Icon.js";
import { CommandText } from "../CommandText.js";
import { InlineCode } from "../InlineCode.js";
import { PathText } from "../PathText.js";
import { Markdown } from "../markdown/Markdown.js";
import { isRecord } from "../../shared/validation.js";
import { useFolder, useHost } from "../hostContext.js";
import { countOf, DiffFacts, DiffView, namedDiff } from "./DiffView.js";
import { AgentMessage, MediaBlock, Thought } from "./Entries.js";
import { TerminalView } from "./TerminalView.js";
import { t } from "../../shared/l10n.js";

export const KIND_ICONS: Readonly<Record<ToolCallState["kind"], IconName>> = {
  read: "file",
  edit: "edit",
  delete: "trash",
  move: "move",
  search: "search",
  execute: "terminal",
  think: "lightbulb",
  fetch: "globe",
  switch_mode: "list",
  other: "tools",
};

/** Longer commands, and those of several lines, may be cut in the title: the open card shows them whole, below it. */
const MAX_TITLE_COMMAND = 60;
/** By the style; one line more, so that it is cut with an ellipsis. */
const MAX_TITLE_LINES = 2;
/** First lines of a script that only prepare the shell. */
const PRELUDE = /^(?:(?:set -|#!).*\n\s*)+/;

interface ToolCardProps {
  readonly call: ToolCallState;
  /** Whether its permission request is open. */
  readonly isAsking: boolean;
  readonly terminals: SessionState["terminals"] | undefined;
}

export function ToolCard({ call, isAsking, terminals }: ToolCardProps): JSX.Element {
  const [userChoice, setUserChoice] = useState<boolean | null>(null);
  // While its permission request is open, the dock shows the content.
  const isOpen = userChoice ?? (isOpenByDefault(call) && !isAsking);
  const nested = call.parentId === "" ? "" : "nested";
  const command = commandOf(call);
  const named = namedDiff(call, call.title, useFolder());
  // A diff names its file itself.
  const diffPaths = new Set(call.content.flatMap((part) => (part.type === "diff" ? [part.path] : [])));
  return (
    <article
      class={`entry call ${call.status} ${nested}`}
      aria-label={t("Tool call: {0}", call.title)}
      data-testid="tool-call"
      data-call-id={call.id}
      data-kind={call.kind}
      data-status={call.status}
    >
      <div class="call-head">
        <button
          type="button"
          class="fold"
          aria-expanded={isOpen}
          data-testid="tool-call-toggle"
          onClick={() => {
            setUserChoice(!isOpen);
          }}
        >
          <Icon name={isOpen ? "chevronDown" : "chevronRight"} />
          <Icon name={KIND_ICONS[call.kind]} />
          <CallTitle call={call} command={command} isBelow={isOpen && isLong(command)} />
        </button>
        <span class="call-end">
          {named !== undefined && !isGrowing(call) && <DiffFacts diff={named} call={call} isGrowing={false} counts={countOf([named], call.parts.rejected)} />}
          {call.decision !== "" && <span class="decision" title={call.decision}>{call.decision}</span>}
          <Status call={call} isAsking={isAsking} />
        </span>
      </div>
      {isOpen && (
        <div class="call-body">
          {isLong(command) && (
            <pre class="command" tabIndex={0} aria-label={t("Command")} data-testid="command">
              <CommandText text={command} />
            </pre>
          )}
          {/* The place of a command is the folder that it runs in. */}
          {command === "" && <Locations locations={call.locations.filter(({ path }) => !diffPaths.has(path))} />}
          {call.texts.map(({ kind, messageId, text }) => {
            const Text = kind === "agent" ? AgentMessage : Thought;
            return <Text key={kind + messageId} text={text} isGrowing={isGrowing(call)} />;
          })}
          {call.content.map((part, index) => (
            <ContentPart key={index} part={part} call={call} terminals={terminals} isNamed={part === named} />
          ))}
          <Instructions paths={call.instructions} />
        </div>
      )}
    </article>
  );
}

/**
 * Whether a call is expanded by default: failed calls, diffs and terminals are, plain results are not. Nor is what the
 * user rejected: they have seen it, and its result tells the model what to do now.
 */
function isOpenByDefault(call: ToolCallState): boolean {
  if (call.isRejected) return false;
  if (call.status === "failed") return true;
  return call.content.some(({ type }) => type !== "content");
}

/** A command is the title itself, from its first line that does something, unless it is below as a whole; other calls have their title. */
function CallTitle({ call, command, isBelow }: { call: ToolCallState; command: string; isBelow: boolean }): JSX.Element {
  if (isBelow) return <Title text={t("Command")} />;
  if (command === "") return <Title text={call.title === "" ? call.name : call.title} />;
  return (
    <span class="title command-title">
      <code><CommandText text={command.replace(PRELUDE, "").split("\n", MAX_TITLE_LINES + 1).join("\n")} /></code>
    </span>
  );
}

function isLong(command: string): boolean {
  return command.length > MAX_TITLE_COMMAND || command.includes("\n");
}

/** The whole command of a call that runs one; its title may be cut. Empty for other calls. */
export function commandOf({ kind, rawInput }: ToolCallState): string {
  if (kind !== "execute" || !isRecord(rawInput)) return "";
  const { command } = rawInput;
  if (Array.isArray(command)) return command.filter((word) => typeof word === "string").join(" ");
  return typeof command === "string" ? command.trim() : "";
}

/** A title whose parts in backticks are shown as code. */
export function Title({ text }: { text: string }): JSX.Element {
  return (
    <span class="title" title={text.replaceAll("`", "")}>
      <InlineCode text={text} />
    </span>
  );
}

const STATUS_ICONS: Readonly<Record<ToolCallState["status"], [IconName, string]>> = {
  pending: ["circle", t("Waiting")],
  in_progress: ["loading", t("Running")],
  completed: ["check", t("Done")],
  failed: ["error", t("Failed")],
};

function Status({ call, isAsking }: { call: ToolCallState; isAsking: boolean }): JSX.Element {
  const known: [IconName, string] = call.isCancelled ? ["stop", t("Stopped")] : STATUS_ICONS[call.status];
  const [icon, label] = isAsking ? (["question", t("Waiting for your permission")] as const) : known;
  return (
    <span class="status" role="img" aria-label={label} title={label}>
      <Icon name={icon} spins={icon === "loading"} />
    </span>
  );
}

function Locations({ locations }: { locations: readonly ToolCallLocation[] }): JSX.Element | null {
  const { post } = useHost();
  if (locations.length === 0) return null;
  return (
    <ul class="locations" aria-label={t("Locations")}>
      {locations.map(({ path, line }) => (
        <li key={`${path}:${String(line)}`}>
          <button
            type="button"
            class="link"
            data-testid="tool-call-location"
            onClick={() => {
              post({ type: "openFile", path, line: line ?? 1 });
            }}
          >
            <PathText path={path} />
            {typeof line === "number" && `:${String(line)}`}
          </button>
        </li>
      ))}
    </ul>
  );
}

interface ContentPartProps {
  readonly part: ToolCallContent;
  readonly call: ToolCallState;
  readonly terminals: SessionState["terminals"] | undefined;
  readonly isNamed: boolean;
}

function isGrowing({ status }: ToolCallState): boolean {
  return status === "pending" || status === "in_progress";
}

function ContentPart({ part, call, terminals, isNamed }: ContentPartProps): JSX.Element {
  if (part.type === "diff") return <DiffView diff={part} call={call} isGrowing={isGrowing(call)} isNamed={isNamed} />;
  if (part.type === "terminal") {
    return <TerminalView id={part.terminalId} terminal={terminals?.[part.terminalId]} />;
  }
  if (part.content.type === "text") return <Markdown text={part.content.text} isGrowing={isGrowing(call)} />;
  return <MediaBlock block={part.content} />;
}

function Instructions({ paths }: { paths: readonly string[] }): JSX.Element | null {
  if (paths.length === 0) return null;
  return (
    <p class="small instructions">
      <Icon name="book" /> {t("Instructions loaded:")} {paths.join(", ")}
    </p>
  );
}
