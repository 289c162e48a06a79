import type { Logger } from "../../../platform/logger.ts";
import { type Certificate, carryCertificates } from "../certificates.ts";
import type { StartSpec } from "../runtime.ts";
import type { BuildTrust } from "./build-objects.ts";
import { certificatesName, describeSecret, labelsOf, type ObjectFacts } from "./objects.ts";

/** The cluster takes Secrets of up to a megabyte, in base64. */
const mostBytes = 700_000;

type Ground = { machine?: Readonly<Record<string, string>> | undefined; logger: Logger };

/** What a server is started with, and the operator's certificates for its pods. */
export async function withCertificates(
  spec: StartSpec,
  ground: Ground,
): Promise<{ spec: StartSpec; certificates: Certificate[] }> {
  const { environment, certificates } = await carryWithin(spec.environment, ground);
  return { spec: { ...spec, environment }, certificates };
}

/** The operator's certificates for the pod of a build, and the variables that name them there. */
export async function certificatesOfBuilds(ground: Ground): Promise<BuildTrust> {
  const { environment, certificates } = await carryWithin(ground.machine ?? {}, ground);
  const variables = Object.entries(environment).filter(([, value]) => isCarried(value, certificates));
  return { certificates, variables: Object.fromEntries(variables) };
}

const isCarried = (value: string, certificates: readonly Certificate[]) =>
  certificates.some(({ to }) => to === value);

async function carryWithin(
  given: Readonly<Record<string, string>>,
  { machine = {}, logger }: Ground,
): Promise<{ environment: Record<string, string>; certificates: Certificate[] }> {
  const { environment, certificates } = await carryCertificates(machine, given);
  const bytes = certificates.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
  if (bytes <= mostBytes) return { environment, certificates };
  const files = certificates.map(({ from }) => from);
  logger.warn(
    { files, bytes, mostBytes },
    "files of certificates are too large for a Secret: pods are started without",
  );
  const kept = Object.entries(environment).filter(([, value]) => !isCarried(value, certificates));
  return { environment: Object.fromEntries(kept), certificates: [] };
}

export function describeSecrets(facts: ObjectFacts, owner: object) {
  const own = describeSecret(facts, owner);
  return facts.certificates?.length ? [own, describeCertificates(facts, owner)] : [own];
}

/** Of its own: the variables of a server are all that is in its other one. */
function describeCertificates(facts: ObjectFacts, owner: object) {
  const data = (facts.certificates ?? []).map(({ file, text }) => [
    file,
    Buffer.from(text).toString("base64"),
  ]);
  return {
    ...{ apiVersion: "v1", kind: "Secret", type: "Opaque", data: Object.fromEntries(data) },
    metadata: {
      ...{ name: certificatesName(facts.spec.instanceId), labels: labelsOf(facts) },
      ownerReferences: [owner],
    },
  };
}
