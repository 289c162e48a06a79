import {
  type JavascriptPart,
  loadJavascriptPart,
} from "../../src/agent-server/graphs/javascript/graph-loader.ts";
import type { ProjectConfig } from "../../src/agent-server/graphs/project-config.ts";
import { type ReadProjectOptions, readProject } from "../../src/agent-server/graphs/read-project.ts";

export type JavascriptProject = JavascriptPart & { config: ProjectConfig; warnings: string[] };

/** A project whose graphs are all JavaScript or TypeScript, as the server loads it. */
export async function loadJavascriptProject(options: ReadProjectOptions): Promise<JavascriptProject> {
  const { config, warnings } = await readProject(options);
  return { ...(await loadJavascriptPart(config)), config, warnings };
}
