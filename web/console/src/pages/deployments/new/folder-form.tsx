import { useState } from "react";
import { ApiError } from "../../../api/client.ts";
import { Card, ErrorLine, type Problems, Select, useForm } from "../../../ui/index.ts";
import { parseEnvFile } from "../form-rules.ts";
import { type SecretRow, secretsOf, secretsProblem } from "../secrets-editor.tsx";
import { type Common, checkCommon, commandsOf, listenerOf, noCommon, refusalsIn } from "./common-values.ts";
import { DeployActions, DeploymentFields } from "./deployment-fields.tsx";
import { DropZone } from "./drop-zone.tsx";
import { FolderFacts } from "./folder-facts.tsx";
import { type FolderProject, lookInto } from "./folder-project.ts";
import type { ReadFolder } from "./read-folder.ts";
import { useArchiveDeploy } from "./use-archive-deploy.ts";

export function FolderForm() {
  const [project, setProject] = useState<FolderProject>();
  const [configPath, setConfigPath] = useState("");
  const [looking, setLooking] = useState(false);
  const [refusal, setRefusal] = useState<unknown>(null);
  const [secrets, setSecrets] = useState<SecretRow[]>([]);
  const [named, setNamed] = useState(false);
  const create = useArchiveDeploy();
  const facts = project?.facts[configPath];
  const problem = project?.problem ?? (facts && "problem" in facts ? facts.problem : null);
  const form = useForm<Common>({
    start: noCommon,
    check: checkCommon,
    refused: create.error instanceof ApiError ? (refusalsIn(create.error.fields) as Problems<Common>) : {},
    judge: "when changed",
    isBlocked: Boolean(secretsProblem(secrets)) || !project || problem !== null,
    send(values) {
      const { install_command: installCommand, build_command: buildCommand } = commandsOf(values);
      create.mutate({
        ...{ name: values.name.trim(), type: values.type, installCommand, buildCommand, configPath },
        listenerId: listenerOf(values),
        secrets: secretsOf(secrets),
        files: async () => project!.files.map(({ path, file }) => ({ path, content: file })),
      });
    },
  });
  const take = async (reading: () => Promise<ReadFolder>) => {
    if (create.isPending) return;
    setLooking(true);
    setRefusal(null);
    create.reset();
    try {
      const found = await lookInto(await reading());
      setProject(found);
      setConfigPath(found.configs[0] ?? "");
      if (!named) form.follow({ name: found.name });
    } catch (error) {
      setProject(undefined);
      setRefusal(error);
    }
    setLooking(false);
  };
  const addSecrets = (text: string) => {
    const found = parseEnvFile(text) ?? [];
    const names = new Set(found.map(({ name }) => name));
    const kept = secrets.filter(({ name }) => name !== "" && !names.has(name));
    const first = Math.max(0, ...secrets.map(({ key }) => key)) + 1;
    setSecrets([...kept, ...found.map((each, index) => ({ ...each, key: first + index, kept: false }))]);
  };

  return (
    <form className="stack" onSubmit={form.submit} noValidate>
      <Card className="stack">
        <h2>Folder</h2>
        <DropZone
          busy={looking || create.isPending}
          onTake={(reading) => void take(reading)}
          chosen={project?.folder}
        />
        <ErrorLine error={refusal} />
        {problem && (
          <p className="field-error" role="alert">
            {problem}
          </p>
        )}
        {project && project.configs.length > 1 && (
          <Select
            aria-label="Configuration file"
            value={configPath}
            onChange={(event) => setConfigPath(event.target.value)}
            options={project.configs.map((path) => ({ value: path, label: path }))}
          />
        )}
        {project && facts && !("problem" in facts) && (
          <FolderFacts
            {...{ project, facts, configPath }}
            added={secrets.map(({ name }) => name)}
            onAddSecrets={addSecrets}
          />
        )}
      </Card>
      {project && problem === null && (
        <>
          <DeploymentFields
            {...form}
            onName={(name) => {
              setNamed(true);
              form.set({ name });
            }}
            {...{ secrets }}
            onSecrets={setSecrets}
          />
          <DeployActions error={create.error} busy={create.isPending} stage={create.stage} />
        </>
      )}
    </form>
  );
}
