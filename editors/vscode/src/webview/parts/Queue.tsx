/** Queued prompts; each can be moved back to the input. */
import type { JSX } from "preact";
import type { QueuedPrompt } from "../../shared/events.js";
import { IconButton } from "../Icon.js";
import { useHost } from "../hostContext.js";
import { t } from "../../shared/l10n.js";

export function Queue({ prompts }: { prompts: readonly QueuedPrompt[] }): JSX.Element | null {
  const { post } = useHost();
  if (prompts.length === 0) return null;
  return (
    <ul class="queue" aria-label={t("Queued prompts")} data-testid="queue">
      {prompts.map(({ id, text }) => (
        <li key={id}>
          <span class="small">{t("queued")}</span>
          <span class="ellipsis">{text}</span>
          <IconButton
            icon="close"
            label={t("Move back to the input")}
            testId="unqueue"
            onPress={() => {
              post({ type: "unqueue", id });
            }}
          />
        </li>
      ))}
    </ul>
  );
}
