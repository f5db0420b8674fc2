//! The page of `mastermind serve`, in Debian's Chromium: what the page shows is what the verbs print, and the keyboard does everything.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use cca_core::Assembly;
use fantoccini::{Client, ClientBuilder, Locator};
use hyper_util::client::legacy::connect::HttpConnector;
use mastermind_tests::{Scratch, bin_dir, root, skip};
use serde_json::{Value, json};

const TAB: &str = "\u{e004}";
const ENTER: &str = "\u{e007}";
const DOWN: &str = "\u{e015}";

/// What can be reached by the tabulator, in its order.
const STOPS: &str = "a[href], button, input, select, textarea, summary, [tabindex='0']";

/// A program that ends with the test, and the line that it began with.
struct Begun(Child, String);

impl Begun {
    /// Begins a program and waits for a line with `mark`.
    fn new(command: &mut Command, mark: &str) -> Begun {
        let command = command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.process_group(0).spawn().expect("started");
        let mut lines = BufReader::new(child.stdout.take().expect("output")).lines();
        let line = lines.find_map(|line| line.ok().filter(|line| line.contains(mark)));
        // What it prints later is read, so that it never waits for a reader.
        std::thread::spawn(move || lines.for_each(drop));
        Begun(child, line.expect("a line"))
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        // A driver's browser ends with it, also where the test has failed.
        let group = format!("-{}", self.0.id());
        let _ = Command::new("kill").args(["-9", "--", &group]).status();
        let _ = self.0.wait();
    }
}

/// The page of a folder.
struct Page {
    client: Client,
    address: String,
    _server: Begun,
    _driver: Begun,
}

impl Page {
    async fn open(folder: &Path) -> Page {
        let mut command = Command::new(bin_dir().join("mastermind"));
        let server = Begun::new(command.arg("serve").arg(folder), "http://");
        let driver = Begun::new(
            Command::new("chromedriver").arg("--port=0"),
            "started successfully on port",
        );
        let words = driver.1.trim_end_matches('.').rsplit(' ').next();
        let port: u16 = words.and_then(|word| word.parse().ok()).expect("a port");
        // No other address than this machine's is found.
        let arguments = [
            "--headless=new",
            "--no-sandbox",
            "--disable-dev-shm-usage",
            "--disable-background-networking",
            "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
            "--window-size=1400,1000",
        ];
        let options = json!({ "args": arguments, "binary": "/usr/bin/chromium" });
        let mut capabilities = serde_json::Map::new();
        capabilities.insert("goog:chromeOptions".into(), options);
        // The test answers what the page asks its user.
        capabilities.insert("unhandledPromptBehavior".into(), "ignore".into());
        let client = ClientBuilder::new(HttpConnector::new())
            .capabilities(capabilities)
            .connect(&format!("http://127.0.0.1:{port}"))
            .await
            .expect("a browser");
        client.goto(&server.1).await.expect("the page");
        let address = server.1.split("/#").next().unwrap_or_default().to_owned();
        let page = Page {
            client,
            address,
            _server: server,
            _driver: driver,
        };
        page.until("return document.querySelector('nav h2') !== null")
            .await;
        page
    }

    async fn run(&self, script: &str, arguments: Vec<Value>) -> Value {
        let result = self.client.execute(script, arguments).await;
        result.unwrap_or_else(|error| panic!("{script}: {error}"))
    }

    /// Waits until a script gives `true`.
    async fn until(&self, script: &str) {
        let begin = Instant::now();
        while self.run(script, vec![]).await != Value::Bool(true) {
            let text = "return document.body.innerText";
            assert!(
                begin.elapsed() < Duration::from_secs(120),
                "{script}\n{}",
                self.run(text, vec![]).await
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Waits until the view shows its file as it is.
    async fn settled(&self) {
        self.until("return document.querySelector('[aria-busy]') === null")
            .await;
    }

    async fn show(&self, file: &str) {
        let script = "location.hash = encodeURIComponent(arguments[0])";
        self.run(script, vec![file.into()]).await;
        let heading = format!("return document.querySelector('main h2')?.textContent === '{file}'");
        self.until(&heading).await;
        self.settled().await;
    }

    /// The text of an element.
    async fn text(&self, css: &str) -> String {
        let script = "return document.querySelector(arguments[0])?.textContent ?? ''";
        let text = self.run(script, vec![css.into()]).await;
        text.as_str().unwrap_or_default().to_owned()
    }

    /// A time as the page writes it.
    async fn time(&self, seconds: &Value) -> String {
        let script = "const [seconds, done] = arguments; import('/dom.js').then((dom) => done(dom.time(seconds)))";
        let text = self
            .client
            .execute_async(script, vec![seconds.clone()])
            .await;
        text.expect("a time")
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }

    /// Types into what has the focus.
    async fn keys(&self, keys: &str) {
        self.settled().await;
        let focused = self.client.active_element().await.expect("focus");
        focused.send_keys(keys).await.expect("typed");
    }

    /// Goes to an element by the tabulator alone; `find` is an expression that gives it.
    async fn tab_to(&self, find: &str) {
        let script = format!(
            "const target = {find};
             if (!target) return null;
             const stops = [...document.querySelectorAll(\"{STOPS}\")].filter((one) => !one.disabled && one.checkVisibility());
             return [stops.indexOf(target), stops.indexOf(document.activeElement), document.activeElement === target];"
        );
        for _ in 0..20 {
            let found = self.run(&script, vec![]).await;
            let Some([target, now, there]) = found.as_array().map(Vec::as_slice) else {
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            };
            if there == &Value::Bool(true) {
                return;
            }
            let (target, now) = (target.as_i64().unwrap_or(-1), now.as_i64().unwrap_or(-1));
            assert!(target >= 0, "{find}: not reached by the tabulator");
            let step = usize::try_from((target - now).abs()).unwrap_or(1).max(1);
            let shift = if target < now { "\u{e008}" } else { "" };
            self.keys(&format!("{shift}{}", TAB.repeat(step))).await;
        }
        panic!("{find}: not reached by the tabulator");
    }

    async fn close(self) {
        self.client.close().await.expect("closed");
    }
}

/// Runs a test in a browser, where there is one.
fn in_browser(test: impl Future<Output = ()>) {
    for program in ["chromium", "chromedriver"] {
        if !Path::new("/usr/bin").join(program).is_file() {
            return skip(program, format!("no /usr/bin/{program}"));
        }
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.expect("a runtime").block_on(test);
}

fn labelled(label: &str) -> String {
    format!("document.querySelector('[aria-label=\"{label}\"]')")
}

fn button(text: &str) -> String {
    format!(
        "[...document.querySelectorAll('button, summary')].find((one) => one.textContent.startsWith('{text}'))"
    )
}

/// The name that the page gives to an instance of a class.
fn name_of(class: &str) -> String {
    let last = class.rsplit('.').next().unwrap_or(class);
    last[..1].to_lowercase() + &last[1..]
}

#[test]
fn the_shock_problem_is_assembled_by_keyboard_and_run() {
    let scratch = Scratch::new();
    let example = root().join("examples/shock/shock.toml");
    let wanted = Assembly::read(&example).expect("the example");
    in_browser(async {
        let page = Page::open(&scratch.path("")).await;
        page.tab_to(&button("New file")).await;
        page.keys(ENTER).await;
        page.client
            .send_alert_text("made")
            .await
            .expect("a question");
        page.client.accept_alert().await.expect("an answer");
        page.until("return document.querySelector('main h2')?.textContent === 'made.toml'")
            .await;
        page.settled().await;
        for class in wanted.instances.values() {
            page.tab_to(&labelled("Search classes")).await;
            page.keys(class).await;
            page.tab_to(&button(&format!("Add {class}"))).await;
            page.keys(ENTER).await;
            page.until(&format!(
                "return document.querySelector('[data-instance={}]') !== null",
                name_of(class)
            ))
            .await;
            page.settled().await;
            page.tab_to(&button("Close")).await;
            page.keys(ENTER).await;
            page.until(&format!("return {} !== null", labelled("Search classes")))
                .await;
            if page
                .run("return document.querySelector('.palette').open", vec![])
                .await
                == Value::Bool(false)
            {
                page.tab_to(&button("Classes")).await;
                page.keys(ENTER).await;
            }
        }
        let made = |end: &cca_core::Endpoint| {
            format!("{}.{}", name_of(&wanted.instances[&end.instance]), end.port)
        };
        let mut chosen = String::new();
        for (uses, provides) in &wanted.connections {
            let user = name_of(&wanted.instances[&uses.instance]);
            if chosen != user {
                page.tab_to(&format!("document.querySelector('[data-instance={user}]')"))
                    .await;
                page.keys(ENTER).await;
                chosen = user;
            }
            let select = labelled(&format!("uses port {}", uses.port));
            page.until(&format!("return {select} !== null")).await;
            for _ in 0..10 {
                if page.run(&format!("return {select}.value"), vec![]).await
                    == made(provides).as_str()
                {
                    break;
                }
                page.tab_to(&select).await;
                page.keys(DOWN).await;
                page.settled().await;
            }
        }
        for (instance, parameters) in &wanted.parameters {
            let instance = name_of(&wanted.instances[instance]);
            page.tab_to(&format!(
                "document.querySelector('[data-instance={instance}]')"
            ))
            .await;
            page.keys(ENTER).await;
            for (key, value) in parameters {
                let field = labelled(&format!("parameter {key}"));
                page.until(&format!("return {field} !== null")).await;
                page.tab_to(&field).await;
                let text = value
                    .as_str()
                    .map_or_else(|| value.to_string(), str::to_owned);
                let is_choice =
                    page.run(&format!("return {field}.tagName"), vec![]).await == "SELECT";
                // A choice is made by its first letters.
                page.keys(&if is_choice {
                    text[..1].to_owned()
                } else {
                    format!("{text}{TAB}")
                })
                .await;
                page.until(&format!("return {field}?.value === '{text}'"))
                    .await;
                page.settled().await;
            }
        }
        page.tab_to("document.querySelector('[data-instance=shockDriver]')")
            .await;
        page.keys(ENTER).await;
        let start = button("Start the assembly here");
        page.until(&format!("return Boolean({start})")).await;
        page.tab_to(&start).await;
        page.keys(ENTER).await;
        page.settled().await;
        page.until("return document.getElementById('problems') === null")
            .await;
        page.tab_to(&button("Close")).await;
        page.keys(ENTER).await;
        page.until(&format!("return {} !== null", labelled("Settings")))
            .await;
        page.tab_to(&labelled("Settings")).await;
        // The form is sent from a field by the return key: saves, and runs.
        page.keys(&format!("shockDriver.end_time=0.05{ENTER}"))
            .await;
        page.until(
            "return document.querySelector('#jobs summary')?.textContent.endsWith('done') ?? false",
        )
        .await;
        page.close().await;
        let text = scratch.read("made.toml");
        let built = Assembly::read(&scratch.path("made.toml"))
            .unwrap_or_else(|error| panic!("{error}: {text}"));
        let connections: Vec<_> = wanted
            .connections
            .iter()
            .map(|(uses, provides)| (made(uses), made(provides)))
            .collect();
        let mut found: Vec<_> = built
            .connections
            .iter()
            .map(|(uses, provides)| (uses.to_string(), provides.to_string()))
            .collect();
        found.sort();
        let mut connections = connections;
        connections.sort();
        assert_eq!(found, connections);
        let profile = scratch.mastermind(&["profile", "made-records"]).well();
        assert!(profile.contains("godunovFlux.compute"), "{profile}");
    });
}

#[test]
fn the_choice_is_that_of_the_terminal_and_is_saved() {
    let scratch = Scratch::new();
    let assembly = scratch.example("shock/shock.toml", &[], &[]);
    let name = assembly
        .file_name()
        .expect("a name")
        .to_string_lossy()
        .into_owned();
    let plan = [
        "plan",
        &name,
        "--run",
        "--records",
        "planned",
        "--repeat",
        "1",
        "--set",
        "driver.end_time=0.02",
    ];
    scratch.mastermind(&plan).well();
    let runs: Vec<String> = (1..=6).map(|run| format!("planned/run{run}-1")).collect();
    let mut fit: Vec<&str> = vec!["fit"];
    fit.extend(runs.iter().map(String::as_str));
    fit.extend(["-o", "models.json"]);
    scratch.mastermind(&fit).well();
    let choose = [
        "choose",
        &name,
        "--models",
        "models.json",
        "--records",
        "planned/run1-1",
        "--json",
    ];
    let chosen: Value =
        serde_json::from_str(&scratch.mastermind(&choose).well()).expect("a choice");
    let before = scratch.read(&name);
    in_browser(async {
        let page = Page::open(&scratch.path("")).await;
        page.show(&name).await;
        for (label, value) in [("Records", "planned/run1-1"), ("Models", "models.json")] {
            let list = page
                .client
                .find(Locator::Css(&format!("[aria-label={label}]")))
                .await
                .expect("a list");
            list.select_by_value(value).await.expect("selected");
            page.settled().await;
        }
        assert_eq!(
            page.text("#best").await,
            page.time(&chosen["predicted_s"]).await
        );
        assert_eq!(
            page.text("#current").await,
            page.time(&chosen["current_s"]).await
        );
        let ranked = chosen["assemblies"]
            .as_str()
            .expect("a number of assemblies");
        let rows = "return String(document.querySelectorAll('[aria-label=\"Assemblies by predicted time\"] tbody tr').length)";
        assert_eq!(page.run(rows, vec![]).await, ranked);
        let text = page.run("return document.body.innerText", vec![]).await;
        assert!(
            !text.as_str().unwrap_or_default().contains("[object"),
            "{text}"
        );
        if let Ok(take) = page.client.find(Locator::Id("take-best")).await {
            take.click().await.expect("taken");
            page.until("return document.getElementById('take-best') === null && document.querySelector('[aria-busy]') === null").await;
            page.tab_to(&button("Save")).await;
            page.keys(ENTER).await;
            page.until("return document.getElementById('state').textContent === 'Saved.'")
                .await;
        }
        // The page has asked nobody but its server.
        let others = "return performance.getEntriesByType('resource').map((one) => one.name).filter((name) => !name.startsWith(location.origin) && !name.startsWith('blob:'))";
        assert_eq!(page.run(others, vec![]).await, json!([]));
        let elsewhere = "const done = arguments[0]; fetch('http://127.0.0.1:9/').then(() => done('answered'), (error) => done(error.message))";
        let elsewhere = page
            .client
            .execute_async(elsewhere, vec![])
            .await
            .expect("an error");
        assert_ne!(elsewhere, "answered");
        assert!(page.address.starts_with("http://127.0.0.1:"));
        page.close().await;
        let saved = Assembly::read(&assembly).expect("an assembly");
        let best: Vec<_> = saved
            .instances
            .iter()
            .map(|(instance, class)| (instance.as_str(), Value::from(class.as_str())))
            .collect();
        for (instance, class) in best {
            assert_eq!(chosen["best"][instance], class, "{instance}");
        }
        let after = scratch.read(&name);
        let changed = before
            .lines()
            .zip(after.lines())
            .filter(|(old, new)| old != new);
        assert!(
            changed
                .map(|(old, _)| old)
                .all(|old| old.starts_with("flux =") || old.starts_with("states =")),
            "{after}"
        );
        assert_eq!(before.lines().count(), after.lines().count());
    });
}

#[test]
fn a_diagram_is_edited_and_simulated() {
    let scratch = Scratch::new();
    for file in ["sample.puml", "machine.toml"] {
        let text = std::fs::read(root().join("examples/sample").join(file)).expect("the example");
        scratch.write(file, text);
    }
    let simulate = [
        "simulate",
        "sample.puml",
        "--machine",
        "machine.toml",
        "--ranks",
        "8",
        "--json",
    ];
    let simulated = |scratch: &Scratch| -> f64 {
        let document: Value =
            serde_json::from_str(&scratch.mastermind(&simulate).well()).expect("a document");
        document["makespan_ns"].as_f64().expect("a time") / 1e9
    };
    in_browser(async {
        let page = Page::open(&scratch.path("")).await;
        page.show("sample.puml").await;
        page.until("return document.querySelector('img.picture')?.complete ?? false")
            .await;
        let ranks = page
            .client
            .find(Locator::Css("main input[type=number]"))
            .await
            .expect("ranks");
        ranks.send_keys(&format!("8{ENTER}")).await.expect("typed");
        page.until("return document.getElementById('simulated') !== null")
            .await;
        assert_eq!(
            page.text("#simulated").await,
            page.time(&simulated(&scratch).into()).await
        );
        // A text that is no diagram is found wrong, and one that is changed is simulated before it is saved.
        let area = page
            .client
            .find(Locator::Css("textarea"))
            .await
            .expect("the text");
        let text = scratch.read("sample.puml");
        let replace = "const [area, text] = arguments; area.value = text; area.dispatchEvent(new Event('input'))";
        let argument = serde_json::to_value(&area).expect("an element");
        page.run(
            replace,
            vec![argument.clone(), text.replace("endif", "").into()],
        )
        .await;
        page.until("return document.getElementById('problems') !== null || document.querySelector('ul.problems') !== null").await;
        let slower = text.replace("{id = 4, type = SAMPLE, time = ms(1)}", "{cost = ms(5)}");
        assert_ne!(slower, text);
        page.run(replace, vec![argument, slower.clone().into()])
            .await;
        page.until("return document.querySelector('ul.problems') === null")
            .await;
        page.run("document.getElementById('simulated').remove()", vec![])
            .await;
        page.tab_to(&button("Simulate")).await;
        page.keys(ENTER).await;
        page.until("return document.getElementById('simulated') !== null")
            .await;
        let shown = page.text("#simulated").await;
        assert_eq!(scratch.read("sample.puml"), text);
        page.tab_to(&button("Save")).await;
        page.keys(ENTER).await;
        page.until("return document.getElementById('state').textContent === 'Saved.'")
            .await;
        assert_eq!(scratch.read("sample.puml"), slower);
        assert_eq!(shown, page.time(&simulated(&scratch).into()).await);
        page.close().await;
    });
}

#[test]
fn what_cannot_be_served_is_said() {
    let scratch = Scratch::new();
    let error = scratch.mastermind(&["serve", "nowhere"]).error();
    assert!(error.contains("nowhere"), "{error}");
    let taken = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let port = taken.local_addr().expect("an address").port().to_string();
    let error = scratch.mastermind(&["serve", "--port", &port]).error();
    assert!(error.contains(&format!("port {port}")), "{error}");
    assert_eq!(error.lines().count(), 1, "{error}");
}
