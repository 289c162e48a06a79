import { describe, expect, test } from "vitest";
import { type TaskRun, taskStateOf, toArtifact, toTask } from "./a2a-task.ts";

const at = new Date("2026-01-02T03:04:05.000Z");
const taskRun = (run: Partial<TaskRun["run"]> = {}, rest: Partial<TaskRun> = {}): TaskRun => ({
  taskId: "task",
  run: {
    run_id: "run",
    thread_id: "thread",
    status: "success",
    started_at: at,
    updated_at: at,
    cancel_action: null,
    error: null,
    ...run,
  },
  isNewest: true,
  values: {},
  interrupts: [],
  ...rest,
});

describe("taskStateOf", () => {
  test.each([
    ["pending", "submitted"],
    ["running", "working"],
    ["success", "completed"],
    ["error", "failed"],
    ["timeout", "failed"],
  ] as const)("a run that is %s is a task that is %s", (status, state) => {
    expect(taskStateOf(taskRun({ status }))).toBe(state);
  });

  test("an interrupted run waits for input only while its thread waits for it", () => {
    const interrupts = [{ value: "sure?" }];
    const status = "interrupted";
    expect(taskStateOf(taskRun({ status }, { interrupts }))).toBe("input-required");
    expect(taskStateOf(taskRun({ status }, { interrupts, isNewest: false }))).toBe("unknown");
    expect(taskStateOf(taskRun({ status, cancel_action: "interrupt" }, { interrupts }))).toBe("canceled");
    expect(taskStateOf(taskRun({ status, started_at: null }))).toBe("canceled");
  });
});

describe("toTask", () => {
  test("a failure is a message", () => {
    const task = toTask(taskRun({ status: "error", error: { error: "TypeError", message: "no" } }), 0);
    expect(task.status).toMatchObject({
      state: "failed",
      timestamp: "2026-01-02T03:04:05.000Z",
      message: { role: "agent", parts: [{ kind: "text", text: "TypeError: no" }] },
    });
    expect(task).not.toHaveProperty("artifacts");
  });

  test("a question is sent as text and as data", () => {
    const interrupts = [
      { id: "a", value: "sure?" },
      { id: "b", value: { pick: [1, 2] } },
    ];
    const task = toTask(taskRun({ status: "interrupted" }, { interrupts }), 0);
    expect(task.status.message?.parts).toEqual([
      { kind: "text", text: 'sure?\n{"pick":[1,2]}' },
      { kind: "data", data: { interrupts } },
    ]);
  });

  test("history is the last spoken words of people and agent", () => {
    const values = {
      messages: [
        { type: "human", id: "1", content: "a" },
        { type: "ai", id: "2", content: "", tool_calls: [{}] },
        { type: "tool", id: "3", content: "x" },
        {
          type: "ai",
          id: "4",
          content: [
            { type: "reasoning", reasoning: "hm" },
            { type: "text", text: "b" },
          ],
        },
      ],
    };
    const history = (length: number) =>
      toTask(taskRun({}, { values }), length).history?.map((each) => [each.role, each.messageId]);
    expect(history(10)).toEqual([
      ["user", "1"],
      ["agent", "4"],
    ]);
    expect(history(1)).toEqual([["agent", "4"]]);
    expect(history(0)).toBeUndefined();
  });
});

test("what a task without words made is its values", () => {
  expect(toArtifact(taskRun({}, { values: { sum: 3 } }))?.parts).toEqual([
    { kind: "data", data: { sum: 3 } },
  ]);
  expect(toArtifact(taskRun({}, { values: [1] }))?.parts).toEqual([{ kind: "data", data: { result: [1] } }]);
});
