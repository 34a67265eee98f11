/**
 * The conversation: messages, tool calls, notices and answers in order.
 *
 * Scrolls along with new content, unless the user has scrolled up. Entries are rendered in chunks, and chunks
 * in sections: the last screenful at once, earlier ones when they come near the visible part, one chunk per
 * frame, so that a long session opens at once.
 */
import { memo } from "./memo.js";
import type { JSX, Ref } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { SessionState, TranscriptItem, ViewState } from "../shared/state.js";
import { Icon } from "./Icon.js";
import { useResize } from "./resize.js";
import { Plan } from "./parts/Plan.js";
import { REVEAL_CALL_EVENT } from "./parts/QuestionDock.js";
import {
  AgentMessage,
  AnswerEntry,
  Compaction,
  MediaBlock,
  Notice,
  Thought,
  TurnEndNotice,
  UserMessage,
} from "./parts/Entries.js";
import { ToolCard } from "./parts/ToolCard.js";
import { t } from "../shared/l10n.js";

/** Maximum distance to the end that counts as at the end, in pixels. */
const AT_END_PIXELS = 40;
/** Entries that are rendered together; the last two chunks are rendered at once and fill a side bar. */
const CHUNK_SIZE = 6;
/** Entries whose chunks are created together: a placeholder per chunk would be too many for a long session. */
const SECTION_SIZE = 20 * CHUNK_SIZE;
/** Distance from the visible part at which a chunk is rendered, in pixels. */
const NEAR_PIXELS = 1200;
/** Height of an entry that was not rendered yet, in pixels; only the scroll bar depends on it. */
const ESTIMATED_ENTRY_PIXELS = 72;

export function Transcript({ state }: { state: ViewState }): JSX.Element {
  const { session } = state;
  const scroller = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const [isAtEnd, setIsAtEnd] = useState(true);
  const [revealed, setRevealed] = useState("");
  const isSticky = useRef(true);
  const lastTop = useRef(0);
  const scrollToEnd = (): void => {
    const node = scroller.current;
    if (isSticky.current && node !== null) node.scrollTop = node.scrollHeight;
  };
  const stick = (): void => {
    isSticky.current = true;
    setIsAtEnd(true);
    scrollToEnd();
  };
  const sentKey = session.items.findLast((item) => item.kind === "user" && item.isLocalEcho)?.key ?? "";
  useLayoutEffect(stick, [session.id, sentKey]);
  useLayoutEffect(scrollToEnd);
  useResize([scroller, content], scrollToEnd);
  useReveal((callId) => {
    isSticky.current = false;
    setIsAtEnd(false);
    setRevealed(callId);
  });
  useLayoutEffect(() => {
    if (revealed === "") return;
    const card = scroller.current?.querySelector<HTMLElement>(`[data-call-id="${CSS.escape(revealed)}"]`);
    card?.scrollIntoView({ block: "start" });
    card?.querySelector<HTMLElement>("button")?.focus();
    setRevealed("");
  }, [revealed]);
  const onScroll = (): void => {
    const node = scroller.current;
    if (node === null) return;
    const isNowAtEnd = node.scrollHeight - node.scrollTop - node.clientHeight < AT_END_PIXELS;
    // Only moving up leaves the end. If there is more below now, the view has grown or shrunk since it was there.
    if (isNowAtEnd || node.scrollTop < lastTop.current) isSticky.current = isNowAtEnd;
    lastTop.current = node.scrollTop;
    setIsAtEnd(isSticky.current);
  };
  const sections = partsOf(session.items, SECTION_SIZE);
  const asking = new Set(session.questions.flatMap((question) => (question.kind === "permission" ? [question.callId] : [])));
  return (
    <div class="transcript-frame">
      <div
        class="transcript"
        role="log"
        aria-label={t("Conversation")}
        aria-live="off"
        aria-busy={session.isRunning}
        tabIndex={0}
        ref={scroller}
        onScroll={onScroll}
        data-testid="transcript"
      >
        <div class="transcript-content" ref={content}>
          {session.isLoading && <p class="loading">{t("Loading the session…")}</p>}
          {sections.map((items, index) => (
            <Section
              key={`${session.id} ${String(index)}`}
              items={items}
              following={Math.min(session.items.length - index * SECTION_SIZE - items.length, SECTION_SIZE)}
              revealed={items.some((item) => isCall(item, revealed)) ? revealed : ""}
              isRunning={session.isRunning}
              canRestore={state.connection.features.restore && !session.isRunning}
              asking={asking}
              terminals={session.terminals}
              scroller={scroller}
            />
          ))}
          {/* An open question is docked below, and announced; here it would be said twice. */}
          {session.isRunning && state.connection.status === "ready" && session.questions.length === 0 && <WorkingIndicator />}
        </div>
      </div>
      {/* In a row of its own, where it covers no text. */}
      {!isAtEnd && (
        <button type="button" class="to-end" data-testid="scroll-to-end" onClick={stick}>
          <Icon name="arrowDown" /> {t("Latest")}
        </button>
      )}
    </div>
  );
}

/** Split entries into parts of a size. An entry never changes its part, because entries are only appended. */
function partsOf(items: readonly TranscriptItem[], size: number): (readonly TranscriptItem[])[] {
  const parts: (readonly TranscriptItem[])[] = [];
  for (let at = 0; at < items.length; at += size) parts.push(items.slice(at, at + size));
  return parts;
}

function isCall(item: TranscriptItem, id: string): boolean {
  return item.kind === "call" && item.call.id === id;
}

/** Properties of a section or chunk: some entries in order, and what they are rendered with. */
interface PartProps {
  readonly items: readonly TranscriptItem[];
  /** Number of entries after these, as far as it matters: a long session must not be rendered for each new one. */
  readonly following: number;
  /** Id of the call to show, which may not have been rendered yet; empty for none of this part. */
  readonly revealed: string;
  readonly isRunning: boolean;
  readonly canRestore: boolean;
  /** Ids of the calls whose permission request is open. */
  readonly asking: ReadonlySet<string>;
  readonly terminals: SessionState["terminals"];
  readonly scroller: { readonly current: HTMLElement | null };
}

/** Chunks of a section, or a placeholder of their estimated height. */
const Section = memo(function Section(props: PartProps): JSX.Element {
  const { items, following, revealed, scroller } = props;
  const { node, isNear } = useNearness(following < SECTION_SIZE || revealed !== "", scroller);
  if (!isNear) return <Placeholder count={items.length} node={node} />;
  const chunks = partsOf(items, CHUNK_SIZE);
  return (
    <>
      {chunks.map((part, index) => (
        <Chunk
          key={index}
          {...props}
          items={part}
          following={Math.min(following + items.length - index * CHUNK_SIZE - part.length, CHUNK_SIZE + 1)}
          revealed={part.some((item) => isCall(item, revealed)) ? revealed : ""}
        />
      ))}
    </>
  );
}, isSamePart);

const Chunk = memo(function Chunk(props: PartProps): JSX.Element {
  const { items, following, revealed, isRunning, canRestore, asking, terminals, scroller } = props;
  const { node, isNear } = useNearness(following <= CHUNK_SIZE || revealed !== "", scroller);
  if (!isNear) return <Placeholder count={items.length} node={node} />;
  return (
    <div class="chunk">
      {items.map((item, index) => (
        <Entry
          key={item.key}
          item={item}
          isGrowing={isRunning && following === 0 && index === items.length - 1}
          isAsking={item.kind === "call" && asking.has(item.call.id)}
          canRestore={canRestore}
          terminals={hasTerminal(item) ? terminals : undefined}
        />
      ))}
    </div>
  );
}, isSamePart);

function Placeholder({ count, node }: { readonly count: number; readonly node: Ref<HTMLDivElement> }): JSX.Element {
  return <div class="chunk" ref={node} style={{ height: `${String(count * ESTIMATED_ENTRY_PIXELS)}px` }} />;
}

/**
 * Tell whether a part is rendered: at once if it is needed, else once it came near the visible part; it stays so.
 *
 * `node` refers to its placeholder.
 */
function useNearness(isNeeded: boolean, scroller: PartProps["scroller"]): { node: Ref<HTMLDivElement>; isNear: boolean } {
  const [wasNear, setWasNear] = useState(isNeeded);
  const node = useRef<HTMLDivElement>(null);
  const isNear = wasNear || isNeeded;
  useEffect(() => {
    if (isNear) {
      setWasNear(true);
      return undefined;
    }
    const { current } = node;
    if (current === null) return undefined;
    const show = (): void => {
      setWasNear(true);
    };
    const observer = new IntersectionObserver(
      (entries) => {
        if (!entries.some((entry) => entry.isIntersecting)) return;
        observer.disconnect();
        renderLater(show);
      },
      { root: scroller.current, rootMargin: `${String(NEAR_PIXELS)}px 0px` },
    );
    observer.observe(current);
    return () => {
      observer.disconnect();
    };
  }, [isNear, scroller]);
  return { node, isNear };
}

/** Parts that came near and are not rendered yet, the nearest to the end last. */
const waiting: (() => void)[] = [];

/** Render a part in a coming frame: one per frame, so that neither the first paint nor a key waits for many. */
function renderLater(show: () => void): void {
  waiting.push(show);
  if (waiting.length === 1) requestAnimationFrame(renderNext);
}

function renderNext(): void {
  waiting.pop()?.();
  if (waiting.length > 0) requestAnimationFrame(renderNext);
}

/** Whether a part would be rendered alike: a long session must not cost time for each chunk of an answer. */
function isSamePart(before: PartProps, after: PartProps): boolean {
  if (before.following !== after.following || before.revealed !== after.revealed || before.canRestore !== after.canRestore) return false;
  if (before.items.length !== after.items.length) return false;
  if (after.following === 0 && before.isRunning !== after.isRunning) return false;
  return after.items.every((item, index) => item === before.items[index] && hasSameContext(item, before, after));
}

function hasSameContext(item: TranscriptItem, before: PartProps, after: PartProps): boolean {
  if (item.kind !== "call") return true;
  const { id } = item.call;
  return before.asking.has(id) === after.asking.has(id) && (before.terminals === after.terminals || !hasTerminal(item));
}

function hasTerminal(item: TranscriptItem): boolean {
  return item.kind === "call" && item.call.content.some(({ type }) => type === "terminal");
}

function useReveal(onReveal: (callId: string) => void): void {
  useEffect(() => {
    const listen = (event: Event): void => {
      if (event instanceof CustomEvent && typeof event.detail === "string") onReveal(event.detail);
    };
    document.addEventListener(REVEAL_CALL_EVENT, listen);
    return () => {
      document.removeEventListener(REVEAL_CALL_EVENT, listen);
    };
  });
}

function WorkingIndicator(): JSX.Element {
  return (
    <p class="working" data-testid="working">
      <span class="dots" aria-hidden="true">
        <i />
        <i />
        <i />
      </span>
      {t("Working…")}
    </p>
  );
}

interface EntryProps {
  readonly item: TranscriptItem;
  readonly isGrowing: boolean;
  readonly isAsking: boolean;
  /** Whether the state before a prompt can be restored now. */
  readonly canRestore: boolean;
  /** Undefined for entries without a terminal, so that terminal output does not re-render them. */
  readonly terminals: SessionState["terminals"] | undefined;
}

const Entry = memo(function Entry({ item, isGrowing, isAsking, canRestore, terminals }: EntryProps): JSX.Element {
  switch (item.kind) {
    case "user":
      return <UserMessage item={item} canRestore={canRestore} />;
    case "agent":
      return <AgentMessage text={item.text} isGrowing={isGrowing} />;
    case "thought":
      return <Thought text={item.text} isGrowing={isGrowing} />;
    case "media":
      return <MediaBlock block={item.block} />;
    case "call":
      return <ToolCard call={item.call} isAsking={isAsking} terminals={terminals} />;
    case "notice":
      return <Notice item={item} />;
    case "compaction":
      return <Compaction item={item} />;
    case "answer":
      return <AnswerEntry item={item} />;
    case "plan":
      return <Plan entries={item.entries} isRunning={false} />;
    case "ending":
      return <TurnEndNotice reason={item.reason} error={item.error} />;
  }
});
