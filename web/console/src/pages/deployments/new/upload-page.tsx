import { type FormEvent, useState } from "react";
import {
  ButtonLink,
  Card,
  EmptyState,
  ErrorLine,
  ErrorState,
  Field,
  formatBytes,
  Page,
  PageHeader,
  Select,
  Skeleton,
} from "../../../ui/index.ts";
import { useCan } from "../../../workspace.tsx";
import { type Deployment, isUploaded, useDeployment } from "../deployment-api.ts";
import { IsolationNotice } from "../isolation-notice.tsx";
import { DeployActions } from "./deployment-fields.tsx";
import { DropZone } from "./drop-zone.tsx";
import { FolderFacts } from "./folder-facts.tsx";
import { type FolderProject, lookInto } from "./folder-project.ts";
import { archiveProblem } from "./pack-files.ts";
import type { ReadFolder } from "./read-folder.ts";
import { useArchiveRevision } from "./use-archive-deploy.ts";
import "./new.css";

const title = "Upload changes";

/** The changed folder of a deployment that was uploaded: its next revision. */
export function UploadPage({ id }: { id: string }) {
  const found = useDeployment(id);
  const mayChange = useCan("editor");
  const name = found.data?.display_name ?? found.data?.name ?? "Deployment";
  const here = `/deployments/${id}`;
  const crumbs = [
    { label: "Deployments", href: "/deployments" },
    { label: name, href: here },
  ];
  if (!found.data)
    return (
      <Page title={title} width="narrow">
        <PageHeader title={title} crumbs={crumbs} />
        {found.error ? (
          <ErrorState error={found.error} retry={() => found.refetch()} />
        ) : (
          <Skeleton lines={2} height="6rem" />
        )}
      </Page>
    );
  const toDeployment = <ButtonLink href={here}>Back to the deployment</ButtonLink>;
  return (
    <Page title={`${title} of ${name}`} width="narrow">
      <PageHeader
        title={title}
        crumbs={crumbs}
        description="Creates a new revision. The current one serves until it is ready; address, secrets and commands stay."
      />
      <IsolationNotice />
      {!mayChange ? (
        <EmptyState title="Your key can only read" action={toDeployment}>
          Ask an admin of this workspace for a key with the role editor.
        </EmptyState>
      ) : isUploaded(found.data) ? (
        <UploadForm deployment={found.data} />
      ) : (
        <EmptyState title="Its source is not an upload" action={toDeployment}>
          Push the change to its repository, or change its image; then create a new revision.
        </EmptyState>
      )}
    </Page>
  );
}

/** What was chosen, after it was looked into. */
type Chosen =
  | { kind: "folder"; project: FolderProject; configPath: string }
  | { kind: "archive"; archive: File };

function UploadForm({ deployment }: { deployment: Deployment }) {
  const [chosen, setChosen] = useState<Chosen>();
  const [looking, setLooking] = useState(false);
  const [refusal, setRefusal] = useState<unknown>(null);
  const send = useArchiveRevision();
  const before = deployment.source_revision_config.graph_config_path;
  const problem = chosen && problemOf(chosen);
  const take = async (reading: () => Promise<ReadFolder>) => {
    if (send.isPending) return;
    setLooking(true);
    setRefusal(null);
    setChosen(undefined);
    send.reset();
    try {
      const project = await lookInto(await reading());
      const { configs } = project;
      const kept = configs.find((path) => path === before);
      setChosen({ kind: "folder", project, configPath: kept ?? configs[0] ?? "" });
    } catch (error) {
      setRefusal(error);
    }
    setLooking(false);
  };
  const takeArchive = (archive: File) => {
    if (send.isPending) return;
    setRefusal(null);
    send.reset();
    setChosen({ kind: "archive", archive });
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!chosen || problem !== null || send.isPending) return;
    if (chosen.kind === "archive")
      send.mutate({ deployment, configPath: before ?? "langgraph.json", source: chosen.archive });
    else
      send.mutate({
        deployment,
        configPath: chosen.configPath,
        source: chosen.project.files.map(({ path, file }) => ({ path, content: file })),
      });
  };
  return (
    <form className="stack" onSubmit={submit} noValidate>
      <Card className="stack">
        <h2>Folder or archive</h2>
        <DropZone
          busy={looking || send.isPending}
          chosen={chosen && nameOf(chosen)}
          onTake={(reading) => void take(reading)}
          onArchive={takeArchive}
        />
        <ErrorLine error={refusal} />
        {problem && (
          <p className="field-error" role="alert">
            {problem}
          </p>
        )}
        {chosen?.kind === "archive" && problem === null && (
          <p className="muted">
            {formatBytes(chosen.archive.size)}. It must have <code>{before ?? "langgraph.json"}</code> in it.
          </p>
        )}
        {chosen?.kind === "folder" && (
          <Found chosen={chosen} onConfig={(configPath) => setChosen({ ...chosen, configPath })} />
        )}
      </Card>
      {chosen && problem === null && (
        <DeployActions
          error={send.error}
          busy={send.isPending}
          stage={send.stage}
          back={`/deployments/${deployment.id}`}
        />
      )}
    </form>
  );
}

/** What is in the folder; which project of it, where there are several. */
function Found({
  chosen: { project, configPath },
  onConfig,
}: {
  chosen: Extract<Chosen, { kind: "folder" }>;
  onConfig(path: string): void;
}) {
  const facts = project.facts[configPath];
  return (
    <>
      {project.configs.length > 1 && (
        <Field label="Configuration file">
          <Select
            value={configPath}
            onChange={(event) => onConfig(event.target.value)}
            options={project.configs.map((path) => ({ value: path, label: path }))}
          />
        </Field>
      )}
      {facts && !("problem" in facts) && <FolderFacts {...{ project, facts, configPath }} />}
    </>
  );
}

const nameOf = (chosen: Chosen) => (chosen.kind === "archive" ? chosen.archive.name : chosen.project.folder);

function problemOf(chosen: Chosen): string | null {
  if (chosen.kind === "archive") return archiveProblem(chosen.archive.name, chosen.archive.size);
  const facts = chosen.project.facts[chosen.configPath];
  return chosen.project.problem ?? (facts && "problem" in facts ? facts.problem : null);
}
