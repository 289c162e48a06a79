import { describe, expect, test } from "vitest";
import { maxThreadsPerNotice, noticeText, readNotice } from "./thread-notice.ts";

const id = (number: number) => `00000000-0000-4000-8000-${String(number).padStart(12, "0")}`;

describe("what one process tells the others about threads", () => {
  test("is read as it was written", () => {
    const notices = [
      { threadId: id(1), ended: false },
      { threadId: id(2), ended: true },
      { threadId: id(3), ended: false },
    ];
    expect(readNotice(noticeText(notices))).toEqual(notices);
  });

  test("of an older server may always be an end", () => {
    expect(readNotice(`${id(1)},${id(2)}`)).toEqual([
      { threadId: id(1), ended: true },
      { threadId: id(2), ended: true },
    ]);
  });

  test("names every thread by its id alone for an older server", () => {
    const text = noticeText([
      { threadId: id(1), ended: false },
      { threadId: id(2), ended: true },
    ]);
    expect(text.split(",")).toEqual(expect.arrayContaining([id(1), id(2)]));
  });

  test("fits into one notification", () => {
    const most = Array.from({ length: maxThreadsPerNotice }, (_, index) => ({
      threadId: id(index),
      ended: false,
    }));
    expect(noticeText(most).length).toBeLessThan(8_000);
  });
});
