import { expect, it } from "vitest";
import { projectPlace } from "./project-place.ts";

const folder = "/home/ann/bot";

it("the innermost line of the project in a traceback of Python", () => {
  const traceback = `Traceback (most recent call last):
  File "/usr/lib/python3/site-packages/langgraph/pregel.py", line 9, in invoke
    step()
  File "/home/ann/bot/agent/graph.py", line 27, in weave
    cut(wool)
  File "/home/ann/bot/agent/tools.py", line 3, in cut
    raise ValueError("no")
  File "/home/ann/bot/.venv/lib/python3.12/site-packages/wool.py", line 1, in shear
ValueError: no
During task with name 'weave'`;
  expect(projectPlace(traceback, folder)).toBe("agent/tools.py:3");
});

it("the same in a stack of JavaScript, also of a file that was loaded again", () => {
  const stack = `Error: no
    at shear (file:///home/ann/bot/node_modules/wool/index.js:1:9)
    at async weave (file:///home/ann/bot/src/my%20graph.ts?version=2:12:11)
    at /home/ann/bot/src/other.ts:3:1
    at process.processTicksAndRejections (node:internal/process/task_queues:105:5)`;
  expect(projectPlace(stack, folder)).toBe("src/my graph.ts:12");
});

it("nothing where no line of it is the project's", () => {
  expect(projectPlace("Error: no\n    at run (/srv/other/run.js:1:2)", folder)).toBeUndefined();
  expect(projectPlace(undefined, folder)).toBeUndefined();
});

it("a line whose address is none is passed over", () => {
  const stack = `Error: no
    at one (file:///home/ann/bot/%zz.js:1:1)
    at two (file:///home/ann/bot/a%2Fb.js:2:1)
    at three (file:///home/ann/bot/graph.js:3:1)`;
  expect(projectPlace(stack, folder)).toBe("graph.js:3");
});
