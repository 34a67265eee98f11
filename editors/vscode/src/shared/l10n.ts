/**
 * Texts in the language of the editor.
 *
 * The English text is the key, and what is shown where no translation is known. A translation is a file
 * `l10n/bundle.l10n.LANGUAGE.json`: VS Code reads it, the host uses it, and the page of a view gets it with its HTML.
 * Texts in constants are translated when their module loads, so an entry point imports its translations first.
 */

/** English texts, as in `t`, with their translations. */
export type Translations = Readonly<Record<string, string>>;

// Global, because each bundle has a copy of this module.
const holder = globalThis as { acpServerTranslations?: Translations };

export function useTranslations(translations: Translations): void {
  holder.acpServerTranslations = translations;
}

/** Translate a text, with the values of `{0}`, `{1}` and so on. The text must be a literal, so that it is listed for translators. */
export function t(text: string, ...values: readonly (string | number)[]): string {
  const translated = holder.acpServerTranslations?.[text] ?? text;
  return values.length === 0 ? translated : translated.replaceAll(/\{(\d)\}/g, (_, index: string) => String(values[Number(index)]));
}
