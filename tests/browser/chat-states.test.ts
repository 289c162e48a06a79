import { AIMessage } from "@langchain/core/messages";
import { END, interrupt, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import type { Assistant, ChatGraph } from "../../src/chat-app/chat-app.ts";
import { type ChatPage, openChatPages } from "../support/chat-page.ts";
import { builtinAssistants, createChatServer } from "../support/chat-server.ts";

// A real browser on a busy machine.
vi.setConfig({ testTimeout: 60_000 });

type Pages = Awaited<ReturnType<typeof openChatPages>>;
type Server = Awaited<ReturnType<Awaited<ReturnType<typeof createChatServer>>["listen"]>>;

let pages: Pages;
let server: Server;

beforeAll(async () => {
  pages = await openChatPages();
  const assistants = [...builtinAssistants(2), failing, asking];
  server = await (await createChatServer({ assistants, pageFolder: pages.pageFolder })).listen();
});

afterEach(() => pages.closeAll());

afterAll(async () => {
  await server?.stop();
  await pages?.stop();
});

/** A graph whose model cannot be reached. */
const failing: Assistant = {
  assistant_id: "failing",
  name: "Failing",
  description: "",
  withCheckpointer: () =>
    ({
      streamEvents: () => Promise.reject(new Error("The model does not answer: connection refused.")),
    }) as unknown as ChatGraph,
};

/** A graph that asks two things at once: two actions to approve, and a question in words. */
const asking: Assistant = {
  assistant_id: "asking",
  name: "Asking",
  description: "",
  withCheckpointer(checkpointer) {
    const tell = (name: string, answer: unknown) => ({
      messages: [new AIMessage(`${name} heard ${JSON.stringify(answer)}`)],
    });
    const actions = ["send", "pay"].map((name) => ({
      name,
      args: { amount: 5 },
      description: `May I ${name}?`,
    }));
    return new StateGraph(MessagesAnnotation)
      .addNode("act", () => tell("act", interrupt({ action_requests: actions })))
      .addNode("ask", () => tell("ask", interrupt("Which colour?")))
      .addEdge(START, "act")
      .addEdge(START, "ask")
      .addEdge("act", END)
      .addEdge("ask", END)
      .compile({ checkpointer }) as unknown as ChatGraph;
  },
};

const phone = { viewport: { width: 360, height: 640 }, hasTouch: true, isMobile: true };

/** Nothing sticks out to the side. */
const sideways = (chat: ChatPage) =>
  chat.page.evaluate<number>("document.documentElement.scrollWidth - document.documentElement.clientWidth");

describe.each([
  ["in the light", { colorScheme: "light" as const }],
  ["in the dark", { colorScheme: "dark" as const }],
  ["on a phone", phone],
])("every state, %s, has no serious accessibility problem", (_name, options) => {
  it("from the empty page to the history", async () => {
    const chat = await pages.open(server.url, options);
    await chat.page.getByText("What shall we work on?").waitFor();
    expect(await chat.seriousViolations()).toEqual([]);

    await chat.button(/Send out a subagent/).click();
    await chat.answered("In short:");
    await chat.page.locator(".subagent-head").click();
    await chat.button("Thought it over").first().click();
    await chat.say("Explain how I choose a real model");
    await chat.answered("delete the test records");
    expect(await chat.seriousViolations()).toEqual([]);

    await chat.say("Delete the test records");
    await chat.page.getByText("Your approval is needed").waitFor();
    expect(await chat.seriousViolations()).toEqual([]);
    await chat.button("Reject").click();
    expect(await chat.seriousViolations()).toEqual([]);
    await chat.button("Reject it").click();
    await chat.answered(/was rejected/);

    await chat.button("History").click();
    await chat.page.locator(".steps button").nth(2).waitFor();
    expect(await chat.seriousViolations()).toEqual([]);
    await chat.page.locator(".steps button").nth(2).click();
    await chat.page.getByText("You are looking at an earlier step").waitFor();
    expect(await chat.seriousViolations()).toEqual([]);
    await chat.button("Back to now").click();
    expect(await sideways(chat)).toBe(0);
  });

  it("and when a run fails", async () => {
    const chat = await pages.open(server.url, options);
    await chat.page.getByLabel("Assistant").selectOption("failing");
    await chat.say("Hello");
    await chat.page.getByRole("alert").getByText("connection refused").waitFor();
    expect(await chat.seriousViolations()).toEqual([]);
    expect(await sideways(chat)).toBe(0);
  });
});

describe("a narrow screen", () => {
  it("has the conversations in a drawer", async () => {
    const chat = await pages.open(server.url, phone);
    await chat.say("Calculate 11 + 11");
    await chat.answered("22");
    const list = chat.page.getByRole("navigation", { name: "Conversations" });
    expect(await list.isVisible()).toBe(false);
    await chat.button("Conversations").click();
    await list.waitFor();
    expect(await chat.seriousViolations()).toEqual([]);
    await list.getByRole("button", { name: "New conversation" }).click();
    await list.waitFor({ state: "hidden" });
    await chat.page.getByText("What shall we work on?").waitFor();
    await chat.button("Conversations").click();
    await chat.page.keyboard.press("Escape");
    await list.waitFor({ state: "hidden" });
  });

  it("gives what is touched room enough", async () => {
    const chat = await pages.open(server.url, phone);
    await chat.say("Delete the test records");
    await chat.page.getByText("Your approval is needed").waitFor();
    const heights = await chat.page
      .locator(".approval button, .topbar button, .composer button")
      .evaluateAll((buttons) => buttons.map((button) => Math.round(button.getBoundingClientRect().height)));
    expect(Math.min(...heights)).toBeGreaterThanOrEqual(36);
    expect(await chat.page.getByRole("heading", { level: 1 }).allTextContents()).toHaveLength(1);
    expect(await sideways(chat)).toBe(0);
  });
});

describe("several questions at once", () => {
  it("are answered together, when each has its answer", async () => {
    const chat = await pages.open(server.url);
    await chat.page.getByLabel("Assistant").selectOption("asking");
    await chat.say("Go");
    await chat.page.getByText("May I pay?").waitFor();
    await chat.page.getByText("The agent waits for your answer").waitFor();
    expect(await chat.seriousViolations()).toEqual([]);
    await chat.page
      .locator(".approval", { hasText: "May I send?" })
      .getByRole("button", { name: "Approve" })
      .click();
    await chat.page
      .locator(".approval", { hasText: "May I pay?" })
      .getByRole("button", { name: "Reject" })
      .click();
    await chat.button("Reject it").click();
    await chat.page.getByLabel("Answer").fill("blue");
    await chat.page.getByRole("button", { name: "Answer" }).click();
    await chat.page.getByText('act heard {"decisions":[{"type":"approve"},{"type":"reject"}]}').waitFor();
    await chat.page.getByText('ask heard "blue"').waitFor();
    expect(await chat.page.locator(".approval").count()).toBe(0);
    expect(chat.errors).toEqual([]);
  });
});

describe("the colours", () => {
  it("follow the system until somebody chooses, and the choice is kept", async () => {
    const chat = await pages.open(server.url, { colorScheme: "dark" });
    const background = () => chat.page.evaluate<string>("getComputedStyle(document.body).backgroundColor");
    const dark = await background();
    await chat.button("Colours: system. Change").click();
    const light = await background();
    expect(light).not.toBe(dark);
    await chat.page.reload();
    await chat.field.waitFor();
    expect(await background()).toBe(light);
  });
});

describe("a screen reader", () => {
  it("is told the answer once, when it is there", async () => {
    const chat = await pages.open(server.url);
    await chat.say("Calculate 6 * 7");
    await chat.page.getByRole("status").getByText("The assistant answered: The result is 42.").waitFor();
    await chat.say("Delete the test records");
    await chat.page.getByRole("status").getByText("The run waits for your approval.").waitFor();
  });
});
