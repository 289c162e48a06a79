import { AppError } from "../../platform/errors.ts";
import { parseProjectConfig } from "./project-config.ts";

export type ProjectCheck = {
  /** What is wrong with the file; empty when nothing is. */
  problems: string[];
  /** Files it names, from its own folder. */
  files: string[];
  usesOwnAuth: boolean;
  nodeVersion: string | null;
};

/** Checks a project file as far as possible before anything is installed. */
export function checkProject(text: string, path: string): ProjectCheck {
  try {
    const config = parseProjectConfig(text, path);
    const parts = [...config.graphs, config.auth, config.httpApp].filter((part) => part !== undefined);
    const python = parts.map(({ file }) => file).filter((file) => file.endsWith(".py"));
    return {
      problems: python.map((file) => `${file} is a Python file; this server runs JavaScript and TypeScript`),
      files: [...parts.map(({ file }) => file), ...[...config.ui.values()].map((file) => `./${file}`)].filter(
        (file) => /^\.{0,2}\//.test(file) || /\.[cm]?[jt]sx?$/.test(file),
      ),
      usesOwnAuth: config.auth !== undefined,
      nodeVersion: config.file.node_version ? String(config.file.node_version) : null,
    };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const problems = error.detail?.problems;
    const list = Array.isArray(problems) ? problems.map(String) : [error.message];
    return { problems: list, files: [], usesOwnAuth: false, nodeVersion: null };
  }
}
