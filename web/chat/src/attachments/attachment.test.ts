import { expect, it } from "vitest";
import { type Attachment, kindOf, readContent, refusalOf, toContent } from "./attachment.ts";

const pixel = "iVBORw0KGgo=";
const attach = (kind: Attachment["kind"], name: string, mimeType: string, data: string): Attachment => ({
  id: name,
  kind,
  name,
  mimeType,
  data,
});

it("knows images, PDF and text, also by their names", () => {
  expect(kindOf({ name: "a.png", type: "image/png" })).toBe("image");
  expect(kindOf({ name: "a.svg", type: "image/svg+xml" })).toBeUndefined();
  expect(kindOf({ name: "a.pdf", type: "application/pdf" })).toBe("pdf");
  expect(kindOf({ name: "main.rs", type: "" })).toBe("text");
  expect(kindOf({ name: "a.zip", type: "application/zip" })).toBeUndefined();
});

it.each([
  [{ name: "a.zip", type: "application/zip", size: 1 }, { attached: 0, textOnly: false }, "neither an image"],
  [{ name: "a.png", type: "image/png", size: 1 }, { attached: 0, textOnly: true }, "offline model"],
  [{ name: "a.md", type: "", size: 5_000_000 }, { attached: 0, textOnly: true }, "larger than 4 MB"],
  [{ name: "a.md", type: "", size: 5 }, { attached: 5, textOnly: true }, "5 files"],
])("refuses %j (%j)", (file, given, words) => {
  expect(refusalOf(file, given)).toContain(words);
});

it("takes text for every model, and images for a real one", () => {
  expect(refusalOf({ name: "a.md", type: "", size: 5 }, { attached: 0, textOnly: true })).toBeUndefined();
  expect(
    refusalOf({ name: "a.png", type: "image/png", size: 5 }, { attached: 4, textOnly: false }),
  ).toBeUndefined();
});

it("says files in blocks, and shows them again", () => {
  const content = toContent("What is this?", [
    attach("image", "p.png", "image/png", pixel),
    attach("pdf", "paper.pdf", "application/pdf", "JVBERi0="),
    attach("text", "notes.md", "text/markdown", "# Notes"),
  ]);
  expect(readContent(content)).toEqual({
    text: "What is this?",
    files: [
      { name: "Image", image: `data:image/png;base64,${pixel}` },
      { name: "paper.pdf" },
      { name: "notes.md", text: "# Notes" },
    ],
  });
  expect(toContent("plain", [])).toBe("plain");
  expect(readContent("plain")).toEqual({ text: "plain", files: [] });
});

it("draws no picture from elsewhere", () => {
  const remote = [{ type: "image_url", image_url: { url: "https://evil.example/pixel.png" } }];
  expect(readContent(remote).files).toEqual([{ name: "Image" }]);
  const script = [{ type: "image_url", image_url: { url: "data:image/svg+xml;base64,AAAA" } }];
  expect(readContent(script).files).toEqual([{ name: "Image" }]);
});
