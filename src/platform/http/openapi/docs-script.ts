/**
 * The documentation page's script, as text because it runs in browsers and this project has no bundler for
 * server pages. It builds the page with DOM calls only: nothing from a document is ever read as markup.
 */
export const docsScript = String.raw`"use strict";
(() => {
  const documents = JSON.parse(document.body.dataset.documents);
  const methods = ["get", "post", "put", "patch", "delete"];
  let spec = { paths: {} };

  function el(tag, attributes, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
      else if (value !== undefined && value !== false) node.setAttribute(name, value === true ? "" : value);
    }
    node.append(...children.flat(Infinity).filter((child) => child !== undefined && child !== null));
    return node;
  }

  // A key stays in its field: what is stored can be read by every script of this host.
  sessionStorage.removeItem("docs.key");
  const field = (label, type, more) => el("input", {
    type, placeholder: label, "aria-label": label, autocomplete: "off", spellcheck: "false", ...more,
  });
  const keyField = field("API key", "password", { title: "Without one: as the person who is signed in to the console." });
  const tenantField = field("Workspace id", "text", {
    value: sessionStorage.getItem("docs.tenant") || "",
    oninput: (event) => sessionStorage.setItem("docs.tenant", event.target.value),
  });
  const search = el("input", { type: "search", placeholder: "Search ( / )", "aria-label": "Search endpoints", oninput: filter });
  const chooser = el("select", { "aria-label": "Document", onchange: () => load(chooser.value) },
    documents.map((one) => el("option", { value: one.path }, one.title)));
  const title = el("h1", {});
  const nav = el("nav", { "aria-label": "Groups" });
  const main = el("main", {});
  document.body.append(
    el("header", {}, title, documents.length > 1 ? chooser : null, search, keyField, tenantField),
    el("div", { class: "layout" }, nav, main));
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || /INPUT|TEXTAREA|SELECT/.test(document.activeElement.tagName)) return;
    event.preventDefault();
    search.focus();
  });

  function resolve(schema) {
    if (!schema || !schema.$ref) return schema || {};
    return schema.$ref.split("/").slice(1).reduce((node, key) => node && node[key], spec) || {};
  }

  function typeName(schema) {
    if (schema.$ref) return schema.$ref.split("/").pop();
    if (schema.const !== undefined) return JSON.stringify(schema.const);
    if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
    const choices = schema.anyOf || schema.oneOf;
    if (choices) return [...new Set(choices.map(typeName))].join(" | ");
    if (schema.allOf) return schema.allOf.map(typeName).join(" & ");
    if (schema.type === "array") return "array of " + typeName(schema.items || {});
    if (Array.isArray(schema.type)) return schema.type.join(" | ");
    return (schema.type || "any") + (schema.format ? " (" + schema.format + ")" : "");
  }

  function limits(schema) {
    const names = { minimum: "≥ ", exclusiveMinimum: "> ", maximum: "≤ ", exclusiveMaximum: "< ", minLength: "min length ",
      maxLength: "max length ", minItems: "min items ", maxItems: "max items ", pattern: "matches " };
    const parts = Object.keys(names).filter((name) => schema[name] !== undefined && Math.abs(schema[name]) !== Number.MAX_SAFE_INTEGER)
      .map((name) => names[name] + schema[name]);
    if (schema.default !== undefined) parts.push("default " + JSON.stringify(schema.default));
    return parts.join(", ");
  }

  /** The object behind arrays, references and single choices, whose fields are worth listing. */
  function objectsIn(schema, depth) {
    const one = resolve(schema);
    if (depth > 4) return [];
    if (one.properties) return [one];
    if (one.items) return objectsIn(one.items, depth + 1);
    return (one.anyOf || one.oneOf || one.allOf || []).flatMap((choice) => objectsIn(choice, depth + 1));
  }

  function fields(schema, depth) {
    return objectsIn(schema, 0).map((object) => el("ul", { class: "fields" },
      Object.entries(object.properties).map(([name, inner]) => {
        const line = [
          el("code", {}, name), " ", el("span", { class: "type" }, typeName(inner)),
          (object.required || []).includes(name) ? el("span", { class: "required" }, " required") : null,
          el("span", { class: "soft" }, " " + [limits(resolve(inner)), inner.description || resolve(inner).description || ""].filter(Boolean).join(". ")),
        ];
        if (depth > 5 || objectsIn(inner, 0).length === 0) return el("li", {}, line);
        const more = el("details", { ontoggle: () => {
          if (more.open && more.children.length === 1) more.append(...fields(inner, depth + 1));
        } }, el("summary", {}, line));
        return el("li", {}, more);
      })));
  }

  function example(schema, depth) {
    const one = resolve(schema);
    if (depth > 5) return null;
    if (one.examples && one.examples.length > 0) return one.examples[0];
    if (one.example !== undefined) return one.example;
    if (one.default !== undefined) return one.default;
    if (one.const !== undefined) return one.const;
    if (one.enum) return one.enum[0];
    const choice = (one.anyOf || one.oneOf || one.allOf || []).find((each) => resolve(each).type !== "null");
    if (choice) return example(choice, depth + 1);
    const type = Array.isArray(one.type) ? one.type[0] : one.type;
    if (type === "object") {
      const required = one.required || [];
      return Object.fromEntries(Object.entries(one.properties || {})
        .filter(([name]) => required.includes(name) || required.length === 0)
        .map(([name, inner]) => [name, example(inner, depth + 1)]));
    }
    if (type === "array") return one.minItems ? [example(one.items || {}, depth + 1)] : [];
    if (type === "integer" || type === "number") return Math.max(one.minimum > -1e9 ? one.minimum : 1, 0);
    if (type === "boolean") return false;
    if (type === "string") {
      if (one.format === "uuid") return "00000000-0000-4000-8000-000000000000";
      if (one.format === "date-time") return "2026-01-01T00:00:00Z";
      return "text";
    }
    return {};
  }

  function codeBlock(text) {
    const button = el("button", { class: "copy", type: "button", onclick: async () => {
      await navigator.clipboard.writeText(text());
      button.textContent = "copied";
    } }, "copy");
    const code = el("pre", {}, text());
    return { node: el("div", { class: "code" }, button, code), update: () => { code.textContent = text(); button.textContent = "copy"; } };
  }

  function tryIt(path, method, operation) {
    const body = operation.requestBody && operation.requestBody.content["application/json"];
    const inputs = (operation.parameters || []).map((parameter) => ({ parameter,
      input: el("input", { "aria-label": parameter.name, oninput: () => curl.update(), placeholder: typeName(parameter.schema || {}) }) }));
    const text = body && el("textarea", { spellcheck: "false", "aria-label": "Body", oninput: () => curl.update() });
    if (text) text.value = JSON.stringify(example(body.schema, 0), null, 2);
    const target = () => {
      let filled = path;
      const query = new URLSearchParams();
      for (const { parameter, input } of inputs) {
        if (parameter.in === "path" && input.value) filled = filled.replace("{" + parameter.name + "}", encodeURIComponent(input.value));
        if (parameter.in === "query" && input.value) query.append(parameter.name, input.value);
      }
      return location.origin + filled + (query.size > 0 ? "?" + query : "");
    };
    const headers = () => Object.fromEntries([
      ...inputs.filter(({ parameter, input }) => parameter.in === "header" && input.value).map(({ parameter, input }) => [parameter.name, input.value]),
      ...(text ? [["Content-Type", "application/json"]] : [])]);
    const needsKey = (operation.security || []).length > 0;
    const quote = (word) => "'" + word.replaceAll("'", "'\\''") + "'";
    const language = el("select", { "aria-label": "Language of the sample", onchange: () => {
      sessionStorage.setItem("docs.language", language.value);
      curl.update();
    } }, ["curl", "TypeScript", "Python"].map((name) => el("option", { value: name }, name)));
    language.value = sessionStorage.getItem("docs.language") || "curl";
    const literal = (value) => JSON.stringify(value, null, 2);
    const sampleHeaders = () => ({ ...headers(), ...(needsKey ? { "X-Api-Key": "\u0000" } : {}) });
    const withKey = (code, key) => code.replace('"\\u0000"', key);
    const python = (value) => literal(value).replace(/^( *(?:"(?:[^"\\]|\\.)*": )?)(true|false|null)(,?)$/gm,
      (all, before, word, after) => before + { true: "True", false: "False", null: "None" }[word] + after);
    const parsed = () => { try { return JSON.parse(text.value); } catch { return null; } };
    const samples = {
      TypeScript: () => ["const response = await fetch(" + literal(target()) + ", {", "  method: " + literal(method.toUpperCase()) + ",",
        "  headers: " + withKey(literal(sampleHeaders()), "process" + ".env.TREADLE_API_KEY!").replaceAll("\n", "\n  ") + ",",
        ...(text ? ["  body: JSON.stringify(" + text.value.trim().replaceAll("\n", "\n  ") + "),"] : []),
        "});", "if (!response.ok) throw new Error(await response.text());", "console.log(await response.text());"].join("\n"),
      Python: () => ["import os", "import requests", "", "response = requests." + method + "(", "    " + literal(target()) + ",",
        "    headers=" + withKey(literal(sampleHeaders()), 'os.environ["TREADLE_API_KEY"]').replaceAll("\n", "\n    ") + ",",
        ...(text ? ["    json=" + python(parsed()).replaceAll("\n", "\n    ") + ","] : []),
        ")", "response.raise_for_status()", "print(response.text)"].join("\n"),
    };
    const curl = codeBlock(() => samples[language.value] ? samples[language.value]() : ["curl -X " + method.toUpperCase() + " " + quote(target()),
      ...(needsKey ? ['-H "X-Api-Key: $TREADLE_API_KEY"'] : []),
      ...Object.entries(headers()).map(([name, value]) => "-H " + quote(name + ": " + value)),
      ...(text ? ["-d " + quote(text.value)] : [])].join(" \\\n  "));
    const result = el("div", { "aria-live": "polite" });
    const send = el("button", { class: "main", type: "button", onclick: async () => {
      // This page is the server's own, so the console's session counts.
      const sent = { ...headers(), "X-Treadle-Console": "1" };
      if (keyField.value) sent["X-Api-Key"] = keyField.value;
      if (tenantField.value) sent["X-Tenant-Id"] = tenantField.value;
      const started = performance.now();
      result.replaceChildren(el("p", { class: "soft" }, "waiting…"));
      try {
        const response = await fetch(target(), { method: method.toUpperCase(), headers: sent, body: text ? text.value : undefined });
        const output = el("pre", {});
        result.replaceChildren(el("h3", {}, response.status + " " + response.statusText + " · " + Math.round(performance.now() - started) + " ms"), output);
        await show(response, output);
      } catch (error) {
        result.replaceChildren(el("p", { class: "required" }, String(error)));
      }
    } }, "Send");
    return [
      el("h3", {}, "Try it"),
      inputs.map(({ parameter, input }) => el("div", { class: "row" }, el("label", {}, parameter.name), input)),
      text, el("div", { class: "row" }, send), result, el("h3", {}, "Sample ", language), curl.node];
  }

  /** Streams appear as they come. */
  async function show(response, output) {
    if (!response.body) return;
    const isJson = (response.headers.get("content-type") || "").includes("json");
    let all = "";
    for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
      all += piece;
      output.textContent = all.slice(-200000);
    }
    if (isJson) output.textContent = JSON.stringify(JSON.parse(all), null, 2);
  }

  function operationBody(path, method, operation) {
    const content = operation.requestBody && Object.entries(operation.requestBody.content)[0];
    return el("div", { class: "body" },
      operation.description ? el("p", {}, operation.description) : null,
      operation.parameters ? [el("h3", {}, "Parameters"), el("table", {}, operation.parameters.map((parameter) => el("tr", {},
        el("td", {}, el("code", {}, parameter.name), parameter.required ? el("span", { class: "required" }, " *") : null),
        el("td", { class: "soft" }, parameter.in),
        el("td", { class: "type" }, typeName(parameter.schema || {})),
        el("td", {}, [limits(resolve(parameter.schema)), parameter.description || ""].filter(Boolean).join(". ")))))] : null,
      content ? [el("h3", {}, "Body: ", el("span", { class: "type" }, typeName(content[1].schema || {})), " " + content[0]), fields(content[1].schema, 0)] : null,
      el("h3", {}, "Responses"),
      Object.entries(operation.responses).map(([status, response]) => {
        const body = response.content && Object.entries(response.content)[0];
        return el("details", {}, el("summary", {}, el("code", {}, status), " " + response.description + " ",
          body ? el("span", { class: "type" }, body[0] === "application/json" ? typeName(body[1].schema || {}) : body[0]) : null),
          body ? fields(body[1].schema, 0) : null);
      }),
      tryIt(path, method, operation));
  }

  function operationNode(path, method, operation) {
    const node = el("details", { class: "operation", id: operation.operationId, ontoggle: () => {
      if (node.open && node.children.length === 1) node.append(operationBody(path, method, operation));
      if (node.open) history.replaceState(null, "", "#" + encodeURIComponent(operation.operationId));
    } }, el("summary", {}, el("span", { class: "method " + method }, method), el("span", { class: "path" }, path),
      el("span", { class: "summary" }, operation.summary || "")));
    node.dataset.words = [method, path, operation.summary, operation.operationId, operation.tags].join(" ").toLowerCase();
    return node;
  }

  function filter() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const section of main.querySelectorAll("section")) {
      let shown = 0;
      for (const node of section.querySelectorAll(".operation")) {
        node.hidden = !words.every((word) => node.dataset.words.includes(word));
        if (!node.hidden) shown += 1;
      }
      section.hidden = shown === 0;
    }
  }

  async function load(path) {
    main.replaceChildren(el("p", { class: "note" }, "Loading…"));
    try {
      const response = await fetch(path);
      if (!response.ok) throw new Error(path + " answered " + response.status);
      spec = await response.json();
    } catch (error) {
      main.replaceChildren(el("p", { class: "note" }, "The document could not be loaded: " + error.message + ". Reload to try again."));
      return;
    }
    document.title = spec.info.title;
    title.replaceChildren(spec.info.title + " ", el("small", {}, spec.info.version + " · ", el("a", { href: path }, "OpenAPI")));
    const groups = new Map();
    for (const [route, item] of Object.entries(spec.paths)) {
      for (const method of methods.filter((name) => item[name])) {
        const tag = (item[method].tags || ["other"])[0];
        if (!groups.has(tag)) groups.set(tag, []);
        groups.get(tag).push(operationNode(route, method, item[method]));
      }
    }
    const sorted = [...groups].sort(([a], [b]) => (a < b ? -1 : 1));
    nav.replaceChildren(...sorted.map(([tag, nodes]) => el("a", { href: "#tag-" + tag }, tag + " (" + nodes.length + ")")));
    main.replaceChildren(...sorted.map(([tag, nodes]) => el("section", {}, el("h2", { id: "tag-" + tag }, tag), nodes)));
    filter();
    const linked = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (linked) { linked.open = true; linked.scrollIntoView(); }
  }
  load(documents[0].path);
})();
`;
