import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { z } from "zod";
import { AppError, errorMessage } from "../../../platform/errors.ts";
import type { KubernetesAccess } from "./api.ts";

export type AccessSource = {
  /** A file of kubectl, in YAML or JSON; it comes first. */
  kubeconfig?: string | undefined;
  /** Of the API server, as every pod has it in its environment. */
  service?: { host: string; port: string } | undefined;
  /** Where a pod finds its token, authority and namespace. */
  accountFolder?: string;
};

const podAccountFolder = "/var/run/secrets/kubernetes.io/serviceaccount";
/** The token in the file is replaced long before the one that was read ends. */
const keepTokenMs = 60_000;

const text = z.string().min(1).optional();
const clusterSchema = z.object({
  server: z.url({ protocol: /^https$/ }),
  ...{ "certificate-authority": text, "certificate-authority-data": text },
  "insecure-skip-tls-verify": z.boolean().optional(),
});
const userSchema = z.object({
  ...{ token: text, tokenFile: text },
  ...{ "client-certificate": text, "client-certificate-data": text },
  ...{ "client-key": text, "client-key-data": text },
  ...{ exec: z.unknown().optional(), "auth-provider": z.unknown().optional() },
});
const contextSchema = z.object({ cluster: z.string(), user: z.string(), namespace: text });
const kubeconfigSchema = z.object({
  "current-context": z.string().default(""),
  clusters: z.array(z.object({ name: z.string(), cluster: clusterSchema })).default([]),
  users: z.array(z.object({ name: z.string(), user: userSchema })).default([]),
  contexts: z.array(z.object({ name: z.string(), context: contextSchema })).default([]),
});

/** How to reach the cluster: as a file says, or as every pod can. */
export async function readKubernetesAccess(source: AccessSource): Promise<KubernetesAccess> {
  if (source.kubeconfig !== undefined) return await readKubeconfig(source.kubeconfig);
  if (source.service !== undefined)
    return await readPodAccess(source.service, source.accountFolder ?? podAccountFolder);
  throw unusable("There is neither KUBECONFIG nor a pod's environment. Set KUBECONFIG to a file.");
}

/** Of a process that has no business with the cluster: whatever would ask it is refused here. */
export const noAccess: KubernetesAccess = {
  server: "https://cluster.invalid",
  namespace: "",
  token: () =>
    Promise.reject(unusable("Only a process with the role controller asks the cluster. This one does not.")),
};

async function readPodAccess(
  { host, port }: { host: string; port: string },
  folder: string,
): Promise<KubernetesAccess> {
  const read = (name: string) => readFile(`${folder}/${name}`, "utf8").catch(refuse(`${folder}/${name}`));
  return {
    server: `https://${host.includes(":") ? `[${host}]` : host}:${port}`,
    authority: await read("ca.crt"),
    namespace: (await read("namespace")).trim(),
    token: tokenOf(`${folder}/token`),
  };
}

async function readKubeconfig(path: string): Promise<KubernetesAccess> {
  const content = await readFile(path, "utf8").catch(refuse(path));
  const { cluster, user, context } = await chooseContext(path, content);
  if (cluster["insecure-skip-tls-verify"])
    throw unusable(`${path} asks for no check of the server's certificate. Give its certificate-authority.`);
  if (user.exec !== undefined || user["auth-provider"] !== undefined)
    throw unusable(`${path} asks for a program that signs in. Use a token or a client certificate.`);
  const part = async (data: string | undefined, file: string | undefined) => {
    if (data !== undefined) return Buffer.from(data, "base64");
    if (file === undefined) return undefined;
    const at = resolve(dirname(path), file);
    return await readFile(at).catch(refuse(at));
  };
  const authority = await part(cluster["certificate-authority-data"], cluster["certificate-authority"]);
  const certificate = await part(user["client-certificate-data"], user["client-certificate"]);
  const key = await part(user["client-key-data"], user["client-key"]);
  const { token, tokenFile } = user;
  return {
    ...{ server: cluster.server, namespace: context.namespace ?? "default" },
    ...(authority ? { authority } : {}),
    ...(certificate && key ? { certificate, key } : {}),
    ...(tokenFile ? { token: tokenOf(resolve(dirname(path), tokenFile)) } : {}),
    ...(token && !tokenFile ? { token: async () => token } : {}),
  };
}

async function chooseContext(path: string, content: string) {
  const config = await parseKubeconfig(path, content);
  const current = config["current-context"];
  const find = <Entry extends { name: string }>(kind: string, entries: Entry[], name: string): Entry => {
    const found = entries.find((entry) => entry.name === name);
    if (!found) throw unusable(`${path} has no ${kind} ${JSON.stringify(name)}.`);
    return found;
  };
  const { context } = find("context", config.contexts, current);
  const { cluster } = find("cluster", config.clusters, context.cluster);
  const { user } = find("user", config.users, context.user);
  return { context, cluster, user };
}

async function parseKubeconfig(path: string, content: string) {
  try {
    return kubeconfigSchema.parse(await parseYaml(content));
  } catch (error) {
    const why = error instanceof z.ZodError ? z.prettifyError(error) : errorMessage(error);
    throw unusable(
      `${path} is no kubeconfig (${why}). \`kubectl config view --raw --minify --flatten\` writes one.`,
    );
  }
}

/** JSON is YAML, too. The parser is loaded where it is used: most servers have no cluster. */
async function parseYaml(content: string): Promise<unknown> {
  const { parse } = await import("yaml");
  return parse(content, { maxAliasCount: 0 });
}

function tokenOf(path: string): () => Promise<string> {
  let kept: { token: string; until: number } | undefined;
  return async () => {
    if (kept && kept.until > performance.now()) return kept.token;
    const token = (await readFile(path, "utf8").catch(refuse(path))).trim();
    kept = { token, until: performance.now() + keepTokenMs };
    return token;
  };
}

function refuse(path: string): (error: unknown) => never {
  return (error) => {
    throw unusable(`${path} cannot be read: ${errorMessage(error)}`);
  };
}

function unusable(message: string): AppError {
  return new AppError({ code: "runtime.kubernetes_access", kind: "invalid", message });
}
