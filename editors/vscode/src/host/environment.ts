/**
 * Environment of child processes.
 *
 * Removes the editor's own variables: ELECTRON_RUN_AS_NODE and the like would make a child process
 * behave as part of the editor.
 */

const EDITOR_VARIABLES = /^(ELECTRON_|VSCODE_(?!GIT_))/;

const SECRET_NAMES = /key|token|secret|passw/i;
/** Shorter values are no secrets, and their letters would be taken out of all words. */
const MIN_SECRET_CHARACTERS = 8;
const KEYS = /\b(?:sk|pk|gh[a-z]|github_pat|xox[a-z])[-_][\w-]{12,}/g;

/** Return a function that takes secrets out of a text: values of variables that are named like one, and keys. */
export function redactorOf(environment: NodeJS.ProcessEnv): (text: string) => string {
  const secrets = Object.entries(environment).flatMap(([name, value = ""]) => (SECRET_NAMES.test(name) && value.length >= MIN_SECRET_CHARACTERS ? [value] : []));
  return (text) => secrets.reduce((left, secret) => left.replaceAll(secret, "***"), text).replace(KEYS, "***");
}

/** Return the editor's environment without its private variables, extended by `added`. */
export function childEnvironment(
  editorEnvironment: NodeJS.ProcessEnv,
  added: Readonly<Record<string, string>>,
): NodeJS.ProcessEnv {
  const inherited = Object.entries(editorEnvironment).filter(([name]) => !EDITOR_VARIABLES.test(name));
  return { ...Object.fromEntries(inherited), ...added };
}
