import { expect, test } from "vitest";
import { type ConnectionSources, defaultUrl, resolveConnection } from "./connection.ts";

const local = {
  path: "/home/me/.treadle/credentials.json",
  urls: ["http://127.0.0.1:9000", "http://127.0.0.1:8124"],
  apiKey: "local-key",
  workspaceId: "local-workspace",
};
const profiles = {
  current: "work",
  profiles: {
    work: { url: "https://work.example", api_key: "work-key", workspace_id: "work-workspace" },
    home: { url: "https://home.example", api_key: "home-key" },
  },
};
const none = { current: null, profiles: {} };
const resolve = (given: Partial<ConnectionSources>) =>
  resolveConnection({ flags: {}, environment: {}, profiles: none, local: null, ...given });

test("nothing given: the default address and no key", () => {
  expect(resolve({})).toMatchObject({ url: defaultUrl, apiKey: null, workspaceId: null, keyFrom: null });
});

test("the server started here is where it runs now, not where it ran first", () => {
  expect(resolve({ local })).toMatchObject({ url: "http://127.0.0.1:9000", apiKey: "local-key" });
});

test("each source comes before the next", () => {
  const environment = { TREADLE_URL: "https://env.example", TREADLE_API_KEY: "env-key" };
  const all = { environment, profiles, local };
  expect(resolve({ profiles, local })).toMatchObject({ url: "https://work.example", apiKey: "work-key" });
  expect(resolve(all)).toMatchObject({ url: "https://env.example", apiKey: "env-key", workspaceId: null });
  expect(resolve({ ...all, flags: { profile: "home" } })).toMatchObject({
    url: "https://home.example",
    apiKey: "home-key",
  });
  const flags = { url: "https://flag.example/", apiKey: "flag-key", workspace: "flag-workspace" };
  expect(resolve({ ...all, flags })).toMatchObject({
    url: "https://flag.example",
    apiKey: "flag-key",
    workspaceId: "flag-workspace",
  });
});

test("TREADLE_PROFILE chooses another profile than the current one", () => {
  expect(resolve({ profiles, environment: { TREADLE_PROFILE: "home" } })).toMatchObject({ profile: "home" });
});

test("a kept key goes to its own address only", () => {
  expect(resolve({ flags: { url: "https://elsewhere.example" }, profiles, local })).toMatchObject({
    apiKey: null,
  });
  expect(resolve({ flags: { url: "https://home.example" }, profiles, local })).toMatchObject({
    apiKey: "home-key",
  });
  expect(resolve({ flags: { url: "http://localhost:8124" }, local })).toMatchObject({ apiKey: "local-key" });
  expect(
    resolve({ flags: { url: "https://elsewhere.example", profile: "home" }, profiles, local }),
  ).toMatchObject({ apiKey: null });
});

test("an unknown profile is refused with those there are", () => {
  expect(() => resolve({ flags: { profile: "hom" }, profiles })).toThrow(
    /no profile hom .*Did you mean home\?.*work/,
  );
});

test.each(["ftp://x", "http://user:secret@x", "not a url at all", "http://x?y=1"])(
  "%s is not an address",
  (url) => {
    expect(() => resolve({ flags: { url } })).toThrow(/is not the address of a server/);
  },
);

test("a bare host is taken as http", () => {
  expect(resolve({ flags: { url: "localhost:9000" } }).url).toBe("http://localhost:9000");
});
