import { expect, it } from "vitest";
import { hashOf, readPlace } from "./use-thread-address.ts";

const nowhere = { serverId: null, threadId: null, assistant: null, shared: null };

it.each([
  ["", nowhere],
  ["#/", nowhere],
  ["#/t/0199-a", { ...nowhere, threadId: "0199-a" }],
  ["#/s/built-in", { ...nowhere, serverId: "built-in" }],
  ["#/s/x.1/t/y", { ...nowhere, serverId: "x.1", threadId: "y" }],
  ["#/shared/abc-DEF_1", { ...nowhere, shared: "abc-DEF_1" }],
  ["#/t/../x", nowhere],
  ["#/a/agent", { ...nowhere, assistant: "agent" }],
  ["#/s/d1/a/my%20graph%2F2", { ...nowhere, serverId: "d1", assistant: "my graph/2" }],
  ["#/s/d1/a/%ff", { ...nowhere, serverId: "d1" }],
  ["#/s/d1/a/x/../y", nowhere],
])("%j is read, and written as it was", (hash, place) => {
  expect(readPlace(hash)).toEqual(place);
  if (place.shared === null) expect(readPlace(hashOf(place))).toEqual(place);
});
