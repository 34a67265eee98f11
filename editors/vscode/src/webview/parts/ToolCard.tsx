/**
 * One tool call: title, status, content and permission request.
 *
 * Decides whether it is expanded, until the user toggles it.
 */
import type { ToolCallContent, ToolCallLocation } from "@agentclientprotocol/sdk";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { ToolCallState, PermissionQuestion, SessionState } from "../../shared/state.js";
import { Icon, type IconName } from "../Icon.js";
import { Markdown } from "../markdown/Markdown.js";
import { useHost } from "../hostContext.js";
import { DiffView } from "./DiffView.js";
import { MediaBlock } from "./Entries.js";
import { PermissionCard } from "./PermissionCard.js";
import { TerminalView } from "./TerminalView.js";

const KIND_ICONS: Readonly<Record<ToolCallState["kind"], IconName>> = {
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

interface ToolCardProps {
  readonly call: ToolCallState;
  readonly question: PermissionQuestion | undefined;
  readonly terminals: SessionState["terminals"] | undefined;
}

export function ToolCard({ call, question, terminals }: ToolCardProps): JSX.Element {
  const [userChoice, setUserChoice] = useState<boolean | null>(null);
  const isOpen = userChoice ?? (isOpenByDefault(call) || question !== undefined);
  const nested = call.parentId === "" ? "" : "nested";
  return (
    <section
      class={`entry call ${call.status} ${nested}`}
      aria-label={`Tool call: ${call.title}`}
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
          <Title text={call.title === "" ? call.name : call.title} />
        </button>
        {call.decision !== "" && <span class="decision">{call.decision}</span>}
        <Status call={call} isAsking={question !== undefined} />
      </div>
      {isOpen && (
        <div class="call-body">
          <Locations locations={call.locations} />
          {call.content.map((part, index) => (
            <ContentPart key={index} part={part} call={call} terminals={terminals} />
          ))}
          <Instructions paths={call.instructions} />
        </div>
      )}
      {question !== undefined && <PermissionCard question={question} />}
    </section>
  );
}

/** Whether a call is expanded by default: failed calls, diffs and terminals are, plain results are not. */
function isOpenByDefault(call: ToolCallState): boolean {
  if (call.status === "failed") return true;
  return call.content.some(({ type }) => type !== "content");
}

/** A title whose parts in backticks are shown as code. */
function Title({ text }: { text: string }): JSX.Element {
  const parts = text.split(/`([^`]*)`/);
  return (
    <span class="title">
      {parts.map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part))}
    </span>
  );
}

const STATUS_ICONS: Readonly<Record<ToolCallState["status"], [IconName, string]>> = {
  pending: ["circle", "Waiting"],
  in_progress: ["loading", "Running"],
  completed: ["check", "Done"],
  failed: ["error", "Failed"],
};

function Status({ call, isAsking }: { call: ToolCallState; isAsking: boolean }): JSX.Element {
  const known: [IconName, string] = call.isCancelled ? ["stop", "Stopped"] : STATUS_ICONS[call.status];
  const [icon, label] = isAsking ? (["question", "Waiting for your permission"] as const) : known;
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
    <ul class="locations" aria-label="Locations">
      {locations.map(({ path, line }) => (
        <li key={`${path}:${String(line)}`}>
          <button
            type="button"
            class="link"
            title={path}
            data-testid="tool-call-location"
            onClick={() => {
              post({ type: "openFile", path, line: line ?? 1 });
            }}
          >
            {baseName(path)}
            {typeof line === "number" && `:${String(line)}`}
          </button>
        </li>
      ))}
    </ul>
  );
}

function baseName(path: string): string {
  return path.split(/[/\\]/).at(-1) ?? path;
}

interface ContentPartProps {
  readonly part: ToolCallContent;
  readonly call: ToolCallState;
  readonly terminals: SessionState["terminals"] | undefined;
}

function ContentPart({ part, call, terminals }: ContentPartProps): JSX.Element {
  const isGrowing = call.status === "pending" || call.status === "in_progress";
  if (part.type === "diff") return <DiffView diff={part} callId={call.id} isGrowing={isGrowing} />;
  if (part.type === "terminal") {
    return <TerminalView id={part.terminalId} terminal={terminals?.[part.terminalId]} />;
  }
  if (part.content.type === "text") return <Markdown text={part.content.text} isGrowing={isGrowing} />;
  return <MediaBlock block={part.content} />;
}

function Instructions({ paths }: { paths: readonly string[] }): JSX.Element | null {
  if (paths.length === 0) return null;
  return (
    <p class="small instructions">
      <Icon name="book" /> Instructions loaded: {paths.join(", ")}
    </p>
  );
}
