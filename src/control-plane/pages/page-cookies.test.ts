import { expect, it } from "vitest";
import { confineCookie, withoutPlatformCookies } from "../gateway/platform-cookies.ts";
import { cookieName, readCookie, setCookie } from "./page-cookies.ts";

const http = "http://a.localhost:8124";
const https = "https://a.agents.example.com";
const value = "tdt_0123456789.abcdefghij-_";

it("is for its host alone, unreadable for scripts, and over https under a name no neighbour can set", () => {
  expect(setCookie("page", value, https)).toBe(
    `__Host-treadle_page=${value}; Path=/; HttpOnly; SameSite=Lax; Secure`,
  );
  expect(setCookie("entry", value, http, 600)).toBe(
    `treadle_page_entry=${value}; Path=/; HttpOnly; SameSite=Lax; Max-Age=600`,
  );
});

it("is read when there is one, under the name of this origin", () => {
  expect(readCookie(`x=1; treadle_page=${value};y`, "page", http)).toEqual({ kind: "one", value });
  expect(readCookie(`__Host-treadle_page=${value}`, "page", https)).toEqual({ kind: "one", value });
  // Over https anybody under the domain can set the plain name.
  expect(readCookie(`treadle_page=${value}`, "page", https)).toEqual({ kind: "none" });
  expect(readCookie(`treadle_page_entry=${value}`, "page", http)).toEqual({ kind: "none" });
  expect(readCookie("treadle_page=short", "page", http)).toEqual({ kind: "none" });
  expect(readCookie(undefined, "page", http)).toEqual({ kind: "none" });
});

it("counts as none when there are two, whichever came first", () => {
  const planted = "tdt_planted-by-a-neighbour";
  for (const pair of [
    [value, planted],
    [planted, value],
    [value, ""],
    [value, value],
  ]) {
    const header = pair.map((each) => `treadle_page=${each}`).join("; ");
    expect(readCookie(header, "page", http), header).toEqual({ kind: "several" });
  }
});

it("is neither seen nor set by deployed code", () => {
  for (const origin of [http, https]) {
    for (const cookie of ["page", "entry"] as const) {
      const name = cookieName(cookie, origin);
      expect(withoutPlatformCookies(`a=1; ${name}=${value}; b=2`)).toBe("a=1; b=2");
      for (const rest of ["", "; Domain=agents.example.com", "; Path=/x; Domain=.localhost", "; Max-Age=0"]) {
        expect(confineCookie(`${name}=x${rest}`, ""), rest).toBeNull();
        expect(confineCookie(` ${name.toUpperCase()} =x${rest}`, ""), rest).toBeNull();
      }
    }
  }
});
