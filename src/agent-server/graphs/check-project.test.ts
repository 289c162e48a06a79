import { describe, expect, test } from "vitest";
import { checkProject } from "./check-project.ts";

const check = (file: object) => checkProject(JSON.stringify(file), "/project/langgraph.json");

describe("what a project file asks of Python", () => {
  test("is nothing where no part is Python", () => {
    expect(check({ graphs: { a: "./a.ts:graph" }, dependencies: ["."] })).toMatchObject({
      problems: [],
      python: null,
      warnings: [],
    });
  });

  test("is read with every part that is imported, in a project of both languages too", () => {
    const { python, files, problems } = check({
      graphs: { a: "./src/a.py:graph", b: "my_agent.b:make", c: "./c.ts:graph" },
      auth: { path: "./auth.py:auth" },
      http: { app: "app.py:app" },
      store: { index: { embed: "./embed.py:embed", dims: 3 } },
      dependencies: [".", "httpx"],
      python_version: "3.12",
      pip_installer: "pip",
      pip_config_file: "pip.conf",
    });
    expect(problems).toEqual([]);
    expect(files).toEqual(["./src/a.py", "./c.ts", "./auth.py", "app.py"]);
    expect(python).toEqual({
      pythonVersion: "3.12",
      installer: "pip",
      pipConfigFile: "pip.conf",
      dependencies: [".", "httpx"],
      imports: [
        { what: "graph a", place: { file: "./src/a.py" }, exportName: "graph", graphId: "a" },
        { what: "graph b", place: { module: "my_agent.b" }, exportName: "make", graphId: "b" },
        { what: "auth", place: { file: "./auth.py" }, exportName: "auth" },
        { what: "http.app", place: { file: "app.py" }, exportName: "app" },
        { what: "store.index.embed", place: { file: "./embed.py" }, exportName: "embed" },
      ],
    });
  });

  test("must be of the right kind", () => {
    const { problems } = check({ graphs: { a: "./a.py:g" }, python_version: 3.12, pip_installer: "conda" });
    expect(problems).toEqual([
      'python_version must be a version in quotes, such as "3.12"',
      'pip_installer must be "auto", "pip" or "uv"',
    ]);
  });
});

describe("what is not to be had here", () => {
  test("is refused where data would be kept in another way", () => {
    const { problems } = check({
      graphs: { a: "./a.py:g" },
      encryption: { path: "./crypt.py:encryption" },
      checkpointer: { path: "./saver.py:make" },
    });
    expect(problems).toEqual([
      expect.stringContaining("encryption.path is not supported"),
      expect.stringContaining("checkpointer.path is not supported"),
    ]);
  });

  test("is a warning where it is about the image", () => {
    const { problems, warnings } = check({
      graphs: { a: "./a.py:g" },
      dockerfile_lines: ["RUN apt-get install ffmpeg"],
      base_image: "my/image",
    });
    expect(problems).toEqual([]);
    expect(warnings.map((line) => line.split(" ")[0])).toEqual(["dockerfile_lines", "base_image"]);
  });
});
