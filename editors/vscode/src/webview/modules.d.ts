declare module "codicon:*" {
  /** The path data of an icon of 16 by 16. */
  const paths: readonly string[];
  export default paths;
}

declare module "*.css";
