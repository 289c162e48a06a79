import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { useLocation } from "wouter";
import { ApiError, api } from "../../api/client.ts";
import { Button, Card, ConfirmDialog, ErrorLine, Field, Input, toast } from "../../ui/index.ts";
import { useCan } from "../../workspace.tsx";
import { type Deployment, deploymentPath, type Revision } from "./deployment-api.ts";
import { DomainsCard } from "./domains-card.tsx";
import { configPathProblem, refProblem } from "./form-rules.ts";
import { cpuProblem, limitsBody, limitTexts, memoryProblem } from "./limits.ts";
import { PreviewsCard } from "./previews-card.tsx";
import { SecretsEditor, secretRows, secretsOf, secretsProblem } from "./secrets-editor.tsx";
import { SleepCard } from "./sleep-card.tsx";

export function SettingsTab({ deployment }: { deployment: Deployment }) {
  const mayChange = useCan("editor");
  // What a listener runs has the domains of that place, and does not sleep.
  const isHere = deployment.source_config.listener_id === null;
  return (
    <div className="stack settings-tab">
      {!mayChange && <p className="muted">Your key can read but not change anything here.</p>}
      <fieldset className="bare stack" disabled={!mayChange}>
        <RunCard key={deployment.latest_revision_id} deployment={deployment} />
        {isHere && <DomainsCard deployment={deployment} />}
        {isHere && <SleepCard deployment={deployment} />}
        <PreviewsCard deployment={deployment} />
      </fieldset>
      <DeleteCard deployment={deployment} />
    </div>
  );
}

/** What runs: changing it makes a revision. */
function RunCard({ deployment }: { deployment: Deployment }) {
  const { source_config: config, source_revision_config: revision } = deployment;
  const fromGit = config.repo_url !== null && revision.source_tarball_path === null;
  const [ref, setRef] = useState(revision.repo_ref ?? "");
  const [path, setPath] = useState(revision.graph_config_path ?? "");
  const [install, setInstall] = useState(config.install_command ?? "");
  const [build, setBuild] = useState(config.build_command ?? "");
  const [limits, setLimits] = useState(() => limitTexts(deployment));
  const [secrets, setSecrets] = useState(() => secretRows(deployment.secrets));
  const client = useQueryClient();
  const [, navigate] = useLocation();
  const save = useMutation({
    mutationFn: () =>
      api.post<Revision>(`${deploymentPath(deployment.id)}/revisions`, {
        source_config: {
          ...(install.trim() === "" ? {} : { install_command: install.trim() }),
          ...(build.trim() === "" ? {} : { build_command: build.trim() }),
          ...limitsBody(deployment, limits),
        },
        source_revision_config: {
          ...(fromGit ? { repo_ref: ref.trim() } : {}),
          ...(path.trim() === "" ? {} : { graph_config_path: path.trim() }),
        },
        secrets: secretsOf(secrets),
      }),
    onSuccess: (made) => {
      void client.invalidateQueries({ queryKey: ["deployments"] });
      toast.good(`Revision ${made.number} is being deployed.`);
      navigate(`/deployments/${deployment.id}/revisions/${made.id}`);
    },
  });
  const fields = save.error instanceof ApiError ? save.error.fields : {};
  const refWrong = fromGit ? refProblem(ref) : null;
  const pathWrong = path === "" ? null : configPathProblem(path);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const limitWrong = cpuProblem(limits.cpu) ?? memoryProblem(limits.memory);
    if (!refWrong && !pathWrong && !limitWrong && !secretsProblem(secrets)) save.mutate();
  };
  return (
    <Card>
      <form className="stack" onSubmit={submit} noValidate>
        <div>
          <h2>What runs</h2>
          <p className="muted">Saving creates a new revision. The current one serves until it is ready.</p>
        </div>
        <div className="columns">
          {fromGit && (
            <Field
              label="Branch, tag or commit"
              error={refWrong ?? fields["source_revision_config.repo_ref"]}
            >
              <Input spellCheck={false} value={ref} onChange={(event) => setRef(event.target.value)} />
            </Field>
          )}
          <Field
            label="Configuration file"
            error={pathWrong ?? fields["source_revision_config.graph_config_path"]}
          >
            <Input spellCheck={false} value={path} onChange={(event) => setPath(event.target.value)} />
          </Field>
          <Field label="Install command" optional error={fields["source_config.install_command"]}>
            <Input
              className="mono"
              spellCheck={false}
              value={install}
              onChange={(event) => setInstall(event.target.value)}
            />
          </Field>
          <Field label="Build command" optional error={fields["source_config.build_command"]}>
            <Input
              className="mono"
              spellCheck={false}
              value={build}
              onChange={(event) => setBuild(event.target.value)}
            />
          </Field>
          <Field
            label="CPU limit"
            optional
            hint="Processors, such as 0.5. Empty: no limit."
            error={cpuProblem(limits.cpu) ?? fields["source_config.resource_spec.cpu_limit"]}
          >
            <Input
              inputMode="decimal"
              value={limits.cpu}
              onChange={(event) => setLimits({ ...limits, cpu: event.target.value })}
            />
          </Field>
          <Field
            label="Memory limit"
            optional
            hint="Megabytes. Empty: the server's default."
            error={memoryProblem(limits.memory) ?? fields["source_config.resource_spec.memory_limit_mb"]}
          >
            <Input
              inputMode="numeric"
              value={limits.memory}
              onChange={(event) => setLimits({ ...limits, memory: event.target.value })}
            />
          </Field>
        </div>
        <SecretsEditor rows={secrets} onChange={setSecrets} />
        <References references={deployment.secret_references ?? []} />
        <ErrorLine error={save.error} />
        <div className="row">
          <Button type="submit" look="primary" busy={save.isPending}>
            Save as a new revision
          </Button>
        </div>
      </form>
    </Card>
  );
}

/** Set by the API alone: they are of use to people who also look after the cluster. */
function References({ references }: { references: NonNullable<Deployment["secret_references"]> }) {
  if (references.length === 0) return null;
  const names = references.map(
    ({ name, secret_name, secret_key }) => `${name} (${secret_name}, ${secret_key})`,
  );
  return <p className="muted">From Secrets of the cluster: {names.join(", ")}. They stay as they are.</p>;
}

function DeleteCard({ deployment }: { deployment: Deployment }) {
  const mayDelete = useCan("admin");
  const [asking, setAsking] = useState(false);
  const [, navigate] = useLocation();
  const client = useQueryClient();
  return (
    <Card className="stack danger-card">
      <div>
        <h2>Delete this deployment</h2>
        <p className="muted">
          It stops serving at once. Its threads, its logs and its database are removed a day later.
          {!mayDelete && " Only an admin may do this."}
        </p>
      </div>
      <div className="row">
        <Button look="danger" disabled={!mayDelete} onClick={() => setAsking(true)}>
          Delete…
        </Button>
      </div>
      {asking && (
        <ConfirmDialog
          title="Delete this deployment?"
          action="Delete"
          typeToConfirm={deployment.name}
          onClose={() => setAsking(false)}
          onConfirm={async () => {
            await api.delete(deploymentPath(deployment.id));
            toast.good(`${deployment.name} is deleted.`);
            navigate("/deployments");
            client.removeQueries({ queryKey: ["deployments", deployment.id] });
            void client.invalidateQueries({ queryKey: ["deployments"] });
          }}
        >
          <strong>{deployment.display_name ?? deployment.name}</strong> stops serving at once. This cannot be
          undone here.
        </ConfirmDialog>
      )}
    </Card>
  );
}
