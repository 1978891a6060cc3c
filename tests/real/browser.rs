//! The HTML report in a real browser: Chromium, driven through its debugging pipe. `.ci/run` installs it.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command as Process, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{json_lines, process};

/// A page in a browser.
struct Browser {
    child: Child,
    send: File,
    receive: BufReader<File>,
    session: Option<String>,
    next: u64,
    /// What happened meanwhile.
    events: Vec<Value>,
    _folder: TempDir,
}

impl Browser {
    fn start() -> Self {
        let folder = TempDir::new().unwrap();
        let (to, from) = (folder.path().join("to"), folder.path().join("from"));
        for pipe in [&to, &from] {
            assert!(Process::new("mkfifo").arg(pipe).status().unwrap().success());
        }
        // Chromium reads commands from descriptor 3 and answers on 4.
        let script = "exec chromium --headless --no-sandbox --disable-gpu --no-first-run --user-data-dir=\"$3\" \
                      --remote-debugging-pipe about:blank 3<\"$1\" 4>\"$2\"";
        let child = Process::new("sh")
            .args(["-c", script, "sh"])
            .args([&to, &from, &folder.path().join("profile")])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let send = File::options().write(true).open(&to).unwrap();
        let receive = BufReader::new(File::open(&from).unwrap());
        let mut browser =
            Self { child, send, receive, session: None, next: 0, events: Vec::new(), _folder: folder };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}));
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let session = browser.call("Target.attachToTarget", attach);
        browser.session = session["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        browser
    }

    fn receive(&mut self) -> Value {
        let mut bytes = Vec::new();
        self.receive.read_until(0, &mut bytes).unwrap();
        bytes.pop();
        serde_json::from_slice(&bytes).unwrap()
    }

    fn call(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let mut message = json!({"id": self.next, "method": method});
        message["params"] = params;
        if let Some(session) = &self.session {
            message["sessionId"] = session.as_str().into();
        }
        self.send.write_all(format!("{message}\0").as_bytes()).unwrap();
        loop {
            let mut answer = self.receive();
            if answer["id"] == self.next {
                assert!(answer.get("error").is_none(), "{method}: {answer}");
                return answer["result"].take();
            }
            self.events.push(answer);
        }
    }

    /// Opens a file, and waits until it is there.
    fn open(&mut self, path: &Path, fragment: &str) {
        // From an empty page: a fragment alone would load nothing.
        for url in ["about:blank".to_owned(), format!("file://{}{fragment}", path.display())] {
            self.load(&url);
        }
    }

    fn load(&mut self, url: &str) {
        self.events.clear();
        self.call("Page.navigate", json!({"url": url}));
        while !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            let event = self.receive();
            self.events.push(event);
        }
    }

    fn eval(&mut self, script: &str) -> Value {
        let params = json!({"expression": script, "returnByValue": true});
        let mut answer = self.call("Runtime.evaluate", params);
        assert!(answer.get("exceptionDetails").is_none(), "{script}: {answer}");
        answer["result"]["value"].take()
    }

    fn key(&mut self, key: &str) {
        for kind in ["keyDown", "keyUp"] {
            let text = match key {
                _ if kind == "keyUp" => "",
                "Enter" => "\r",
                key if key.len() == 1 => key,
                _ => "",
            };
            let code = if key == "Enter" { 13 } else { 0 };
            let event = json!({"type": kind, "key": key, "text": text, "windowsVirtualKeyCode": code});
            self.call("Input.dispatchKeyEvent", event);
        }
    }

    /// Neither a complaint on the console nor a request for anything but the page itself.
    fn assert_calm(&self) {
        for event in &self.events {
            let method = event["method"].as_str().unwrap_or_default();
            assert!(
                !["Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"].contains(&method),
                "{event}"
            );
            if method == "Network.requestWillBeSent" {
                assert_eq!(event["params"]["type"], "Document", "{event}");
            }
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// How many cases can be seen. By their boxes: asking for the style of what has none takes the browser very long.
const SEEN: &str =
    "[...document.querySelectorAll('.case')].filter(c => c.getClientRects().length > 0).length";

fn clawgate(folder: &Path, args: &[&str]) -> i32 {
    process(folder).args(args).output().unwrap().status.code().unwrap()
}

#[test]
#[ignore = "needs chromium"]
fn the_report_works_in_a_browser_and_asks_the_network_for_nothing() {
    let folder = TempDir::new().unwrap();
    let args = [
        "run",
        "claude/http",
        "claude/tools",
        "--target",
        "reference,reference+no-result",
        "--report",
        "html=r.html",
    ];
    assert_eq!(clawgate(folder.path(), &args), 100);
    let page = folder.path().join("r.html");
    let mut browser = Browser::start();
    browser.open(&page, "");
    // Everything is there, the first failure open.
    assert_eq!(browser.eval(SEEN), 40);
    assert_eq!(browser.eval("document.querySelectorAll('.case[open]').length"), 1);
    assert_eq!(browser.eval("document.querySelector('.case[open]').classList.contains('fail')"), true);
    // The matrix has a row a scenario and a column a target, and says where it failed.
    assert_eq!(browser.eval("document.querySelectorAll('table.matrix')[0].tBodies[0].rows.length"), 2);
    assert_eq!(browser.eval("document.querySelectorAll('table.matrix td.fail').length > 2"), true);
    assert_eq!(
        browser.eval("document.querySelector('table.clauses').textContent.includes('claude-stream-json/result-present')"),
        true
    );
    // The timeline has the request above and the stream below, within its track.
    let inside = "(() => { const open = document.querySelector('.case[open]'); const marks = [...open.querySelectorAll('.track > .request, .track > .tick')]; \
        return marks.length > 1 && marks.every(m => { const a = m.getBoundingClientRect(), t = m.parentNode.getBoundingClientRect(); return a.left >= t.left - 4 && a.right <= t.right + 12; }); })()";
    assert_eq!(browser.eval(inside), true);
    let above = "(() => { const o = document.querySelector('.case[open]'); return o.querySelector('.request').getBoundingClientRect().top < o.querySelector('.tick').getBoundingClientRect().top; })()";
    assert_eq!(browser.eval(above), true);
    // Filters: by status, by target, by words.
    browser.eval("document.querySelector('label[for=show-fail]').click()");
    assert_eq!(browser.eval(SEEN), 20);
    browser.eval("document.querySelector('label[for=show-all]').click()");
    let choose = "(() => { const s = document.querySelector('select[name=target]'); s.value = 'reference'; s.dispatchEvent(new Event('input', {bubbles: true})); })()";
    browser.eval(choose);
    assert_eq!(browser.eval(SEEN), 20);
    browser.eval("document.querySelector('select[name=target]').value = ''");
    browser.key("/");
    assert_eq!(browser.eval("document.activeElement.name"), "text");
    browser.eval("document.activeElement.value = 'http/429-json'; document.activeElement.dispatchEvent(new Event('input', {bubbles: true}))");
    assert_eq!(browser.eval(SEEN), 2);
    assert_eq!(browser.eval("document.querySelector('output').textContent"), "2 of 40 cases");
    // A group of the matrix leads to its cases, also from the keyboard.
    browser.eval("document.querySelector('a[data-group=\"claude/http\"]').focus()");
    browser.key("Enter");
    assert_eq!(browser.eval("document.querySelector('[name=text]').value"), "claude/http/");
    assert_eq!(browser.eval(SEEN), 28);
    // The keyboard alone is enough.
    browser.key("Escape");
    browser.key("j");
    assert_eq!(browser.eval("document.activeElement.tagName"), "SUMMARY");
    // A link opens the case that it names.
    browser.open(&page, "#case-7");
    assert_eq!(browser.eval("document.getElementById('case-7').open"), true);
    // Dark where the reader likes it dark, and by the button.
    let ground = "getComputedStyle(document.body).backgroundColor";
    let light = browser.eval(ground);
    let media = json!({"features": [{"name": "prefers-color-scheme", "value": "dark"}]});
    browser.call("Emulation.setEmulatedMedia", media);
    let dark = browser.eval(ground);
    assert_ne!(light, dark);
    browser.eval("document.querySelector('button.theme').click()");
    assert_eq!(browser.eval(ground), light);
    // A phone does not have to scroll sideways.
    let phone = json!({"width": 380, "height": 800, "deviceScaleFactor": 1, "mobile": true});
    browser.call("Emulation.setDeviceMetricsOverride", phone);
    assert_eq!(browser.eval("document.documentElement.scrollWidth <= 380"), true);
    browser.assert_calm();
    // Without scripts it is still all there, and filters by status.
    browser.call("Emulation.setScriptExecutionDisabled", json!({"value": true}));
    browser.open(&page, "");
    browser.call("Emulation.setScriptExecutionDisabled", json!({"value": false}));
    assert_eq!(browser.eval("document.querySelector('input[type=search]').parentNode.hidden"), true);
    browser.eval("document.querySelector('label[for=show-pass]').click()");
    assert_eq!(browser.eval(SEEN), 20);
}

#[test]
#[ignore = "needs chromium"]
fn everything_can_be_read_by_name_and_contrast() {
    let folder = TempDir::new().unwrap();
    let args = ["run", "claude/http/429", "--target", "reference+no-result", "--report", "html=r.html"];
    assert_eq!(clawgate(folder.path(), &args), 100);
    let mut browser = Browser::start();
    browser.open(&folder.path().join("r.html"), "");
    let nameless = "[...document.querySelectorAll('input, select, button')].filter(e => !(e.labels && [...e.labels].some(l => l.textContent.trim())) && !e.ariaLabel && !e.textContent.trim()).length";
    assert_eq!(browser.eval(nameless), 0);
    assert_eq!(browser.eval("document.documentElement.lang"), "en");
    assert_eq!(browser.eval("document.querySelectorAll('h1').length"), 1);
    // Text against what is behind it: 4.5 to 1, in both themes.
    let contrast = r"(() => {
        const rgb = (text) => (text.match(/[\d.]+/g) || []).map(Number);
        const light = ([r, g, b]) => { const f = (v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }; return 0.2126 * f(r) + 0.7152 * f(g) + 0.0722 * f(b); };
        const behind = (e) => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor); if (c.length === 3 || c[3] > 0.9) return c; } return [255, 255, 255]; };
        const bad = [];
        for (const e of document.querySelectorAll('main *, footer *')) {
            if (![...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim()) || !e.checkVisibility() || e.closest(':disabled, [hidden], .hidden')) continue;
            if (e.matches('label') && e.previousElementSibling && e.previousElementSibling.disabled || e.closest('label') && e.closest('label').previousElementSibling && e.closest('label').previousElementSibling.disabled) continue;
            const a = light(rgb(getComputedStyle(e).color)), b = light(behind(e));
            const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
            if (ratio < 4.5) bad.push(e.tagName + '.' + e.className + ' ' + ratio.toFixed(2));
        }
        return bad.join('; ');
    })()";
    assert_eq!(browser.eval(contrast), "");
    browser.eval("document.querySelector('button.theme').click()");
    assert_eq!(browser.eval(contrast), "");
    assert_eq!(browser.eval("document.documentElement.dataset.theme"), "dark");
    // On paper it is light, whatever the reader likes, and nothing is there to be pressed.
    browser.call("Emulation.setEmulatedMedia", json!({"media": "print"}));
    let hero = "getComputedStyle(document.querySelector('.hero')).backgroundColor";
    assert_eq!(browser.eval(hero), "rgb(255, 255, 255)");
    assert_eq!(browser.eval("getComputedStyle(document.body).color"), "rgb(26, 31, 43)");
    assert_eq!(browser.eval("document.querySelector('.filters').checkVisibility()"), false);
    assert_eq!(browser.eval(contrast), "");
}

#[test]
#[ignore = "needs chromium"]
fn a_hostile_target_is_inert_in_a_browser() {
    let folder = TempDir::new().unwrap();
    let root = folder.path();
    let evil = "</script><script>document.title='owned'</script><img src='http://127.0.0.1:9/x' onerror=\"document.title='owned'\">\
        </code></li></ol></details></style><svg onload=\"document.title='owned'\">\u{1b}]0;owned\u{7}\u{202e}'\"><a href=\"javascript:document.title='owned'\">";
    let lines = format!(
        "{}\n{evil}\n{}\n",
        json!({"type": evil, "subtype": evil}),
        json!({"type": "result", "subtype": evil})
    );
    fs::write(root.join("stdout"), [lines.as_bytes(), b"\xff\xfe\n"].concat()).unwrap();
    let script = format!("#!/bin/sh\ncat '{0}/stdout'\ncat '{0}/stdout' >&2\nexit 1\n", root.display());
    fs::write(root.join("t.sh"), script).unwrap();
    fs::set_permissions(root.join("t.sh"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let target = format!(
        "[target]\nname = \"t\"\ndescription = \"x\"\nprogram = '{}/t.sh'\n[env]\nPATH = \"/usr/bin:/bin\"\n[[speaks]]\n\
         contract = \"claude-stream-json\"\nversion = \"2.1.197\"\nargs = [\"--output-format\", \"stream-json\", \"--verbose\"]\n\
         prompt = [\"-p\", \"{{prompt}}\"]\n",
        root.display()
    );
    fs::write(root.join("t.toml"), target).unwrap();
    let args = ["run", "claude/answers/stream", "--target", "t.toml", "--report", "html=r.html"];
    assert_eq!(clawgate(root, &args), 100);
    let mut browser = Browser::start();
    browser.open(&root.join("r.html"), "");
    assert_eq!(browser.eval("document.title"), "1 case failed · clawgate");
    assert_eq!(browser.eval("document.querySelectorAll('script').length"), 1);
    assert_eq!(
        browser.eval("document.querySelectorAll('img, svg, iframe, object, a[href^=\"javascript\"]').length"),
        0
    );
    assert_eq!(
        browser.eval("document.querySelector('.transcript').textContent.includes('</script><script>')"),
        true
    );
    browser.assert_calm();
}

#[test]
#[ignore = "needs chromium"]
fn a_thousand_cases_open() {
    let folder = TempDir::new().unwrap();
    assert_eq!(clawgate(folder.path(), &["run", "claude/http/429", "--out", "one", "-q"]), 0);
    // A thousand repetitions of one case, all told of as if they had been run.
    let events = fs::read_to_string(folder.path().join("one/events.ndjson")).unwrap();
    let mut told = json_lines(&events);
    (told[0]["cases"], told[0]["plan"]["cases"]) = (1000.into(), 1000.into());
    let mut lines = vec![told[0].to_string()];
    for repetition in 1..=1000 {
        told[2]["repetition"] = repetition.into();
        lines.push(told[2].to_string());
    }
    told[3]["passed"] = 1000.into();
    lines.push(told[3].to_string());
    fs::write(folder.path().join("one/events.ndjson"), lines.join("\n")).unwrap();
    assert_eq!(clawgate(folder.path(), &["merge", "one", "-q", "--report", "html=r.html"]), 0);
    let page = format!("file://{}#case-999", folder.path().join("r.html").display());
    let output = Process::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", &page])
        .arg(format!("--user-data-dir={}", folder.path().join("profile").display()))
        .stderr(Stdio::null())
        .output()
        .unwrap();
    let page = String::from_utf8(output.stdout).unwrap();
    assert_eq!(page.matches("<details class=\"case pass\"").count(), 1000);
    // The script has counted them, and opened the one that was asked for.
    assert!(page.contains(">1000 cases</output>"));
    let asked = page.split("id=\"case-999\"").nth(1).unwrap();
    assert!(asked.split('>').next().unwrap().contains("open"));
}

#[test]
#[ignore = "needs chromium"]
fn a_thousand_cases_are_filtered() {
    let folder = TempDir::new().unwrap();
    let args = ["run", "claude/http/429", "--target", "reference,reference+no-result", "--out", "one", "-q"];
    assert_eq!(clawgate(folder.path(), &args), 100);
    // A thousand cases, of which every tenth failed, half of them on either target.
    let events = fs::read_to_string(folder.path().join("one/events.ndjson")).unwrap();
    let mut told = json_lines(&events);
    (told[0]["cases"], told[0]["plan"]["cases"]) = (1000.into(), 1000.into());
    let of = |status: &str| {
        let is = |event: &&Value| event["type"] == "case-finished" && event["status"] == status;
        told.iter().find(is).unwrap().clone()
    };
    let (pass, fail) = (of("pass"), of("fail"));
    let mut lines = vec![told[0].to_string()];
    for number in 0..1000 {
        let mut case = if number % 10 == 0 { fail.clone() } else { pass.clone() };
        case["case"] = format!("load/{}/case-{number}", number % 7).into();
        case["target"] = if number % 20 < 10 { "reference" } else { "reference+no-result" }.into();
        lines.push(case.to_string());
    }
    let last = told.last_mut().unwrap();
    (last["passed"], last["failed"]) = (900.into(), 100.into());
    lines.push(last.to_string());
    fs::write(folder.path().join("one/events.ndjson"), lines.join("\n")).unwrap();
    assert_eq!(clawgate(folder.path(), &["merge", "one", "-q", "--report", "html=r.html"]), 100);
    let mut browser = Browser::start();
    browser.open(&folder.path().join("r.html"), "");
    assert_eq!(browser.eval(SEEN), 1000);
    let show = |status: &str| format!("document.querySelector('label[for=show-{status}]').click()");
    let set = |name: &str, value: &str| {
        format!(
            "(() => {{ const e = document.querySelector('[name={name}]'); e.value = '{value}'; \
             e.dispatchEvent(new Event('input', {{bubbles: true}})); }})()"
        )
    };
    browser.eval(&show("fail"));
    assert_eq!(browser.eval(SEEN), 100);
    browser.eval(&set("target", "reference"));
    assert_eq!(browser.eval(SEEN), 50);
    browser.eval(&set("text", "case-98"));
    assert_eq!(browser.eval(SEEN), 1, "case-980");
    browser.eval(&show("all"));
    assert_eq!(browser.eval(SEEN), 10, "case-980 to case-989");
    browser.eval(&set("target", ""));
    assert_eq!(browser.eval(SEEN), 11, "case-98 too");
    browser.eval(&set("text", "nothing is like this"));
    assert_eq!(browser.eval(SEEN), 0);
    assert_eq!(browser.eval("document.querySelector('.none').checkVisibility()"), true);
    browser.eval(&set("text", ""));
    assert_eq!(browser.eval(SEEN), 1000);
    browser.assert_calm();
}

/// An evaluation of two cases, one of which makes a difference.
const EVALUATION: &str = r#"
[eval]
skill = "greet"
[run]
trials = 2
require_use = false
[[api.turns]]
when = { prompt = "hello", tool_result = "pirates" }
text = "Ahoy!"
[[api.turns]]
when = { prompt = "hello", tool_result = "Unknown skill" }
text = "Hello. <b>bold</b>"
[[api.turns]]
when = { prompt = "hello" }
tool = { name = "Skill", input = { skill = "greet" } }
[[api.turns]]
when = { prompt = "weather" }
text = "Rain."
[[cases]]
id = "ann"
prompt = "Say hello"
assert = [{ type = "contains", needle = "Ahoy" }]
[[cases]]
id = "rain"
prompt = "How is the weather?"
assert = [{ type = "contains", needle = "Rain" }]
"#;

#[test]
#[ignore = "needs chromium"]
fn the_page_of_an_evaluation_has_keys_filters_and_notes() {
    let folder = TempDir::new().unwrap();
    let skill = folder.path().join(".claude/skills/greet");
    fs::create_dir_all(&skill).unwrap();
    let text = "---\nname: greet\ndescription: Greets.\n---\nGreet in the manner of pirates.\n";
    fs::write(skill.join("SKILL.md"), text).unwrap();
    fs::write(folder.path().join("e.toml"), EVALUATION).unwrap();
    assert_eq!(clawgate(folder.path(), &["eval", "e.toml", "--target", "reference"]), 0);
    let iteration = folder.path().join("clawgate-out/eval/greet/iteration-1");
    let page = iteration.join("report.html");
    let mut browser = Browser::start();
    browser.open(&page, "");
    let seen =
        "[...document.querySelectorAll('[data-item]')].filter(c => c.getClientRects().length > 0).length";
    assert_eq!(browser.eval(seen), 6);
    // Filters: what failed, what differs between the arms, what holds a word.
    for (kind, count) in [("fail", 3), ("differ", 2), ("pass", 5), ("skipped", 0), ("note", 0), ("all", 6)] {
        browser.eval(&format!("document.querySelector('label[for=show-eval-{kind}]').click()"));
        assert_eq!(browser.eval(seen), count, "{kind}");
    }
    browser.key("/");
    assert_eq!(browser.eval("document.activeElement.name"), "text");
    browser.eval("document.activeElement.value = 'rain.'; document.activeElement.dispatchEvent(new Event('input', {bubbles: true}))");
    assert_eq!(browser.eval(seen), 2);
    browser.eval("document.activeElement.value = ''; document.activeElement.dispatchEvent(new Event('input', {bubbles: true}))");
    browser.key("Escape");
    // Keys: to the next trial and failure, its transcripts, its note and back.
    browser.key("j");
    browser.key("j");
    assert_eq!(browser.eval("document.activeElement.querySelector('h2').textContent"), "ann trial 2");
    browser.key("k");
    assert_eq!(browser.eval("document.activeElement.querySelector('h2').textContent"), "ann trial 1");
    browser.key("t");
    assert_eq!(
        browser.eval("document.activeElement.querySelectorAll('details.transcript-of[open]').length"),
        2
    );
    browser.key("m");
    assert_eq!(browser.eval("document.activeElement.dataset.run"), "eval-ann-with_skill-run-1");
    for key in ["j", "o", "y"] {
        browser.key(key);
    }
    assert_eq!(browser.eval("document.activeElement.value"), "joy");
    browser.key("Escape");
    browser.key("n");
    assert_eq!(browser.eval("document.activeElement.querySelector('h2').textContent"), "ann trial 2");
    // A note is counted, found again, and what is saved is what skill-creator's viewer writes.
    assert_eq!(browser.eval("document.querySelector('.notes-state').textContent"), "1 note");
    browser.eval("document.querySelector('label[for=show-eval-note]').click()");
    assert_eq!(browser.eval(seen), 1);
    let saved = browser.eval("window.clawgateFeedback()");
    let feedback: Value = serde_json::from_str(saved.as_str().unwrap()).unwrap();
    assert_eq!(feedback["reviews"][0]["run_id"], "eval-ann-with_skill-run-1");
    assert_eq!(
        (feedback["reviews"][0]["feedback"].as_str(), feedback["status"].as_str()),
        (Some("joy"), Some("complete"))
    );
    browser.open(&page, "");
    assert_eq!(browser.eval("document.querySelector('textarea').value"), "joy", "kept by the browser");
    // What a target said is text.
    assert_eq!(
        browser.eval("[...document.querySelectorAll('.arm b')].some(b => b.textContent === 'bold')"),
        false
    );
    // A phone does not have to scroll sideways, and a dark room is dark.
    let phone = json!({"width": 380, "height": 800, "deviceScaleFactor": 1, "mobile": true});
    browser.call("Emulation.setDeviceMetricsOverride", phone);
    assert_eq!(browser.eval("document.documentElement.scrollWidth <= 380"), true);
    let ground = "getComputedStyle(document.querySelector('.round')).backgroundColor";
    let light = browser.eval(ground);
    browser.eval("document.querySelector('button.theme').click()");
    assert_ne!(browser.eval(ground), light);
    browser.assert_calm();
    // The next round has the note beside the new trial.
    fs::write(iteration.join("feedback.json"), saved.as_str().unwrap()).unwrap();
    assert_eq!(clawgate(folder.path(), &["eval", "e.toml", "--target", "reference"]), 0);
    browser.open(&folder.path().join("clawgate-out/eval/greet/iteration-2/report.html"), "");
    assert_eq!(browser.eval("document.querySelector('.before').textContent"), "Noted in iteration 1: joy");
}

#[test]
#[ignore = "needs chromium"]
fn the_page_of_an_event_log_has_keys_and_a_search() {
    let folder = TempDir::new().unwrap();
    let log = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/events/broken.jsonl");
    clawgate(folder.path(), &["events", "timeline", log.to_str().unwrap(), "--html", "timeline.html"]);
    let mut browser = Browser::start();
    browser.open(&folder.path().join("timeline.html"), "");
    let seen =
        "[...document.querySelectorAll('[data-item]')].filter(c => c.getClientRects().length > 0).length";
    let here = "[...document.querySelectorAll('[data-item]')].indexOf(document.activeElement)";
    assert_eq!(browser.eval(seen), 2);
    assert_eq!(browser.eval("document.querySelector('form output').textContent"), "2 in all");
    // Keys: down, round, up, and to what is broken.
    for (key, place) in [("j", 0), ("j", 1), ("j", 0), ("k", 1), ("k", 0), ("n", 1), ("n", 1)] {
        browser.key(key);
        assert_eq!(browser.eval(here), place, "{key}");
    }
    assert_eq!(browser.eval("document.activeElement.classList.contains('fail')"), true);
    browser.key("Enter");
    assert_eq!(browser.eval("document.activeElement.querySelector('details').open"), true);
    browser.key("Enter");
    assert_eq!(browser.eval("document.activeElement.querySelector('details').open"), false);
    // The search: what is typed there moves nothing, every word counts, and nothing found is said.
    let type_words = |words: &str| {
        format!(
            "document.activeElement.value = '{words}'; \
             document.activeElement.dispatchEvent(new Event('input', {{bubbles: true}}))"
        )
    };
    browser.key("/");
    assert_eq!(browser.eval("document.activeElement.name"), "text");
    browser.key("j");
    assert_eq!(browser.eval("document.activeElement.value"), "j");
    for (words, count) in [("LIGHTHOUSE", 1), ("lighthouse harbour-master", 0), ("no such word", 0), ("", 2)]
    {
        browser.eval(&type_words(words));
        assert_eq!(browser.eval(seen), count, "{words}");
        assert_eq!(browser.eval("document.querySelector('p.none').hidden"), count > 0, "{words}");
    }
    // What is filtered away is stepped over.
    browser.eval(&type_words("lighthouse"));
    browser.key("Escape");
    browser.key("j");
    let only = browser.eval(here);
    browser.key("j");
    assert_eq!(browser.eval(here), only);
    browser.eval("document.querySelector('input[type=search]').focus()");
    browser.eval(&type_words(""));
    // The broken clauses are named, a phone does not scroll sideways, and dark is dark.
    assert_eq!(browser.eval("document.querySelectorAll('.reasons .must').length > 0"), true);
    let phone = json!({"width": 380, "height": 800, "deviceScaleFactor": 1, "mobile": true});
    browser.call("Emulation.setDeviceMetricsOverride", phone);
    assert_eq!(browser.eval("document.documentElement.scrollWidth <= 380"), true);
    let ground = "getComputedStyle(document.body).backgroundColor";
    let light = browser.eval(ground);
    browser.eval("document.querySelector('button.theme').click()");
    assert_ne!(browser.eval(ground), light);
    browser.assert_calm();
}
