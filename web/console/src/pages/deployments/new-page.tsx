import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
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
  Select,
  toast,
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
  const [form, setForm] = useState(empty);
  const [secrets, setSecrets] = useState<SecretRow[]>([]);
  const [seen, setSeen] = useState<ReadonlySet<keyof Form>>(new Set());
  const [named, setNamed] = useState(false);
  const [, navigate] = useLocation();
  const client = useQueryClient();
  const integrations = useIntegrations();

  const problems: Partial<Record<keyof Form, string | null>> = {
    repoUrl: repoProblem(form.repoUrl),
    repoRef: refProblem(form.repoRef),
    configPath: configPathProblem(form.configPath),
    name: nameProblem(form.name),
  };
  const create = useMutation({
    mutationFn: () =>
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
  const refused = create.error instanceof ApiError ? create.error.fields : {};

  const set = (patch: Partial<Form>) => {
    setForm((now) => ({ ...now, ...patch }));
    setSeen((now) => new Set([...now, ...(Object.keys(patch) as (keyof Form)[])]));
  };
  const setRepo = (repoUrl: string) => {
    set({ repoUrl });
    if (!named) setForm((now) => ({ ...now, repoUrl, name: suggestName(repoUrl) }));
  };
  /** Only what was touched is complained about, until one wants to send it. */
  const problem = (name: keyof Form, wire: string) =>
    (seen.has(name) ? problems[name] : null) ?? refused[wire];

  const submit = (event: FormEvent) => {
    event.preventDefault();
    setSeen(new Set(Object.keys(empty) as (keyof Form)[]));
    if (Object.values(problems).some(Boolean) || secretsProblem(secrets)) {
      const first = (event.currentTarget as HTMLElement).querySelector<HTMLElement>('[aria-invalid="true"]');
      // The marks appear with the next draw.
      if (first) first.focus();
      else requestAnimationFrame(() => document.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus());
      return;
    }
    create.mutate();
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
          <Field
            label="Repository"
            hint="What you would give to git clone."
            error={problem("repoUrl", "source_config.repo_url")}
          >
            <Input
              inputMode="url"
              spellCheck={false}
              placeholder="https://github.com/you/your-agent"
              value={form.repoUrl}
              onChange={(event) => setRepo(event.target.value)}
              autoFocus
            />
          </Field>
          <div className="columns">
            <Field
              label="Branch, tag or commit"
              error={problem("repoRef", "source_revision_config.repo_ref")}
            >
              <Input
                spellCheck={false}
                value={form.repoRef}
                onChange={(event) => set({ repoRef: event.target.value })}
              />
            </Field>
            <Field
              label="Configuration file"
              error={problem("configPath", "source_revision_config.graph_config_path")}
            >
              <Input
                spellCheck={false}
                value={form.configPath}
                onChange={(event) => set({ configPath: event.target.value })}
              />
            </Field>
          </div>
          {integrations.length > 0 && (
            <Field label="Integration" optional hint="Whose credentials clone a private repository.">
              <Select
                value={form.integrationId}
                onChange={(event) => set({ integrationId: event.target.value })}
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
            checked={form.buildOnPush}
            onChange={(event) => set({ buildOnPush: event.target.checked })}
          />
        </Card>
        <Card className="stack">
          <h2>Deployment</h2>
          <div className="columns">
            <Field label="Name" error={problem("name", "name")}>
              <Input
                spellCheck={false}
                value={form.name}
                onChange={(event) => {
                  setNamed(true);
                  set({ name: event.target.value });
                }}
              />
            </Field>
            <Field label="Type">
              <Select
                value={form.type}
                onChange={(event) => set({ type: event.target.value })}
                options={types}
              />
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
                error={refused["source_config.install_command"]}
              >
                <Input
                  className="mono"
                  spellCheck={false}
                  placeholder="npm ci"
                  value={form.installCommand}
                  onChange={(event) => set({ installCommand: event.target.value })}
                />
              </Field>
              <Field
                label="Build command"
                optional
                hint="Default: none."
                error={refused["source_config.build_command"]}
              >
                <Input
                  className="mono"
                  spellCheck={false}
                  placeholder="npm run build"
                  value={form.buildCommand}
                  onChange={(event) => set({ buildCommand: event.target.value })}
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
