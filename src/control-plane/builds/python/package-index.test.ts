import { describe, expect, it } from "vitest";
import { explainInstall } from "./install-problem.ts";
import {
  describeIndex,
  indexEnvironment,
  indexOfEnvironment,
  mergeIndexes,
  parsePipConfig,
} from "./package-index.ts";

describe("where packages come from", () => {
  it("is read from a pip.conf", () => {
    const text = `# of the company
[global]
index-url = https://one.example/simple
extra-index-url =
    https://two.example/simple
    https://three.example/simple
[install]
trusted-host = one.example
[list]
index-url = https://other.example/simple
`;
    expect(parsePipConfig(text)).toEqual({
      url: "https://one.example/simple",
      extraUrls: ["https://two.example/simple", "https://three.example/simple"],
      findLinks: [],
      trustedHosts: ["one.example"],
      withoutIndex: false,
    });
  });

  it("is read from the environment, in pip's names and in uv's", () => {
    expect(indexOfEnvironment({ PIP_INDEX_URL: "https://pip.example" }).url).toBe("https://pip.example");
    expect(
      indexOfEnvironment({
        PIP_INDEX_URL: "https://pip.example",
        UV_INDEX_URL: "https://uv.example",
        UV_INDEX: "own=https://own.example https://two.example",
      }),
    ).toMatchObject({ url: "https://uv.example", extraUrls: ["https://own.example", "https://two.example"] });
  });

  it("is the project's before the machine's, and told to both installers", () => {
    const machine = indexOfEnvironment({
      PIP_INDEX_URL: "https://machine.example",
      PIP_EXTRA_INDEX_URL: "https://a.example",
    });
    const project = parsePipConfig("[global]\nindex-url = https://me:secret@project.example/simple\n");
    const index = mergeIndexes(machine, project);
    expect(indexEnvironment(index)).toEqual({
      PIP_INDEX_URL: "https://me:secret@project.example/simple",
      UV_DEFAULT_INDEX: "https://me:secret@project.example/simple",
      PIP_EXTRA_INDEX_URL: "https://a.example",
      UV_INDEX: "https://a.example",
    });
    expect(describeIndex(index)).toBe("https://project.example/simple and https://a.example");
    expect(indexEnvironment(mergeIndexes())).toEqual({});
  });
});

describe("why packages could not be installed", () => {
  const facts = { installer: "uv", index: "https://pypi.org/simple", python: "3.11.2" } as const;
  const explain = (text: string) => explainInstall(text.split("\n"), facts);

  it.each([
    [
      "error: No solution found when resolving dependencies\n  cause: Because no-such-thing was not found in the package registry and you require no-such-thing, we can conclude",
      "the package no-such-thing does not exist at https://pypi.org/simple.",
    ],
    [
      "  × No solution found when resolving dependencies:\n  ╰─▶ Because no-such-thing was not found in the package\n      registry and you require no-such-thing",
      "the package no-such-thing does not exist",
    ],
    [
      "ERROR: Could not find a version that satisfies the requirement no-such-thing (from versions: none)",
      "has no package no-such-thing for Python 3.11.2",
    ],
    [
      "error: No solution found\n  cause: Because there is no version of langgraph==99 and you require langgraph==99, we can",
      "has no version of langgraph that fits ==99",
    ],
    [
      "  cause: Because the current Python version (3.11.2) does not satisfy Python>=3.12 and agent==0.1.0 depends on Python>=3.12",
      "agent==0.1.0 needs Python >=3.12, and this is 3.11.2",
    ],
    ["error: No solution found\n  cause: Because you require a<1 and a>=2", "versions conflict"],
    [
      "error: Request failed after 3 retries in 9.4s\n  cause: tcp connect error\n  cause: Connection refused (os error 111)",
      "cannot be reached from this machine",
    ],
    ["  cause: HTTP status client error (401 Unauthorized) for url (https://x)", "answered 401"],
    [
      "error: Failed to build `python-ldap==3.4.8`\n  cause: The build backend returned an error\n         error: [Errno 2] No such file or directory: 'x86_64-linux-gnu-gcc'",
      "there is no wheel of python-ldap==3.4.8 for Python 3.11.2",
    ],
    [
      "      error: [Errno 2] No such file or directory: 'gcc'\n      [end of output]\n  ERROR: Failed building wheel for python-ldap\n",
      "building it needs gcc, which this machine has not",
    ],
    [
      "  × Failed to build `psycopg2==2.9.9`\n      psycopg.h:32:10: fatal error: libpq-fe.h: No such file or directory\n      error: command '/usr/bin/gcc' failed with exit code 1",
      "/usr/bin/gcc, which is to build it, did not find libpq-fe.h. Choose a version that has a wheel, or have the operator install the package of its system that has libpq-fe.h.",
    ],
    [
      "WARNING: Retrying (Retry(total=0, connect=None)) after connection broken by 'NewConnectionError('Failed to establish a new connection: [Errno 111] Connection refused')': /simple/langgraph/\nERROR: Could not find a version that satisfies the requirement langgraph (from versions: none)",
      "cannot be reached from this machine",
    ],
    [
      "error: Failed to build `odd==1`\n      native.c:1:10: fatal error: odd.h: No such file or directory\n      error: Command '['gcc', '-c', 'native.c']' returned non-zero exit status 1.",
      "gcc, which is to build it, did not find odd.h",
    ],
    [
      "error: Failed to build `odd==1`\n      error: command '/usr/bin/gcc' failed with exit code 1",
      "/usr/bin/gcc, which is to build it, failed, see below.",
    ],
    ["error: Failed to build `odd==1`\n  RuntimeError: chmod error", "odd==1 could not be built"],
  ])("%j", (text, words) => {
    expect(explain(text)).toContain(words);
  });

  it("is left to the installer's own lines where they say nothing known", () => {
    expect(explain("something else")).toBeNull();
  });
});
