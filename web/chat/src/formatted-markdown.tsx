import { type ComponentProps, type ReactNode, useEffect, useRef, useState } from "react";
import ReactMarkdown from "react-markdown";
import remarkGfm from "remark-gfm";
import { CopyButton } from "./copy-button.tsx";

const plugins = [remarkGfm];
const components = { pre: CodeBlock, a: Link, table: Table };

export default function FormattedMarkdown({ text }: { text: string }) {
  return (
    <div className="prose">
      <ReactMarkdown remarkPlugins={plugins} components={components}>
        {text}
      </ReactMarkdown>
    </div>
  );
}

function CodeBlock({ children }: ComponentProps<"pre">) {
  const code = useRef<HTMLPreElement>(null);
  const { className = "", children: content } = (children as { props?: ComponentProps<"code"> })?.props ?? {};
  const language = /language-([\w+#-]+)/.exec(className)?.[1];
  const text = typeof content === "string" ? content : "";
  const coloured = useHighlighted(text, language);
  return (
    <div className="code-block">
      <div className="code-head">
        <span>{language ?? "text"}</span>
        <CopyButton text={() => code.current?.textContent ?? ""} />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard. */}
      <pre ref={code} tabIndex={0}>
        {coloured ? <code>{coloured}</code> : children}
      </pre>
    </div>
  );
}

/** Long enough for a word that is being written to be followed by the next. */
const settleMs = 120;

/** The code in colours, once it is no longer being written and the highlighter is loaded; undefined before. */
function useHighlighted(text: string, language: string | undefined): ReactNode {
  const [done, setDone] = useState<{ text: string; nodes: ReactNode }>();
  useEffect(() => {
    if (language === undefined || text === "") return;
    let left = false;
    const timer = setTimeout(async () => {
      const { highlight } = await import("./highlight.tsx");
      if (!left) setDone({ text, nodes: highlight(text, language) });
    }, settleMs);
    return () => {
      left = true;
      clearTimeout(timer);
    };
  }, [text, language]);
  return done?.text === text ? done.nodes : undefined;
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
