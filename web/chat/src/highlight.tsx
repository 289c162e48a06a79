import bash from "highlight.js/lib/languages/bash";
import css from "highlight.js/lib/languages/css";
import diff from "highlight.js/lib/languages/diff";
import go from "highlight.js/lib/languages/go";
import java from "highlight.js/lib/languages/java";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import markdown from "highlight.js/lib/languages/markdown";
import python from "highlight.js/lib/languages/python";
import rust from "highlight.js/lib/languages/rust";
import sql from "highlight.js/lib/languages/sql";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";
import { createLowlight } from "lowlight";
import type { ReactNode } from "react";

const lowlight = createLowlight({
  bash,
  css,
  diff,
  go,
  java,
  javascript,
  json,
  markdown,
  python,
  rust,
  sql,
  typescript,
  xml,
  yaml,
});

type Root = ReturnType<typeof lowlight.highlight>;
type Node = Root["children"][number];

/** Longer code stays plain: colouring it would block the page. */
const maxLength = 60_000;

/** The code as spans, drawn as text like everything else; undefined for an unknown language. */
export function highlight(code: string, language: string): ReactNode {
  if (!lowlight.registered(language) || code.length > maxLength) return undefined;
  return lowlight.highlight(language, code).children.map(toSpan);
}

function toSpan(node: Node, at: number): ReactNode {
  if (node.type === "text") return node.value;
  if (node.type !== "element") return null;
  const { className } = node.properties;
  return (
    <span key={at} className={Array.isArray(className) ? className.join(" ") : undefined}>
      {(node.children as Node[]).map(toSpan)}
    </span>
  );
}
