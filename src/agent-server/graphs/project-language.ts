import { type ModuleReference, parseModuleReference } from "./project-config.ts";

export type ProjectLanguage = "javascript" | "python";

const javascriptFile = /\.[cm]?[jt]sx?$/;
/** As in `my_agent.graph`. */
const pythonModule = /^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$/;

/** Which language a file or module of a project file is in; one project may have both. */
export function languageOf({ file }: ModuleReference): ProjectLanguage {
  if (javascriptFile.test(file)) return "javascript";
  return file.endsWith(".py") || pythonModule.test(file) ? "python" : "javascript";
}

/** Where the embedding function of the store is Python's; a word before the colon is a provider of models. */
export function pythonEmbedding(embed: string): ModuleReference | undefined {
  const reference = parseModuleReference(embed);
  const isNamed = reference.file.includes(".") && languageOf(reference) === "python";
  return isNamed ? reference : undefined;
}
