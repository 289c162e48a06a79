/** A folder in `templates/` each. */
export const templateNames = ["typescript", "python"] as const;
export type TemplateName = (typeof templateNames)[number];

/** What people read before they choose one. */
export const templateFacts: Record<TemplateName, { title: string; description: string }> = {
  typescript: {
    title: "Agent in TypeScript",
    description: "An agent with one tool, in TypeScript. It runs without a key, on a scripted model.",
  },
  python: {
    title: "Agent in Python",
    description: "An agent with one tool, in Python. It runs without a key, on a scripted model.",
  },
};

/** npm leaves these names out of a package, so they have others in the templates. */
const dotted = new Set(["gitignore", "env"]);

export function nameInProject(file: string): string {
  return dotted.has(file) ? `.${file}` : file;
}

const placeholder = "PROJECT_NAME";

export function textInProject(text: string, projectName: string): string {
  return text.replaceAll(placeholder, projectName);
}

/** As both npm and Python take it: small letters, digits, hyphens. */
export function projectNameOf(name: string): string {
  const plain = name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "");
  return plain || "agent";
}
