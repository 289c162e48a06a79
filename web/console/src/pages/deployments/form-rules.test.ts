import { describe, expect, it } from "vitest";
import {
  configPathProblem,
  nameProblem,
  parseEnvFile,
  refProblem,
  repoProblem,
  secretNameProblem,
  suggestName,
} from "./form-rules.ts";

describe("what the form of a deployment accepts", () => {
  it.each([
    "https://github.com/you/agent",
    "http://127.0.0.1:8080/agent.git",
    "ssh://git@host/agent",
    "git@github.com:you/agent.git",
    "file:///srv/agent",
    "/srv/agent",
  ])("the repository %s", (url) => expect(repoProblem(url)).toBeNull());

  it.each(["", "agent", "https://", "https://github.com", "https://me:secret@host/agent", "two words", "-x"])(
    "not the repository %j",
    (url) => expect(repoProblem(url)).toEqual(expect.any(String)),
  );

  it("branches, tags and commits, but not what git takes for something else", () => {
    for (const ref of ["main", "refs/tags/v1", "feature/x", "4d2a611"]) expect(refProblem(ref)).toBeNull();
    for (const ref of ["", "-main", "a..b", "x.lock", "a b", "main~1"])
      expect(refProblem(ref)).not.toBeNull();
  });

  it("configuration files inside the repository", () => {
    expect(configPathProblem("agents/langgraph.json")).toBeNull();
    for (const path of ["", "/etc/x.json", "../x.json", "langgraph.yaml"])
      expect(configPathProblem(path)).not.toBeNull();
  });

  it("names, and secrets that are named once", () => {
    expect(nameProblem("Support agent")).toBeNull();
    expect(nameProblem("a/b")).not.toBeNull();
    expect(secretNameProblem("OPENAI_API_KEY", ["OTHER"])).toBeNull();
    expect(secretNameProblem("2ND", [])).not.toBeNull();
    expect(secretNameProblem("OTHER", ["OTHER"])).not.toBeNull();
  });

  it("a name made from the repository's", () => {
    expect(suggestName("https://github.com/you/agent.git")).toBe("agent");
    expect(suggestName("git@host:agent")).toBe("agent");
    expect(suggestName("/srv/agent/")).toBe("agent");
  });

  it("a .env file as secrets, and nothing else", () => {
    expect(parseEnvFile("# comment\nexport A=1\nB = 'two words'\n\nC=\"x=y\"")).toEqual([
      { name: "A", value: "1" },
      { name: "B", value: "two words" },
      { name: "C", value: "x=y" },
    ]);
    expect(parseEnvFile("NAME")).toBeNull();
    expect(parseEnvFile("")).toBeNull();
  });
});
