import { describe, expect, it } from "vitest";
import { configPaths, nameFor, readFacts } from "./project-facts.ts";

describe("the project file", () => {
  it("is the one nearest to the top", () => {
    const paths = ["b/langgraph.json", "a/b/langgraph.json", "langgraph.json", "a/xlanggraph.json"];
    expect(configPaths(paths)).toEqual(["langgraph.json", "b/langgraph.json", "a/b/langgraph.json"]);
  });

  it("names graphs in both forms, their languages and the file of variables", () => {
    const text = JSON.stringify({
      graphs: { agent: "./src/agent.ts:graph", writer: { path: "./writer.py:make" } },
      env: ".env",
    });
    expect(readFacts(text, "langgraph.json", ["src/agent.ts"])).toEqual({
      graphs: [
        { name: "agent", file: "src/agent.ts", isThere: true },
        { name: "writer", file: "writer.py", isThere: false },
      ],
      languages: ["Python", "TypeScript"],
      envFile: ".env",
    });
  });

  it("is read from where it lies", () => {
    const text = JSON.stringify({ graphs: { a: "./a.js:g", b: "../b.py:g", c: "package.module:g" } });
    expect(readFacts(text, "apps/one/langgraph.json", ["apps/one/a.js", "apps/b.py"])).toMatchObject({
      graphs: [
        { file: "apps/one/a.js", isThere: true },
        { file: "apps/b.py", isThere: true },
        { isThere: false },
      ],
      languages: ["JavaScript", "Python"],
      envFile: null,
    });
    expect(readFacts('{"graphs":{"c":"package.module:g"}}', "langgraph.json", [])).toMatchObject({
      graphs: [{ isThere: true }],
    });
  });

  it.each([
    ["{", "is not JSON"],
    ["{}", "names no graphs"],
    ['{"graphs":{}}', "names no graphs"],
    ["null", "names no graphs"],
    ['{"graphs":[]}', "names no graphs"],
  ])("%s is refused with what to change", (text, words) => {
    expect(readFacts(text, "langgraph.json", [])).toEqual({ problem: expect.stringContaining(words) });
  });
});

it.each([
  ['{"name":"@us/My Bot"}', "folder", "my-bot"],
  ["{", "A Folder", "a-folder"],
  [null, "--", "agent"],
  ['{"name":7}', "x", "x"],
])("%s in %s is called %s", (packageJson, folder, name) => {
  expect(nameFor(packageJson, folder)).toBe(name);
});
