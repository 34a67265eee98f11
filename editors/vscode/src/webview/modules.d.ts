declare module "codicon:*" {
  /** The shape of an icon: its box and the data of its paths. */
  const icon: { readonly viewBox: string; readonly paths: readonly string[] };
  export default icon;
}

declare module "*.css";
