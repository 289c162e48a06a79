import { randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import { multipartBody } from "../../../tests/support/traces-app.ts";
import { AppError } from "../../platform/errors.ts";
import { boundaryOf, parseMultipart } from "./multipart.ts";

describe("parseMultipart", () => {
  test("a stated length lets a part hold the boundary itself", () => {
    const bytes = Buffer.from("a\r\n--b\r\nb");
    const [part] = parseMultipart(multipartBody([{ name: "x", bytes }], "b"), "b");
    expect(part?.bytes).toEqual(bytes);
  });

  test("takes the length from the content type too, and a wrong one is not believed", () => {
    const body = (length: number) =>
      Buffer.from(
        `--b\r\nContent-Disposition: form-data; name="é"\r\nContent-Type: application/json; length=${length}\r\n\r\n{}\r\n--b--\r\n`,
      );
    for (const length of [2, 1, 5_000]) {
      expect(parseMultipart(body(length), "b")).toMatchObject([{ name: "é", bytes: Buffer.from("{}") }]);
    }
  });

  test("empty parts, a preamble and parts without headers", () => {
    const body = Buffer.from(
      "hello\r\n--b\r\nContent-Disposition: form-data; name=a\r\n\r\n\r\n--b\r\n\r\nbare\r\n--b--",
    );
    expect(parseMultipart(body, "b").map((part) => [part.name, part.bytes.toString()])).toEqual([
      ["a", ""],
      ["", "bare"],
    ]);
  });

  test("a body cut anywhere is refused, and no bytes crash it", () => {
    const whole = multipartBody(
      [
        { name: "x", value: { a: 1 } },
        { name: "y", value: 2 },
      ],
      "b",
    );
    for (let end = 0; end < whole.length - 2; end++) {
      // The line end after the closing boundary carries nothing.
      if (whole.subarray(0, end).includes("--b--")) continue;
      expect(() => parseMultipart(whole.subarray(0, end), "b")).toThrow(AppError);
    }
    for (let round = 0; round < 500; round++) {
      const damaged = Buffer.from(whole);
      randomBytes(3).copy(damaged, round % damaged.length);
      try {
        parseMultipart(damaged, "b");
      } catch (error) {
        expect(error).toBeInstanceOf(AppError);
      }
    }
  });
});

test("boundaryOf", () => {
  expect(boundaryOf('multipart/form-data; charset=x; boundary="a b"')).toBe("a b");
  expect(boundaryOf("Multipart/Form-Data;boundary=----x")).toBe("----x");
  expect(() => boundaryOf("application/json")).toThrow(AppError);
  expect(() => boundaryOf(null)).toThrow(AppError);
});
