/**
 * The environment of what we start.
 *
 * Owns what of the editor's own variables must not reach a child: they would make it behave as a
 * part of the editor.
 */

const OURS = /^(ELECTRON_|VSCODE_(?!GIT_))/;

/** Return the editor's environment without what is the editor's alone, with more added. */
export function childEnvironment(
  editor: NodeJS.ProcessEnv,
  added: Readonly<Record<string, string>>,
): NodeJS.ProcessEnv {
  const kept = Object.entries(editor).filter(([name]) => !OURS.test(name));
  return { ...Object.fromEntries(kept), ...added };
}
