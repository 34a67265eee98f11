/** Has the view use the translations that its page came with. Imported before modules with texts. */
import { useTranslations, type Translations } from "../shared/l10n.js";

const texts = document.getElementById("root")?.dataset["translations"];
if (texts !== undefined) useTranslations(JSON.parse(texts) as Translations);
