import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { ApiError, api, query } from "../../../api/client.ts";
import type { Answers } from "../../../api/wire.ts";
import { type Deployment, deploymentPath, type Revision, type Secret } from "../deployment-api.ts";
import { type PackedFile, packFiles } from "./pack-files.ts";
import { uploadArchive } from "./upload-archive.ts";
import { useOpenRevision } from "./use-open-revision.ts";

export type ArchiveDeployment = {
  name: string;
  type: string;
  listenerId: string | null;
  secrets: Secret[];
  installCommand: string | null;
  buildCommand: string | null;
  configPath: string;
  files(): Promise<readonly PackedFile[]>;
};

/** How far it is; null before it begins. */
export type Stage = { words: string; done: number | null };

/** Packs files, uploads them and has them built: as `treadle deploy` does with a folder. */
export function useArchiveDeploy() {
  const [stage, setStage] = useState<Stage | null>(null);
  const open = useOpenRevision();
  const work = useMutation({
    mutationFn: (given: ArchiveDeployment) => deploy(given, setStage),
    onSuccess: open,
    onSettled: () => setStage(null),
  });
  return { ...work, stage };
}

/** A changed folder, or an archive made elsewhere, of a deployment that is there. All else stays as it is. */
export type ArchiveRevision = {
  deployment: Pick<Deployment, "id" | "name">;
  configPath: string;
  source: readonly PackedFile[] | Blob;
};

export function useArchiveRevision() {
  const [stage, setStage] = useState<Stage | null>(null);
  const open = useOpenRevision();
  const work = useMutation({
    mutationFn: (given: ArchiveRevision) => addRevision(given, setStage),
    onSuccess: open,
    onSettled: () => setStage(null),
  });
  return { ...work, stage };
}

async function addRevision({ deployment, configPath, source }: ArchiveRevision, onStage: OnStage) {
  const archive = source instanceof Blob ? source : await pack(source, onStage);
  const path = await upload(deployment.id, archive, onStage);
  const revision = await api.post<Revision>(`${deploymentPath(deployment.id)}/revisions`, {
    revision_source: "internal_source",
    source_revision_config: { source_tarball_path: path, graph_config_path: configPath },
  });
  return { name: deployment.name, deploymentId: deployment.id, revisionId: revision.id };
}

type OnStage = (stage: Stage) => void;

function pack(files: readonly PackedFile[], onStage: OnStage): Promise<Blob> {
  return packFiles(files, (done) => onStage({ words: "Packing the files", done: done / files.length }));
}

async function upload(deploymentId: string, archive: Blob, onStage: OnStage): Promise<string> {
  onStage({ words: "Uploading", done: 0 });
  const path = await uploadArchive(deploymentId, archive, (sent) =>
    onStage({ words: "Uploading", done: sent / archive.size }),
  );
  onStage({ words: "Starting the build", done: null });
  return path;
}

async function deploy(given: ArchiveDeployment, onStage: OnStage) {
  onStage({ words: "Packing the files", done: null });
  const archive = await pack(await given.files(), onStage);
  const made = await makeDeployment(given);
  const path = await upload(made.id, archive, onStage);
  const revision = await api.post<Revision>(`${deploymentPath(made.id)}/revisions`, {
    revision_source: "internal_source",
    source_config: { install_command: given.installCommand, build_command: given.buildCommand },
    source_revision_config: { source_tarball_path: path, graph_config_path: given.configPath },
    secrets: given.secrets,
  });
  return { name: made.name, deploymentId: made.id, revisionId: revision.id };
}

/** The deployment to upload for. One that an upload was cut off for has no revision yet: it is used again. */
async function makeDeployment({ name, type, listenerId, secrets }: ArchiveDeployment): Promise<Deployment> {
  try {
    return await api.post<Deployment>("/v2/deployments", {
      name,
      source: "internal_source",
      source_config: { deployment_type: type, listener_id: listenerId },
      source_revision_config: {},
      secrets,
    });
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== "deployment.name_taken") throw error;
    const found = await api.get<Answers["list_deployments"]>(
      `/v2/deployments${query({ limit: 100, name_contains: name })}`,
    );
    const unused = found.resources.find(
      (each) => each.name === name && each.latest_revision_id === null && each.source === "internal_source",
    );
    if (unused === undefined) throw error;
    return unused;
  }
}
