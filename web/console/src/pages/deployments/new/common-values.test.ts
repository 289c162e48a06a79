import { expect, it } from "vitest";
import { checkCommon, commandsOf, noCommon, refusalsIn } from "./common-values.ts";

it("asks for a name", () => {
  expect(checkCommon(noCommon).name).toBe("Give it a name.");
  expect(checkCommon({ ...noCommon, name: "bot" }).name).toBeNull();
});

it("sends no command where none was typed", () => {
  expect(commandsOf({ ...noCommon, installCommand: " npm i ", buildCommand: " " })).toEqual({
    install_command: "npm i",
    build_command: null,
  });
});

it("puts the server's words beside the field they are about", () => {
  expect(refusalsIn({ name: "taken", "source_config.repo_url": "no", "source_config.other": "?" })).toEqual({
    name: "taken",
    repoUrl: "no",
  });
});
