import { mkdir, readdir, writeFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { currentEnvironment } from "../../../config/index.ts";
import {
  projectNameOf,
  type TemplateName,
  templateNames,
} from "../../../control-plane/templates/project-template.ts";
import { readTemplate } from "../../../control-plane/templates/template-files.ts";
import { AppError } from "../../../platform/errors.ts";
import { createOutput } from "../../terminal/output.ts";
import { ownCommand, shellWord } from "../../terminal/own-command.ts";
import { ask, canAsk } from "../../terminal/prompt.ts";
import type { NewOptions } from "./command.ts";

/** How the packages are installed, in the folder. */
const installSteps: Record<TemplateName, string> = {
  typescript: "npm install",
  python: "uv venv && uv pip install -e .   # or: python3 -m venv .venv && .venv/bin/pip install -e .",
};

export async function runNew(folder: string, options: NewOptions): Promise<void> {
  const output = createOutput(options);
  const place = resolve(folder);
  await requireEmpty(place);
  const template = options.template ?? (await askTemplate());
  const files = await copyTemplate(template, place, projectNameOf(basename(place)));
  output.data({ folder: place, template, files });
  output.line(`${output.paint("green", "Made")} ${place}: an agent with one tool, which runs without a key.`);
  output.line();
  const dev = `${await ownCommand(currentEnvironment())} dev`;
  for (const step of [`cd ${shellWord(folder)}`, installSteps[template], dev]) output.line(`  ${step}`);
}

/** Nothing that is there is written over. */
async function requireEmpty(place: string): Promise<void> {
  const entries = await readdir(place).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw unusable(place, error.code === "ENOTDIR" ? "is a file" : `cannot be read (${error.message})`);
  });
  // One that was just made for it by `git init`.
  if (entries.some((name) => name !== ".git")) throw unusable(place, "is not empty");
}

function unusable(place: string, problem: string): AppError {
  const message = `${place} ${problem}. Name a folder that does not exist yet, or an empty one.`;
  return new AppError({ code: "client.folder_not_empty", kind: "conflict", message });
}

async function askTemplate(): Promise<TemplateName> {
  if (!canAsk()) return "typescript";
  for (;;) {
    const given = (await ask("TypeScript or Python? [typescript] ")).toLowerCase() || "typescript";
    const found = templateNames.find((name) => name.startsWith(given)) ?? shortNames[given];
    if (found) return found;
  }
}

const shortNames: Record<string, TemplateName> = { ts: "typescript", js: "typescript", py: "python" };

/** Answers the files it wrote, from the project's folder. */
async function copyTemplate(template: TemplateName, place: string, projectName: string): Promise<string[]> {
  const files = await readTemplate(template, projectName);
  for (const { path, text } of files) {
    const target = join(place, path);
    await mkdir(dirname(target), { recursive: true });
    await writeFile(target, text, { flag: "wx" });
  }
  return files.map(({ path }) => path);
}
