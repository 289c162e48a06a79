import { expect, test } from "vitest";
import { callerConfigurable, headersToLog } from "./caller-configurable.ts";

const headers = new Headers({
  "x-mood": "calm",
  "x-user-id": "7",
  "X-Api-Key": "secret",
  authorization: "Bearer secret",
  cookie: "session=secret",
  "user-agent": "curl",
  accept: "*/*",
});

test.each([
  [undefined, ["user-agent", "x-mood", "x-user-id"]],
  [{}, ["user-agent", "x-mood", "x-user-id"]],
  [{ includes: ["x-user-*"] }, ["x-user-id"]],
  [{ includes: ["*"] }, ["accept", "user-agent", "x-mood", "x-user-id"]],
  [{ includes: ["*"], excludes: ["x-*"] }, ["accept", "user-agent"]],
  [{ excludes: ["X-Mood"] }, ["user-agent", "x-user-id"]],
  [{ includes: ["Authorization"] }, ["authorization"]],
  [{ includes: ["x-m.od"] }, []],
])("with %j graphs read %j", (rule, names) => {
  expect(Object.keys(callerConfigurable(headers, rule)).sort()).toEqual(names);
});

test.each([
  [{}, ["accept", "user-agent", "x-mood", "x-user-id"]],
  [{ includes: ["x-*"], excludes: ["x-user-id"] }, ["x-mood"]],
  [{ excludes: ["accept", "x-*"] }, ["user-agent"]],
  [{ includes: ["authorization"] }, ["authorization"]],
])("with %j the log tells %j", (rule, names) => {
  expect(Object.keys(headersToLog(headers, rule)).sort()).toEqual(names);
});
