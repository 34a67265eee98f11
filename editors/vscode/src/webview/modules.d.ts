declare module "codicon:*" {
  /** An icon's view box and path data. */
  const icon: { readonly viewBox: string; readonly paths: readonly string[] };
  export default icon;
}

declare module "*.css";
