//! Headless Chromium: how a page is laid out, and its picture.
//!
//! A window cannot be as narrow as a phone, so the page stands in a frame of the width that is
//! asked for, in which no script may run. A script of the surrounding page, which is the test's
//! own, measures it and leaves the numbers in attributes that `--dump-dom` prints.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// A browser that is installed here.
pub(crate) struct Browser(PathBuf);

/// A page at a width, in CSS pixels.
#[derive(Debug)]
pub(crate) struct Layout {
    /// What one would have to scroll through sideways.
    pub(crate) scroll_width: u32,
    pub(crate) height: u32,
    /// Where the element furthest to the right ends.
    pub(crate) right: f64,
}

/// A decoded screenshot.
pub(crate) struct Picture {
    pub(crate) width: u32,
    pixels: Vec<[u8; 3]>,
}

/// The browser, or `None` after saying that the test is skipped.
pub(crate) fn find() -> Option<Browser> {
    let folders: Vec<PathBuf> = env::split_paths(&env::var_os("PATH")?).collect();
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let mut programs =
        names.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    let found = programs.find(|program| program.is_file()).map(Browser);
    if found.is_none() {
        // Not by a macro, whose text is thrown away where a test passes.
        let why = "skipped: no chromium in PATH; `bash .ci/setup --browser` installs it";
        std::io::stderr().write_all(format!("{why}\n").as_bytes()).unwrap();
    }
    found
}

/// Measures the framed page and takes it away.
const MEASURE: &str = "<script>
const frame = document.querySelector('iframe');
frame.onload = () => {
  const root = frame.contentDocument.documentElement, data = document.body.dataset;
  const boxes = [...root.querySelectorAll('body *')].map(one => one.getBoundingClientRect());
  data.scroll = root.scrollWidth; data.right = Math.max(...boxes.map(box => box.right));
  data.bottom = Math.ceil(Math.max(...boxes.map(box => box.bottom)));
  frame.remove();
};
</script>";

impl Browser {
    pub(crate) fn layout(&self, html: &str, width: u32) -> Layout {
        // As tall as any page, so that no bar for scrolling takes a part of the width.
        let page = framed(html, width, 30_000, MEASURE);
        let output = self.run(&page, &["--dump-dom"]);
        let value = |name: &str| -> f64 {
            let start = output.find(&format!("data-{name}=\"")).expect(&output) + name.len() + 7;
            output[start..].split('"').next().unwrap().parse().unwrap()
        };
        Layout {
            scroll_width: value("scroll") as u32,
            height: value("bottom") as u32,
            right: value("right"),
        }
    }

    pub(crate) fn screenshot(&self, html: &str, width: u32, height: u32, dark: bool) -> Picture {
        let folder = tempfile::tempdir().unwrap();
        let picture = folder.path().join("picture.png");
        let size = format!("--window-size={width},{height}");
        let to = format!("--screenshot={}", picture.display());
        let scheme = format!("--blink-settings=preferredColorScheme={}", u8::from(!dark));
        self.run(&framed(html, width, height, ""), &["--hide-scrollbars", &size, &to, &scheme]);
        Picture::read(&picture)
    }

    /// What the browser prints.
    fn run(&self, page: &str, arguments: &[&str]) -> String {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("page.html");
        fs::write(&file, page).unwrap();
        let profile = format!("--user-data-dir={}", folder.path().join("profile").display());
        // The sandbox is refused to root, and the page is our own.
        let usual = ["--headless", "--no-sandbox", "--disable-gpu", "--force-color-profile=srgb"];
        let mut browser = Command::new(&self.0);
        browser.args(usual).arg(profile).args(arguments);
        let output = browser.arg(format!("file://{}", file.display())).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

fn framed(html: &str, width: u32, height: u32, script: &str) -> String {
    let html = html.replace('&', "&amp;").replace('"', "&quot;");
    format!(
        "<!DOCTYPE html><meta charset=\"utf-8\"><body style=\"margin:0\"><iframe \
         sandbox=\"allow-same-origin\" style=\"border:0;display:block;width:{width}px;height:{height}px\" \
         srcdoc=\"{html}\"></iframe>{script}"
    )
}

impl Picture {
    fn read(path: &Path) -> Self {
        let mut decoder = png::Decoder::new(std::io::BufReader::new(fs::File::open(path).unwrap()));
        decoder.set_transformations(png::Transformations::normalize_to_color8());
        let mut reader = decoder.read_info().unwrap();
        let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
        let frame = reader.next_frame(&mut bytes).unwrap();
        let samples = frame.color_type.samples();
        let pixels = bytes[..frame.buffer_size()].chunks_exact(samples);
        let pixels = pixels.map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect();
        Self { width: frame.width, pixels }
    }

    pub(crate) fn pixel(&self, x: u32, y: u32) -> [u8; 3] {
        self.pixels[(y * self.width + x) as usize]
    }

    pub(crate) fn count(&self, colour: [u8; 3]) -> usize {
        self.pixels.iter().filter(|pixel| **pixel == colour).count()
    }

    pub(crate) fn len(&self) -> usize {
        self.pixels.len()
    }
}
