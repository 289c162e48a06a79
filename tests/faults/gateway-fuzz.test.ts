import { expect, it } from "vitest";
import { fuzzGateway } from "../support/gateway-fuzz.ts";

it("600 broken exchanges through the gateway: each answer reaches whom it is for", {
  timeout: 120_000,
}, async () => {
  const { desynchronised, answers, passedOn } = await fuzzGateway({ exchanges: 600, seed: 7 });
  expect(desynchronised).toEqual([]);
  // It tried both: what is refused and what is passed on.
  expect(answers["4"]).toBeGreaterThan(0);
  expect(passedOn).toBeGreaterThan(0);
});
