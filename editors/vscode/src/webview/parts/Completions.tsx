/** List of completions: commands or mentions that match the query. */
import type { AvailableCommand } from "@agentclientprotocol/sdk";
import type { JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Mention, MentionKind } from "../../shared/events.js";
import type { ViewState } from "../../shared/state.js";
import { matchingCommands, type CompletionQuery } from "../completion.js";
import { Icon, type IconName } from "../Icon.js";
import { t } from "../../shared/l10n.js";

export interface CompletionChoice {
  readonly inserted: string;
  readonly detail: string;
  /** What is mentioned; null for a command. */
  readonly mention: Mention | null;
  /** Whether it is a prompt by itself: a command that works without an argument. */
  readonly isPrompt: boolean;
}

const ICONS: Readonly<Record<MentionKind, IconName>> = {
  file: "file",
  folder: "folder",
  symbol: "symbol",
  problems: "warning",
  terminal: "terminal",
};

/** Return the choices for a query. Mentions found for an earlier query are shown until the current ones arrive. */
export function choicesFor(
  { kind, query }: CompletionQuery,
  commands: readonly AvailableCommand[],
  mentions: ViewState["mentions"],
): CompletionChoice[] {
  if (kind === "command") {
    return matchingCommands(commands, query).map(({ name, description, input }) => ({
      inserted: `/${name}`,
      detail: description,
      mention: null,
      isPrompt: isOptional(input?.hint ?? ""),
    }));
  }
  if (!query.startsWith(mentions.query)) return [];
  return mentions.choices.map(({ mention, label, detail }) => ({ inserted: `@${label}`, detail, mention, isPrompt: false }));
}

/** Whether a text is exactly this choice, and a prompt by itself. */
export function isTypedPrompt(choice: CompletionChoice | undefined, text: string): boolean {
  return choice?.isPrompt === true && choice.inserted === text;
}

/** Whether all arguments may be omitted: the hint of them is empty, or in brackets, as in `[model]`. */
function isOptional(hint: string): boolean {
  return /^(?:\[[^\]]*\]\s*)*$/.test(hint);
}

interface CompletionsProps {
  readonly choices: readonly CompletionChoice[];
  readonly active: number;
  readonly onChoose: (choice: CompletionChoice) => void;
}

export function Completions({ choices, active, onChoose }: CompletionsProps): JSX.Element {
  const list = useRef<HTMLUListElement>(null);
  useLayoutEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
  }, [active, choices]);
  return (
    <ul class="completions" id="completions" role="listbox" aria-label={t("Suggestions")} data-testid="completions" tabIndex={0} ref={list}>
      {choices.map((choice, index) => (
        <li
          key={`${choice.inserted} ${choice.detail}`}
          id={`completion-${String(index)}`}
          role="option"
          aria-selected={index === active}
          title={choice.detail === "" ? choice.inserted : `${choice.inserted}: ${choice.detail}`}
          data-testid="completion"
          onMouseDown={(event) => {
            event.preventDefault(); // keeps the focus in the input
            onChoose(choice);
          }}
        >
          {choice.mention !== null && <Icon name={ICONS[choice.mention.kind]} />}
          <span class="ellipsis">{choice.inserted}</span>
          {choice.detail !== "" && <span class="small ellipsis">{choice.detail}</span>}
        </li>
      ))}
    </ul>
  );
}
