import { describe, expect, it } from "vitest";
import { mediaAt, mediaOf } from "./media.ts";

const png = "data:image/png;base64,iVBORw0KGgo=";

describe("media in messages", () => {
  it.each([
    ["a data URL in image_url", { type: "image_url", image_url: { url: png } }],
    ["image_url as text", { type: "image_url", image_url: png }],
    [
      "a source with base64",
      { type: "image", source: { type: "base64", media_type: "image/png", data: "iVBORw0KGgo=" } },
    ],
    ["standard blocks", { type: "image", mime_type: "image/png", data: "iVBORw0KGgo=" }],
    ["inline data", { inline_data: { mime_type: "image/png", data: "iVBORw0KGgo=" } }],
  ])("%s is an image of this page", (_, block) => {
    expect(mediaOf(block)).toEqual({ kind: "image", url: png, isForeign: false });
  });

  it("an address elsewhere is foreign, whatever it is", () => {
    const url = "https://pictures.example/a?x=1";
    expect(mediaOf({ type: "image_url", image_url: { url } })).toEqual({
      kind: "image",
      url,
      isForeign: true,
    });
    expect(mediaAt("https://files.example/a.pdf")).toMatchObject({ kind: "pdf", isForeign: true });
    expect(mediaAt("https://files.example/page")).toBeUndefined();
  });

  it("sound and documents", () => {
    expect(
      mediaOf({ type: "input_audio", input_audio: { data: "UklGRgAAAAA=", format: "wav" } }),
    ).toMatchObject({
      kind: "audio",
      url: "data:audio/wav;base64,UklGRgAAAAA=",
    });
    const file = { filename: "a.pdf", file_data: "data:application/pdf;base64,JVBERi0x" };
    expect(mediaOf({ type: "file", file })).toMatchObject({ kind: "pdf", name: "a.pdf" });
  });

  it("nothing else is one: not HTML, not script, not text", () => {
    for (const url of [
      "data:text/html;base64,PGI+",
      "javascript:alert(1)",
      "data:image/png,raw",
      "file:///a.png",
    ])
      expect(mediaAt(url, "image")).toBeUndefined();
    expect(mediaOf({ type: "text", text: "hello" })).toBeUndefined();
  });
});
