/**
 * Answers to a permission request: allow, reject, allow always. The two for this once stand side by side also
 * in a narrow view; answers that last come after them.
 *
 * Answered only by a click or by the keys y, a, n and r. The reject button gets the focus, so that an
 * accidental Enter rejects. Nothing is allowed unseen: while a part of the question is hidden, what would allow it
 * shows that part first. An answer that lasts takes two steps, in a menu that names its scope.
 */
import type { PermissionOption, PermissionOptionKind } from "@agentclientprotocol/sdk";
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { PermissionQuestion, ToolCallState } from "../../shared/state.js";
import { focusUnlessTyping, KEY_GUARD_MILLISECONDS } from "../focus.js";
import { useHost } from "../hostContext.js";
import { Icon } from "../Icon.js";
import { InlineCode } from "../InlineCode.js";
import { Menu } from "../Menu.js";
import { REST_ID, type SeenToEnd } from "../seenToEnd.js";
import { t } from "../../shared/l10n.js";

/** The options of a question as controls: one button each to allow and to reject, the rest in a menu. */
interface Controls {
  readonly allow: PermissionOption | undefined;
  readonly reject: PermissionOption | undefined;
  readonly others: readonly PermissionOption[];
}

function controlsOf(options: readonly PermissionOption[]): Controls {
  const first = (kind: PermissionOptionKind): PermissionOption | undefined => options.find((each) => each.kind === kind);
  const allow = first("allow_once");
  const reject = first("reject_once") ?? first("reject_always");
  return { allow, reject, others: options.filter((each) => each !== allow && each !== reject) };
}

/** Up to this width, the answers have room for short names alone. */
const NARROW_PIXELS = 399;

/** Name what allows the parts that are left; empty if none was rejected. */
function partsLabel(left: number, total: number): string {
  if (left === total) return "";
  return window.innerWidth > NARROW_PIXELS ? t("Allow {0} of {1} parts", left, total) : t("Allow {0} of {1}", left, total);
}

interface PermissionCardProps {
  readonly question: PermissionQuestion;
  /** The parts of the change, of which the user rejected some in the editor. */
  readonly parts: ToolCallState["parts"];
  readonly seen: SeenToEnd;
  readonly isCommand: boolean;
}

export function PermissionCard({ question, parts: { total, rejected }, seen, isCommand }: PermissionCardProps): JSX.Element {
  const { post } = useHost();
  const rejectButton = useRef<HTMLButtonElement>(null);
  const { id: questionId, options } = question;
  const left = total - rejected.length;
  // Without any part left, there is nothing to allow.
  const isAllRejected = total > 0 && left === 0;
  const { allow, reject, others } = controlsOf(isAllRejected ? options.filter(({ kind }) => kind.startsWith("reject")) : options);
  const allowLabel = seen.mustShowRest ? t("Show more") : partsLabel(left, total);
  const [isMenuOpen, setIsMenuOpen] = useState(false);
  const [isGivingReason, setIsGivingReason] = useState(false);
  const shownAt = useRef(0);
  useEffect(() => {
    shownAt.current = Date.now();
    // Who goes through the questions by their buttons goes on.
    return document.activeElement?.closest(".waiting") == null ? focusUnlessTyping(rejectButton.current) : undefined;
  }, []);
  const choose = (option: PermissionOption | undefined, reason = ""): void => {
    if (option === undefined) return;
    // The menu stays open: the same key or click goes on.
    if (option.kind.startsWith("reject") || seen.mayAllow()) post({ type: "permit", questionId, optionId: option.optionId, reason });
  };
  const actions: Readonly<Record<string, () => void>> = {
    y: () => { choose(allow); },
    a: () => { setIsMenuOpen(others.length > 0); },
    n: () => { choose(reject); },
    r: () => { setIsGivingReason(true); },
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const action = actions[event.key.toLowerCase()];
    if (action === undefined || !isPlainKey(event) || event.repeat) return;
    if ((event.currentTarget as HTMLElement).closest("fieldset")?.disabled === true) return;
    if (Date.now() - shownAt.current < KEY_GUARD_MILLISECONDS) return;
    event.preventDefault();
    action();
  };
  return (
    <div
      class="permission"
      role="group"
      aria-label={t("Permission: {0}", question.title)}
      data-testid="permission"
      data-question-id={questionId}
      onKeyDown={onKeyDown}
    >
      {allow !== undefined && (
        <OptionButton option={allow} label={allowLabel} keyHint="y" isPrimary describedBy={seen.rest === null ? "" : REST_ID} onChoose={choose} />
      )}
      {reject !== undefined && (
        <span class="split">
          <OptionButton option={reject} keyHint="n" buttonRef={rejectButton} onChoose={choose} />
          <button
            type="button"
            class="secondary"
            title={`${t("Reject and say why")} (r)`}
            aria-label={t("Reject and say why")}
            aria-expanded={isGivingReason}
            aria-keyshortcuts="r"
            data-testid="permission-reason"
            onClick={() => {
              setIsGivingReason(!isGivingReason);
            }}
          >
            <Icon name="comment" /> {rejected.length === 0 && <kbd>r</kbd> /* makes room for the longer name */}
          </button>
        </span>
      )}
      {others.length > 0 && (
        <Menu
          label={<><span>{t("Always…")}</span> <kbd>a</kbd></>}
          title={`${t("More answers")} (a)`}
          testId="permission-more"
          items={others.map(({ optionId, name, kind }) => ({ id: optionId, label: <InlineCode text={name} />, testId: `permission-${kind}` }))}
          isOpen={isMenuOpen}
          note={isCommand ? t("Allowing runs the whole command now. Later, only what the answer names runs without asking.") : ""}
          onOpen={setIsMenuOpen}
          onChoose={(optionId) => {
            choose(others.find((each) => each.optionId === optionId));
          }}
        />
      )}
      {isGivingReason && (
        <ReasonInput
          onDone={(reason) => {
            choose(reject, reason);
          }}
          onCancel={() => {
            setIsGivingReason(false);
            rejectButton.current?.focus();
          }}
        />
      )}
    </div>
  );
}

/** Whether a key is pressed without modifiers, and not in the input of the reason. */
export function isPlainKey({ ctrlKey, metaKey, altKey, target }: KeyboardEvent): boolean {
  return !(ctrlKey || metaKey || altKey || target instanceof HTMLInputElement);
}

interface OptionButtonProps {
  readonly option: PermissionOption;
  /** Instead of the option's name. */
  readonly label?: string;
  readonly keyHint: string;
  readonly isPrimary?: boolean;
  readonly describedBy?: string;
  readonly buttonRef?: { current: HTMLButtonElement | null };
  readonly onChoose: (option: PermissionOption) => void;
}

function OptionButton({ option, label = "", keyHint, isPrimary = false, describedBy = "", buttonRef, onChoose }: OptionButtonProps): JSX.Element {
  return (
    <button
      type="button"
      class={isPrimary ? "primary" : "secondary"}
      {...(buttonRef !== undefined && { ref: buttonRef })}
      data-testid={`permission-${option.kind}`}
      data-option-id={option.optionId}
      title={`${(label || option.name).replaceAll("`", "")} (${keyHint})`}
      aria-keyshortcuts={keyHint}
      {...(describedBy !== "" && { "aria-describedby": describedBy })}
      onClick={() => {
        onChoose(option);
      }}
    >
      <span><InlineCode text={label || option.name} /></span>
      <kbd>{keyHint}</kbd>
    </button>
  );
}

/** Input for what the agent should do instead; Enter or the button rejects with it, Escape goes back. */
function ReasonInput({ onDone, onCancel }: { onDone: (reason: string) => void; onCancel: () => void }): JSX.Element {
  const input = useRef<HTMLInputElement>(null);
  const send = (): void => {
    onDone(input.current?.value.trim() ?? "");
  };
  useEffect(() => input.current?.focus(), []);
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.isComposing) return;
    if (event.key === "Enter") send();
    else if (event.key === "Escape") onCancel();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="reason-input">
      <input
        type="text"
        placeholder={t("Reject and do this instead…")}
        aria-label={t("Reason for rejecting")}
        data-testid="permission-reason-input"
        ref={input}
        onKeyDown={onKeyDown}
      />
      <button type="button" class="secondary" title={t("Reject with this reason")} aria-label={t("Reject with this reason")} data-testid="permission-reason-send" onClick={send}>
        <Icon name="send" /> <kbd>{t("Enter")}</kbd>
      </button>
    </div>
  );
}
