import { afterAll, beforeAll, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import { SecretBox } from "../../platform/encryption/secret-box.ts";
import { newApiKey } from "../identity/api-key.ts";
import { ApiKeyHasher } from "../identity/api-key-hasher.ts";
import { createCredentialRecogniser } from "./credential-recogniser.ts";

let test: TestDatabase;
beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test?.drop());

it("knows a key by its beginning where it is not stored, as at a listener; a chosen one too", async () => {
  const { database } = test;
  const hasher = new ApiKeyHasher({
    ...{ database, secretBox: new SecretBox({ currentKey: "a secret key for tests only" }) },
  });
  const isCredential = createCredentialRecogniser({ database, hasher });
  const known = async (text: string) => [text.slice(0, 4), await isCredential(text)];
  expect(await known(newApiKey())).toEqual(["trk_", true]);
  expect(await known("trk_that-somebody-chose")).toEqual(["trk_", true]);
  expect(await known("what-somebody-chose")).toEqual(["what", false]);
});
