//! A web server's access log in the combined format. Visitors and pages are as skewed as in life; about 3% of
//! the requests get a 404, most of them for a few hundred paths of scanners and old links.

use std::io::Write;

use super::{Recipe, Rng};

pub const RECIPE: Recipe = Recipe { name: "access", about: "web access log, combined format", append };

const SECTIONS: [&str; 8] =
    ["/", "/blog/", "/docs/", "/shop/item/", "/img/", "/static/js/", "/api/v1/user/", "/search?q="];
const SCANNED: [&str; 10] = [
    "/wp-login.php",
    "/.env",
    "/favicon.ico",
    "/xmlrpc.php",
    "/.git/config",
    "/robots.txt",
    "/admin.php",
    "/phpmyadmin/index.php",
    "/apple-touch-icon.png",
    "/vendor/phpunit/eval-stdin.php",
];
const AGENTS: [&str; 5] = [
    "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 Version/17.5 Mobile Safari/604.1",
    "Mozilla/5.0 (compatible; Examplebot/2.1; +http://www.example.com/bot.html)",
    "curl/8.8.0",
];
const REFERRERS: [&str; 4] = ["-", "-", "https://www.example.com/", "https://search.example.org/"];

fn append(rng: &mut Rng, _: u64, out: &mut Vec<u8>) {
    let visitor = rng.skewed(60_000);
    let (a, b, c) = (visitor % 223 + 1, visitor * 7 % 251, visitor * 13 % 253);
    let second = rng.below(86_400);
    let (status, path) = answer(rng);
    let method = if rng.below(20) == 0 { "POST" } else { "GET" };
    let bytes = if status == 304 { 0 } else { 200 + rng.skewed(60_000) };
    let (referer, agent) = (rng.pick(&REFERRERS), rng.pick(&AGENTS));
    // Writing to memory cannot fail.
    let _ = writeln!(
        out,
        "{a}.{b}.{c}.{} - - [{:02}/Mar/2025:{:02}:{:02}:{:02} +0000] \"{method} {path} HTTP/1.1\" {status} {bytes} \
         \"{referer}\" \"{agent}\"",
        visitor % 254 + 1,
        rng.below(28) + 1,
        second / 3600,
        second / 60 % 60,
        second % 60,
    );
}

/// Returns the status and the path of a request.
fn answer(rng: &mut Rng) -> (u16, String) {
    let page = |rng: &mut Rng| format!("{}{}", rng.pick(&SECTIONS), rng.skewed(4_000));
    match rng.below(1000) {
        0..15 => (404, SCANNED[rng.skewed(SCANNED.len() as u64) as usize].into()),
        15..30 => (404, format!("/old/{}.html", rng.skewed(400))),
        30..120 => (304, page(rng)),
        120..150 => (301, page(rng)),
        150..158 => (500, page(rng)),
        _ => (200, page(rng)),
    }
}
