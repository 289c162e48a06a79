import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";
import { ApiError, api } from "../../../api/client.ts";
import type { GitRepository } from "../../../api/wire.ts";
import {
  Button,
  Card,
  EmptyState,
  Field,
  Input,
  ListState,
  type Problems,
  Select,
  toast,
  useForm,
} from "../../../ui/index.ts";
import { type SecretRow, secretsOf, secretsProblem } from "../secrets-editor.tsx";
import { useIntegrations } from "../use-integrations.ts";
import { refusalsIn } from "./common-values.ts";
import { ConnectHost } from "./connect-host.tsx";
import { DeployActions, DeploymentFields } from "./deployment-fields.tsx";
import { BuildOnPush, checkGit, GitFields, noGit } from "./git-fields.tsx";
import { type GitValues, useGitDeploy } from "./use-git-deploy.ts";

/** A repository of an account that is connected, chosen from the list of what its token may read. */
export function RepositoryForm() {
  const integrations = useIntegrations();
  const client = useQueryClient();
  const [chosen, setChosen] = useState<string>();
  const [connecting, setConnecting] = useState(false);
  // One that a deployment uses is not removed; the server names how many do.
  const remove = useMutation({
    mutationFn: (id: string) => api.delete(`/v1/integrations/github/${id}`),
    onSuccess: () => setChosen(undefined),
    onError: (error) => toast.bad(error),
    onSettled: () => client.invalidateQueries({ queryKey: ["deployments", "integrations"] }),
  });
  const integrationId = chosen ?? integrations[0]?.id;
  const mayRemove = integrations.find(({ id }) => id === integrationId)?.may_remove;
  if (connecting || integrationId === undefined) {
    return (
      <ConnectHost
        onCancel={integrationId === undefined ? undefined : () => setConnecting(false)}
        onDone={async (id) => {
          await client.invalidateQueries({ queryKey: ["deployments", "integrations"] });
          setChosen(id);
          setConnecting(false);
        }}
      />
    );
  }
  return (
    <Picked
      key={integrationId}
      integrationId={integrationId}
      account={
        <div className="row git-account">
          <Field label="Account">
            <Select
              value={integrationId}
              onChange={(event) => setChosen(event.target.value)}
              options={integrations.map(({ id, name }) => ({ value: id, label: name }))}
            />
          </Field>
          <Button onClick={() => setConnecting(true)}>Connect another</Button>
          {mayRemove && (
            <Button look="quiet" busy={remove.isPending} onClick={() => remove.mutate(integrationId)}>
              Remove
            </Button>
          )}
        </div>
      }
    />
  );
}

function Picked({ integrationId, account }: { integrationId: string; account: React.ReactNode }) {
  const [secrets, setSecrets] = useState<SecretRow[]>([]);
  const [named, setNamed] = useState(false);
  const create = useGitDeploy();
  const form = useForm<GitValues>({
    start: noGit,
    check: (values) => ({
      ...checkGit(values),
      repoUrl: values.repoUrl === "" ? "Choose a repository." : null,
    }),
    refused: create.error instanceof ApiError ? (refusalsIn(create.error.fields) as Problems<GitValues>) : {},
    judge: "when changed",
    isBlocked: Boolean(secretsProblem(secrets)),
    send: (values) =>
      create.mutate({
        values,
        access: { kind: "integration", id: integrationId },
        secrets: secretsOf(secrets),
      }),
  });
  const { values, set, follow, text, problem } = form;
  return (
    <form className="stack" onSubmit={form.submit} noValidate>
      <Card className="stack">
        <h2>Repository</h2>
        {account}
        <RepositoryList
          integrationId={integrationId}
          chosen={values.repoUrl}
          problem={problem("repoUrl")}
          onChoose={({ url, default_branch, name }) => {
            set({ repoUrl: url });
            follow({ repoRef: default_branch, ...(named ? {} : { name }) });
          }}
        />
        <GitFields {...{ text, problem }} />
        <BuildOnPush checked={values.buildOnPush} onChange={(buildOnPush) => set({ buildOnPush })} />
      </Card>
      <DeploymentFields
        {...{ text, problem, secrets }}
        onName={(name) => {
          setNamed(true);
          set({ name });
        }}
        onSecrets={setSecrets}
      />
      <DeployActions error={create.error} busy={create.isPending} />
    </form>
  );
}

const shownAtMost = 100;

function RepositoryList({
  integrationId,
  chosen,
  problem,
  onChoose,
}: {
  integrationId: string;
  chosen: string;
  problem: string | null | undefined;
  onChoose(repository: GitRepository): void;
}) {
  const [search, setSearch] = useState("");
  const found = useQuery({
    queryKey: ["deployments", "integrations", integrationId, "repositories"],
    queryFn: ({ signal }) =>
      api.get<GitRepository[]>(`/v2/integrations/github/installations/${integrationId}/repositories`, {
        signal,
      }),
    retry: false,
    staleTime: 60_000,
  });
  const wanted = search.trim().toLowerCase();
  const matching = found.data?.filter(({ owner, name }) => `${owner}/${name}`.toLowerCase().includes(wanted));
  return (
    <div className="stack">
      {found.data && found.data.length > 8 && (
        <Field label="Find a repository">
          <Input value={search} spellCheck={false} onChange={(event) => setSearch(event.target.value)} />
        </Field>
      )}
      <ListState
        of={found}
        rows={matching}
        lines={3}
        height="2.4rem"
        empty={
          <EmptyState title="No repository">The token cannot read a repository with this name.</EmptyState>
        }
      >
        {(rows) => (
          <fieldset className="bare repositories" aria-label="Repository">
            {rows.slice(0, shownAtMost).map((repository) => (
              <label key={repository.id} className="choice">
                <input
                  type="radio"
                  name="repository"
                  checked={chosen === repository.url}
                  aria-invalid={problem ? true : undefined}
                  onChange={() => onChoose(repository)}
                />
                <span className="break">
                  <b>
                    {repository.owner}/{repository.name}
                  </b>{" "}
                  <code>{repository.default_branch}</code>
                </span>
              </label>
            ))}
          </fieldset>
        )}
      </ListState>
      {found.error && (
        <p className="muted">
          A repository can also be deployed by its address, with the same credentials:{" "}
          <Link href="/deployments/new?from=git">Git URL</Link>.
        </p>
      )}
      {problem && (
        <p className="field-error" role="alert">
          {problem}
        </p>
      )}
    </div>
  );
}
