import type { Problems } from "../../../ui/form-problems.ts";
import { nameProblem } from "../form-rules.ts";

/** What is typed about every deployment. */
export type Common = {
  name: string;
  type: string;
  installCommand: string;
  buildCommand: string;
  /** The listener that runs it; empty: this server. */
  listener: string;
};

export const noCommon: Common = {
  ...{ name: "", type: "dev", installCommand: "", buildCommand: "", listener: "" },
};

export function checkCommon({ name }: Common): Problems<Common> {
  return { name: nameProblem(name) };
}

export const listenerOf = ({ listener }: Common) => listener || null;

/** The commands as a request names them. */
export function commandsOf({ installCommand, buildCommand }: Common) {
  return { install_command: installCommand.trim() || null, build_command: buildCommand.trim() || null };
}

/** Where the server's words about a field of the request go. */
const wireNames: Readonly<Record<string, string>> = {
  name: "name",
  "source_config.repo_url": "repoUrl",
  "source_config.install_command": "installCommand",
  "source_config.build_command": "buildCommand",
  "source_revision_config.repo_ref": "repoRef",
  "source_revision_config.graph_config_path": "configPath",
};

/** What the server refused, by the names of the form. */
export function refusalsIn(fields: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(fields).flatMap(([path, message]) =>
      wireNames[path] === undefined ? [] : [[wireNames[path], message]],
    ),
  );
}
