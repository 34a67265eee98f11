/**
 * Environment of child processes.
 *
 * Removes the editor's own variables: ELECTRON_RUN_AS_NODE and the like would make a child process
 * behave as part of the editor.
 */

const EDITOR_VARIABLES = /^(ELECTRON_|VSCODE_(?!GIT_))/;

/** Return the editor's environment without its private variables, extended by `added`. */
export function childEnvironment(
  editorEnvironment: NodeJS.ProcessEnv,
  added: Readonly<Record<string, string>>,
): NodeJS.ProcessEnv {
  const inherited = Object.entries(editorEnvironment).filter(([name]) => !EDITOR_VARIABLES.test(name));
  return { ...Object.fromEntries(inherited), ...added };
}
