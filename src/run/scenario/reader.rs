//! Reads scenarios from TOML, or from JSON that a program wrote; every complaint has its place in the file.

use std::path::Path;

use super::run::strings;
use super::{Case, Expect, GoldenPart, Override, RunPart, Scenario, library};
use crate::document::{Document, FileError, Item, Place, Table};
use crate::golden::Interleave;
use crate::harness::mcp;
use crate::harness::mock::{Script, sweep};
use crate::run::Source;
use crate::version::VersionRange;

impl Scenario {
    /// Reads a scenario; `file` names it in errors, and what it imports is looked for beside it.
    pub fn parse(file: &str, text: &str) -> Result<Self, FileError> {
        let is_json = Path::new(file).extension().is_some_and(|extension| extension == "json");
        let mut root =
            if is_json { Document::parse_json(file, text, &[]) } else { Document::parse(file, text) }?;
        let mut head = root.require("scenario", "a table with the scenario's name")?.into_table()?;
        let name = head.require("name", "what the scenario is called")?;
        let place = name.place();
        let name = name.into_string()?;
        if !is_name(&name) {
            return Err(place.complain("expected a name without blanks and `#`, which ids are made of"));
        }
        let description = head.string("description")?.unwrap_or_default();
        let contract = head.string("contract")?;
        let tags = head.take("tags").map(strings).transpose()?.unwrap_or_default();
        let imported = match head.take("api") {
            None => None,
            Some(item) => {
                let place = item.place();
                Some((import(file, &item.into_string()?, &place)?, place))
            }
        };
        let whole = head.complain("a scenario has `contract` and [run], or nothing but [api] or [mcp]");
        head.finish()?;
        let mcp = servers(&mut root, &[])?;
        let script = match (root.take("api"), imported) {
            (Some(_), Some((_, place))) => {
                return Err(place.complain("either `api` names a script or [api] is one, not both"));
            }
            (Some(item), None) => Script::read(item.into_table()?)?,
            (None, Some((script, _))) => script,
            (None, None) if contract.is_some() || !mcp.is_empty() => Script::new(),
            (None, None) => return Err(root.complain("missing key `api`: a table with the API's script")),
        };
        let base = Case {
            name: name.clone(),
            description: description.clone(),
            tags,
            contract: contract.clone().unwrap_or_default(),
            run: RunPart::default(),
            expect: Expect::default(),
            faults: Vec::new(),
            mcp: mcp.clone(),
            overrides: Vec::new(),
            source: Some(Source::new(file, place.line())),
            golden: golden(&mut root)?.unwrap_or_default(),
        };
        let has_run = root.take("run").map(Item::into_table).transpose()?;
        let is_case = has_run.is_some();
        let run = has_run.map_or(Ok(RunPart::default()), |table| RunPart::read(table, &base.run))?;
        let expect = root.take("expect").map(Item::into_table).transpose()?;
        let expect = expect.map_or(Ok(Expect::default()), |table| Expect::read(table, &base.expect))?;
        let mut base = Case { run, expect, ..base };
        let shared = root.list("overrides")?;
        base.overrides = overrides(shared.clone(), &base)?;
        let mut cases = Vec::new();
        for item in root.list("variants")? {
            let place = item.place();
            for case in variants(item.into_table()?, &base, &shared, &script)? {
                if cases.iter().any(|other: &Case| other.name == case.name) {
                    return Err(place.complain(format!("a second variant named `{}`", case.name)));
                }
                cases.push(case);
            }
        }
        root.finish()?;
        if cases.is_empty() && is_case {
            cases.push(base);
        }
        if contract.is_none() && cases.iter().any(|case| case.contract.is_empty()) {
            return Err(whole);
        }
        Ok(Self { name, description, script, mcp, cases })
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || c.is_control() || c == '#')
}

/// The script of another scenario: of a file beside this one, or of a built-in one.
pub(crate) fn import(file: &str, named: &str, place: &Place<'_>) -> Result<Script, FileError> {
    let beside = Path::new(file).with_file_name(named);
    let read = std::fs::read_to_string(&beside).ok();
    let text = read.as_deref().or_else(|| library::text(named));
    let text =
        text.ok_or_else(|| place.complain(format!("neither {} nor a built-in scenario", beside.display())))?;
    Scenario::parse(named, text)
        .map(|scenario| scenario.script)
        .map_err(|error| place.complain(format!("cannot be imported: {error}")))
}

/// The cases of a variant: one, or one for each place in the script's answers where its fault can happen.
fn variants<'t>(
    mut table: Table<'t>,
    base: &Case,
    shared: &[Item<'t>],
    script: &Script,
) -> Result<Vec<Case>, FileError> {
    let swept = table.take("sweep");
    let api = table.string("sweep_api")?;
    let case = variant(table, base, shared)?;
    let Some(item) = swept else { return Ok(vec![case]) };
    let place = item.place();
    let fault = item.into_string()?;
    let faults = sweep::places(script, &fault, api.as_deref()).map_err(|reason| place.complain(reason))?;
    let named = |(id, fault)| {
        let mut named = case.clone();
        named.name = format!("{}/{id}", case.name);
        named.faults.push(fault);
        named
    };
    Ok(faults.into_iter().map(named).collect())
}

fn variant<'t>(mut table: Table<'t>, base: &Case, shared: &[Item<'t>]) -> Result<Case, FileError> {
    let name = table.require("name", "what the variant is called")?;
    let place = name.place();
    let name = name.into_string()?;
    if !is_name(&name) {
        return Err(place.complain("expected a name without blanks and `#`, which ids are made of"));
    }
    let mut case = base.clone();
    case.name = format!("{}/{name}", base.name);
    case.source = base.source.as_ref().map(|source| Source::new(&source.file, place.line()));
    case.description = table.string("description")?.unwrap_or(case.description);
    case.contract = table.string("contract")?.unwrap_or(case.contract);
    if let Some(item) = table.take("tags") {
        case.tags.extend(strings(item)?);
    }
    let mut faults: Vec<_> = table.take("fault").into_iter().collect();
    faults.extend(table.list("faults")?);
    for item in faults {
        let place = item.place();
        let text = item.into_string()?;
        case.faults.push(text.parse().map_err(|error| place.complain(format!("{error}")))?);
    }
    if let Some(item) = table.take("run") {
        case.run = RunPart::read(item.into_table()?, &base.run)?;
    }
    if let Some(item) = table.take("expect") {
        case.expect = Expect::read(item.into_table()?, &base.expect)?;
    }
    if let Some(part) = golden(&mut table)? {
        case.golden = part;
    }
    case.mcp = servers(&mut table, &base.mcp)?;
    // What all variants share is said of this variant too; what it says itself comes after and wins.
    let mut both = shared.to_vec();
    both.extend(table.list("overrides")?);
    case.overrides = overrides(both, &case)?;
    table.finish()?;
    Ok(case)
}

/// `[mcp.NAME]`: scripted MCP servers; what is not said of one is as in `base`.
fn servers(table: &mut Table<'_>, base: &[mcp::Server]) -> Result<Vec<mcp::Server>, FileError> {
    match table.take("mcp") {
        Some(item) => mcp::Server::read_all(item.into_table()?, base),
        None => Ok(base.to_vec()),
    }
}

/// `[golden]`: what a snapshot of the case does not mind.
fn golden(table: &mut Table<'_>) -> Result<Option<GoldenPart>, FileError> {
    let Some(item) = table.take("golden") else { return Ok(None) };
    let mut golden = item.into_table()?;
    let groups = golden.list("interleave")?.into_iter().map(strings).collect::<Result<_, _>>()?;
    let any_order = golden.take("any_order").map(strings).transpose()?.unwrap_or_default();
    let skip = golden.string("skip")?;
    golden.finish()?;
    Ok(Some(GoldenPart { interleave: Interleave::new(groups).any_order(any_order), skip }))
}

fn overrides(items: Vec<Item<'_>>, base: &Case) -> Result<Vec<Override>, FileError> {
    let mut found = Vec::new();
    for item in items {
        let mut table = item.into_table()?;
        let target = table.require("target", "the name of the target it is about")?.into_string()?;
        let versions = match table.take("versions") {
            None => None,
            Some(item) => {
                let place = item.place();
                Some(VersionRange::parse(&item.into_string()?).map_err(|reason| place.complain(reason))?)
            }
        };
        let expect = match table.take("expect") {
            Some(item) => Expect::read(item.into_table()?, &base.expect)?,
            None => base.expect.clone(),
        };
        let run = match table.take("run") {
            Some(item) => RunPart::read(item.into_table()?, &base.run)?,
            None => base.run.clone(),
        };
        let skip = table.string("skip")?;
        table.finish()?;
        found.push(Override { target, versions, expect, run, skip });
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classify::Class;
    use crate::run::scenario::Requests;

    const HEAD: &str = "scenario = { name = \"t\", contract = \"claude-stream-json\", api = \"plain\" }\n";

    fn complaint(text: &str) -> String {
        Scenario::parse("my.toml", &format!("{HEAD}{text}")).unwrap_err().headline()
    }

    #[test]
    fn variants_share_what_they_do_not_say() {
        let text = format!(
            "{HEAD}[run]\nprompt = \"x\"\nargs = [\"-a\"]\n[expect]\nrequests = 1\n\
             [[variants]]\nname = \"a\"\n[[variants]]\nname = \"b\"\nfault = \"http:status=429\"\n\
             run = {{ args = [] }}\nexpect = {{ verdict = \"rate_limit\" }}\n"
        );
        let scenario = Scenario::parse("my.toml", &text).unwrap();
        let [a, b] = &scenario.cases[..] else { panic!("{:?}", scenario.cases) };
        assert_eq!((a.name.as_str(), b.name.as_str()), ("t/a", "t/b"));
        assert_eq!(a.run.args, ["-a"]);
        assert!(b.run.args.is_empty() && b.run.prompt.as_deref() == Some("x"));
        assert_eq!((a.expect.verdict, b.expect.verdict), (Class::Ok, Class::RateLimit));
        assert_eq!(
            (a.expect.requests, b.expect.requests),
            (Some(Requests::exactly(1)), Some(Requests::exactly(1)))
        );
        assert_eq!(b.faults.len(), 1);
    }

    #[test]
    fn an_override_is_for_its_target_and_versions() {
        let text = format!(
            "{HEAD}[run]\nprompt = \"x\"\n[[overrides]]\ntarget = \"claude\"\nversions = \"<2.1.250\"\n\
             expect = {{ verdict = \"auth\" }}\n"
        );
        let scenario = Scenario::parse("my.toml", &text).unwrap();
        let case = &scenario.cases[0];
        assert_eq!(case.for_target("claude", Some("2.1.197")).unwrap().expect.verdict, Class::Auth);
        assert!(case.for_target("claude", Some("2.1.250")).is_none());
        assert!(case.for_target("reference", Some("2.1.197")).is_none());
    }

    #[test]
    fn an_override_for_all_variants_leaves_what_a_variant_says() {
        let text = format!(
            "{HEAD}[run]\nprompt = \"x\"\n[[overrides]]\ntarget = \"claude\"\nrun = {{ env = {{ A = \"1\" }} }}\n\
             [[variants]]\nname = \"a\"\nrun = {{ args = [\"-a\"] }}\nexpect = {{ verdict = \"auth\", requests = 7 }}\n\
             [[variants]]\nname = \"b\"\noverrides = [{{ target = \"claude\", expect = {{ requests = 8 }} }}]\n"
        );
        let scenario = Scenario::parse("my.toml", &text).unwrap();
        let a = scenario.cases[0].for_target("claude", None).unwrap();
        assert_eq!((a.expect.verdict, a.expect.requests), (Class::Auth, Some(Requests::exactly(7))));
        assert_eq!((a.run.args.len(), a.run.env.len()), (1, 1));
        let b = scenario.cases[1].for_target("claude", None).unwrap();
        assert_eq!(b.expect.requests, Some(Requests::exactly(8)));
    }

    #[test]
    fn a_sweep_is_a_case_for_each_place() {
        let text = format!(
            "{HEAD}[run]\nprompt = \"x\"\n[[variants]]\nname = \"reset\"\nsweep = \"rst\"\nexpect = {{ verdict = \"api\" }}\n"
        );
        let scenario = Scenario::parse("my.toml", &text).unwrap();
        assert!(scenario.cases.len() > 20, "{}", scenario.cases.len());
        assert_eq!(scenario.cases[0].name, "t/reset/before-headers");
        assert!(
            scenario.cases.iter().all(|case| case.faults.len() == 1 && case.expect.verdict == Class::Api)
        );
        assert!(complaint("[[variants]]\nname = \"a\"\nsweep = \"rest\"").contains("did you mean `rst`?"));
        let of_gemini = "[[variants]]\nname = \"a\"\nsweep = \"rst\"\nsweep_api = \"gemimi\"";
        assert!(complaint(of_gemini).contains("unknown API `gemimi`, did you mean `gemini`?"));
    }

    #[test]
    fn requests_are_a_number_or_bounds() {
        let read = |requests: &str| {
            let text = format!("{HEAD}[run]\nprompt = \"x\"\n[expect]\nrequests = {requests}\n");
            Scenario::parse("my.toml", &text).unwrap().cases[0].expect.requests.unwrap()
        };
        let held = |requests: &str| (0..=6).filter(|count| read(requests).holds(*count)).collect::<Vec<_>>();
        assert_eq!(held("2"), [2]);
        assert_eq!(held("{ min = 1, max = 3 }"), [1, 2, 3]);
        assert_eq!(held("{ min = 5 }"), [5, 6]);
        assert_eq!(held("{ max = 1 }"), [0, 1]);
        let said =
            ["2", "{ min = 1, max = 3 }", "{ min = 5 }", "{ max = 1 }"].map(|form| read(form).to_string());
        assert_eq!(said, ["2", "1 to 3", "at least 5", "at most 1"]);
        for wrong in ["\"many\"", "-1", "{}", "[1, 2]"] {
            let said = complaint(&format!("[expect]\nrequests = {wrong}"));
            assert!(
                said.starts_with("my.toml:3:12: expected a number of requests, or bounds such as"),
                "{said}"
            );
        }
        let said = complaint("[expect]\nrequests = { min = 3, max = 1 }");
        assert!(said.contains("no number is at least 3 and at most 1"), "{said}");
        assert!(complaint("[expect]\nrequests = { mim = 1 }").contains("did you mean `min`?"));
    }

    #[test]
    fn complaints_say_where() {
        assert_eq!(
            complaint("[run]\npromt = \"x\""),
            "my.toml:3:1: unknown key `promt`, did you mean `prompt`? (at run.promt)"
        );
        assert!(complaint("[expect]\nverdict = \"rate-limit\"").contains("did you mean `rate_limit`?"));
        assert!(complaint("[run]\nsteps = [{ after = \"x\" }]").contains("exactly one thing"));
        assert!(
            complaint("[run]\nsteps = [{ after = \"x\", asked = 1, signal = \"INT\" }]")
                .contains("one thing: after, asked or when")
        );
        assert!(complaint("[run]\nsteps = [{ signal = \"USR9\" }]").contains("expected one of: HUP"));
        assert!(complaint("[[variants]]\nname = \"a\"\nfault = \"nope\"").starts_with("my.toml:4:9: "));
        assert!(complaint("[golden]\ninterleave = [\"result\"]").contains("expected a list"));
        let text = "scenario = { name = \"t\", contract = \"c\", api = \"nope\" }\n[run]\n";
        assert!(Scenario::parse("my.toml", text).unwrap_err().headline().contains("neither nope nor"));
    }
}
