//! Headless Chromium, driven through chromedriver: WebDriver is JSON over HTTP, so a socket suffices.

use base64::Engine as _;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

/// A browser with one page.
pub struct Browser {
    driver: Child,
    port: u16,
    session: String,
}

impl Browser {
    /// Starts it, or returns what is missing.
    pub fn start(width: u32, height: u32) -> Result<Self, String> {
        let mut command = Command::new("chromedriver");
        command.args(["--port=0"]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut driver =
            command.spawn().map_err(|error| format!("chromedriver cannot be started: {error}"))?;
        let mut said = BufReader::new(driver.stdout.take().unwrap()).lines();
        let port = said.find_map(|line| {
            line.unwrap_or_default().split_once("successfully on port ")?.1.trim_end_matches('.').parse().ok()
        });
        let port = port.expect("chromedriver says its port");
        let mut browser = Browser { driver, port, session: String::new() };
        let size = format!("--window-size={width},{height}");
        let options = json!({"args": ["--headless=new", "--no-sandbox", "--hide-scrollbars", size]});
        let asked = json!({"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}});
        let answer = browser.ask("POST", "/session", &json!({"capabilities": {"alwaysMatch": asked}}));
        match answer["sessionId"].as_str() {
            Some(session) => browser.session = format!("/session/{session}"),
            None => return Err(format!("chromium cannot be started: {}", answer["message"])),
        }
        Ok(browser)
    }

    /// Sends a request; returns its `value`.
    fn ask(&self, method: &str, path: &str, body: &Value) -> Value {
        let body = body.to_string();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost:{}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
            self.port,
            body.len()
        );
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.write_all((head + &body).as_bytes()).unwrap();
        let mut answer = BufReader::new(stream);
        let mut length = 0;
        loop {
            let mut line = String::new();
            answer.read_line(&mut line).unwrap();
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            if line.trim().is_empty() {
                break;
            }
        }
        let mut text = vec![0; length];
        answer.read_exact(&mut text).unwrap();
        serde_json::from_slice::<Value>(&text).unwrap()["value"].take()
    }

    /// A command of this session.
    fn tell(&self, command: &str, body: &Value) -> Value {
        let value = self.ask("POST", &format!("{}{command}", self.session), body);
        assert!(value["error"].is_null(), "{command}: {value}");
        value
    }

    /// Opens a file.
    pub fn open(&self, path: &std::path::Path) {
        self.tell("/url", &json!({"url": format!("file://{}", path.display())}));
    }

    /// Evaluates a JavaScript expression in the page.
    pub fn value(&self, expression: &str) -> Value {
        self.tell("/execute/sync", &json!({"script": format!("return {expression}"), "args": []}))
    }

    /// Presses a key.
    pub fn key(&self, key: &str) {
        let press = |kind: &str| json!({"type": kind, "value": key});
        let actions = json!([press("keyDown"), press("keyUp")]);
        self.tell("/actions", &json!({"actions": [{"type": "key", "id": "keyboard", "actions": actions}]}));
    }

    /// Moves the pointer, and clicks there if `click`.
    pub fn point(&self, x: i64, y: i64, click: bool) {
        let mut actions = vec![json!({"type": "pointerMove", "duration": 0, "x": x, "y": y})];
        if click {
            actions.extend(["pointerDown", "pointerUp"].map(|kind| json!({"type": kind, "button": 0})));
        }
        self.tell("/actions", &json!({"actions": [{"type": "pointer", "id": "mouse", "actions": actions}]}));
    }

    /// Turns the wheel; a positive `by` is down.
    pub fn wheel(&self, x: i64, y: i64, by: i64) {
        let turn = json!({"type": "scroll", "x": x, "y": y, "deltaX": 0, "deltaY": by});
        self.tell("/actions", &json!({"actions": [{"type": "wheel", "id": "wheel", "actions": [turn]}]}));
    }

    /// Sets the colour scheme: `dark` or `light`.
    pub fn prefers(&self, scheme: &str) {
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        let command = json!({"cmd": "Emulation.setEmulatedMedia", "params": {"features": features}});
        self.tell("/goog/cdp/execute", &command);
    }

    /// Returns the page's console messages above the level of information.
    pub fn messages(&self) -> Vec<Value> {
        let log = self.tell("/se/log", &json!({"type": "browser"}));
        let said = log.as_array().cloned().unwrap_or_default();
        said.into_iter().filter(|entry| entry["level"] != "INFO" && entry["level"] != "DEBUG").collect()
    }

    /// The window as a PNG.
    pub fn picture(&self) -> Vec<u8> {
        bytes(&self.ask("GET", &format!("{}/screenshot", self.session), &json!({})))
    }

    /// The page on paper, as PDF.
    pub fn printed(&self) -> Vec<u8> {
        bytes(&self.tell("/print", &json!({"orientation": "landscape", "background": true})))
    }
}

fn bytes(value: &Value) -> Vec<u8> {
    base64::engine::general_purpose::STANDARD.decode(value.as_str().unwrap()).unwrap()
}

impl Drop for Browser {
    fn drop(&mut self) {
        if !self.session.is_empty() {
            self.ask("DELETE", &self.session, &json!({}));
        }
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}
