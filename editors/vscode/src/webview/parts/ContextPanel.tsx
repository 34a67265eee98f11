/** Which files of instructions and which skills are in force. */
import type { JSX } from "preact";
import type { Instruction } from "../../shared/events.js";
import type { SessionState, ViewState } from "../../shared/state.js";
import { IconButton, Icon } from "../Icon.js";
import { useHost } from "../posting.js";

export function ContextPanel({ state, onClose }: { state: ViewState; onClose: () => void }): JSX.Element {
  const { post } = useHost();
  const { context } = state;
  const touched = touchedBy(state.session).filter(
    (path) => !context.instructions.some((each) => each.path === path),
  );
  return (
    <section class="panel" aria-label="Context" data-testid="context-panel">
      <div class="panel-head">
        <h2>In force here</h2>
        <IconButton
          icon="refresh"
          label="Look again"
          testId="context-refresh"
          onPress={() => {
            post({ type: "refreshContext" });
          }}
        />
        <IconButton icon="close" label="Close the context" testId="context-close" onPress={onClose} />
      </div>
      {context.status === "loading" && <p class="small empty">Looking…</p>}
      {context.message !== "" && <p class="small empty">{context.message}</p>}
      <h3>Instructions</h3>
      {context.instructions.length + touched.length === 0 && <p class="small empty">No files of instructions.</p>}
      <ul>
        {context.instructions.map((each) => (
          <File key={each.path} instruction={each} />
        ))}
        {touched.map((path) => (
          <File key={path} instruction={{ path, outcome: "loaded with a folder", reason: "" }} />
        ))}
      </ul>
      <h3>Skills</h3>
      {context.skills.length === 0 && <p class="small empty">No skills.</p>}
      <ul>
        {context.skills.map((skill) => (
          <li key={skill.name} title={skill.description} data-testid="context-skill">
            <Icon name="sparkle" /> {skill.name} <span class="small">{skill.from}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function File({ instruction }: { instruction: Instruction }): JSX.Element {
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

function touchedBy(session: SessionState): string[] {
  const paths = session.items.flatMap((item) => (item.kind === "call" ? item.call.instructions : []));
  return [...new Set(paths)];
}
