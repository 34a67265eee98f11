// VS Code's variables in three of its own themes, as a webview sees them: what the view uses of them.

const FONTS = {
  "font-family": "system-ui, 'DejaVu Sans', sans-serif",
  "font-size": "13px",
  "font-weight": "normal",
  "editor-font-family": "'DejaVu Sans Mono', monospace",
  "editor-font-size": "12px",
};
const ANSI = (colors) =>
  Object.fromEntries(
    ["Black", "Red", "Green", "Yellow", "Blue", "Magenta", "Cyan", "White"].flatMap((name, index) => [
      [`terminal-ansi${name}`, colors[index]],
      [`terminal-ansiBright${name}`, colors[index]],
    ]),
  );

const DARK = {
  foreground: "#cccccc", descriptionForeground: "#9d9d9d", errorForeground: "#f85149",
  "icon-foreground": "#cccccc", focusBorder: "#0078d4", "sideBar-background": "#181818",
  "editor-background": "#1f1f1f", "editor-foreground": "#cccccc", "editorWidget-background": "#202020",
  "widget-border": "#313131", "widget-shadow": "#0000005c", "panel-border": "#2b2b2b",
  "button-background": "#0078d4", "button-foreground": "#ffffff", "button-hoverBackground": "#026ec1",
  "button-border": "#ffffff12", "button-secondaryBackground": "#313131", "button-secondaryForeground": "#cccccc",
  "button-secondaryHoverBackground": "#3c3c3c", "toolbar-hoverBackground": "#5a5d5e50",
  "inputOption-activeBackground": "#2489db82", "inputOption-activeForeground": "#ffffff", "inputOption-activeBorder": "#2488db",
  "input-background": "#313131", "input-foreground": "#cccccc", "input-border": "#3c3c3c",
  "input-placeholderForeground": "#989898", "textLink-foreground": "#4daafc", "textLink-activeForeground": "#4daafc",
  "textCodeBlock-background": "#2b2b2b", "textPreformat-background": "#3c3c3c", "textPreformat-foreground": "#d0d0d0",
  "textBlockQuote-border": "#616161", "list-hoverBackground": "#2a2d2e", "list-inactiveSelectionBackground": "#37373d",
  "list-activeSelectionBackground": "#04395e", "list-activeSelectionForeground": "#ffffff",
  "inputValidation-infoBackground": "#063b49", "inputValidation-infoBorder": "#007acc",
  "inputValidation-warningBackground": "#352a05", "keybindingLabel-background": "#8080802b",
  "keybindingLabel-border": "#33333399", "keybindingLabel-foreground": "#cccccc",
  "progressBar-background": "#0078d4", "editorWarning-foreground": "#cca700",
  "gitDecoration-addedResourceForeground": "#81b88b", "gitDecoration-deletedResourceForeground": "#c74e39",
  "diffEditor-insertedLineBackground": "#9bb95533", "diffEditor-removedLineBackground": "#ff000033",
  "editorLineNumber-foreground": "#6e7681", "editorLineNumber-activeForeground": "#cccccc",
  "terminal-foreground": "#cccccc", "editorSuggestWidget-background": "#202020", "editorSuggestWidget-border": "#454545",
  "editorSuggestWidget-selectedBackground": "#04395e", "editorSuggestWidget-selectedForeground": "#ffffff",
  "debugTokenExpression-name": "#c586c0", "debugTokenExpression-string": "#ce9178", "debugTokenExpression-number": "#b5cea8",
  "symbolIcon-functionForeground": "#b180d7", "symbolIcon-variableForeground": "#75beff",
  "dropdown-background": "#313131", "dropdown-foreground": "#cccccc", "chat-requestBubbleBackground": "#ffffff08",
  ...ANSI(["#000000", "#f14c4c", "#23d18b", "#f5f543", "#3b8eea", "#d670d6", "#29b8db", "#e5e5e5"]),
};
const LIGHT = {
  ...DARK, foreground: "#3b3b3b", descriptionForeground: "#3b3b3bb3", "icon-foreground": "#3b3b3b", focusBorder: "#005fb8",
  "sideBar-background": "#f8f8f8", "editor-background": "#ffffff", "editor-foreground": "#3b3b3b", "editorWidget-background": "#f8f8f8",
  "widget-border": "#e5e5e5", "widget-shadow": "#00000029", "panel-border": "#e5e5e5", "button-background": "#005fb8",
  "button-hoverBackground": "#0258a8", "button-border": "#0000001a", "button-secondaryBackground": "#e5e5e5",
  "button-secondaryForeground": "#3b3b3b", "button-secondaryHoverBackground": "#cccccc", "toolbar-hoverBackground": "#b8b8b850",
  "inputOption-activeBackground": "#bed6ed", "inputOption-activeForeground": "#000000", "inputOption-activeBorder": "#005fb8",
  "input-background": "#ffffff", "input-foreground": "#3b3b3b", "input-border": "#cecece", "input-placeholderForeground": "#767676",
  "textLink-foreground": "#005fb8", "textLink-activeForeground": "#005fb8", "textCodeBlock-background": "#f8f8f8",
  "textPreformat-background": "#0000001f", "textPreformat-foreground": "#3b3b3b", "textBlockQuote-border": "#e5e5e5",
  "list-hoverBackground": "#f2f2f2", "list-inactiveSelectionBackground": "#e4e6f1", "list-activeSelectionBackground": "#e8e8e8",
  "list-activeSelectionForeground": "#000000", "inputValidation-infoBackground": "#d6ecf2", "inputValidation-warningBackground": "#f6f5d2",
  "keybindingLabel-background": "#dddddd66", "keybindingLabel-border": "#cccccc66", "keybindingLabel-foreground": "#555555",
  "progressBar-background": "#005fb8", "editorWarning-foreground": "#bf8803", errorForeground: "#f85149",
  "gitDecoration-addedResourceForeground": "#587c0c", "gitDecoration-deletedResourceForeground": "#ad0707",
  "diffEditor-insertedLineBackground": "#9bb95533", "diffEditor-removedLineBackground": "#ff000033",
  "editorLineNumber-foreground": "#6e7681", "editorLineNumber-activeForeground": "#171184", "terminal-foreground": "#3b3b3b",
  "editorSuggestWidget-background": "#f8f8f8", "editorSuggestWidget-border": "#c8c8c8", "editorSuggestWidget-selectedBackground": "#e8e8e8",
  "editorSuggestWidget-selectedForeground": "#000000", "debugTokenExpression-name": "#9b46b0", "debugTokenExpression-string": "#a31515",
  "debugTokenExpression-number": "#098658", "symbolIcon-functionForeground": "#652d90", "symbolIcon-variableForeground": "#007acc",
  "dropdown-background": "#ffffff", "dropdown-foreground": "#3b3b3b", "chat-requestBubbleBackground": "#e6f0fa",
  ...ANSI(["#000000", "#cd3131", "#107c10", "#949800", "#0451a5", "#bc05bc", "#0598bc", "#555555"]),
};
const CONTRAST = {
  foreground: "#ffffff", descriptionForeground: "#ffffffb3", errorForeground: "#f48771", "icon-foreground": "#ffffff",
  focusBorder: "#f38518", contrastBorder: "#6fc3df", contrastActiveBorder: "#f38518", "sideBar-background": "#000000",
  "editor-background": "#000000", "editor-foreground": "#ffffff", "editorWidget-background": "#0c141f", "widget-border": "#6fc3df",
  "button-background": "#000000", "button-foreground": "#ffffff", "button-border": "#6fc3df", "input-background": "#000000",
  "input-foreground": "#ffffff", "input-border": "#6fc3df", "input-placeholderForeground": "#ffffffb3",
  "textLink-foreground": "#21a6ff", "textLink-activeForeground": "#21a6ff", "textCodeBlock-background": "#000000",
  "textPreformat-background": "#ffffff", "textPreformat-foreground": "#000000", "textBlockQuote-border": "#ffffff",
  "inputOption-activeBackground": "#00000000", "inputOption-activeForeground": "#ffffff", "inputOption-activeBorder": "#6fc3df",
  "keybindingLabel-background": "#00000000", "keybindingLabel-border": "#6fc3df", "keybindingLabel-foreground": "#ffffff",
  "progressBar-background": "#6fc3df", "editorWarning-foreground": "#ffd370", "gitDecoration-addedResourceForeground": "#a1e3ad",
  "gitDecoration-deletedResourceForeground": "#c74e39", "diffEditor-insertedTextBorder": "#33ff2eff", "diffEditor-removedTextBorder": "#ff008f",
  "editorLineNumber-foreground": "#ffffff", "terminal-foreground": "#ffffff", "editorSuggestWidget-background": "#0c141f",
  "editorSuggestWidget-border": "#6fc3df", "debugTokenExpression-name": "#ffffff", "debugTokenExpression-string": "#f48771",
  "debugTokenExpression-number": "#89d185", "symbolIcon-functionForeground": "#b180d7", "symbolIcon-variableForeground": "#75beff",
  "inputValidation-infoBackground": "#000000", "inputValidation-warningBackground": "#000000", "inputValidation-infoBorder": "#6fc3df",
  "dropdown-background": "#000000", "dropdown-foreground": "#ffffff",
  ...ANSI(["#000000", "#f14c4c", "#23d18b", "#f5f543", "#3b8eea", "#d670d6", "#29b8db", "#ffffff"]),
};

const styleOf = (values) =>
  Object.entries({ ...FONTS, ...values })
    .map(([name, value]) => `--vscode-${name}: ${value}`)
    .join("; ");

export const THEMES = {
  dark: { body: "vscode-dark", variables: styleOf(DARK) },
  light: { body: "vscode-light", variables: styleOf(LIGHT) },
  contrast: { body: "vscode-high-contrast", variables: styleOf(CONTRAST) },
};
