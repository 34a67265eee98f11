/** Panel with the usage of the context window, the active instruction files and skills. */
import type { JSX } from "preact";
import type { InstructionFile } from "../../shared/events.js";
import type { SessionState, ViewState } from "../../shared/state.js";
import { IconButton, Icon } from "../Icon.js";
import { useHost } from "../hostContext.js";
import { describeUsage } from "./UsageRing.js";
import { t } from "../../shared/l10n.js";

export function ContextPanel({ state, onClose }: { state: ViewState; onClose: () => void }): JSX.Element {
  const { post } = useHost();
  const { context } = state;
  const usage = describeUsage(state.session.usage);
  const fromCalls = instructionsFromCalls(state.session).filter(
    (path) => !context.instructions.some((each) => each.path === path),
  );
  return (
    <section class="panel" aria-label={t("Context")} data-testid="context-panel">
      <div class="panel-head">
        <h2>{t("Active context")}</h2>
        <IconButton
          icon="refresh"
          label={t("Refresh")}
          testId="context-refresh"
          onPress={() => {
            post({ type: "refreshContext" });
          }}
        />
        <IconButton icon="close" label={t("Close the context panel")} testId="context-close" onPress={onClose} />
      </div>
      <div class="panel-body">
        {usage !== "" && <p class="small empty" data-testid="context-usage">{usage}</p>}
        {context.status === "loading" && <p class="small empty">{t("Loading…")}</p>}
        {context.message !== "" && <p class="small empty">{context.message}</p>}
        <h3>{t("Instructions")}</h3>
        {context.instructions.length + fromCalls.length === 0 && <p class="small empty">{t("No instruction files.")}</p>}
        <ul>
          {context.instructions.map((each) => (
            <InstructionRow key={each.path} instruction={each} />
          ))}
          {fromCalls.map((path) => (
            <InstructionRow key={path} instruction={{ path, outcome: t("loaded for a subdirectory"), reason: "" }} />
          ))}
        </ul>
        <h3>{t("Skills")}</h3>
        {context.skills.length === 0 && <p class="small empty">{t("No skills.")}</p>}
        <ul>
          {context.skills.map((skill) => (
            <li key={skill.name} title={skill.description} data-testid="context-skill">
              <Icon name="sparkle" /> {skill.name} <span class="small">{skill.from}</span>
            </li>
          ))}
        </ul>
      </div>
    </section>
  );
}

function InstructionRow({ instruction }: { instruction: InstructionFile }): JSX.Element {
  const { post } = useHost();
  const { path, outcome, reason } = instruction;
  return (
    <li data-testid="context-instruction">
      <button
        type="button"
        class="link"
        onClick={() => {
          post({ type: "openLink", href: path });
        }}
      >
        {path}
      </button>{" "}
      <span class="small" title={reason}>
        {outcome}
      </span>
    </li>
  );
}

function instructionsFromCalls(session: SessionState): string[] {
  const paths = session.items.flatMap((item) => (item.kind === "call" ? item.call.instructions : []));
  return [...new Set(paths)];
}
