import { KeyRound } from "lucide-react";
import { Button, Facts, formatBytes } from "../../../ui/index.ts";
import { parseEnvFile } from "../form-rules.ts";
import type { FolderProject } from "./folder-project.ts";
import type { Graph, ProjectFacts } from "./project-facts.ts";

/** What was found in a folder, before it is uploaded. */
export function FolderFacts({
  project,
  facts,
  configPath,
  added = [],
  onAddSecrets,
}: {
  project: FolderProject;
  facts: ProjectFacts;
  configPath: string;
  /** Names that are secrets already. */
  added?: readonly string[];
  /** Without it, files of variables are not offered: the secrets stay as they are. */
  onAddSecrets?(text: string): void;
}) {
  const { files, bytes, left } = project;
  const missing = facts.graphs.filter(({ isThere }) => !isThere);
  return (
    <>
      <Facts
        items={[
          ["Found", configPath],
          ["Graphs", <GraphList key="g" graphs={facts.graphs} />],
          ["Language", facts.languages.join(" and ") || "–"],
          ["To upload", `${files.length} ${files.length === 1 ? "file" : "files"}, ${formatBytes(bytes)}`],
          ["Left out", leftText(left)],
        ]}
      />
      {missing.length > 0 && (
        <p className="field-error" role="alert">
          {missing.map(({ file }) => file).join(", ")} {missing.length === 1 ? "is" : "are"} not among the
          files to upload. The build will fail, unless a build command makes{" "}
          {missing.length === 1 ? "it" : "them"}.
        </p>
      )}
      {onAddSecrets &&
        Object.entries(project.envFiles).map(([path, text]) => (
          <EnvFile key={path} {...{ path, text, added }} onAdd={() => onAddSecrets(text)} />
        ))}
    </>
  );
}

function GraphList({ graphs }: { graphs: readonly Graph[] }) {
  return (
    <span className="graph-list">
      {graphs.map(({ name, file }) => (
        <span key={name}>
          <code>{name}</code> <span className="muted">{file}</span>
        </span>
      ))}
    </span>
  );
}

function leftText({ ignored, installed, secret }: FolderProject["left"]): string {
  const parts = [...installed, ...secret, ...(ignored > 0 ? [`${ignored} ignored`] : [])];
  return parts.length === 0 ? "nothing" : parts.join(", ");
}

/** Its values never leave the page in the upload; as secrets they are sealed. */
function EnvFile({
  path,
  text,
  added,
  onAdd,
}: {
  path: string;
  text: string;
  added: readonly string[];
  onAdd(): void;
}) {
  const found = parseEnvFile(text) ?? [];
  if (found.length === 0) return null;
  const isDone = found.every(({ name }) => added.includes(name));
  return (
    <div className="notice env-file">
      <KeyRound aria-hidden="true" size={18} />
      <span>
        <code>{path}</code> is not uploaded. It has {found.length}{" "}
        {found.length === 1 ? "variable" : "variables"}.
      </span>
      <Button size="small" disabled={isDone} onClick={onAdd}>
        {isDone ? "Added as secrets" : "Add them as secrets"}
      </Button>
    </div>
  );
}
