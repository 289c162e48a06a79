import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import { requireListenerSettings } from "./listener.ts";

it("the id of a listener is in lower case, however it is written", () => {
  const id = randomUUID();
  const given = { platformUrl: "https://treadle.example.com/", platformKey: "trk_x" };
  expect(requireListenerSettings({ ...given, id: id.toUpperCase() })).toEqual({
    ...{ url: "https://treadle.example.com", apiKey: "trk_x", listenerId: id },
  });
});
