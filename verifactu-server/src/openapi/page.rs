//! The page to read the document: one HTML file without scripts, which needs nothing from elsewhere.

use std::{fmt::Write as _, sync::LazyLock};

use serde_json::Value;

use super::tree;

/// The page, as `GET /docs` gives it.
pub(crate) fn page() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(|| Page(String::with_capacity(1 << 18)).of(tree()));
    &TEXT
}

const STYLE: &str = "\
:root{color-scheme:light dark;--fg:light-dark(#1c2330,#dde3ec);--bg:light-dark(#fff,#12161d);--soft:light-dark(#5b6678,#93a0b4);\
--line:light-dark(#e3e7ee,#2a3240);--card:light-dark(#f6f8fb,#1a202b);--get:#1769aa;--post:#1d7a46;--patch:#96630b;--delete:#b3261e}\
*{box-sizing:border-box}html{scroll-padding-top:1rem}body{margin:0;color:var(--fg);background:var(--bg);\
font:16px/1.55 system-ui,sans-serif;display:grid;grid-template-columns:19rem minmax(0,1fr)}\
nav{position:sticky;top:0;height:100vh;overflow:auto;padding:1.5rem 1rem;border-right:1px solid var(--line);font-size:.85rem}\
nav h2{font-size:.75rem;text-transform:uppercase;letter-spacing:.06em;color:var(--soft);margin:1.4rem 0 .3rem}\
nav a{display:block;padding:.1rem 0;white-space:nowrap;overflow:hidden;text-overflow:ellipsis}\
main{padding:2rem clamp(1rem,4vw,4rem);max-width:64rem}a{color:inherit;text-decoration:none}a:hover{text-decoration:underline}\
h1{font-size:1.9rem;margin:0}section{border-top:1px solid var(--line);margin-top:2rem;padding-top:1.4rem}\
h3{margin:0 0 .4rem;font-size:1.05rem;overflow-wrap:anywhere}h4{margin:1.1rem 0 .3rem;font-size:.85rem;color:var(--soft)}\
code,pre{font:.86em/1.5 ui-monospace,monospace}pre{background:var(--card);padding:.8rem 1rem;border-radius:.5rem;overflow:auto}\
.m{display:inline-block;min-width:3.6rem;font-weight:700}.get{color:var(--get)}.post{color:var(--post)}.patch{color:var(--patch)}.delete{color:var(--delete)}\
table{border-collapse:collapse;width:100%;font-size:.9rem}td{padding:.35rem .8rem .35rem 0;vertical-align:top;border-top:1px solid var(--line)}\
td:first-child{white-space:nowrap}td p{margin:0 0 .3rem}.soft{color:var(--soft)}\
@media(max-width:52rem){body{display:block}nav{position:static;height:auto;border:0}}";

struct Page(String);

impl Page {
    fn of(mut self, document: &Value) -> String {
        let title = text(&document["info"]["title"]);
        self.raw("<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\"><title>");
        self.text(title);
        self.raw("</title><style>");
        self.raw(STYLE);
        self.raw("</style></head><body><nav><a href=\"#top\"><b>");
        self.text(title);
        self.raw("</b></a>");
        let groups = document["tags"].as_array().map(Vec::as_slice).unwrap_or_default();
        for group in groups {
            self.element("h2", text(&group["name"]));
            for (path, method, operation) in operations(document, group) {
                self.raw("<a href=\"#");
                self.text(text(&operation["operationId"]));
                self.raw("\">");
                self.method(method);
                self.text(path);
                self.raw("</a>");
            }
        }
        self.element("h2", "Schemas");
        for name in members(&document["components"]["schemas"]).map(|(name, _)| name) {
            self.raw("<a href=\"#schema-");
            self.text(name);
            self.raw("\">");
            self.text(name);
            self.raw("</a>");
        }
        self.raw("</nav><main id=\"top\"><h1>");
        self.text(title);
        self.raw("</h1>");
        self.paragraphs(text(&document["info"]["description"]));
        self.raw(
            "<p><a href=\"/openapi.json\"><code>/openapi.json</code></a> is the same as OpenAPI 3.1.</p>",
        );
        for group in groups {
            self.raw("<section>");
            self.element("h2", text(&group["name"]));
            self.paragraphs(text(&group["description"]));
            self.raw("</section>");
            for (path, method, operation) in operations(document, group) {
                self.operation(document, path, method, operation);
            }
        }
        self.raw("<section><h2>Webhooks</h2></section>");
        for (name, webhook) in members(&document["webhooks"]) {
            self.operation(document, name, "post", &webhook["post"]);
        }
        self.raw("<section><h2>Schemas</h2></section>");
        for (name, schema) in members(&document["components"]["schemas"]) {
            self.raw("<section id=\"schema-");
            self.text(name);
            self.raw("\">");
            self.element("h3", name);
            self.paragraphs(text(&schema["description"]));
            self.schema(schema);
            self.raw("</section>");
        }
        self.raw("</main></body></html>");
        self.0
    }

    fn operation(&mut self, document: &Value, path: &str, method: &str, operation: &Value) {
        self.raw("<section id=\"");
        self.text(text(&operation["operationId"]));
        self.raw("\"><h3>");
        self.method(method);
        self.element("code", path);
        self.raw("</h3>");
        self.element("p", text(&operation["summary"]));
        self.paragraphs(text(&operation["description"]));
        if let Some(security) = operation["security"][0].as_object() {
            for (scheme, scopes) in security {
                let scopes: Vec<_> = scopes.as_array().into_iter().flatten().map(text).collect();
                self.raw("<p class=\"soft\">Key: <code>");
                self.text(text(&document["components"]["securitySchemes"][scheme]["name"]));
                self.raw("</code> ");
                self.text(&scopes.join(", "));
                self.raw("</p>");
            }
        }
        let parameters = operation["parameters"].as_array().map(Vec::as_slice).unwrap_or_default();
        if !parameters.is_empty() {
            self.raw("<h4>Parameters</h4><table>");
            for parameter in parameters {
                let required = if parameter["required"] == true { ", required" } else { "" };
                let place = format!("{}{required}", text(&parameter["in"]));
                self.row(
                    text(&parameter["name"]),
                    &place,
                    &parameter["schema"],
                    text(&parameter["description"]),
                );
            }
            self.raw("</table>");
        }
        for (media, content) in members(&operation["requestBody"]["content"]) {
            self.raw("<h4>Body, <code>");
            self.text(media);
            self.raw("</code></h4>");
            self.kind(&content["schema"]);
            if let Some(example) = content.get("example") {
                self.element("pre", &serde_json::to_string_pretty(example).unwrap_or_default());
            }
        }
        self.raw("<h4>Answers</h4><table>");
        for (status, answer) in members(&operation["responses"]) {
            let answer = resolved(document, answer);
            self.raw("<tr><td>");
            self.element("b", status);
            self.raw("</td><td>");
            self.paragraphs(text(&answer["description"]));
            for (media, content) in
                members(&answer["content"]).filter(|(media, _)| *media != "application/problem+json")
            {
                self.element("code", media);
                self.raw(" ");
                self.kind(&content["schema"]);
            }
            self.raw("</td></tr>");
        }
        self.raw("</table></section>");
    }

    /// The members of an object, or what else a schema is.
    fn schema(&mut self, schema: &Value) {
        let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().map(text).collect();
        if let Some(properties) = schema["properties"].as_object() {
            self.raw("<table>");
            for (name, property) in properties {
                let place = if required.contains(&name.as_str()) { "always" } else { "" };
                self.row(name, place, property, text(&property["description"]));
            }
            self.raw("</table>");
        } else {
            self.kind(schema);
        }
    }

    fn row(&mut self, name: &str, note: &str, schema: &Value, about: &str) {
        self.raw("<tr><td><code>");
        self.text(name);
        self.raw("</code> <span class=\"soft\">");
        self.text(note);
        self.raw("</span></td><td>");
        self.kind(schema);
        self.paragraphs(about);
        self.raw("</td></tr>");
    }

    /// What a schema is, in a few words, with links to those that it names.
    fn kind(&mut self, schema: &Value) {
        if let Some(name) = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
            self.raw("<a href=\"#schema-");
            self.text(name);
            self.raw("\"><code>");
            self.text(name);
            self.raw("</code></a> ");
        }
        match &schema["type"] {
            Value::String(kind) => self.element("code", kind),
            Value::Array(kinds) => {
                self.element("code", &kinds.iter().map(text).collect::<Vec<_>>().join(" | "))
            }
            _ => {}
        }
        for keyword in
            ["enum", "const", "pattern", "format", "minimum", "maximum", "minItems", "maxItems", "default"]
        {
            if let Some(value) = schema.get(keyword) {
                let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                let _ = write!(self.0, " <span class=\"soft\">{keyword} </span>");
                self.element("code", &value);
            }
        }
        for keyword in ["anyOf", "oneOf", "allOf"] {
            for one in schema[keyword].as_array().into_iter().flatten() {
                self.raw(" ");
                self.kind(one);
            }
        }
        if let Some(items) = schema.get("items") {
            self.raw(" of ");
            self.kind(items);
        }
    }

    fn method(&mut self, method: &str) {
        let _ = write!(self.0, "<span class=\"m {method}\">{}</span> ", method.to_ascii_uppercase());
    }

    fn paragraphs(&mut self, text: &str) {
        text.split("\n\n").filter(|part| !part.is_empty()).for_each(|part| self.element("p", part));
    }

    fn element(&mut self, name: &str, content: &str) {
        let _ = write!(self.0, "<{name}>");
        self.text(content);
        let _ = write!(self.0, "</{name}>");
    }

    fn raw(&mut self, html: &str) {
        self.0.push_str(html);
    }

    fn text(&mut self, text: &str) {
        for c in text.chars() {
            match c {
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '&' => self.0.push_str("&amp;"),
                '"' => self.0.push_str("&quot;"),
                other => self.0.push(other),
            }
        }
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn members(value: &Value) -> impl Iterator<Item = (&str, &Value)> {
    value.as_object().into_iter().flatten().map(|(name, value)| (name.as_str(), value))
}

/// The operations of a group, with path and method.
fn operations<'a>(
    document: &'a Value,
    group: &'a Value,
) -> impl Iterator<Item = (&'a str, &'a str, &'a Value)> {
    members(&document["paths"])
        .flat_map(|(path, methods)| {
            members(methods).map(move |(method, operation)| (path, method, operation))
        })
        .filter(|(_, _, operation)| operation["tags"][0] == group["name"])
}

/// What a reference names; anything else as it is.
fn resolved<'a>(document: &'a Value, value: &'a Value) -> &'a Value {
    let target = value["$ref"].as_str().and_then(|path| document.pointer(path.trim_start_matches('#')));
    target.unwrap_or(value)
}
