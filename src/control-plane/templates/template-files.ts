import { readdir, readFile } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { templatesFolder } from "../../platform/package-facts.ts";
import { nameInProject, type TemplateName, textInProject } from "./project-template.ts";

export type TemplateFile = { path: string; text: string };

/** The files of a project made from a template, by their paths in it. */
export async function readTemplate(template: TemplateName, projectName: string): Promise<TemplateFile[]> {
  const folder = join(templatesFolder, template);
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && !entry.parentPath.includes("__pycache__"));
  const read = files.map(async (entry): Promise<TemplateFile> => {
    const place = relative(folder, entry.parentPath).split(sep).filter(Boolean);
    const text = await readFile(join(entry.parentPath, entry.name), "utf8");
    return { path: [...place, nameInProject(entry.name)].join("/"), text: textInProject(text, projectName) };
  });
  return (await Promise.all(read)).sort((one, other) => (one.path < other.path ? -1 : 1));
}
