/** The entries of the transcript that are not calls. */
import type { ContentBlock } from "@agentclientprotocol/sdk";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Item } from "../../shared/state.js";
import { Icon, type IconName } from "../Icon.js";
import { Markdown } from "../markdown/Markdown.js";
import { useHost } from "../posting.js";

type Of<K extends Item["kind"]> = Extract<Item, { kind: K }>;

const MANNERS = { turn: "", steer: "said while it worked", queue: "queued" } as const;

export function User({ item }: { item: Of<"user"> }): JSX.Element {
  const manner = MANNERS[item.manner];
  return (
    <section class="entry user" aria-label="You" data-testid="user-message">
      {manner !== "" && <p class="manner">{manner}</p>}
      {item.blocks.map((block, index) => (
        <Block key={index} block={block} />
      ))}
    </section>
  );
}

function Block({ block }: { block: ContentBlock }): JSX.Element {
  if (block.type === "text") return <p class="words">{block.text}</p>;
  return <Media block={block} />;
}

export function Said({ text, isGrowing }: { text: string; isGrowing: boolean }): JSX.Element {
  return (
    <section class="entry said" aria-label="Agent" data-testid="agent-message">
      <Markdown text={text} isGrowing={isGrowing} />
    </section>
  );
}

/** A thought is folded; while it is thought, its last line shows that something goes on. */
export function Thought({ text, isGrowing }: { text: string; isGrowing: boolean }): JSX.Element {
  const [isOpen, setIsOpen] = useState(false);
  const hint = text.trim().split("\n").at(-1) ?? "";
  return (
    <section class="entry thought" aria-label="Thought" data-testid="thought">
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
        <span>{isGrowing ? "Thinking" : "Thought"}</span>
        {!isOpen && <span class="hint">{hint}</span>}
      </button>
      {isOpen && <Markdown text={text} isGrowing={isGrowing} />}
    </section>
  );
}

const SHOWN_IMAGES = /^image\/(png|jpeg|gif|webp)$/;

/** A picture, or something that stands for a file. */
export function Media({ block }: { block: ContentBlock }): JSX.Element {
  const { post } = useHost();
  if (block.type === "image" && SHOWN_IMAGES.test(block.mimeType)) {
    return <img class="picture" src={`data:${block.mimeType};base64,${block.data}`} alt="Attached" />;
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
  return fragment === "" ? name : `${name} ${fragment.replace("L", "")}`;
}

const SEVERITY_ICONS: Readonly<Record<string, IconName>> = { error: "error", warning: "warning" };

export function Notice({ item }: { item: Of<"notice"> }): JSX.Element {
  const severity = item.severity in SEVERITY_ICONS ? item.severity : "info";
  return (
    <aside class={`entry notice ${severity}`} aria-label="Notice" data-testid="notice">
      <Icon name={SEVERITY_ICONS[severity] ?? "info"} />
      <div>
        <p>{item.title}</p>
        {item.description !== "" && <p class="small">{item.description}</p>}
      </div>
    </aside>
  );
}

const COMPACTIONS: Readonly<Record<string, string>> = {
  in_progress: "Summing the conversation up to make room…",
  completed: "The conversation was summed up to make room.",
  failed: "The conversation could not be summed up.",
  cancelled: "Summing up was stopped.",
};

export function Compaction({ item }: { item: Of<"compaction"> }): JSX.Element {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <aside class="entry compaction" aria-label="Summary" data-testid="compaction">
      <button
        type="button"
        class="fold"
        aria-expanded={isOpen}
        onClick={() => {
          setIsOpen(!isOpen);
        }}
      >
        <Icon name={isOpen ? "chevronDown" : "chevronRight"} />
        <span>{COMPACTIONS[item.status] ?? item.status}</span>
      </button>
      {item.error !== "" && <p class="small">{item.error}</p>}
      {isOpen && <Markdown text={item.summary} isGrowing={item.status === "in_progress"} />}
    </aside>
  );
}

const REASONS: Readonly<Record<string, string>> = {
  cancelled: "Stopped.",
  cut: "Stopped: the connection to the agent ended.",
  refusal: "The agent declined to go on.",
  max_tokens: "The answer was cut: it became too long.",
  max_turn_requests: "The turn was ended: it took too many steps.",
  error: "The turn failed.",
};

export function Ending({ reason, error }: { reason: string; error: string }): JSX.Element {
  const isError = error !== "";
  return (
    <aside class={`entry ending ${isError ? "error" : ""}`} aria-label="End of the turn" data-testid="ending">
      <Icon name={isError ? "error" : reason === "cancelled" || reason === "cut" ? "stop" : "warning"} />
      <p>{isError ? error : (REASONS[reason] ?? reason)}</p>
    </aside>
  );
}
