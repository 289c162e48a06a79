import { describe, expect, it } from "vitest";
import { referenceProblems, type SecretReference } from "./secret-references.ts";

const key = (over: Partial<SecretReference> = {}) => ({
  ...{ name: "OPENAI_API_KEY", secret_name: "model-keys", secret_key: "openai", ...over },
});
const fieldsOf = (references: SecretReference[], secrets: { name: string }[] = []) =>
  referenceProblems(references, secrets, "self-hosted").map(({ index, field }) => `${index}.${field}`);

describe("references to Secrets of a cluster", () => {
  it("take what a cluster takes", () => {
    expect(fieldsOf([key(), key({ name: "B", secret_name: "a.b-c", secret_key: "tls.key" })])).toEqual([]);
  });

  it.each(["DATABASE_URL", "TREADLE_INSTANCE_SECRET", "NODE_OPTIONS", "LD_PRELOAD", "PORT", "1A", "A-B", ""])(
    "do not set %j, as secrets do not",
    (name) => expect(fieldsOf([key({ name })])).toEqual(["0.name"]),
  );

  it("have each name once, also beside the secrets", () => {
    expect(fieldsOf([key(), key()])).toEqual(["1.name"]);
    expect(fieldsOf([key()], [{ name: "OPENAI_API_KEY" }])).toEqual(["0.name"]);
  });

  it.each(["", "a/b", "../secrets/x", "a..b", ".a", "A", "a?dryRun=x", "a%2Fb", `a${"b".repeat(253)}`])(
    "lead to no other path of the API: %j",
    (secret_name) => expect(fieldsOf([key({ secret_name })])).toEqual(["0.secret_name"]),
  );

  it.each(["", "..", ".", "a/b", "a b"])("have no key %j", (secret_key) =>
    expect(fieldsOf([key({ secret_key })])).toEqual(["0.secret_key"]),
  );
});
