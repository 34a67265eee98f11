/** Transcript entries other than tool calls. */
import type { ContentBlock } from "@agentclientprotocol/sdk";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { TranscriptItem } from "../../shared/state.js";
import { PARTLY_ACCEPTED } from "../../shared/hunks.js";
import type { RestoreScope } from "../../shared/intents.js";
import { Icon, IconButton, type IconName } from "../Icon.js";
import { Menu } from "../Menu.js";
import { InlineCode } from "../InlineCode.js";
import { DiffBlock } from "./DiffView.js";
import { Markdown } from "../markdown/Markdown.js";
import { placeOf } from "../format.js";
import { useHost } from "../hostContext.js";
import { t } from "../../shared/l10n.js";

type ItemOf<K extends TranscriptItem["kind"]> = Extract<TranscriptItem, { kind: K }>;

/** Diffs in a text: each of their lines begins with a sign, so that none ends them. */
const DIFF_FENCE = /^```diff\n((?:[-+].*\n)*)```\n*/m;
const BUSY_MODE_LABELS = { turn: "", steer: t("sent while the agent worked"), queue: t("queued") } as const;

export function UserMessage({ item, canRestore }: { item: ItemOf<"user">; canRestore: boolean }): JSX.Element {
  const busyModeLabel = BUSY_MODE_LABELS[item.busyMode];
  const [first] = item.blocks;
  if (first?.type === "text" && first.text.startsWith(PARTLY_ACCEPTED)) return <ToldParts text={first.text} />;
  return (
    <article class="entry user-message" aria-label={t("You")} data-testid="user-message">
      {busyModeLabel !== "" && <p class="busy-mode">{busyModeLabel}</p>}
      {item.blocks.map((block, index) => (
        <PromptBlock key={index} block={block} />
      ))}
      <PromptActions item={item} canRestore={canRestore} />
    </article>
  );
}

const RESTORE_ITEMS = [
  { id: "both", label: t("Restore files and conversation to here"), testId: "restore-both" },
  { id: "conversation", label: t("Restore only the conversation"), testId: "restore-conversation" },
  { id: "files", label: t("Restore only the files"), testId: "restore-files" },
] as const;

/** What can be done with an earlier prompt: copy it, edit and resend it, retry it, restore the state before it. */
function PromptActions({ item, canRestore }: { item: ItemOf<"user">; canRestore: boolean }): JSX.Element {
  const { post } = useHost();
  const [isOpen, setIsOpen] = useState(false);
  const text = item.blocks.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
  const restore = (scope: RestoreScope, isSentAgain: boolean): void => {
    setIsOpen(false);
    post({ type: "restore", checkpoint: item.checkpoint, scope, text: scope === "files" ? "" : text, isSentAgain });
  };
  return (
    <div class={isOpen ? "prompt-actions open" : "prompt-actions"} role="group" aria-label={t("Actions for this prompt")}>
      <IconButton icon="copy" label={t("Copy the prompt")} testId="copy-prompt" onPress={() => { post({ type: "copyText", text }); }} />
      {canRestore && item.checkpoint !== "" && (
        <>
          <IconButton icon="edit" label={t("Edit and resend: the conversation goes back to here")} testId="edit-prompt" onPress={() => { restore("conversation", false); }} />
          <IconButton icon="refresh" label={t("Retry: files and conversation go back to here")} testId="retry-prompt" onPress={() => { restore("both", true); }} />
          <Menu
            label={<Icon name="history" />}
            title={t("Restore to here")}
            testId="restore-prompt"
            items={RESTORE_ITEMS}
            isOpen={isOpen}
            onOpen={setIsOpen}
            onChoose={(scope) => {
              restore(scope as RestoreScope, false);
            }}
          />
        </>
      )}
    </div>
  );
}

function PromptBlock({ block }: { block: ContentBlock }): JSX.Element {
  return block.type === "text" ? <p class="message-text">{block.text}</p> : <MediaBlock block={block} />;
}

/** What we told the agent, in the user's name, of the parts of a change that the user rejected. */
function ToldParts({ text }: { text: string }): JSX.Element {
  const names = new Set([...text.matchAll(/^`(.+)`, line/gm)].map(([, name]) => name));
  return (
    <details class="entry told" data-testid="told-parts">
      <summary class="small">{t("Told the agent what you rejected in {0}", [...names].join(", "))}</summary>
      {text.split(DIFF_FENCE).map((part, index) =>
        index % 2 === 1 ? <QuotedDiff key={index} text={part.trimEnd()} /> : part !== "" && <p key={index} class="message-text"><InlineCode text={part.trimEnd()} /></p>,
      )}
    </details>
  );
}

function QuotedDiff({ text }: { text: string }): JSX.Element {
  const lines = text.split("\n").map((line) => ({ kind: line.startsWith("+") ? "added" : "removed", text: line.slice(1), number: 0 }) as const);
  return (
    <div class="diff diff-lines">
      <DiffBlock lines={lines} path="" />
    </div>
  );
}

export function AgentMessage({ text, isGrowing }: { text: string; isGrowing: boolean }): JSX.Element {
  return (
    <article class="entry agent-message" aria-label={t("Agent")} data-testid="agent-message">
      <Markdown text={text} isGrowing={isGrowing} />
    </article>
  );
}

/** A collapsed thought; its last line is shown as a preview. */
export function Thought({ text, isGrowing }: { text: string; isGrowing: boolean }): JSX.Element {
  const [isOpen, setIsOpen] = useState(false);
  const hint = text.trim().split("\n").at(-1) ?? "";
  return (
    <article class="entry thought" aria-label={t("Thought")} data-testid="thought">
      <button
        type="button"
        class="fold"
        aria-expanded={isOpen}
        onClick={() => {
          setIsOpen(!isOpen);
        }}
      >
        <Icon name={isOpen ? "chevronDown" : "chevronRight"} />
        <Icon name="lightbulb" />
        <span>{isGrowing ? t("Thinking") : t("Thought")}</span>
        {!isOpen && (
          <span class="hint" title={hint}>
            {hint}
          </span>
        )}
      </button>
      {isOpen && <Markdown text={text} isGrowing={isGrowing} />}
    </article>
  );
}

const SHOWN_IMAGES = /^image\/(png|jpeg|gif|webp)$/;

/** An image, or a chip for a resource. */
export function MediaBlock({ block }: { block: ContentBlock }): JSX.Element {
  const { post } = useHost();
  if (block.type === "image" && SHOWN_IMAGES.test(block.mimeType)) {
    return <img class="picture" src={`data:${block.mimeType};base64,${block.data}`} alt={t("Attached")} />;
  }
  const uri = uriOf(block);
  if (uri === "") return <p class="chip">{block.type}</p>;
  return (
    <button
      type="button"
      class="chip"
      title={uri}
      onClick={() => {
        post({ type: "openLink", href: uri });
      }}
    >
      <Icon name={uri.startsWith("http") ? "globe" : "file"} />
      {nameOf(uri)}
    </button>
  );
}

function uriOf(block: ContentBlock): string {
  if (block.type === "resource_link") return block.uri;
  return block.type === "resource" ? block.resource.uri : "";
}

function nameOf(uri: string): string {
  const [address = "", fragment = ""] = uri.split("#", 2);
  const name = decodeURIComponent(address.split("/").at(-1) ?? address);
  const lines = /^L(\d+)(?:-L?(\d+))?$/.exec(fragment);
  if (lines !== null) return placeOf(name, Number(lines[1]), Number(lines[2] ?? lines[1]));
  return fragment === "" ? name : `${name} ${fragment}`;
}

const SEVERITY_ICONS: Readonly<Record<string, IconName>> = { error: "error", warning: "warning" };

export function Notice({ item }: { item: ItemOf<"notice"> }): JSX.Element {
  const severity = item.severity in SEVERITY_ICONS ? item.severity : "info";
  return (
    <article class={`entry notice ${severity}`} aria-label={t("Notice")} data-testid="notice">
      <Icon name={SEVERITY_ICONS[severity] ?? "info"} />
      <div>
        <p>{item.title}</p>
        {item.description !== "" && <p class="small">{item.description}</p>}
      </div>
    </article>
  );
}

const COMPACTION_LABELS: Readonly<Record<string, string>> = {
  in_progress: t("Compacting the conversation…"),
  completed: t("The conversation was compacted."),
  failed: t("The conversation could not be compacted."),
  cancelled: t("Compaction was stopped."),
};

export function Compaction({ item }: { item: ItemOf<"compaction"> }): JSX.Element {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <article class="entry compaction" aria-label={t("Summary")} data-testid="compaction">
      <button
        type="button"
        class="fold"
        aria-expanded={isOpen}
        onClick={() => {
          setIsOpen(!isOpen);
        }}
      >
        <Icon name={isOpen ? "chevronDown" : "chevronRight"} />
        <span>{COMPACTION_LABELS[item.status] ?? item.status}</span>
      </button>
      {item.error !== "" && <p class="small">{item.error}</p>}
      {isOpen && <Markdown text={item.summary} isGrowing={item.status === "in_progress"} />}
    </article>
  );
}

/** What the user answered to a question of the agent. */
export function AnswerEntry({ item }: { item: ItemOf<"answer"> }): JSX.Element {
  return (
    <article class="entry answer" aria-label={t("Your answer")} data-testid="answer">
      <p class="message-text">{item.message}</p>
      {item.answers.length === 0 ? (
        <p class="small">{item.outcome}</p>
      ) : (
        <dl>
          {item.answers.map(({ label, value }) => (
            <div key={label}>
              <dt class="small">{label}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
      )}
    </article>
  );
}

const TURN_END_TEXTS: Readonly<Record<string, string>> = {
  cancelled: t("Stopped."),
  cut: t("Stopped: the connection to the agent was lost."),
  refusal: t("The agent refused to continue."),
  max_tokens: t("The answer was cut off at the length limit."),
  max_turn_requests: t("The turn stopped at the step limit."),
  error: t("The turn failed."),
};

export function TurnEndNotice({ reason, error }: { reason: string; error: string }): JSX.Element {
  const isError = error !== "";
  return (
    <article class={`entry turn-end ${isError ? "error" : ""}`} aria-label={t("End of the turn")} data-testid="ending">
      <Icon name={isError ? "error" : reason === "cancelled" || reason === "cut" ? "stop" : "warning"} />
      <p>{isError ? error : (TURN_END_TEXTS[reason] ?? reason)}</p>
    </article>
  );
}
