//! `[mcp.NAME]`: reads scripted servers; every complaint has its place in the file.

use serde_json::{Value, json};

use super::fault::{ServerFault, ToolFault};
use super::script::{Prompt, Resource, Server, Tool, Transport};
use crate::document::{FileError, Item, Table};

/// The most bytes that a result is padded to.
const MOST_TEXT: u64 = 64 << 20;

impl Server {
    /// Reads the servers of a table; what one does not say is as in the server of its name in `base`.
    pub(crate) fn read_all(table: Table<'_>, base: &[Self]) -> Result<Vec<Self>, FileError> {
        let mut servers = base.to_vec();
        for (name, item) in table.into_entries() {
            let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
            if name.is_empty() || !name.chars().all(is_name) {
                return Err(item.complain("the name of a server has letters, digits, `-` and `_` alone"));
            }
            let known = servers.iter().position(|server| server.name == name);
            let start = known.map_or_else(Self::default, |place| servers[place].clone());
            let server = Self { name, ..start.read(item)? };
            match known {
                Some(place) => servers[place] = server,
                None => servers.push(server),
            }
        }
        Ok(servers)
    }

    fn read(mut self, item: Item<'_>) -> Result<Self, FileError> {
        let mut table = item.into_table()?;
        if let Some(item) = table.take("transport") {
            self.transport = match item.str()? {
                "stdio" => Transport::Stdio,
                "http" => Transport::Http,
                other => {
                    return Err(item.complain(format!("expected \"stdio\" or \"http\", found {other:?}")));
                }
            };
        }
        if let Some(own) = own(&mut table)? {
            table.finish()?;
            return Ok(Self { own: Some(own), ..self });
        }
        self.start_ms = table.unsigned("start_ms")?.or(self.start_ms);
        self.instructions = table.string("instructions")?.or(self.instructions);
        if let Some(item) = table.take("tools") {
            self.tools = list(item, tool, |tool| &tool.name)?;
        }
        if let Some(item) = table.take("resources") {
            self.resources = list(item, resource, |resource| &resource.uri)?;
        }
        if let Some(item) = table.take("prompts") {
            self.prompts = list(item, prompt, |prompt| &prompt.name)?;
        }
        if let Some(item) = table.take("fault") {
            let fault = ServerFault::named(item.str()?).map_err(|reason| item.complain(reason))?;
            fault.fits(self.transport).map_err(|reason| item.complain(reason))?;
            self.fault = Some(fault);
        }
        table.finish()?;
        Ok(self)
    }
}

/// How a server of the user's own is started or reached, in the form that clients are configured in.
fn own(table: &mut Table<'_>) -> Result<Option<Value>, FileError> {
    if let Some(url) = table.string("url")? {
        return Ok(Some(json!({"type": "http", "url": url})));
    }
    let Some(command) = table.string("command")? else { return Ok(None) };
    let mut config = json!({"type": "stdio", "command": command, "args": table.strings("args")?, "env": {}});
    if let Some(item) = table.take("env") {
        for (name, item) in item.into_table()?.into_entries() {
            config["env"][name] = item.into_string()?.into();
        }
    }
    Ok(Some(config))
}

/// A list of things that have names, each of another.
fn list<T>(
    item: Item<'_>,
    read: impl Fn(&mut Table<'_>) -> Result<T, FileError>,
    name: impl Fn(&T) -> &String,
) -> Result<Vec<T>, FileError> {
    let mut found: Vec<T> = Vec::new();
    for item in item.into_list()? {
        let place = item.place();
        let mut table = item.into_table()?;
        let read = read(&mut table)?;
        table.finish()?;
        if found.iter().any(|other| name(other) == name(&read)) {
            return Err(place.complain(format!("a second one named `{}`", name(&read))));
        }
        found.push(read);
    }
    Ok(found)
}

fn tool(table: &mut Table<'_>) -> Result<Tool, FileError> {
    let name = table.require("name", "what the tool is called")?.text()?;
    let input = match table.take("input") {
        Some(item) if !item.is_table() => return Err(item.complain("expected a JSON Schema as a table")),
        Some(item) => item.json()?,
        None => json!({"type": "object"}),
    };
    let content = match table.take("content") {
        Some(item) if !item.is_list() => return Err(item.complain("expected a list of blocks")),
        item => item.map(|item| item.json()).transpose()?,
    };
    let text_bytes = match table.take("text_bytes") {
        Some(item) if item.unsigned()? > MOST_TEXT => {
            return Err(item.complain(format!("at most {MOST_TEXT} bytes")));
        }
        item => item.map(|item| item.unsigned()).transpose()?,
    };
    let fault = match table.take("fault") {
        Some(item) => Some(ToolFault::named(item.str()?).map_err(|reason| item.complain(reason))?),
        None => None,
    };
    let structured: Option<Value> = table.take("structured").map(|item| item.json()).transpose()?;
    Ok(Tool {
        description: table.string("description")?.unwrap_or_else(|| format!("The tool {name}.")),
        text: table.string("text")?.unwrap_or_default(),
        is_error: table.boolean("is_error")?.unwrap_or(false),
        delay_ms: table.unsigned("delay_ms")?,
        after: table.string("after")?,
        until: table.string("until")?,
        name,
        input,
        content,
        structured,
        text_bytes,
        fault,
    })
}

fn resource(table: &mut Table<'_>) -> Result<Resource, FileError> {
    let uri = table.require("uri", "what the resource is asked for by")?.text()?;
    Ok(Resource {
        name: table.string("name")?.unwrap_or_else(|| uri.clone()),
        text: table.string("text")?.unwrap_or_default(),
        mime: table.string("mime")?.unwrap_or_else(|| "text/plain".into()),
        uri,
    })
}

fn prompt(table: &mut Table<'_>) -> Result<Prompt, FileError> {
    let name = table.require("name", "what the prompt is called")?.text()?;
    Ok(Prompt {
        description: table.string("description")?.unwrap_or_else(|| format!("The prompt {name}.")),
        text: table.string("text")?.unwrap_or_default(),
        arguments: table.strings("arguments")?,
        name,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Document;

    fn read(text: &str, base: &[Server]) -> Result<Vec<Server>, String> {
        let mut root = Document::parse("my.toml", text).unwrap();
        let table = root.take("mcp").unwrap().into_table().unwrap();
        Server::read_all(table, base).map_err(|error| error.headline())
    }

    #[test]
    fn a_server_is_read_again_from_what_it_is_written_as() {
        let text = "[mcp.files]\nstart_ms = 5\nfault = \"stays\"\n[[mcp.files.tools]]\nname = \"a\"\ntext = \"A {arguments}\"\nfault = \"twice\"\n[[mcp.files.resources]]\nuri = \"x://a\"\n[[mcp.files.prompts]]\nname = \"p\"\n";
        let servers = read(text, &[]).unwrap();
        let written = servers[0].to_scenario().to_string();
        let mut root = Document::parse_json("x.json", &written, &[]).unwrap();
        let again = Server::read_all(root.take("mcp").unwrap().into_table().unwrap(), &[]).unwrap().remove(0);
        assert_eq!(again.to_scenario(), servers[0].to_scenario());
        assert_eq!((again.name.as_str(), again.tools[0].fault), ("files", Some(ToolFault::Twice)));
    }

    #[test]
    fn a_variant_says_only_what_differs() {
        let base = read("[[mcp.files.tools]]\nname = \"a\"\n", &[]).unwrap();
        let other = read("mcp.files.fault = \"exit\"\nmcp.more = {}\n", &base).unwrap();
        let said: Vec<_> =
            other.iter().map(|server| (server.name.as_str(), server.tools.len(), server.works())).collect();
        assert_eq!(said, [("files", 1, false), ("more", 0, true)]);
    }

    #[test]
    fn complaints_say_where() {
        let said = |text: &str| read(text, &[]).unwrap_err();
        assert!(
            said("mcp.a.fault = \"exits\"")
                .ends_with("unknown fault `exits`, did you mean `exit`? (at mcp.a.fault)")
        );
        assert!(
            said("mcp.a = { transport = \"http\", fault = \"stays\" }").contains("only a server over stdio")
        );
        assert!(said("mcp.a.fault = \"needs-auth\"").contains("only a server over HTTP"));
        assert!(said("mcp.\"a b\" = {}").contains("letters, digits"));
        assert!(
            said("mcp.a.tools = [{ name = \"x\" }, { name = \"x\" }]").contains("a second one named `x`")
        );
        assert!(said("mcp.a.tools = [{ name = \"x\", falt = 1 }]").contains("did you mean `fault`?"));
        assert!(said("mcp.a.tools = [{ name = \"x\", text_bytes = 99999999 }]").contains("at most"));
    }
}
