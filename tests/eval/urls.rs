//! Addresses in an output are asked over the network when somebody wants it, and else nobody is.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::project::{Project, Said};

/// A server on loopback that answers by the path, and remembers what it was asked.
struct Server {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, asked) = (listener.local_addr().unwrap(), Arc::new(Mutex::new(Vec::new())));
        let heard = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let heard = Arc::clone(&heard);
                std::thread::spawn(move || answer(&stream, &heard));
            }
        });
        Self { address, asked }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}/{path}", self.address)
    }

    fn asked(&self) -> Vec<String> {
        let mut asked = self.asked.lock().unwrap().clone();
        asked.sort();
        asked
    }
}

fn answer(stream: &TcpStream, heard: &Mutex<Vec<String>>) {
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    let request = lines.next().unwrap_or_default();
    lines.take_while(|line| !line.is_empty()).for_each(drop);
    heard.lock().unwrap().push(request.rsplit_once(' ').unwrap_or_default().0.to_owned());
    let status = match request.split(' ').nth(1).unwrap_or_default() {
        "/here" => "200 OK",
        "/get-only" if request.starts_with("GET") => "200 OK",
        "/get-only" => "405 Method Not Allowed",
        "/moved" => "302 Found\r\nlocation: /here",
        "/circle" => "302 Found\r\nlocation: /circle",
        "/away" => "302 Found\r\nlocation: file:///etc/passwd",
        "/busy" => "503 Service Unavailable",
        _ => "404 Not Found",
    };
    _ = write!(&*stream, "HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
}

/// An evaluation of a skill that names addresses.
fn evaluate(urls: &[String], least: u64, more: &[&str]) -> (Project, Said) {
    let project = Project::new();
    let spec = json!({"skill_name": "greet", "test_args": "x", "variance": {"n_runs": 1},
        "assertions": [{"id": "reach", "type": "urls_reachable", "count": least}]});
    project.write("greet.eval.json", &spec.to_string());
    let said = format!("See {}.", urls.join(", "));
    project
        .write("model.toml", &format!("[scenario]\nname = \"m\"\n[[api.turns]]\ntext = {}\n", json!(said)));
    let args = [&["greet.eval.json", "--script", "model.toml", "--only-with"], more].concat();
    let said = project.eval(&args);
    (project, said)
}

fn checked(said: &Said) -> (Value, String, String) {
    let is_it = |event: &Value| event["type"] == "trial-finished" && event["arm"] == "with_skill";
    let trial = said.events().into_iter().find(is_it).unwrap();
    let checked = &trial["assertions"][0];
    let text = |name: &str| checked[name].as_str().unwrap().to_owned();
    (trial["status"].clone(), text("status"), text("message"))
}

#[test]
fn without_the_feature_the_flag_says_how_to_get_it() {
    let (_, said) = evaluate(&["http://127.0.0.1:1/".to_owned()], 1, &["--check-urls"]);
    if cfg!(feature = "net") {
        assert_eq!(said.code, Some(3), "{}", said.stderr);
    } else {
        assert_eq!((said.code, said.stdout.as_str()), (Some(2), ""), "{}", said.stderr);
        assert!(said.stderr.contains("`cargo install clawgate --features net`"), "{}", said.stderr);
    }
}

#[test]
fn nobody_is_asked_unless_it_is_wanted_and_then_nothing_is_measured() {
    let server = Server::start();
    let (_, said) = evaluate(&[server.url("here")], 1, &[]);
    assert_eq!(said.code, Some(3), "{}", said.stderr);
    let found = checked(&said);
    assert_eq!((found.0, found.1.as_str()), (json!("not-measured"), "unchecked"));
    assert!(found.2.contains("--check-urls"), "{}", found.2);
    assert_eq!(server.asked(), [""; 0]);
}

#[test]
#[cfg(feature = "net")]
fn addresses_around_us_are_not_asked_at_the_wish_of_an_output() {
    let server = Server::start();
    let (_, said) = evaluate(&[server.url("here")], 1, &["--check-urls"]);
    assert_eq!(said.code, Some(3), "{}", said.stderr);
    assert!(checked(&said).2.contains("is not public (127.0.0.1)"), "{}", checked(&said).2);
    assert_eq!(server.asked(), [""; 0]);
}

#[test]
#[cfg(feature = "net")]
fn what_answers_is_told_from_what_does_not_and_from_what_nobody_knows() {
    let server = Server::start();
    // Nobody serves the first port.
    let nobody = "http://127.0.0.1:1/".to_owned();
    for (urls, least, status, code, expected) in [
        (vec![server.url("here")], 1, "pass", 0, "1 of 1 URLs answer"),
        (vec![server.url("moved"), server.url("get-only")], 2, "pass", 0, "2 of 2 URLs answer"),
        (vec![server.url("here"), server.url("gone")], 1, "pass", 0, "says 404"),
        (vec![server.url("gone")], 1, "fail", 100, "says 404"),
        (vec![nobody], 1, "fail", 100, "cannot be reached"),
        (vec![server.url("circle")], 1, "fail", 100, "redirects more than 5 times"),
        (vec![server.url("away")], 1, "fail", 100, "leads nowhere"),
        (vec![server.url("busy")], 1, "unchecked", 3, "says 503"),
        (vec![server.url("busy"), server.url("gone")], 2, "fail", 100, "0 of 2 URLs answer"),
        (vec![server.url("here")], 2, "fail", 100, "1 URLs"),
    ] {
        let (_, said) = evaluate(&urls, least, &["--check-urls=any"]);
        let found = checked(&said);
        assert_eq!((said.code, found.1.as_str()), (Some(code), status), "{urls:?}: {}", said.stdout);
        assert!(found.2.contains(expected), "{urls:?}: {}", found.2);
    }
    let asked = server.asked();
    assert!(asked.contains(&"HEAD /get-only".into()) && asked.contains(&"GET /get-only".into()), "{asked:?}");
}

#[test]
#[cfg(feature = "net")]
fn what_was_heard_is_kept_so_that_grading_again_asks_nobody() {
    let server = Server::start();
    let (project, said) = evaluate(&[server.url("here")], 1, &["--check-urls=any"]);
    assert_eq!(said.code, Some(0), "{}", said.stdout);
    let once = server.asked();
    assert_eq!(once, ["HEAD /here"]);
    let iteration = "clawgate-out/eval/greet/iteration-1";
    let again = project.run(&["grade", iteration, "--format", "json"]);
    assert_eq!((again.code, checked(&again)), (Some(0), checked(&said)));
    assert_eq!(server.asked(), once);
}
