//! The page of `mastermind serve` in Debian's Chromium, for its tests: the shown content, and a keyboard.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use fantoccini::{Client, ClientBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use mastermind_tests::{bin_dir, skip};
use serde_json::{Value, json};

pub const TAB: &str = "\u{e004}";
pub const ENTER: &str = "\u{e007}";
pub const DOWN: &str = "\u{e015}";

/// The elements that the tab key reaches, in its order.
const STOPS: &str = "a[href], button, input, select, textarea, summary, [tabindex='0']";

/// A program that ends with the test, and the line that it began with.
pub struct Begun(Child, String);

impl Begun {
    /// Begins a program and waits for a line with `mark`.
    fn new(command: &mut Command, mark: &str) -> Begun {
        let command = command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.process_group(0).spawn().expect("started");
        let mut lines = BufReader::new(child.stdout.take().expect("output")).lines();
        let line = lines.find_map(|line| line.ok().filter(|line| line.contains(mark)));
        // Later output is read, so that the process never waits for a reader.
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
pub struct Page {
    pub client: Client,
    pub address: String,
    _server: Begun,
    _driver: Begun,
}

impl Page {
    pub async fn open(folder: &Path) -> Page {
        Page::open_with(folder, "--blink-settings=preferredColorScheme=1").await
    }

    /// As [`Page::open`] with one more argument of the browser.
    pub async fn open_with(folder: &Path, more: &str) -> Page {
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
            more,
        ];
        let options = json!({ "args": arguments, "binary": "/usr/bin/chromium" });
        let mut capabilities = serde_json::Map::new();
        capabilities.insert("goog:chromeOptions".into(), options);
        // The test answers the dialogs of the page.
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

    pub async fn run(&self, script: &str, arguments: Vec<Value>) -> Value {
        let result = self.client.execute(script, arguments).await;
        result.unwrap_or_else(|error| panic!("{script}: {error}"))
    }

    /// Waits until a script gives `true`.
    pub async fn until(&self, script: &str) {
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
    pub async fn settled(&self) {
        self.until("return document.querySelector('[aria-busy]') === null")
            .await;
    }

    pub async fn show(&self, file: &str) {
        let script = "location.hash = encodeURIComponent(arguments[0])";
        self.run(script, vec![file.into()]).await;
        let heading = format!("return document.querySelector('main h2')?.textContent === '{file}'");
        self.until(&heading).await;
        self.settled().await;
    }

    /// The text of an element.
    pub async fn text(&self, css: &str) -> String {
        let script = "return document.querySelector(arguments[0])?.textContent ?? ''";
        let text = self.run(script, vec![css.into()]).await;
        text.as_str().unwrap_or_default().to_owned()
    }

    /// A time as the page writes it.
    pub async fn time(&self, seconds: &Value) -> String {
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

    /// Types into the focused element.
    pub async fn keys(&self, keys: &str) {
        self.settled().await;
        let focused = self.client.active_element().await.expect("focus");
        focused.send_keys(keys).await.expect("typed");
    }

    /// Goes to an element by the tabulator alone; `find` is an expression that gives it.
    pub async fn tab_to(&self, find: &str) {
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

    /// Replaces the text of a field.
    pub async fn fill(&self, find: &str, text: &str) {
        self.until(&format!("return {find} !== null")).await;
        self.tab_to(find).await;
        // Control and A, then the text.
        self.keys(&format!("\u{e009}a\u{e000}{text}")).await;
        self.settled().await;
    }

    /// Presses a button by the keyboard.
    pub async fn press(&self, text: &str) {
        self.tab_to(&button(text)).await;
        self.keys(ENTER).await;
        self.settled().await;
    }

    /// Waits until a field of the chosen element says a text.
    pub async fn says(&self, label: &str, text: &str) {
        let field = labelled(label);
        self.until(&format!(
            "return {field}?.value === '{text}' && {field}.defaultValue === '{text}'"
        ))
        .await;
        self.settled().await;
    }

    pub async fn close(self) {
        self.client.close().await.expect("closed");
    }
}

/// Runs a test in a browser, where there is one.
pub fn in_browser(test: impl Future<Output = ()>) {
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

pub fn labelled(label: &str) -> String {
    format!("document.querySelector('[aria-label=\"{label}\"]')")
}

pub fn button(text: &str) -> String {
    format!(
        "[...document.querySelectorAll('button, summary')].find((one) => one.textContent.startsWith('{text}'))"
    )
}
