// Tells what /openapi.json says, for people.

import { $, el, fill, table } from "./dom.js";

const answer = await fetch("/openapi.json");
const api = await answer.json();

function lookUp(schema) {
  return schema?.$ref ? api.components.schemas[schema.$ref.split("/").pop()] : schema;
}

function kind(schema) {
  if (schema.$ref) return schema.$ref.split("/").pop();
  if (schema.anyOf) return schema.anyOf.map(kind).join(" or ");
  if (schema.enum) return schema.enum.map((one) => JSON.stringify(one)).join(" or ");
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  return schema.type === "array"
    ? `list of ${kind(schema.items ?? { type: "anything" })}`
    : schema.type ?? "anything";
}

function fields(schema, label) {
  const found = lookUp(schema);
  if (!found?.properties) return null;
  return table(
    ["field", "type", "meaning"],
    Object.entries(found.properties).map(([field, about]) =>
      el(
        "tr",
        {},
        el("th", { scope: "row" }, el("code", {}, field)),
        el("td", {}, kind(about)),
        el("td", {}, about.description ?? ""),
      )
    ),
    { label },
  );
}

function operation(path, method, about) {
  const title = `${method.toUpperCase()} ${path}`;
  const asked = about.requestBody?.content?.["application/json"]?.schema;
  const given = Object.entries(about.responses).filter(([code]) => code.startsWith("2"))[0];
  const told = given?.[1].content?.["application/json"]?.schema;
  const example = lookUp(asked)?.examples?.[0];
  return el(
    "details",
    {},
    el("summary", {}, el("code", {}, title), " ", about.description?.split("\n")[0] ?? ""),
    about.parameters?.length > 0 && table(
      ["parameter", "in", "meaning"],
      about.parameters.map((one) =>
        el(
          "tr",
          {},
          el("th", { scope: "row" }, el("code", {}, one.name)),
          el("td", {}, one.in),
          el("td", {}, one.description ?? one.schema?.enum?.join(", ") ?? ""),
        )
      ),
      { label: `parameters of ${title}` },
    ),
    asked && [el("h2", {}, "Question"), fields(asked, `question of ${title}`)],
    example && el("pre", { tabindex: "0" }, JSON.stringify(example, null, 2)),
    told && fields(told, `answer of ${title}`) &&
      [el("h2", {}, `Answer, code ${given[0]}`), fields(told, `answer of ${title}`)],
  );
}

fill(
  $("reference"),
  api.info.description.split("\n\n").map((text) =>
    el("p", {}, text.split("`").map((part, place) => (place % 2 ? el("code", {}, part) : part)))
  ),
  el("p", {}, "The same for programs: ", el("a", { href: "/openapi.json" }, "/openapi.json"), "."),
  Object.entries(api.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, about]) => operation(path, method, about))
  ),
);
