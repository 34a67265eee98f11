/** Terminal in a tool call: the command's coloured output and its exit status. */
import type { TerminalExitStatus } from "@agentclientprotocol/sdk";
import type { JSX } from "preact";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import type { TerminalState } from "../../shared/state.js";
import { ansiSpans } from "../ansi.js";
import { IconButton } from "../Icon.js";
import { useHost } from "../hostContext.js";
import { t } from "../../shared/l10n.js";

export function TerminalView({ id, terminal }: { id: string; terminal: TerminalState | undefined }): JSX.Element {
  const { post } = useHost();
  const output = terminal?.output ?? "";
  const spans = useMemo(() => ansiSpans(output), [output]);
  const outputElement = useRef<HTMLPreElement>(null);
  useLayoutEffect(() => {
    if (outputElement.current !== null) outputElement.current.scrollTop = outputElement.current.scrollHeight;
  }, [output]);
  const exit = terminal?.exit ?? null;
  const isRunning = terminal !== undefined && exit === null;
  return (
    <div class="terminal" data-testid="terminal">
      {terminal?.isTruncated === true && <p class="small">{t("Earlier output is not shown.")}</p>}
      <pre ref={outputElement} tabIndex={0} role="group" aria-label={t("Output of the command")}>
        {spans.map((span, index) => (
          <span key={index} class={span.classes} style={{ color: span.color }}>
            {span.text}
          </span>
        ))}
      </pre>
      <div class="terminal-foot">
        <ExitStatus exit={exit} isRunning={isRunning} />
        {isRunning && (
          <>
            <IconButton
              icon="terminal"
              label={t("Show Terminal")}
              testId="show-terminal"
              onPress={() => {
                post({ type: "showTerminal", id });
              }}
            />
            <IconButton
              icon="stop"
              label={t("Stop the command")}
              testId="stop-terminal"
              onPress={() => {
                post({ type: "stopTerminal", id });
              }}
            />
          </>
        )}
      </div>
    </div>
  );
}

function ExitStatus({ exit, isRunning }: { exit: TerminalExitStatus | null; isRunning: boolean }): JSX.Element {
  const text = exit === null ? (isRunning ? "running" : "") : describeExit(exit);
  return (
    <span class={exit === null || exit.exitCode === 0 ? "exit" : "exit failed"} data-testid="terminal-exit">
      {text}
    </span>
  );
}

function describeExit({ exitCode, signal }: TerminalExitStatus): string {
  if (typeof signal === "string") return t("ended by {0}", signal);
  return exitCode === 0 ? t("exit code 0") : t("exit code {0}", exitCode ?? t("unknown"));
}
