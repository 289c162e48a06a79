import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTempFolder, type TempFolder } from "../../../../tests/support/components/temp-folder.ts";
import { readKubernetesAccess } from "./access.ts";

let folder: TempFolder;
beforeAll(async () => {
  folder = await createTempFolder("kubeconfig");
});
afterAll(() => folder.remove());

async function kubeconfig(
  user: object,
  cluster: object = { "certificate-authority-data": "Y2E=" },
): Promise<string> {
  const path = join(folder.path, "config");
  const content = {
    ...{ apiVersion: "v1", kind: "Config", "current-context": "here" },
    clusters: [{ name: "near", cluster: { server: "https://10.0.0.1:6443", ...cluster } }],
    users: [{ name: "me", user }],
    contexts: [{ name: "here", context: { cluster: "near", user: "me", namespace: "agents" } }],
  };
  await writeFile(path, JSON.stringify(content));
  return path;
}

describe("access to a cluster", () => {
  it("is read from a file of kubectl: certificates in it or beside it", async () => {
    await writeFile(join(folder.path, "me.crt"), "certificate");
    const path = await kubeconfig({ "client-certificate": "me.crt", "client-key-data": "a2V5" });
    const access = await readKubernetesAccess({ kubeconfig: path });
    expect(access).toMatchObject({ server: "https://10.0.0.1:6443", namespace: "agents" });
    expect(String(access.authority)).toBe("ca");
    expect(String(access.certificate)).toBe("certificate");
    expect(String(access.key)).toBe("key");
  });

  it("is read from YAML, as kubectl writes it, where nothing may refer to itself", async () => {
    const path = join(folder.path, "yaml");
    const user = (token: string) => `
apiVersion: v1
current-context: here
clusters:
- cluster: { server: "https://10.0.0.1:6443" } # a comment
  name: near
contexts:
- {context: {cluster: near, user: me}, name: here}
users:
- name: me
  user:
    token: ${token}
`;
    await writeFile(path, user("abc"));
    const access = await readKubernetesAccess({ kubeconfig: path });
    expect(access).toMatchObject({ server: "https://10.0.0.1:6443", namespace: "default" });
    expect(await access.token?.()).toBe("abc");
    await writeFile(path, user("&a [*a, *a]"));
    await expect(readKubernetesAccess({ kubeconfig: path })).rejects.toThrow("is no kubeconfig (");
  });

  it("may have a token, or a file with one", async () => {
    const direct = await readKubernetesAccess({ kubeconfig: await kubeconfig({ token: "abc" }) });
    expect(await direct.token?.()).toBe("abc");
    await writeFile(join(folder.path, "token"), "def\n");
    const file = await readKubernetesAccess({ kubeconfig: await kubeconfig({ tokenFile: "token" }) });
    expect(await file.token?.()).toBe("def");
  });

  it("is what every pod has", async () => {
    const accountFolder = join(folder.path, "account");
    await mkdir(accountFolder);
    const files = { "ca.crt": "ca", namespace: "agents", token: "ghi\n" };
    for (const [name, text] of Object.entries(files)) await writeFile(join(accountFolder, name), text);
    const service = { host: "fd00::1", port: "443" };
    const access = await readKubernetesAccess({ service, accountFolder });
    expect(access).toMatchObject({ server: "https://[fd00::1]:443", authority: "ca", namespace: "agents" });
    expect(await access.token?.()).toBe("ghi");
  });

  it.each([
    [{ exec: { command: "sign-in" } }, undefined, "asks for a program that signs in"],
    [{ token: "a" }, { "insecure-skip-tls-verify": true }, "asks for no check of the server's certificate"],
    [{ "client-certificate": "none.crt" }, undefined, "none.crt cannot be read"],
    [{ token: 7 }, undefined, "is no kubeconfig ("],
  ])("says what it cannot use: %j", async (user, cluster, words) => {
    const path = await kubeconfig(user, cluster);
    await expect(readKubernetesAccess({ kubeconfig: path })).rejects.toThrow(words);
  });

  it("says what is missing", async () => {
    const path = join(folder.path, "yaml");
    await writeFile(path, "clusters: [");
    await expect(readKubernetesAccess({ kubeconfig: path })).rejects.toThrow("kubectl config view --raw");
    await writeFile(path, "apiVersion: v1\n");
    await expect(readKubernetesAccess({ kubeconfig: path })).rejects.toThrow('has no context ""');
    await expect(readKubernetesAccess({})).rejects.toThrow("Set KUBECONFIG");
    await expect(readKubernetesAccess({ kubeconfig: join(folder.path, "none") })).rejects.toThrow(
      "none cannot be read",
    );
  });
});
