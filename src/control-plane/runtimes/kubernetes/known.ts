import type { Handle, StartSpec } from "../runtime.ts";
import { instanceLabel } from "./objects.ts";
import type { OwnDeployment } from "./pods.ts";

/** What is known of a start in a cluster, as it is kept in the database. */
export type Known = Handle & {
  name: string;
  /** Not in handles of earlier versions, whose servers are in the namespace of the platform. */
  namespace?: string;
  uid: string;
  generation: number;
  instance: string;
  log_path: string;
  port: number;
  memory_bytes: number | null;
  /** Not in handles of earlier versions, which had one replica. */
  min_replicas?: number;
  max_replicas?: number;
  /** Keys of Secrets that it needs. */
  references?: string[];
};

const annotations = {
  memory: "treadle.dev/memory-bytes",
  port: "treadle.dev/port",
  announces: "treadle.dev/announces",
  min: "treadle.dev/min-replicas",
  max: "treadle.dev/max-replicas",
  references: "treadle.dev/secret-references",
};
/** What its Deployment says about itself. */
export function knownOf(
  { metadata }: OwnDeployment,
  { namespace, logPath }: { namespace: string; logPath: string },
): Known {
  const kept = metadata.annotations ?? {};
  return {
    ...(kept[annotations.announces] === "false" ? { announces: false } : {}),
    ...{ name: metadata.name, uid: metadata.uid, generation: metadata.generation ?? 0 },
    namespace: metadata.namespace ?? namespace,
    instance: metadata.labels?.[instanceLabel] ?? "",
    log_path: logPath,
    port: Number(kept[annotations.port]),
    memory_bytes: kept[annotations.memory] ? Number(kept[annotations.memory]) : null,
    min_replicas: Number(kept[annotations.min] ?? 1),
    max_replicas: Number(kept[annotations.max] ?? 1),
    references: (kept[annotations.references] ?? "").split(",").filter((key) => key !== ""),
  };
}

export function annotationsOf(spec: StartSpec): Record<string, string> {
  return {
    [annotations.port]: String(spec.port),
    [annotations.announces]: String(spec.folder !== null),
    [annotations.min]: String(spec.scale.min),
    [annotations.max]: String(spec.scale.max),
    [annotations.references]: (spec.secretReferences ?? [])
      .map(({ secret_name, secret_key }) => `${secret_name}/${secret_key}`)
      .join(","),
    [annotations.memory]: spec.resources.memoryBytes === null ? "" : String(spec.resources.memoryBytes),
  };
}
