import { randomUUID } from "node:crypto";
import { type Message, Role, type StreamResponse, type Task, TaskState } from "@a2a-js/sdk";
import { type Client, ClientFactory } from "@a2a-js/sdk/client";
import { ClientFactory as ClientFactory03 } from "a2a-js-sdk-0.3/client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { GraphRegistry } from "../../src/agent-server/graphs/graph-registry.ts";
import { startTestAgentServer, type TestAgentServer } from "../support/agent-server.ts";
import { waitUntil } from "../support/components/wait-until.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { protocolGraphs } from "../support/protocol-graphs.ts";

/** The protocol's own clients of both versions, unmodified, against one server. */
let database: TestDatabase;
let server: TestAgentServer;
beforeAll(async () => {
  database = await createTestDatabase();
  server = await startTestAgentServer(database.url, {
    graphs: new GraphRegistry(await protocolGraphs()),
    publicUrl: () => server.url,
  });
});
afterAll(async () => {
  await server?.stop();
  await database?.drop();
});

const cardPath = (assistant: string) => `/.well-known/agent-card.json?assistant_id=${assistant}`;
type Content = NonNullable<Message["parts"][number]["content"]>;

describe("1.0", () => {
  const clientOf = (assistant: string) => new ClientFactory().createFromUrl(server.url, cardPath(assistant));
  const message = (content: Content, ids: Partial<Message> = {}): Message => ({
    messageId: randomUUID(),
    contextId: "",
    taskId: "",
    role: Role.ROLE_USER,
    parts: [{ content, metadata: undefined, filename: "", mediaType: "" }],
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
    ...ids,
  });
  const text = (value: string): Content => ({ $case: "text", value });
  const data = (value: unknown): Content => ({ $case: "data", value });
  const request = (said: Message, immediately = false) => ({
    tenant: "",
    message: said,
    configuration: {
      acceptedOutputModes: [],
      taskPushNotificationConfig: undefined,
      returnImmediately: immediately,
    },
    metadata: undefined,
  });
  const send = async (client: Client, said: Message, immediately = false) =>
    (await client.sendMessage(request(said, immediately) as never)) as Task;
  const stateOf = (task: Task) => task.status?.state;
  const textsOf = (task: Task) =>
    task.artifacts.flatMap(({ parts }) => parts.map(({ content }) => content?.value));
  const idOf = (task: Task) => ({ tenant: "", id: task.id });

  test("the card names both versions; the client speaks 1.0", async () => {
    const client = await clientOf("echo");
    const card = await client.getAgentCard();
    expect(card.supportedInterfaces.map(({ protocolVersion }) => protocolVersion)).toEqual(["1.0", "0.3"]);
    expect(client.protocolVersion).toBe("1.0");
    expect(card.securitySchemes.apiKey).toMatchObject({
      apiKeySecurityScheme: { location: "header", name: "X-Api-Key" },
    });
  });

  test("a message is answered with the completed task, which can be asked for again", async () => {
    const client = await clientOf("echo");
    const task = await send(client, message(text("hello")));
    expect(stateOf(task)).toBe(TaskState.TASK_STATE_COMPLETED);
    expect(textsOf(task).join()).toContain("hello");
    const again = await client.getTask({ ...idOf(task), historyLength: 2 });
    expect(again.history.map(({ role }) => role)).toEqual([Role.ROLE_USER, Role.ROLE_AGENT]);
    const more = await send(client, message(text("again"), { contextId: task.contextId }));
    expect(more.contextId).toBe(task.contextId);
  });

  test("a stream begins with the task and ends with its last state", async () => {
    const client = await clientOf("agent");
    const heard: NonNullable<StreamResponse["payload"]>[] = [];
    for await (const { payload } of client.sendMessageStream(request(message(text("hi"))) as never)) {
      heard.push(payload!);
    }
    expect(heard[0]!.$case).toBe("task");
    const last = heard.at(-1)!;
    expect(last.$case === "statusUpdate" && last.value.status?.state).toBe(TaskState.TASK_STATE_COMPLETED);
    expect(heard.filter(({ $case }) => $case === "artifactUpdate")).toHaveLength(1);
    expect(heard.filter(({ $case }) => $case === "statusUpdate").length).toBeGreaterThan(1);
  });

  test("a question waits for input; the answer, any JSON value, goes on with the task", async () => {
    const client = await clientOf("asking");
    const asked = await send(client, message(data({})));
    expect(stateOf(asked)).toBe(TaskState.TASK_STATE_INPUT_REQUIRED);
    const ids = { taskId: asked.id, contextId: asked.contextId };
    const done = await send(client, message(data(true), ids));
    expect([done.id, stateOf(done)]).toEqual([asked.id, TaskState.TASK_STATE_COMPLETED]);
    expect(JSON.stringify(textsOf(done))).toContain("answer: true");
    await expect(send(client, message(text("more"), ids))).rejects.toThrow(/accepts no message/);
  });

  test("a task that runs is followed and canceled", async () => {
    const client = await clientOf("slow");
    const begun = await send(client, message(data({ pause: 60_000 })), true);
    await waitUntil(
      async () => stateOf(await client.getTask({ ...idOf(begun) })) === TaskState.TASK_STATE_WORKING,
      { what: "the task to begin", timeoutMs: 20_000 },
    );
    const stream = client.resubscribeTask(idOf(begun));
    const first = await stream.next();
    expect(first.value?.payload?.$case).toBe("task");
    const canceled = await client.cancelTask({ ...idOf(begun), metadata: undefined });
    expect(stateOf(canceled)).toBe(TaskState.TASK_STATE_CANCELED);
    const rest: StreamResponse[] = [];
    for await (const event of stream) rest.push(event);
    const last = rest.at(-1)?.payload;
    expect(last?.$case === "statusUpdate" && last.value.status?.state).toBe(TaskState.TASK_STATE_CANCELED);
    await expect(client.cancelTask({ ...idOf(begun), metadata: undefined })).rejects.toThrow(
      /cannot be canceled/,
    );
    await expect(client.resubscribeTask(idOf(begun)).next()).rejects.toThrow(/nothing to subscribe to/);
  });

  test("tasks are listed page by page, by context and by state", async () => {
    const client = await clientOf("failing");
    const contextId = randomUUID();
    const made: string[] = [];
    for (const _ of [1, 2, 3]) made.push((await send(client, message(data({}), { contextId }))).id);
    const list = (more: object) =>
      client.listTasks({
        ...{ tenant: "", contextId, status: TaskState.TASK_STATE_UNSPECIFIED, pageToken: "" },
        statusTimestampAfter: undefined,
        ...more,
      });
    const first = await list({ pageSize: 2 });
    expect(first.tasks.map(({ id }) => id)).toEqual([made[2], made[1]]);
    expect(first).toMatchObject({ pageSize: 2, totalSize: 3 });
    const second = await list({ pageSize: 2, pageToken: first.nextPageToken });
    expect(second.tasks.map(({ id }) => id)).toEqual([made[0]]);
    expect(second.nextPageToken).toBe("");
    expect((await list({ status: TaskState.TASK_STATE_COMPLETED })).totalSize).toBe(0);
    expect((await list({ status: TaskState.TASK_STATE_FAILED })).totalSize).toBe(3);
    await expect(list({ pageToken: "made-up" })).rejects.toThrow(/pageToken/);
  });

  test("a question that was answered is one task in the list, of its latest state", async () => {
    const client = await clientOf("asking");
    const asked = await send(client, message(data({})));
    await send(client, message(text("yes"), { taskId: asked.id, contextId: asked.contextId }));
    const { tasks } = await client.listTasks({
      ...{ tenant: "", contextId: asked.contextId, status: TaskState.TASK_STATE_UNSPECIFIED },
      ...{ pageToken: "", statusTimestampAfter: undefined, includeArtifacts: true },
    });
    expect(tasks.map((task) => [task.id, stateOf(task)])).toEqual([
      [asked.id, TaskState.TASK_STATE_COMPLETED],
    ]);
    expect(textsOf(tasks[0]!)).not.toEqual([]);
  });

  test("a question that its context passed over is canceled, in the list too", async () => {
    const client = await clientOf("asking");
    const asked = await send(client, message(data({})));
    const { contextId } = asked;
    const waiting = async (status: TaskState) => {
      const found = await client.listTasks({
        ...{ tenant: "", contextId, status, pageToken: "", statusTimestampAfter: undefined },
      });
      return found.tasks.map((task) => [task.id, stateOf(task)]);
    };
    expect(await waiting(TaskState.TASK_STATE_INPUT_REQUIRED)).toEqual([
      [asked.id, TaskState.TASK_STATE_INPUT_REQUIRED],
    ]);
    const next = await send(client, message(data({}), { contextId }));
    expect(await waiting(TaskState.TASK_STATE_INPUT_REQUIRED)).toEqual([
      [next.id, TaskState.TASK_STATE_INPUT_REQUIRED],
    ]);
    expect(await waiting(TaskState.TASK_STATE_CANCELED)).toEqual([[asked.id, TaskState.TASK_STATE_CANCELED]]);
  });

  test("what is not there is refused with the protocol's own error", async () => {
    const rpc = async (method: string, params: object, version = "1.0") => {
      const response = await fetch(`${server.url}/a2a/echo`, {
        method: "POST",
        headers: { "content-type": "application/json", "a2a-version": version },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
      });
      expect(response.status).toBe(200);
      const { error } = (await response.json()) as {
        error: { code: number; data?: { reason: string }[] };
      };
      return [error.code, error.data?.[0]?.reason];
    };
    expect(await rpc("GetTask", { id: randomUUID() })).toEqual([-32001, "TASK_NOT_FOUND"]);
    expect(await rpc("GetTask", { id: randomUUID() }, "2.0")).toEqual([-32009, "VERSION_NOT_SUPPORTED"]);
    expect(await rpc("GetExtendedAgentCard", {})).toEqual([-32004, "UNSUPPORTED_OPERATION"]);
    const push = { taskId: randomUUID(), url: "http://127.0.0.1/" };
    const refused = [-32003, "PUSH_NOTIFICATION_NOT_SUPPORTED"];
    expect(await rpc("CreateTaskPushNotificationConfig", push)).toEqual(refused);
    const said = { role: "ROLE_USER", messageId: "m", parts: [{ text: "x" }] };
    const withPush = { message: said, configuration: { taskPushNotificationConfig: push } };
    expect(await rpc("SendMessage", withPush)).toEqual(refused);
    expect(await rpc("message/send", {})).toEqual([-32601, undefined]);
    const two = { ...said, parts: [{ text: "x", data: {} }] };
    expect(await rpc("SendMessage", { message: two })).toEqual([-32602, undefined]);
  });
});

describe("0.3", () => {
  const clientOf = (assistant: string) =>
    new ClientFactory03().createFromUrl(server.url, cardPath(assistant));
  const say = (words: string) => ({
    message: {
      kind: "message" as const,
      role: "user" as const,
      messageId: randomUUID(),
      parts: [{ kind: "text" as const, text: words }],
    },
  });

  test("the same card, the words of 0.3", async () => {
    const client = await clientOf("echo");
    const task = (await client.sendMessage(say("hello"))) as { kind: string; id: string };
    expect(task).toMatchObject({ kind: "task", status: { state: "completed" } });
    expect(await client.getTask({ id: task.id })).toMatchObject({ kind: "task", id: task.id });
  });

  test("a stream ends with a final status", async () => {
    const client = await clientOf("agent");
    const heard: { kind: string; final?: boolean }[] = [];
    for await (const event of client.sendMessageStream(say("hi"))) heard.push(event as never);
    expect(heard.at(-1)).toMatchObject({
      kind: "status-update",
      final: true,
      status: { state: "completed" },
    });
  });
});
