import { isReserved, type Secret, secretNameProblem } from "./secret-rules.ts";

/** A variable of a server whose value is in a Secret of its cluster; the platform never reads the value. */
export type SecretReference = { name: string; secret_name: string; secret_key: string };

const secretName = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;
const secretKey = /^[-._a-zA-Z0-9]{1,253}$/;
const most = 100;

/** What is wrong with a list of references, as places and sentences; empty when nothing is. */
export function referenceProblems(
  references: readonly SecretReference[],
  secrets: readonly Pick<Secret, "name">[],
  edition: "self-hosted" | "cloud",
): { index: number; field: keyof SecretReference; message: string }[] {
  const problems: ReturnType<typeof referenceProblems> = [];
  const taken = new Set(secrets.map(({ name }) => name));
  const seen = new Set<string>();
  references.forEach(({ name, secret_name, secret_key }, index) => {
    const refuse = (field: keyof SecretReference, message: string) =>
      problems.push({ index, field, message });
    if (index === most) refuse("name", `A deployment can have at most ${most} secret references.`);
    const problem = secretNameProblem(name);
    if (problem) refuse("name", problem);
    else if (isReserved(name, edition))
      refuse("name", `The name ${name} is reserved: the platform sets it. Choose another name.`);
    if (seen.has(name)) refuse("name", `The secret reference ${name} is given twice.`);
    if (taken.has(name))
      refuse("name", `${name} is a secret and a secret reference. Leave one of them out, or rename it.`);
    seen.add(name);
    if (!secretName.test(secret_name) || secret_name.includes(".."))
      refuse("secret_name", `${JSON.stringify(secret_name)} cannot be the name of a Secret in a cluster.`);
    if (!secretKey.test(secret_key) || /^\.{1,2}$/.test(secret_key))
      refuse("secret_key", `${JSON.stringify(secret_key)} cannot be a key of a Secret in a cluster.`);
  });
  return problems;
}

/** For what only asks whether a variable is set. */
export const asSecrets = (references: readonly SecretReference[]): Secret[] =>
  references.map(({ name }) => ({ name, value: "in the cluster" }));
