/** What is known of a session by its events: its model, its mode, what it has cost, and its commands. */
import type { AvailableCommand, SessionConfigOption } from "@agentclientprotocol/sdk";
import type { SessionEvent } from "../shared/events.js";
import { t } from "../shared/l10n.js";
import { textOf } from "../shared/sessionUpdates.js";

const MAX_TITLE_CHARACTERS = 80;

/** What is known of a session, of the model first, then the mode and what it has cost: the name and the value of each. */
export type SessionFacts = readonly (readonly [name: string, value: string])[];

/** Return what is known of a session by its events; empty if the agent reports nothing. */
export function sessionFactsOf(events: readonly SessionEvent[]): SessionFacts {
  const options = optionsIn(events);
  const usage = events.findLast((event) => event.type === "update" && event.update.sessionUpdate === "usage_update");
  const cost = usage?.type === "update" && usage.update.sessionUpdate === "usage_update" ? usage.update.cost : undefined;
  const chosen = ["model", "mode"].flatMap((category) => {
    const option = options.find((each) => each.category === category);
    return option?.type === "select" ? [[option.name, nameOf(option)] as const] : [];
  });
  return cost === null || cost === undefined ? chosen : [...chosen, [t("Cost"), `${cost.amount.toFixed(2)} ${cost.currency}`]];
}

/** Return the text of the first prompt of a session, without line breaks and at most as long as a title; empty for none. */
export function firstPromptIn(events: readonly SessionEvent[]): string {
  const first = events.find((event) => event.type === "prompted" || (event.type === "update" && event.update.sessionUpdate === "user_message_chunk"));
  const blocks = first?.type === "prompted" ? first.blocks : first?.type === "update" && first.update.sessionUpdate === "user_message_chunk" ? [first.update.content] : [];
  const text = blocks.map(textOf).join(" ");
  return text.replaceAll(/\s+/g, " ").trim().slice(0, MAX_TITLE_CHARACTERS);
}

/** Return the commands that the agent offers in a session. */
export function commandsIn(events: readonly SessionEvent[]): readonly AvailableCommand[] {
  const last = events.findLast((event) => event.type === "update" && event.update.sessionUpdate === "available_commands_update");
  return last?.type === "update" && last.update.sessionUpdate === "available_commands_update" ? last.update.availableCommands : [];
}

/** Return how full the context window of a session is; empty if the agent does not say. */
export function contextUsageIn(events: readonly SessionEvent[]): string {
  const last = events.findLast((event) => event.type === "update" && event.update.sessionUpdate === "usage_update");
  if (last?.type !== "update" || last.update.sessionUpdate !== "usage_update" || last.update.size === 0) return "";
  const { used, size } = last.update;
  return t("{0} % of the window used", Math.round((100 * used) / size));
}

function optionsIn(events: readonly SessionEvent[]): readonly SessionConfigOption[] {
  const last = events.findLast(
    (event) => event.type === "choices" || (event.type === "update" && event.update.sessionUpdate === "config_option_update"),
  );
  if (last?.type === "choices") return last.options;
  return last?.type === "update" && last.update.sessionUpdate === "config_option_update" ? last.update.configOptions : [];
}

function nameOf({ currentValue, options }: Extract<SessionConfigOption, { type: "select" }>): string {
  const choices = options.flatMap((each) => ("options" in each ? each.options : [each]));
  return choices.find(({ value }) => value === currentValue)?.name ?? currentValue;
}
