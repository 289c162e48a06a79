import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createTempFolder, type TempFolder } from "../../../tests/support/components/temp-folder.ts";
import { createLogger } from "../../platform/logger.ts";
import { carryCertificates } from "./certificates.ts";
import { describeContainer } from "./docker/container.ts";
import { type BuildFacts, describeBuildJob, describeBuildSecret } from "./kubernetes/build-objects.ts";
import { certificatesOfBuilds, describeSecrets, withCertificates } from "./kubernetes/certificates.ts";
import { describeDeployment } from "./kubernetes/objects.ts";
import { oneReplica, type StartSpec } from "./runtime.ts";

const logger = createLogger({ level: "silent" });
let folder: TempFolder;
let named: string;
let machine: Record<string, string>;
beforeAll(async () => {
  folder = await createTempFolder("certificates");
  named = join(folder.path, "authority.pem");
  await writeFile(named, "the authority");
  machine = { NODE_EXTRA_CA_CERTS: named, SSL_CERT_FILE: "/nowhere.pem", SSL_CERT_DIR: folder.path };
});
afterAll(() => folder?.remove());

const inside = "/etc/treadle/certificates/NODE_EXTRA_CA_CERTS.pem";
const specOf = (environment: Record<string, string>): StartSpec => ({
  ...{ instanceId: "i", deploymentId: "d", revisionId: "r", workspaceId: "w", port: 8000 },
  ...{ folder: "/built", configPath: "langgraph.json", image: null, pinned: null, environment },
  ...{ instanceFolder: "/instance", home: "/home", logPath: "/log", scale: oneReplica },
  resources: { memoryBytes: null, cpus: null },
});

it("brings the operator's files along, and names no path that is not there", async () => {
  const { environment, certificates } = await carryCertificates(machine, { ...machine, OWN: "1" });
  expect(environment).toEqual({ OWN: "1", NODE_EXTRA_CA_CERTS: inside });
  expect(certificates).toMatchObject([{ from: named, to: inside, text: "the authority" }]);
});

it("brings a file once that several variables name", async () => {
  const several = { NODE_EXTRA_CA_CERTS: named, SSL_CERT_FILE: named, REQUESTS_CA_BUNDLE: named };
  const { environment, certificates } = await carryCertificates(several, several);
  expect(certificates).toHaveLength(1);
  expect(new Set(Object.values(environment))).toEqual(new Set([inside]));
});

it("brings no file that a deployment names, whatever the operator names", async () => {
  const own = { NODE_EXTRA_CA_CERTS: "/etc/shadow", REQUESTS_CA_BUNDLE: named };
  const { environment, certificates } = await carryCertificates(machine, own);
  expect([environment, certificates]).toEqual([own, []]);
});

it("a container sees the file, that of an image too", async () => {
  const { certificates } = await carryCertificates(machine, machine);
  const spec = specOf({});
  const facts = {
    ...{ spec, image: "i", network: "n", publishedAt: "127.0.0.1", environment: {} },
    certificates,
  };
  const rest = { user: "of the image" as const, groups: [], serve: null, labels: {} };
  expect(describeContainer({ ...facts, ...rest }).HostConfig.Binds).toEqual([`${named}:${inside}:ro`]);
  expect(describeContainer({ ...facts, ...rest, certificates: [] }).HostConfig.Binds).toEqual([]);
});

it("pods get it from a Secret of its own, for the server and for what fetches it", async () => {
  const carried = await withCertificates(specOf(machine), { machine, logger });
  const facts = {
    ...{ ...carried, installation: "treadle", baseImage: "i", artifactUrl: "https://p/a" },
    ...{ graceSeconds: 1, startSeconds: 1 },
  };
  const [own, certificates] = describeSecrets(facts, {});
  const text = (value: string | undefined) => Buffer.from(value ?? "", "base64").toString();
  expect(text(own!.data.NODE_EXTRA_CA_CERTS)).toBe(inside);
  expect(Object.keys(own!.data)).toEqual(["NODE_EXTRA_CA_CERTS"]);
  expect(text(certificates!.data["NODE_EXTRA_CA_CERTS.pem"])).toBe("the authority");
  const pod = describeDeployment(facts).spec.template.spec;
  const secretName = certificates!.metadata.name;
  expect(pod.volumes).toContainEqual({ name: "certificates", secret: { secretName } });
  const mount = { name: "certificates", mountPath: "/etc/treadle/certificates", readOnly: true };
  for (const container of [...pod.containers, ...pod.initContainers!])
    expect(container.volumeMounts).toContainEqual(mount);
  expect(pod.initContainers![0]!.env).toContainEqual({ name: "NODE_EXTRA_CA_CERTS", value: inside });
});

const buildFacts: BuildFacts = {
  order: { id: "b", revisionId: "r", deploymentId: "d", workspaceId: "w", timeoutMs: 1_000 },
  ...{
    installation: "treadle",
    image: "i",
    platformUrl: "https://p",
    memoryBytes: null,
    cpus: 1,
    maxBytes: 1,
  },
};

it("the pod of a build gets it from its Secret, with the variables that name it, those of npm and pip too", async () => {
  const given = { ...machine, PIP_CERT: named, npm_config_cafile: named, PATH: "/usr/bin" };
  const facts = { ...buildFacts, trust: await certificatesOfBuilds({ machine: given, logger }) };
  const { data } = describeBuildSecret(facts, { token: "t", environment: {} }, {});
  expect(Buffer.from(data["NODE_EXTRA_CA_CERTS.pem"]!, "base64").toString()).toBe("the authority");
  const { containers, volumes } = describeBuildJob(facts).spec.template.spec;
  const [container] = containers;
  const variables = ["NODE_EXTRA_CA_CERTS", "npm_config_cafile", "PIP_CERT"];
  expect(container!.env.filter(({ value }) => value === inside).map(({ name }) => name)).toEqual(variables);
  expect(container!.env.map(({ name }) => name).sort()).toEqual([...variables, "HOME", "TMPDIR"].sort());
  expect(container!.volumeMounts).toContainEqual({
    ...{ name: "certificates", mountPath: "/etc/treadle/certificates", readOnly: true },
  });
  // The token of the build is not beside them.
  const items = [{ key: "NODE_EXTRA_CA_CERTS.pem", path: "NODE_EXTRA_CA_CERTS.pem" }];
  const secretName = "treadle-build-b";
  expect(volumes).toContainEqual({ name: "certificates", secret: { secretName, items } });
});

it("the pod of a build without any has no such volume", async () => {
  const facts = { ...buildFacts, trust: await certificatesOfBuilds({ logger }) };
  expect(JSON.stringify(describeBuildJob(facts))).not.toContain("certificates");
});

it("pods without any have no such Secret, and what is too large for one is left out", async () => {
  const facts = {
    ...{
      installation: "treadle",
      baseImage: "i",
      artifactUrl: "https://p/a",
      graceSeconds: 1,
      startSeconds: 1,
    },
  };
  const none = await withCertificates(specOf({}), { logger });
  expect(describeSecrets({ ...facts, ...none }, {})).toHaveLength(1);
  expect(JSON.stringify(describeDeployment({ ...facts, ...none }))).not.toContain("certificates");
  const large = join(folder.path, "large.pem");
  await writeFile(large, "x".repeat(800_000));
  const given = { NODE_EXTRA_CA_CERTS: large };
  const left = await withCertificates(specOf({ ...given, OWN: "1" }), { machine: given, logger });
  expect([left.spec.environment, left.certificates]).toEqual([{ OWN: "1" }, []]);
});
