import { expect, it } from "vitest";
import { credentialFor } from "./credential-host.ts";

it.each([
  ["https://github.com/us/bot.git", { kind: "token", host: "github.com", name: "github.com/us/bot" }],
  ["https://git.us:8443/bot", { kind: "token", host: "git.us:8443", name: "git.us:8443/bot" }],
  ["http://127.0.0.1:3000/bot", { kind: "token", host: "http://127.0.0.1:3000", name: "127.0.0.1:3000/bot" }],
  ["ssh://git@git.us:2222/us/bot", { kind: "ssh_private_key", host: "git.us", name: "git.us/us/bot" }],
  ["git@github.com:us/bot.git", { kind: "ssh_private_key", host: "github.com", name: "github.com/us/bot" }],
  ["https://", null],
  ["file:///srv/bot", null],
  ["/srv/bot", null],
])("%s is entered with %j", (url, expected) => {
  expect(credentialFor(url)).toEqual(expected);
});
