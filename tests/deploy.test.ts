import { existsSync, readdirSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { agentSettingsSchema, readConfig, roleNames, settingNames } from "../src/config/index.ts";
import { maxTarballBytes } from "../src/control-plane/uploads/upload-service.ts";
import { createTestApp, type TestApp } from "./support/app.ts";
import { ensureDebianPackages } from "./support/components/install-packages.ts";
import { runCommand } from "./support/components/run-command.ts";
import { createTempFolder } from "./support/components/temp-folder.ts";
import { blocksOf } from "./support/documented-commands.ts";

const root = fileURLToPath(new URL("../", import.meta.url));
const read = (path: string) => readFileSync(root + path, "utf8");
const matches = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map((match) => match[1]!);

const manifest = JSON.parse(read("package.json")) as {
  version: string;
  dependencies: Record<string, string>;
};
const dockerfile = read("deploy/Dockerfile").replaceAll("\\\n", " ");
const compose = read("deploy/compose.yaml");
const roleCompose = read("deploy/compose.roles.yaml");
const values = read("deploy/chart/values.yaml");
const templateFolder = "deploy/chart/templates/";
const templates = readdirSync(root + templateFolder)
  .map((name) => read(templateFolder + name))
  .join("\n");
const guide = read("docs/deploy.md");

/** The dotted names of a block-style YAML file's keys, two levels deep. */
function yamlKeys(text: string): string[] {
  let parent = "";
  return text.split("\n").flatMap((line) => {
    const [, indent = "", key] = /^( {0,2})([A-Za-z]\w*):/.exec(line) ?? [];
    if (key === undefined || indent.length === 1) return [];
    if (indent === "") parent = key;
    return [indent === "" ? key : `${parent}.${key}`];
  });
}

describe("settings", () => {
  const known = new Set<string>([...settingNames, ...Object.keys(agentSettingsSchema.shape)]);

  test.each([
    ["deploy/Dockerfile", dockerfile],
    ["deploy/compose.yaml", compose],
    ["deploy/compose.roles.yaml", roleCompose],
    ["deploy/.env.example", read("deploy/.env.example")],
    ["deploy/kubernetes-listener.json", read("deploy/kubernetes-listener.json")],
    ["deploy/chart/values.yaml", values],
    ["deploy/chart/values.schema.json", read("deploy/chart/values.schema.json")],
    ["deploy/chart/templates", templates],
    ["docs/deploy.md", guide],
  ])("%s names only settings there are", (_file, text) => {
    const named = matches(text, /\b(TREADLE_[A-Z_]+|DATABASE_URL|N_JOBS_PER_WORKER)\b/g);
    expect(named).not.toEqual([]);
    expect(named.filter((name) => !known.has(name))).toEqual([]);
  });

  test("compose gives the server nothing else", () => {
    const service = compose.slice(compose.indexOf("\n  treadle:"), compose.indexOf("\n  postgres:"));
    const given = matches(service, /^ {6}([A-Z_]+):/gm);
    expect(given).toContain("TREADLE_SECRET_KEY");
    expect(given.filter((name) => !known.has(name))).toEqual([]);
  });

  test("a stop is given the time the server may take", () => {
    const config = readConfig({});
    const neededSeconds = (config.shutdownGraceMs + config.deployments.stopMs) / 1000;
    const [minutes] = matches(compose, /stop_grace_period: (\d+)m/g);
    expect(Number(minutes) * 60).toBeGreaterThanOrEqual(neededSeconds);
    const [leave, grace, spare] = ["leave", "grace", "spare"].map((name) =>
      Number(matches(values, new RegExp(`^ {2}${name}Seconds: (\\d+)`, "gm"))[0]),
    );
    expect(leave).toBeGreaterThan(0);
    expect(grace).toBe(config.shutdownGraceMs / 1000);
    expect(spare).toBeGreaterThanOrEqual(15);
    // Kubernetes waits as long as the pod may take, and the pod gets the same numbers.
    expect(templates).toContain(
      "terminationGracePeriodSeconds: {{ add .Values.shutdown.leaveSeconds .Values.shutdown.graceSeconds .Values.shutdown.spareSeconds }}",
    );
    for (const name of ["LEAVE", "GRACE"]) {
      const value = `{{ .Values.shutdown.${name.toLowerCase()}Seconds | quote }}`;
      expect(templates).toContain(`- name: TREADLE_SHUTDOWN_${name}_SECONDS\n              value: ${value}`);
    }
  });

  test("the compose file with roles runs each role once, with all that roles must share", () => {
    const roles = matches(roleCompose, /^ {6}TREADLE_ROLES: (\S+)$/gm);
    const each = roles.flatMap((names) => names.split(","));
    expect(each.sort()).toEqual([...roleNames].sort());
    const given = matches(roleCompose, /^ {4}([A-Z_]+):/gm);
    // A value that compose fills in is any text here; the address of the database has its form.
    const environment = Object.fromEntries(given.map((name) => [name, `${name} of this test`]));
    const forms = {
      DATABASE_URL: "postgres://postgres/treadle",
      TREADLE_BLOB_URL: "s3://treadle/production",
      TREADLE_BLOB_ENDPOINT_URL: "https://s3.example.com",
      TREADLE_TRACES_URL: "http://clickhouse:8123/treadle",
      TREADLE_PUBLIC_URL: "http://a",
      TREADLE_INTERNAL_URL: "http://b",
      TREADLE_SHUTDOWN_LEAVE_SECONDS: "10",
    };
    const read = readConfig({ ...environment, ...forms, TREADLE_ROLES: roles[0]! });
    expect(Object.keys(forms).filter((name) => !given.includes(name))).toEqual([]);
    expect(read.missingForRoles).toEqual([]);
    expect(read.blobs).toMatchObject({
      isShared: true,
      place: { bucket: { credentials: { accessKeyId: "TREADLE_BLOB_ACCESS_KEY_ID of this test" } } },
    });
  });

  test("without a bucket what compose fills in is nothing", () => {
    const empty = matches(compose, /^ {6}(TREADLE_BLOB_\w+): \$\{\1:-\}$/gm);
    expect(empty).toHaveLength(5);
    const { blobs } = readConfig(Object.fromEntries(empty.map((name) => [name, ""])));
    expect(blobs.isShared).toBe(false);
    const traces = matches(compose, /^ {6}(TREADLE_TRACES_\w+): \$\{\1:-\}$/gm);
    expect(traces).toHaveLength(2);
    expect(readConfig(Object.fromEntries(traces.map((name) => [name, ""]))).clickHouse).toBeUndefined();
  });

  test("proxies take the largest upload", () => {
    const limits = [
      ...matches(values, /proxy-body-size: (\d+)m/g),
      ...matches(guide, /client_max_body_size (\d+)m/g),
      ...matches(roleCompose, /client_max_body_size (\d+)m/g),
    ];
    expect(limits).toHaveLength(4);
    for (const limit of limits) expect(Number(limit) * 1024 * 1024).toBeGreaterThan(maxTarballBytes);
  });
});

describe("the image", () => {
  const [context, result] = dockerfile.split("\nFROM ").slice(1) as [string, string];

  test("is built on the Node the package pins", () => {
    const [major] = matches(dockerfile, /NODE_IMAGE=node:(\d+)-/g);
    expect(major).toBe(manifest.dependencies.node!.split(".")[0]);
  });

  test("copies what exists and what .dockerignore lets through", () => {
    const sources = matches(context, /^COPY (.+) \S+$/gm).flatMap((words) => words.split(" "));
    const allowed = matches(read(".dockerignore"), /^!(.+)$/gm);
    expect(sources).toContain("package-lock.json");
    for (const source of sources) {
      expect({ source, exists: existsSync(root + source) }).toEqual({ source, exists: true });
      expect(allowed.some((path) => path === source || path.startsWith(`${source}/`)) && source).toBe(source);
    }
    expect(allowed.filter((path) => !existsSync(root + path))).toEqual([]);
  });

  test("has the code, the migrations and every page", () => {
    const kept = matches(result, /^COPY --from=build (.+) \S+$/gm).flatMap((words) => words.split(" "));
    const pages = readdirSync(`${root}web`).filter((page) => existsSync(`${root}web/${page}/vite.config.ts`));
    const needed = ["package.json", "bin", "dist", "migrations", "node_modules"];
    const pageFolders = pages.map((page) => `web/${page}/dist`);
    expect(kept).toEqual(expect.arrayContaining([...needed, ...pageFolders].map((path) => `/app/${path}`)));
  });

  test("is the one in which the docker runtime starts agents", () => {
    const { dockerImage } = readConfig({}).deployments;
    expect(compose).toContain(`image: \${IMAGE:-${dockerImage}}`);
    expect(result).toContain("/app/bin/treadle.js /usr/local/bin/treadle");
  });

  test("does not run as root", () => {
    expect(matches(result, /^USER (\d+):\d+$/gm)).toEqual(["1000"]);
    expect(templates).toContain("runAsUser: 1000");
  });
});

describe("health", () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await createTestApp();
  });
  afterAll(() => app?.stop());

  test("every probe asks for something that is served", async () => {
    const paths = [...matches(templates, /^ +path: (\/ok\S*)$/gm), ...matches(dockerfile, /\+ '(\/\w+)'\)/g)];
    expect(paths).toHaveLength(4);
    for (const path of paths) {
      expect({ path, status: (await app.fetch(path)).status }).toEqual({ path, status: 200 });
    }
    expect(new Set(matches(templates, /^ +path: (\/(?:health|ready))$/gm))).toEqual(
      new Set(["/health", "/ready"]),
    );
    expect((await app.fetch("/health")).status).toBe(200);
    // This one serves, but was not started as a process is.
    expect((await app.fetch("/ready")).status).toBe(503);
  });
});

describe("the systemd unit of docs/scale.md", () => {
  const unit = blocksOf(read("docs/scale.md")).find(({ text }) => text.startsWith("[Unit]"))!.text;

  test("is understood by systemd, word for word", async () => {
    await ensureDebianPackages(["systemd"]);
    const folder = await createTempFolder("systemd");
    const complaints = async (text: string) => {
      const path = `${folder.path}/treadle@worker.service`;
      await writeFile(path, text);
      return (await runCommand("systemd-analyze", ["verify", "--man=no", path])).stderr;
    };
    // It only warns of what it does not understand.
    expect(await complaints(unit.replace("Restart=always", "Restart=perhaps"))).toContain("perhaps");
    expect(await complaints(unit)).toBe("");
    await folder.remove();
  });

  test("gives a stop the time the server may take", () => {
    const config = readConfig({});
    const [seconds] = matches(unit, /^TimeoutStopSec=(\d+)$/gm);
    expect(Number(seconds)).toBeGreaterThan((config.shutdownGraceMs + config.deployments.stopMs) / 1000);
  });
});

describe("the chart", () => {
  test("deploys this version", () => {
    expect(matches(read("deploy/chart/Chart.yaml"), /^appVersion: "(.+)"$/gm)).toEqual([manifest.version]);
    expect(new Set(matches(guide, /treadle:(\d+\.\d+\.\d+)/g))).toEqual(new Set([manifest.version]));
  });

  test("uses the values it has, and its schema knows each of them", () => {
    type Schema = { properties?: Record<string, Schema>; additionalProperties?: unknown };
    const schema = JSON.parse(read("deploy/chart/values.schema.json")) as Schema;
    const allows = (name: string) => {
      const [first, second] = name.split(".") as [string, string?];
      const top = schema.properties?.[first];
      if (second === undefined || top?.additionalProperties !== false) return top !== undefined;
      return top.properties?.[second] !== undefined;
    };
    const keys = yamlKeys(values);
    const used = [...new Set(matches(templates, /\.Values\.(\w+(?:\.\w+)?)/g))];
    expect(used).toContain("persistence.size");
    // Single settings and secrets are asked for by name and need no default.
    const single = /^(settings|secrets|secretRefs)\./;
    expect(used.filter((name) => !keys.includes(name) && !single.test(name))).toEqual([]);
    expect(keys.filter((name) => !allows(name))).toEqual([]);
  });
});
