declare module "codicon:*" {
  /** An icon's paths, in a square of 16 pixels. */
  const icon: readonly string[];
  export default icon;
}

declare module "*.css";
