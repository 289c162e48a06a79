import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useLocation } from "wouter";
import { ApiError, api } from "../../api/client.ts";
import {
  Button,
  ButtonLink,
  Card,
  Checkbox,
  EmptyState,
  ErrorLine,
  Field,
  Input,
  Page,
  PageHeader,
  type Problems,
  Select,
  toast,
  useForm,
} from "../../ui/index.ts";
import { useCan } from "../../workspace.tsx";
import type { Deployment } from "./deployment-api.ts";
import { configPathProblem, nameProblem, refProblem, repoProblem, suggestName } from "./form-rules.ts";
import { type SecretRow, SecretsEditor, secretsOf, secretsProblem } from "./secrets-editor.tsx";
import { useIntegrations } from "./use-integrations.ts";

const types = [
  { value: "dev", label: "Development" },
  { value: "prod", label: "Production" },
];

type Form = {
  repoUrl: string;
  repoRef: string;
  configPath: string;
  name: string;
  type: string;
  integrationId: string;
  buildOnPush: boolean;
  installCommand: string;
  buildCommand: string;
};

const empty: Form = {
  repoUrl: "",
  repoRef: "main",
  configPath: "langgraph.json",
  name: "",
  type: "dev",
  integrationId: "",
  buildOnPush: false,
  installCommand: "",
  buildCommand: "",
};

/** Where the server's words about a field of the request go. */
const wireNames: Record<string, keyof Form> = {
  name: "name",
  "source_config.repo_url": "repoUrl",
  "source_config.install_command": "installCommand",
  "source_config.build_command": "buildCommand",
  "source_revision_config.repo_ref": "repoRef",
  "source_revision_config.graph_config_path": "configPath",
};

export function NewPage() {
  const mayCreate = useCan("editor");
  if (!mayCreate) {
    return (
      <Page title="New deployment" width="narrow">
        <PageHeader title="New deployment" crumbs={[{ label: "Deployments", href: "/deployments" }]} />
        <EmptyState title="Your key may only look">
          Ask an admin of this workspace for a key with the role editor.
        </EmptyState>
      </Page>
    );
  }
  return <NewForm />;
}

function NewForm() {
  const [secrets, setSecrets] = useState<SecretRow[]>([]);
  const [named, setNamed] = useState(false);
  const [, navigate] = useLocation();
  const client = useQueryClient();
  const integrations = useIntegrations();

  const create = useMutation({
    mutationFn: (form: Form) =>
      api.post<Deployment>("/v2/deployments", {
        name: form.name.trim(),
        source: "github",
        source_config: {
          repo_url: form.repoUrl.trim(),
          deployment_type: form.type,
          build_on_push: form.buildOnPush,
          integration_id: form.integrationId || null,
          install_command: form.installCommand.trim() || null,
          build_command: form.buildCommand.trim() || null,
        },
        source_revision_config: { repo_ref: form.repoRef.trim(), graph_config_path: form.configPath.trim() },
        secrets: secretsOf(secrets),
      }),
    onSuccess: (made) => {
      void client.invalidateQueries({ queryKey: ["deployments"] });
      toast.good(`${made.name} is being built.`);
      navigate(
        made.latest_revision_id
          ? `/deployments/${made.id}/revisions/${made.latest_revision_id}`
          : `/deployments/${made.id}`,
      );
    },
  });
  const { values, set, follow, text, problem, submit } = useForm({
    start: empty,
    check,
    refused: refusalsOf(create.error),
    judge: "when changed",
    isBlocked: Boolean(secretsProblem(secrets)),
    send: create.mutate,
  });
  const setRepo = (repoUrl: string) => {
    set({ repoUrl });
    if (!named) follow({ name: suggestName(repoUrl) });
  };

  return (
    <Page title="New deployment" width="narrow">
      <PageHeader
        title="New deployment"
        crumbs={[{ label: "Deployments", href: "/deployments" }]}
        description="The repository is cloned, its packages are installed, its graphs are checked, and the agent is served. It takes a minute or two."
      />
      <form className="stack" onSubmit={submit} noValidate>
        <Card className="stack">
          <h2>Source</h2>
          <Field label="Repository" hint="What you would give to git clone." error={problem("repoUrl")}>
            <Input
              inputMode="url"
              spellCheck={false}
              placeholder="https://github.com/you/your-agent"
              value={values.repoUrl}
              onChange={(event) => setRepo(event.target.value)}
              autoFocus
            />
          </Field>
          <div className="columns">
            <Field label="Branch, tag or commit" error={problem("repoRef")}>
              <Input spellCheck={false} {...text("repoRef")} />
            </Field>
            <Field label="Configuration file" error={problem("configPath")}>
              <Input spellCheck={false} {...text("configPath")} />
            </Field>
          </div>
          {integrations.length > 0 && (
            <Field label="Integration" optional hint="Whose credentials clone a private repository.">
              <Select
                {...text("integrationId")}
                options={[
                  { value: "", label: "None: the repository is public" },
                  ...integrations.map(({ id, name }) => ({ value: id, label: name })),
                ]}
              />
            </Field>
          )}
          <Checkbox
            label="Build when the branch moves"
            hint="Each new commit becomes a revision by itself."
            checked={values.buildOnPush}
            onChange={(event) => set({ buildOnPush: event.target.checked })}
          />
        </Card>
        <Card className="stack">
          <h2>Deployment</h2>
          <div className="columns">
            <Field label="Name" error={problem("name")}>
              <Input
                spellCheck={false}
                value={values.name}
                onChange={(event) => {
                  setNamed(true);
                  set({ name: event.target.value });
                }}
              />
            </Field>
            <Field label="Type">
              <Select {...text("type")} options={types} />
            </Field>
          </div>
          <SecretsEditor rows={secrets} onChange={setSecrets} />
          <details className="more">
            <summary>Build commands</summary>
            <div className="columns">
              <Field
                label="Install command"
                optional
                hint="Default: what the lock file asks for."
                error={problem("installCommand")}
              >
                <Input className="mono" spellCheck={false} placeholder="npm ci" {...text("installCommand")} />
              </Field>
              <Field label="Build command" optional hint="Default: none." error={problem("buildCommand")}>
                <Input
                  className="mono"
                  spellCheck={false}
                  placeholder="npm run build"
                  {...text("buildCommand")}
                />
              </Field>
            </div>
          </details>
        </Card>
        <ErrorLine error={create.error} />
        <div className="row form-actions">
          <Button type="submit" look="primary" busy={create.isPending}>
            Deploy
          </Button>
          <ButtonLink href="/deployments" look="quiet">
            Cancel
          </ButtonLink>
        </div>
      </form>
    </Page>
  );
}

function check(form: Form): Problems<Form> {
  return {
    repoUrl: repoProblem(form.repoUrl),
    repoRef: refProblem(form.repoRef),
    configPath: configPathProblem(form.configPath),
    name: nameProblem(form.name),
  };
}

function refusalsOf(error: unknown): Problems<Form> {
  const fields = error instanceof ApiError ? Object.entries(error.fields) : [];
  return Object.fromEntries(
    fields.flatMap(([path, message]) => (wireNames[path] ? [[wireNames[path], message]] : [])),
  );
}
