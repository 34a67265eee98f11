import tseslint from "typescript-eslint";

const BROWSER_ONLY = "the view is a page: it has no editor and no Node";

export default tseslint.config(
  { ignores: ["dist/", "out/", "node_modules/", "scripts/", "e2e/", "**/*.mjs"] },
  ...tseslint.configs.strictTypeChecked,
  ...tseslint.configs.stylisticTypeChecked,
  {
    languageOptions: { parserOptions: { projectService: true } },
    rules: {
      complexity: ["error", { max: 12, variant: "modified" }],
      "max-lines": ["error", 400],
      "max-params": ["error", 6],
      "no-restricted-properties": [
        "error",
        ...["innerHTML", "outerHTML", "insertAdjacentHTML"].map((property) => ({
          property,
          message: "What an agent says is never parsed as a page.",
        })),
      ],
      "@typescript-eslint/consistent-type-imports": "error",
      "@typescript-eslint/switch-exhaustiveness-check": ["error", { considerDefaultExhaustiveForUnions: true }],
    },
  },
  {
    files: ["src/webview/**", "src/shared/**"],
    rules: {
      "no-restricted-imports": [
        "error",
        {
          paths: [{ name: "vscode", message: BROWSER_ONLY }],
          patterns: [{ group: ["node:*", "**/host/**", "**/extension/**"], message: BROWSER_ONLY }],
        },
      ],
    },
  },
  {
    files: ["src/host/**"],
    rules: {
      "no-restricted-imports": [
        "error",
        { paths: [{ name: "vscode", message: "The host knows the editor by its ports alone." }] },
      ],
    },
  },
  { files: ["tests/**"], rules: { "@typescript-eslint/no-floating-promises": "off" } },
  // A stand-in is as empty as its test allows.
  { files: ["tests/support/vscode*.ts"], rules: { "@typescript-eslint/no-extraneous-class": "off" } },
);
