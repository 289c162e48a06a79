import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { CephRgw } from "./components/ceph-rgw.ts";
import { launchBrowser, type TestBrowser } from "./components/chromium.ts";
import { type DebianPostgres, startDebianPostgres } from "./components/debian-postgres.ts";
import { type Docker, startDocker } from "./components/docker.ts";
import { git } from "./components/git-repository.ts";
import { type GitServer, startGitServer } from "./components/git-server.ts";
import { type HttpListener, startHttpListener } from "./components/http-listener.ts";
import { ensureDebianPackages } from "./components/install-packages.ts";
import { startOAuthServer } from "./components/oauth-server.ts";
import { spawnProcess } from "./components/process.ts";
import { descendantsOf, isRunning, processesNaming } from "./components/process-table.ts";
import { type S3Request, s3Request } from "./components/s3-request.ts";
import { createTempFolder, type TempFolder } from "./components/temp-folder.ts";
import { useCephRgw } from "./shared-ceph.ts";

// The first run on a machine may install packages.
const START_TIMEOUT_MS = 600_000;

describe("a child process", () => {
  it("gives lines that were written before and after they are awaited", async () => {
    const child = spawnProcess("sh", ["-c", "echo first; read line; echo got $line"], { input: "word\n" });
    expect(await child.waitForLine(/^got/)).toBe("got word");
    expect(await child.waitForLine("first")).toBe("first");
    expect(await child.waitExit()).toEqual({ code: 0, signal: null });
  });

  it("reports the last output when it ends before the line", async () => {
    const child = spawnProcess("sh", ["-c", "echo cannot open the box >&2; exit 3"]);
    await expect(child.waitForLine("ready")).rejects.toThrow(/code 3[\s\S]*cannot open the box/);
  });

  it("reports the last output when the line does not come in time", async () => {
    const child = spawnProcess("sh", ["-c", "echo still warming up; sleep 60"]);
    await child.waitForLine("warming");
    await expect(child.waitForLine("ready", 50)).rejects.toThrow(/50 ms[\s\S]*still warming up/);
    await child.kill();
  });

  it("is killed with everything it started", async () => {
    const child = spawnProcess("sh", ["-c", "setsid sleep 600 & sleep 600 & echo started; wait"]);
    await child.waitForLine("started");
    const started = descendantsOf(child.pid);
    expect(started).toHaveLength(2);
    expect(await child.kill()).toEqual({ code: null, signal: "SIGKILL" });
    expect(started.filter(isRunning)).toEqual([]);
  });

  it("is killed when it ignores the request to stop", async () => {
    const child = spawnProcess("sh", ["-c", "trap '' TERM; echo started; while true; do sleep 1; done"]);
    await child.waitForLine("started");
    expect(await child.stop("SIGTERM", 100)).toEqual({ code: null, signal: "SIGKILL" });
  });
});

describe("missing Debian packages", () => {
  it("are named with the command that installs them", { timeout: START_TIMEOUT_MS }, async () => {
    await expect(ensureDebianPackages(["treadle-no-such-package"])).rejects.toThrow(
      /apt-get install --no-install-recommends treadle-no-such-package/,
    );
  });
});

describe("Postgres of Debian", { timeout: 60_000 }, () => {
  let postgres: DebianPostgres;
  beforeAll(async () => {
    postgres = await startDebianPostgres({ settings: { max_connections: "17" } });
  }, START_TIMEOUT_MS);
  afterAll(() => postgres?.stop());

  const query = async (sql: string) => {
    const client = new pg.Client({ connectionString: postgres.url });
    await client.connect();
    try {
      return (await client.query(sql)).rows;
    } finally {
      await client.end();
    }
  };

  it("is version 15 with the given settings", async () => {
    expect(await query("show server_version_num")).toEqual([
      { server_version_num: expect.stringMatching(/^15/) },
    ]);
    expect(await query("show max_connections")).toEqual([{ max_connections: "17" }]);
  });

  it("keeps committed rows through a crash and a restart", async () => {
    await query("create table kept as select 42 as answer");
    await postgres.kill();
    await expect(query("select 1")).rejects.toThrow(/ECONNREFUSED/);
    await postgres.restart();
    expect(await query("select answer from kept")).toEqual([{ answer: 42 }]);
    await postgres.restart();
    expect(await query("select answer from kept")).toEqual([{ answer: 42 }]);
  });
});

describe("Ceph's S3 gateway", { timeout: 60_000 }, () => {
  let ceph: CephRgw;
  beforeAll(async () => {
    ceph = await useCephRgw();
  }, START_TIMEOUT_MS);
  afterAll(() => ceph?.stop(), 60_000);

  const request = (method: S3Request["method"], path: string, more: Partial<S3Request> = {}) =>
    s3Request({ ...ceph, method, path, ...more });

  it("stores and returns an object", async () => {
    expect((await request("PUT", "/first")).status).toBe(200);
    expect((await request("PUT", "/first/a folder/öbject(1).txt", { body: "content" })).status).toBe(200);
    const answer = await request("GET", "/first/a folder/öbject(1).txt");
    expect(await answer.text()).toBe("content");
    const list = await request("GET", "/first", { query: { "list-type": "2", prefix: "a folder/" } });
    expect(await list.text()).toContain("<KeyCount>1</KeyCount>");
  });

  it("answers 404 for an object that does not exist", async () => {
    await request("PUT", "/empty");
    expect((await request("GET", "/empty/nothing")).status).toBe(404);
  });

  it("answers 403 for a wrong secret", async () => {
    const answer = await request("PUT", "/refused", { secretKey: "wrong" });
    expect(answer.status).toBe(403);
    expect(await answer.text()).toContain("SignatureDoesNotMatch");
  });

  it("answers 403 for another user's bucket and for a suspended user", async () => {
    await request("PUT", "/private");
    const stranger = await ceph.createUser();
    expect((await request("PUT", "/private/x", { ...stranger, body: "x" })).status).toBe(403);
    expect((await request("PUT", `/own-${stranger.accessKey.toLowerCase()}`, stranger)).status).toBe(200);
    await ceph.suspendUser(stranger.uid);
    expect((await request("GET", `/own-${stranger.accessKey.toLowerCase()}`, stranger)).status).toBe(403);
  });

  it("keeps objects when the gateway crashes", async () => {
    await request("PUT", "/lasting");
    await request("PUT", "/lasting/x", { body: "still here" });
    await ceph.killGateway();
    await expect(request("GET", "/lasting/x")).rejects.toThrow("fetch failed");
    await ceph.startGateway();
    expect(await (await request("GET", "/lasting/x")).text()).toBe("still here");
  });
});

describe("the git server", { timeout: 60_000 }, () => {
  const credentials = { username: "robot", password: "se:cret/@1" };
  let server: GitServer;
  let folder: TempFolder;
  beforeAll(async () => {
    server = await startGitServer({ credentials: [credentials] });
    folder = await createTempFolder("git-clone");
  }, START_TIMEOUT_MS);
  afterAll(async () => {
    await server?.stop();
    await folder?.remove();
  });

  it("is cloned from and pushed to", async () => {
    const repository = await server.createRepository("team/agent", { "src/agent.ts": "export {};\n" });
    const clone = join(folder.path, "agent");
    await git(folder.path, "clone", "--quiet", repository.authenticatedUrl, clone);
    expect(await readFile(join(clone, "src/agent.ts"), "utf8")).toBe("export {};\n");

    // Larger than git's post buffer, so that the push is chunked.
    await writeFile(join(clone, "large.bin"), randomBytes(2_000_000));
    await git(clone, "add", "--all");
    await git(clone, "commit", "--quiet", "--message", "More");
    await git(clone, "push", "--quiet", "origin", "main");
    expect(await repository.resolve("main")).toBe(await git(clone, "rev-parse", "HEAD"));
  });

  it("grows by commits, branches and tags", async () => {
    const repository = await server.createRepository("growing", { "a.txt": "one", "b.txt": "gone soon" });
    const first = await repository.resolve("main");
    await repository.tag("v1");
    const second = await repository.commit({ "a.txt": "two", "b.txt": null }, "Second");
    const side = await repository.commit({ "a.txt": "side" }, "Aside", "side");
    const refs = await git(folder.path, "ls-remote", repository.authenticatedUrl);
    expect(refs.split("\n").sort()).toEqual(
      [
        `${second}\tHEAD`,
        `${second}\trefs/heads/main`,
        `${side}\trefs/heads/side`,
        `${first}\trefs/tags/v1`,
      ].sort(),
    );
    expect(await repository.read("a.txt", "v1")).toBe("one");
    await expect(repository.read("b.txt")).rejects.toThrow(/b\.txt/);
    await repository.moveBranch("main", first);
    expect(await repository.resolve("main")).toBe(first);
  });

  it("refuses a missing and a wrong password", async () => {
    const repository = await server.createRepository("guarded", { "a.txt": "a" });
    await expect(git(folder.path, "ls-remote", repository.url)).rejects.toThrow(/could not read Username/);
    const wrong = repository.url.replace("//", "//robot:wrong@");
    await expect(git(folder.path, "ls-remote", wrong)).rejects.toThrow(/Authentication failed/);
  });

  it("answers 404 for a repository that does not exist", async () => {
    const { authenticatedUrl } = await server.createRepository("present", { "a.txt": "a" });
    const absent = authenticatedUrl.replace("present", "absent");
    await expect(git(folder.path, "ls-remote", absent)).rejects.toThrow(/not found/);
  });
});

describe("the browser", { timeout: 120_000 }, () => {
  let browser: TestBrowser;
  let site: HttpListener;
  let folder: TempFolder;
  beforeAll(async () => {
    browser = await launchBrowser();
    folder = await createTempFolder("browser");
    site = await startHttpListener(() => (_request, response) => {
      response.setHeader("set-cookie", "seen=yes");
      response
        .writeHead(200, { "content-type": "text/html" })
        .end(
          "<title>Loom</title><h1>warp</h1><script>document.querySelector('h1').append(' and weft')</script>",
        );
    });
  }, START_TIMEOUT_MS);
  afterAll(async () => {
    await browser?.stop();
    await site?.stop();
    await folder?.remove();
  });

  it("runs a page's script and takes a picture of it", async () => {
    const page = await browser.newPage({ viewport: { width: 320, height: 200 } });
    await page.goto(site.origin);
    expect(await page.title()).toBe("Loom");
    expect(await page.getByRole("heading").textContent()).toBe("warp and weft");
    const file = join(folder.path, "page.png");
    await page.screenshot({ path: file });
    const png = await readFile(file);
    expect([png.subarray(1, 4).toString("latin1"), png.readUInt32BE(16), png.readUInt32BE(20)]).toEqual([
      "PNG",
      320,
      200,
    ]);
  });

  it("shares nothing between two pages", async () => {
    const first = await browser.newPage();
    await first.goto(site.origin);
    expect(await first.context().cookies()).toHaveLength(1);
    const second = await browser.newPage();
    expect(await second.context().cookies()).toEqual([]);
  });

  it("signs in at the OAuth server's pages", async () => {
    const server = await startOAuthServer({
      interaction: "form",
      requirePkce: false,
      clients: [{ clientId: "app", clientSecret: "app-secret", redirectUris: [`${site.origin}/callback`] }],
      accounts: [{ username: "ada", password: "loom" }],
    });
    const page = await browser.newPage();
    const query = { client_id: "app", response_type: "code", redirect_uri: `${site.origin}/callback` };
    const start = `${server.authorizationEndpoint}?${new URLSearchParams({ ...query, scope: "openid" })}`;
    await page.goto(start);
    const signIn = async (password: string) => {
      await page.getByLabel("User name").fill("ada");
      await page.getByLabel("Password").fill(password);
      await page.getByRole("button", { name: "Sign in" }).click();
    };
    await signIn("wrong");
    await page.getByRole("alert").getByText("Wrong user name or password.").waitFor();
    await signIn("loom");
    await page.getByRole("button", { name: "Deny" }).click();
    await page.waitForURL(/\/callback\?/);
    expect(new URL(page.url()).searchParams.get("error")).toBe("access_denied");
    await page.goto(start);
    await page.getByRole("button", { name: "Allow" }).click();
    await page.waitForURL(/\/callback\?/);
    expect(new URL(page.url()).searchParams.get("code")).toBeTruthy();
    await server.stop();
  });
});

describe("Docker", { timeout: 120_000 }, () => {
  let docker: Docker;
  let image: string;
  beforeAll(async () => {
    docker = await startDocker();
    image = await docker.buildNodeImage();
  }, START_TIMEOUT_MS);
  afterAll(() => docker?.stop(), 60_000);

  it("runs Node in a container", async () => {
    const program = "console.log(process.version, process.pid)";
    const output = await docker.run(["run", "--rm", "--network", "none", image, "node", "-e", program]);
    expect(output).toBe(`${process.version} 1`);
  });

  it("reaches a server of the host on the host's network", async () => {
    const site = await startHttpListener(() => (_request, response) => response.end("from the host"));
    const program = `fetch('${site.origin}').then(r => r.text()).then(console.log)`;
    const output = await docker.run(["run", "--rm", "--network", "host", image, "node", "-e", program]);
    expect(output).toBe("from the host");
    await site.stop();
  });

  it("builds an image on top of it", async () => {
    const folder = await createTempFolder("docker-build");
    await mkdir(join(folder.path, "app"));
    await writeFile(join(folder.path, "app/main.js"), "console.log('built', process.argv[2])");
    const lines = [
      `FROM ${image}`,
      "COPY app /app",
      "RUN node /app/main.js now > /app/out",
      "CMD cat /app/out",
    ];
    await writeFile(join(folder.path, "Dockerfile"), lines.join("\n"));
    await docker.run(["build", "--network", "none", "--tag", "treadle-test-app", folder.path]);
    expect(await docker.run(["run", "--rm", "--network", "none", "treadle-test-app"])).toBe("built now");
    await folder.remove();
  });

  it("stops with its containers and removes its folder", async () => {
    const other = await startDocker();
    await other.buildNodeImage("left-running");
    const run = ["run", "--detach", "--network", "host", "left-running"];
    const container = await other.run([...run, "node", "-e", "setInterval(() => {}, 1000)"]);
    const pid = Number(await other.run(["inspect", "--format", "{{.State.Pid}}", container]));
    const folder = dirname(other.socketPath);
    expect(isRunning(pid)).toBe(true);
    expect(processesNaming(folder)).not.toEqual([]);
    await other.stop();
    expect(isRunning(pid)).toBe(false);
    expect(processesNaming(folder)).toEqual([]);
    expect(existsSync(folder)).toBe(false);
  });
});
