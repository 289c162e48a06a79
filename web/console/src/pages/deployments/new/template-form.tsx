import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { ApiError, api, query } from "../../../api/client.ts";
import type { ProjectTemplate } from "../../../api/wire.ts";
import { Card, ListState, type Problems, useForm } from "../../../ui/index.ts";
import { type SecretRow, secretsOf, secretsProblem } from "../secrets-editor.tsx";
import { type Common, checkCommon, commandsOf, listenerOf, noCommon, refusalsIn } from "./common-values.ts";
import { DeployActions, DeploymentFields } from "./deployment-fields.tsx";
import { chooseFiles } from "./project-files.ts";
import { useArchiveDeploy } from "./use-archive-deploy.ts";

const templatesFor = (projectName: string, signal?: AbortSignal) =>
  api.get<ProjectTemplate[]>(`/v2/templates${query({ project_name: projectName })}`, { signal });

/** The files of a template under the project's name, without those that are never uploaded. */
async function filesOf(template: string, projectName: string) {
  const found = (await templatesFor(projectName)).find(({ name }) => name === template);
  const files = found?.files ?? [];
  const ignoreFiles = new Map(files.map(({ path, text }) => [path, text]));
  const { kept } = chooseFiles(
    files.map(({ path }) => path),
    ignoreFiles,
  );
  return files
    .filter(({ path }) => kept.includes(path))
    .map(({ path, text }) => ({ path, content: new Blob([text]) }));
}

export function TemplateForm() {
  const templates = useQuery({
    queryKey: ["deployments", "templates"],
    queryFn: ({ signal }) => templatesFor("agent", signal),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const [template, setTemplate] = useState("typescript");
  const [secrets, setSecrets] = useState<SecretRow[]>([]);
  const create = useArchiveDeploy();
  const form = useForm<Common>({
    start: { ...noCommon, name: "my-agent" },
    check: checkCommon,
    refused: create.error instanceof ApiError ? (refusalsIn(create.error.fields) as Problems<Common>) : {},
    judge: "when changed",
    isBlocked: Boolean(secretsProblem(secrets)) || !templates.data,
    send(values) {
      const name = values.name.trim();
      const { install_command: installCommand, build_command: buildCommand } = commandsOf(values);
      create.mutate({
        ...{ name, type: values.type, listenerId: listenerOf(values), installCommand, buildCommand },
        secrets: secretsOf(secrets),
        configPath: "langgraph.json",
        files: () => filesOf(template, name),
      });
    },
  });
  return (
    <form className="stack" onSubmit={form.submit} noValidate>
      <Card className="stack">
        <h2>Template</h2>
        <ListState of={templates} rows={templates.data} lines={2} height="4rem">
          {(rows) => (
            <fieldset className="bare choices" aria-label="Template">
              {rows.map(({ name, title, description }) => (
                <label key={name} className="choice">
                  <input
                    type="radio"
                    name="template"
                    checked={template === name}
                    onChange={() => setTemplate(name)}
                  />
                  <span>
                    <b>{title}</b>
                    <span className="field-hint">{description}</span>
                  </span>
                </label>
              ))}
            </fieldset>
          )}
        </ListState>
        <FilesOf template={templates.data?.find(({ name }) => name === template)} />
      </Card>
      <DeploymentFields
        {...form}
        onName={(name) => form.set({ name })}
        {...{ secrets }}
        onSecrets={setSecrets}
      />
      <DeployActions error={create.error} busy={create.isPending} stage={create.stage} />
    </form>
  );
}

/** To read before it is deployed. */
function FilesOf({ template }: { template: ProjectTemplate | undefined }) {
  if (template === undefined) return null;
  return (
    <details className="more">
      <summary>Look at its {template.files.length} files</summary>
      <div className="template-files">
        {template.files.map(({ path, text }) => (
          <details key={path}>
            <summary className="mono">{path}</summary>
            {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable with the keyboard */}
            <pre tabIndex={0}>{text}</pre>
          </details>
        ))}
      </div>
    </details>
  );
}
