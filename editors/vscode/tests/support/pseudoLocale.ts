/** Has all texts "translated" into a marked form. Imported before the modules with texts. */
import { readFileSync } from "node:fs";
import { useTranslations } from "../../src/shared/l10n.js";

const texts = Object.keys(JSON.parse(readFileSync("l10n/bundle.l10n.json", "utf8")) as object);
useTranslations(Object.fromEntries(texts.map((text) => [text, `⟦${text}⟧`])));
