/** Has the host use VS Code's translations. Imported before modules with texts. */
import { l10n } from "vscode";
import { useTranslations } from "../shared/l10n.js";

useTranslations(l10n.bundle ?? {});
