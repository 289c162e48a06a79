import { describe, expect, it } from "vitest";
import { explainFailure } from "./failure.ts";

/** What projects that fail in each of these ways printed here, word for word. */
const projects: [name: string, output: string[], expected: object][] = [
  [
    "a syntax error in TypeScript",
    [
      'Graph "agent" (/srv/project/src/agent.ts, export "graph") cannot be used: loading the file failed: TransformError: Transform failed with 1 error:\n/srv/project/src/agent.ts:15:21: ERROR: Unexpected "=".',
    ],
    { file: "src/agent.ts", line: 15, column: 21, reason: 'Unexpected "=".' },
  ],
  [
    "a package that is not installed",
    [
      'Graph "agent" (/srv/project/src/agent.ts, export "graph") cannot be used: loading the file failed: Error: Cannot find package \'left-pad-missing\' imported from /srv/project/src/tools.ts:1; install the packages of the project (npm install).',
    ],
    {
      ...{ file: "src/tools.ts", line: 1 },
      reason:
        "Cannot find package 'left-pad-missing' imported from src/tools.ts:1; install the packages of the project (npm install).",
    },
  ],
  [
    "an export that is not there",
    [
      'Graph "agent" (/srv/project/src/agent.ts, export "grahp") cannot be used: the file has no export "grahp"; it exports graph.',
    ],
    { file: "src/agent.ts", line: null, reason: 'the file has no export "grahp"; it exports graph.' },
  ],
  [
    "an error that a module throws",
    [
      'Graph "agent" (/srv/project/src/agent.ts, export "graph") cannot be used: loading the file failed: Error: NEEDED_KEY is not set (/srv/project/src/model.ts, line 1).',
    ],
    { file: "src/model.ts", line: 1, reason: "NEEDED_KEY is not set." },
  ],
  [
    "npm without the package",
    [
      "npm error code E404",
      "npm error 404 Not Found - GET https://registry.npmjs.org/this-package-does-not-exist-treadle",
      "npm error 404",
      "npm error 404  The requested resource 'this-package-does-not-exist-treadle@1.0.0' could not be found or you do not have permission to access it.",
      "npm error A complete log of this run can be found in: /data/deployments/cache/***/npm/_logs/2026-11-16T22_26_01_546Z-debug-0.log",
    ],
    {
      ...{ file: null, line: null },
      reason: "404 Not Found - GET https://registry.npmjs.org/this-package-does-not-exist-treadle",
    },
  ],
  [
    "the TypeScript compiler",
    [
      'npm warn Unknown env config "store-dir". This will stop working in the next major version of npm. See `npm help npmrc` for supported config options.',
      "src/agent.ts(10,9): error TS2322: Type 'AIMessage<MessageStructure<MessageToolSet>>' is not assignable to type 'number'.",
      "src/model.ts(6,16): error TS2580: Cannot find name 'process'. Do you need to install type definitions for node? Try `npm i --save-dev @types/node`.",
    ],
    {
      ...{ file: "src/agent.ts", line: 10, column: 9 },
      reason:
        "TS2322: Type 'AIMessage<MessageStructure<MessageToolSet>>' is not assignable to type 'number'.",
    },
  ],
  [
    "an import in Python",
    [
      "graph agent (agent/tools.py, line 1): ModuleNotFoundError: No module named 'pandas_missing'. Add the package that provides 'pandas_missing' to the project's dependencies.",
    ],
    {
      ...{ file: "agent/tools.py", line: 1 },
      reason:
        "ModuleNotFoundError: No module named 'pandas_missing'. Add the package that provides 'pandas_missing' to the project's dependencies.",
    },
  ],
  [
    "the grammar of Python",
    ["graph agent (agent/graph.py, line 10): SyntaxError: expected ':' (graph.py, line 10)"],
    { file: "agent/graph.py", line: 10, reason: "SyntaxError: expected ':'" },
  ],
  [
    "a name that a module of Python has not",
    [
      "graph agent: NotUsable: ./agent/graph.py has no attribute 'grpah'. It has: Literal, END, START, graph.",
    ],
    {
      ...{ file: "agent/graph.py", line: null },
      reason: "./agent/graph.py has no attribute 'grpah'. It has: Literal, END, START, graph.",
    },
  ],
  [
    "uv without the package",
    [
      "error: No solution found when resolving dependencies",
      "  cause: Because this-package-does-not-exist-treadle was not found in the package registry and py-pip==0.1.0 depends on this-package-does-not-exist-treadle==9, we can conclude that py-pip==0.1.0 cannot be used.",
    ],
    { file: null, line: null, reason: "No solution found when resolving dependencies" },
  ],
  [
    "a traceback, whose end is in a package",
    [
      "Traceback (most recent call last):",
      '  File "/srv/project/agent/graph.py", line 4, in <module>',
      "    from agent.model import answer",
      '  File "/srv/project/agent/model.py", line 7, in <module>',
      "    answer = httpx.get(None)",
      '  File "/srv/project/.venv/lib/python3.11/site-packages/httpx/_api.py", line 195, in get',
      "    return request(",
      "TypeError: Invalid type for url.  Expected str or httpx.URL, got <class 'NoneType'>: None",
    ],
    {
      ...{ file: "agent/model.py", line: 7 },
      reason: "TypeError: Invalid type for url.  Expected str or httpx.URL, got <class 'NoneType'>: None",
    },
  ],
  [
    "a stack of Node, below the file's own folder of packages",
    [
      "/data/deployments/builds/01a1e679-129b-7270-a49e-a8e9f17f0d16/source/node_modules/x/index.js:3",
      "    at Object.<anonymous> (/data/deployments/builds/01a1e679-129b-7270-a49e-a8e9f17f0d16/source/scripts/prepare.js:2:7)",
      "Error: the left sleeve is missing",
      "Node.js v24.21.0",
    ],
    { file: "scripts/prepare.js", line: 2, column: 7, reason: "the left sleeve is missing" },
  ],
];

describe("what a project's own tool printed comes down to a place and a reason", () => {
  it.each(projects)("%s", (_name, output, expected) => {
    expect(explainFailure(output, "It failed.")).toMatchObject(expected);
  });

  it("without what is the platform's or the tool's own noise, and from the project's folder", () => {
    const { output } = explainFailure(
      [
        "",
        "61 migrations applied",
        'the database was brought up to date {"migrations":2}',
        "Serving ",
        "at /srv/project/a.js:1:2",
        '{"stopped":true,"interrupted":[]}',
        "npm notice New minor version of npm available!",
        "",
      ],
      "It failed.",
    );
    expect(output).toEqual(["at a.js:1:2"]);
  });
});

describe("long and empty output", () => {
  it("is cut around the first error, to 60 lines", () => {
    const steps = Array.from({ length: 500 }, (_, index) => `step ${index}`);
    const output = [...steps.slice(0, 300), "src/a.ts(1,2): error TS1: wrong", ...steps.slice(300)];
    const found = explainFailure(output, "It failed.");
    expect(found).toMatchObject({ file: "src/a.ts", line: 1 });
    expect(found.output).toHaveLength(60);
    expect(found.output[5]).toBe("src/a.ts(1,2): error TS1: wrong");
  });

  it("without any sign of an error ends with its last line", () => {
    const steps = Array.from({ length: 100 }, (_, index) => `step ${index}`);
    const found = explainFailure(steps, "It failed.");
    expect(found.reason).toBe("step 99");
    expect(found.output.at(-1)).toBe("step 99");
    expect(found.output).toHaveLength(60);
  });

  it("leaves the platform's sentence", () => {
    expect(explainFailure([], "The server ended.\nMore.")).toEqual({
      ...{ file: null, line: null, column: null, output: [] },
      reason: "The server ended.",
    });
  });

  it("splits no more than it looks through", () => {
    const texts = ["src/a.ts(1,2): error TS1: wrong", "\n\nlast\n"];
    expect(explainFailure(texts, "").output).toEqual(["src/a.ts(1,2): error TS1: wrong", "", "", "last"]);
    // As one array these are more lines than an array may have.
    const breaks = "\n".repeat(50_000_000);
    const found = explainFailure([...Array.from({ length: 100 }, () => breaks), "the end"], "It failed.");
    expect(found.output).toEqual(["the end"]);
  });

  it("takes no longer for lines that nobody can read", () => {
    const hostile = ["a/", "/", "a.", "=/", "(", "E", "/builds/", ": error TS1"].map((text) =>
      text.repeat(50_000),
    );
    const found = explainFailure(Array.from({ length: 600 }, () => hostile).flat(), "It failed.");
    expect(found.output.every((line) => line.length <= 1_000)).toBe(true);
  });
});
