import { expect, it } from "vitest";
import { httpApi, RefusedError } from "./http-api.ts";

const answering = (body: string, init: ResponseInit = {}) => {
  const asked: { url: string; init: RequestInit }[] = [];
  const send = (async (input: string, given: RequestInit) => {
    asked.push({ url: input, init: given });
    return new Response(body === "" ? null : body, init);
  }) as unknown as typeof fetch;
  return { asked, ...httpApi("https://agents.example/base", send) };
};

it("sends JSON below its address, and reads JSON", async () => {
  const { call, asked } = answering('{"a":1}');
  expect(await call("POST", "/threads", { b: 2 })).toEqual({ a: 1 });
  expect(asked).toEqual([
    {
      url: "https://agents.example/base/threads",
      init: { method: "POST", body: '{"b":2}', headers: { "content-type": "application/json" } },
    },
  ]);
});

it("an empty answer is nothing", async () => {
  expect(await answering("", { status: 204 }).call("DELETE", "/x")).toBeUndefined();
});

it.each([
  ['{"detail":"Not yours."}', "Not yours."],
  ["<html>", "The server answered 404 Gone away."],
  ['{"detail":[]}', "The server answered 404 Gone away."],
])("a refusal (%s) says %s", async (body, message) => {
  const refused = answering(body, { status: 404, statusText: "Gone away" }).call("GET", "/x");
  await expect(refused).rejects.toThrow(new RefusedError(404, message));
});
