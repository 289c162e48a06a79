import { type ComponentProps, memo, useRef, useState } from "react";
import ReactMarkdown from "react-markdown";
import remarkGfm from "remark-gfm";
import { Icon } from "./icons.tsx";

const plugins = [remarkGfm];
const components = { pre: CodeBlock, a: Link, table: Table };

/** HTML in the text stays text: what a model writes is not ours to trust. */
export const Markdown = memo(function Markdown({ text }: { text: string }) {
  return (
    <div className="prose">
      <ReactMarkdown remarkPlugins={plugins} components={components}>
        {text}
      </ReactMarkdown>
    </div>
  );
});

function CodeBlock({ children }: ComponentProps<"pre">) {
  const code = useRef<HTMLPreElement>(null);
  const language = /language-(\w+)/.exec(
    (children as { props?: { className?: string } })?.props?.className ?? "",
  );
  return (
    <div className="code-block">
      <div className="code-head">
        <span>{language?.[1] ?? "text"}</span>
        <CopyButton text={() => code.current?.textContent ?? ""} />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard. */}
      <pre ref={code} tabIndex={0}>
        {children}
      </pre>
    </div>
  );
}

export function CopyButton({ text, label = "Copy" }: { text(): string; label?: string }) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text());
    setCopied(true);
    setTimeout(() => setCopied(false), 1_500);
  };
  return (
    <button type="button" className="quiet small" onClick={() => void copy()}>
      <Icon name={copied ? "check" : "copy"} />
      <span>{copied ? "Copied" : label}</span>
    </button>
  );
}

function Link({ href, children }: ComponentProps<"a">) {
  return (
    <a href={href} target="_blank" rel="noreferrer">
      {children}
    </a>
  );
}

function Table({ children }: ComponentProps<"table">) {
  return (
    <div className="table-scroll">
      <table>{children}</table>
    </div>
  );
}
