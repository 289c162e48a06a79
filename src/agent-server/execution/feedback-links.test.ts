import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { feedbackLinks } from "./feedback-links.ts";

/** A tracing service that gives this answer to every request. */
async function asked(answer: string, keys: readonly string[]) {
  const server = createServer((_request, response) => response.end(answer));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const links = feedbackLinks({ LANGSMITH_ENDPOINT: endpoint, LANGSMITH_API_KEY: "key" })!;
  return { endpoint, urls: links("workspace", "run", keys) };
}

test("one link for each key", async () => {
  const { urls } = await asked('[{"url": "u1"}, {"url": "u2"}]', ["a", "b", "a"]);
  expect(await urls).toEqual({ a: "u1", b: "u2" });
});

test.each([
  ["fewer links than keys", '[{"url": "u1"}]', "with 1"],
  ["more links than keys", '[{"url": "1"}, {"url": "2"}, {"url": "3"}]', "with 3"],
  ["something else", '{"links": []}', "with something else"],
  ["a page", "<html>", "with something else"],
])("%s: an error that names the service and what to check", async (_, answer, expected) => {
  const { endpoint, urls } = await asked(answer, ["a", "b"]);
  await expect(urls).rejects.toMatchObject({
    code: "run.feedback_links_unreadable",
    message: `The tracing service at ${endpoint} was asked for 2 links for feedback and answered ${expected}. Check that LANGSMITH_ENDPOINT is the address of its API.`,
  });
});
