//! Board files. To add one: write `devices/<board>.toml`, then list it in [`ALL`].

use std::path::{Path, PathBuf};
use std::{fs, io};

use kernels::{Limits, SubGroups};
use serde::de::Error;
use serde::{Deserialize, Deserializer};

use crate::compiled::CompiledRule;
use crate::{FamilyName, Folder, Host, Label};

/// Every board file that ships: its name and its text, by name.
pub static ALL: &[(&str, &str)] = &[
    ("hikey960", include_str!("../devices/hikey960.toml")),
    ("intel-cpu", include_str!("../devices/intel-cpu.toml")),
    ("nuc-gen9", include_str!("../devices/nuc-gen9.toml")),
    ("pocl-cpu", include_str!("../devices/pocl-cpu.toml")),
    ("rk3399", include_str!("../devices/rk3399.toml")),
];

/// A board, as its file describes it.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Board {
    /// The name of the file, without folder and ending.
    #[serde(skip)]
    pub id: String,
    /// The name people use.
    pub name: Label,
    /// How well it is known: 1 measured by the test suite, 2 measured by someone, 3 never measured.
    pub tier: Tier,
    /// What computes.
    pub gpu: Label,
    /// The target that `gemmtree-board` is built for; the host's own if absent.
    pub target: Option<Label>,
    /// Names or paths of the OpenCL library, to be tried in this order instead of the usual ones.
    #[serde(default)]
    pub opencl_library: Vec<Label>,
    /// Which OpenCL device, where there are several.
    #[serde(default)]
    pub device: Device,
    /// What the device allows.
    #[serde(default)]
    pub limits: DeviceLimits,
    /// Kernel families that only lose there, so that none of their configurations is offered.
    #[serde(default)]
    pub exclude: Vec<FamilyName>,
    /// What the device's compiler must not do to a configuration that is offered.
    pub compiled: Option<CompiledRule>,
    /// How to get there.
    pub reach: ReachBy,
}

/// How well a board is known.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(try_from = "u8")]
pub struct Tier(u8);

impl Tier {
    /// The number: 1, 2 or 3.
    #[must_use]
    pub const fn number(self) -> u8 {
        self.0
    }
}

impl TryFrom<u8> for Tier {
    type Error = &'static str;

    fn try_from(number: u8) -> Result<Self, Self::Error> {
        if (1..=3).contains(&number) { Ok(Self(number)) } else { Err("tier is 1, 2 or 3") }
    }
}

/// Parts of an OpenCL device's names; what is absent matches all.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Device {
    /// Part of the platform's name.
    pub platform: Option<Label>,
    /// Part of the device's name.
    pub name: Option<Label>,
}

impl Device {
    /// The device as an argument of the board's program: part of a name, or `platform/name`;
    /// `None` if every device matches.
    #[must_use]
    pub fn text(&self) -> Option<String> {
        match (&self.platform, &self.name) {
            (None, None) => None,
            (Some(part), None) | (None, Some(part)) => Some(part.to_string()),
            (Some(platform), Some(name)) => Some(format!("{platform}/{name}")),
        }
    }

    /// Whether these are the names of such a device, whatever the case.
    #[must_use]
    pub fn matches(&self, platform: &str, name: &str) -> bool {
        let has = |whole: &str, part: &Option<Label>| {
            let whole = whole.to_lowercase();
            part.as_ref().is_none_or(|part| whole.contains(&part.to_string().to_lowercase()))
        };
        has(platform, &self.platform) && has(name, &self.name)
    }
}

/// Limits that rule configurations out before they are sent; what is absent rules nothing out, but
/// sub-groups, which few devices have.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct DeviceLimits {
    /// Bytes of local memory.
    pub local_memory: Option<u64>,
    /// Widths of sub-groups that kernels may require (`cl_intel_required_subgroup_size`); absent, none.
    #[serde(default, deserialize_with = "sub_groups")]
    pub sub_groups: SubGroups,
    /// Most work-items of a work-group.
    pub work_group: Option<u64>,
}

impl From<DeviceLimits> for Limits {
    fn from(limits: DeviceLimits) -> Self {
        let work_group = limits.work_group.unwrap_or(u64::MAX);
        let local_memory = limits.local_memory.unwrap_or(u64::MAX);
        let sub_groups = limits.sub_groups;
        Self { work_group, work_items: [work_group; 3], local_memory, sub_groups }
    }
}

fn sub_groups<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SubGroups, D::Error> {
    let widths = Vec::<u64>::deserialize(deserializer)?;
    if widths.iter().all(|width| width.is_power_of_two()) {
        Ok(widths.into_iter().collect())
    } else {
        Err(D::Error::custom("widths of sub-groups are powers of two"))
    }
}

/// How to get to a board, and the folder there that has its files.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq)]
#[serde(tag = "over", rename_all = "lowercase", deny_unknown_fields)]
pub enum ReachBy {
    /// A phone or board on a cable, by Android's debug bridge.
    Adb {
        /// Which one, where there are several.
        serial: Option<Host>,
        /// Folder on the board.
        folder: Folder,
    },
    /// This machine.
    Local {
        /// Folder; a relative one is taken from the current folder for a board that ships, and
        /// from the board file's own folder otherwise.
        folder: Folder,
    },
    /// Another machine.
    Ssh {
        /// Name or address, with `user@` or without.
        host: Host,
        /// Port, if not the usual one.
        port: Option<u16>,
        /// Folder on the board.
        folder: Folder,
    },
}

/// Why there is no such board.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BoardError {
    /// The file is not a board's.
    #[error("`{file}`, line {line}: {message}")]
    Invalid {
        /// The file.
        file: String,
        /// Line, from 1.
        line: usize,
        /// What is wrong there.
        message: String,
    },
    /// The file cannot be read.
    #[error("could not read board file `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Neither a board that ships nor a file.
    #[error("no board is called `{name}`; boards: {known}; or give the path of a board file")]
    Unknown {
        /// The name given.
        name: String,
        /// Boards that ship, separated by commas.
        known: String,
    },
}

/// The board that ships under this name, or whose file has this path.
///
/// # Errors
/// [`BoardError`] lists the known boards, or names the file and line.
pub fn find(name_or_path: &str) -> Result<Board, BoardError> {
    if let Some((name, text)) = ALL.iter().find(|(name, _)| *name == name_or_path) {
        return Board::parse(name, &format!("{name}.toml"), text);
    }
    let path = Path::new(name_or_path);
    let looks_like_a_file = path.components().count() > 1 || path.extension().is_some();
    if looks_like_a_file || path.is_file() { read(path) } else { Err(unknown(name_or_path)) }
}

fn unknown(name: &str) -> BoardError {
    let known = ALL.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    BoardError::Unknown { name: name.to_owned(), known }
}

fn read(path: &Path) -> Result<Board, BoardError> {
    let failed = |source| BoardError::Read { path: path.to_owned(), source };
    let text = fs::read_to_string(path).map_err(failed)?;
    let id = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    let mut board = Board::parse(&id, &path.display().to_string(), &text)?;
    if let (ReachBy::Local { folder }, Some(parent)) = (&mut board.reach, path.parent()) {
        *folder = folder.within(parent);
    }
    Ok(board)
}

impl Board {
    /// Read a board file's text; `file` is for messages.
    ///
    /// # Errors
    /// [`BoardError::Invalid`] names the line.
    pub fn parse(id: &str, file: &str, text: &str) -> Result<Self, BoardError> {
        let board: Self = toml::from_str(text).map_err(|error| BoardError::Invalid {
            file: file.to_owned(),
            line: error.span().map_or(1, |span| line_of(text, span.start)),
            message: error.message().replace('\n', " "),
        })?;
        Ok(Self { id: id.to_owned(), ..board })
    }

    /// The way to reach it: `adb`, `local` or `ssh`.
    #[must_use]
    pub const fn over(&self) -> &'static str {
        match self.reach {
            ReachBy::Adb { .. } => "adb",
            ReachBy::Local { .. } => "local",
            ReachBy::Ssh { .. } => "ssh",
        }
    }

    /// The folder on the board that has its files.
    #[must_use]
    pub const fn folder(&self) -> &Folder {
        match &self.reach {
            ReachBy::Adb { folder, .. }
            | ReachBy::Local { folder }
            | ReachBy::Ssh { folder, .. } => folder,
        }
    }
}

/// The line, from 1, of a position in `text`.
fn line_of(text: &str, position: usize) -> usize {
    text.bytes().take(position).filter(|byte| *byte == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = "name = \"Desk\"\ntier = 2\ngpu = \"Mali-G610\"\n\
        opencl_library = [\"libmali.so\"]\n\
        device = { platform = \"ARM\" }\n\
        reach = { over = \"ssh\", host = \"desk\", folder = \"/opt\" }\n";

    fn error(text: &str) -> (usize, String) {
        match Board::parse("desk", "desk.toml", text).unwrap_err() {
            BoardError::Invalid { line, message, .. } => (line, message),
            other => panic!("{other}"),
        }
    }

    #[test]
    fn every_shipped_board_parses() {
        assert!(ALL.is_sorted());
        for (name, _) in ALL {
            let board = find(name).unwrap();
            assert_eq!(board.id, *name);
            assert_eq!(board.over() == "local", name.ends_with("-cpu"));
        }
        let hikey = find("hikey960").unwrap();
        assert_eq!(Limits::from(hikey.limits).work_group, 384);
        assert_eq!(Limits::from(DeviceLimits::default()).local_memory, u64::MAX);
        assert_eq!(Limits::from(DeviceLimits::default()).sub_groups, SubGroups::NONE);
    }

    #[test]
    fn a_whole_file_is_read() {
        let board = Board::parse("desk", "desk.toml", WHOLE).unwrap();
        assert_eq!(board.opencl_library[0].to_string(), "libmali.so");
        assert_eq!(board.device.text().as_deref(), Some("ARM"));
        let both = WHOLE.replace("\"ARM\"", "\"ARM\", name = \"G610\"");
        let both = Board::parse("desk", "desk.toml", &both).unwrap();
        assert_eq!(both.device.text().as_deref(), Some("ARM/G610"));
        assert_eq!((board.tier.number(), board.target), (2, None));
        assert!(matches!(board.reach, ReachBy::Ssh { port: None, .. }));
    }

    #[test]
    fn sub_groups_are_powers_of_two() {
        let with = |limits: &str| format!("{WHOLE}[limits]\n{limits}\n");
        let board = Board::parse("desk", "desk.toml", &with("sub_groups = [8, 16]")).unwrap();
        assert_eq!(board.limits.sub_groups, [8, 16].into_iter().collect());
        let (_, message) = error(&with("sub_groups = [8, 12]"));
        assert!(message.contains("powers of two"), "{message}");
    }

    #[test]
    fn a_device_is_recognised_by_parts_of_its_names() {
        let hikey = find("hikey960").unwrap().device;
        assert!(hikey.matches("ARM Platform", "mali-G71 r0p0"));
        assert!(!hikey.matches("ARM Platform", "Mali-T860"));
        let pocl = find("pocl-cpu").unwrap().device;
        assert!(pocl.matches("Portable Computing Language", "pthread-znver3"));
        assert!(!pocl.matches("NVIDIA CUDA", "pthread-znver3"));
        let intel = find("intel-cpu").unwrap().device;
        assert!(intel.matches("Intel(R) OpenCL", "AMD EPYC"));
        assert!(!intel.matches("Portable Computing Language", "AMD EPYC"));
        assert!(Device::default().matches("", ""));
    }

    #[test]
    fn mistakes_are_named_with_their_line() {
        let with = |from: &str, to: &str| error(&WHOLE.replace(from, to));
        let (line, message) = with("gpu =", "gpus =");
        assert!(line == 3 && message.contains("gpus"), "{line}: {message}");
        let (line, message) = with("tier = 2", "tier = 4");
        assert!(line == 2 && message.contains("1, 2 or 3"), "{line}: {message}");
        let (_, message) = with("tier = 2\n", "");
        assert!(message.contains("missing field `tier`"), "{message}");
        let (line, message) = with("\"desk\"", "\"-oProxyCommand=x\"");
        assert!(line == 6 && message.contains("begins with `-`"), "{line}: {message}");
        let (line, message) = with("\"desk\"", "\"de\\tsk\"");
        assert!(line == 6 && message.contains("control"), "{line}: {message}");
        let (line, message) = with("host =", "hots =");
        assert!(line == 6 && message.contains("hots"), "{line}: {message}");
        let (line, message) = with("ssh", "pigeon");
        assert!(line == 6 && message.contains("pigeon"), "{line}: {message}");
        let (line, message) = with("platform", "plattform");
        assert!(line == 5 && message.contains("plattform"), "{line}: {message}");
        let (line, message) = with("gpu =", "exclude = [\"locale\"]\ngpu =");
        assert!(line == 3 && message.contains("`locale`; families: universal"), "{message}");
        let (line, message) = with("gpu =", "compiled = { for = \"gen8\", spilled = 1 }\ngpu =");
        assert!(line == 3 && message.contains("`gen8`; tables: gen9"), "{message}");
        let (line, _) = with("tier = 2", "tier = ");
        assert_eq!(line, 2);
    }

    #[test]
    fn an_unknown_board_lists_the_known_ones_and_a_missing_file_is_named() {
        let message = find("hikey").unwrap_err().to_string();
        assert!(
            message.contains("`hikey`") && message.contains("hikey960, intel-cpu, nuc-gen9"),
            "{message}"
        );
        for path in ["no/such.toml", "such.toml", "./such"] {
            assert!(matches!(find(path), Err(BoardError::Read { .. })), "{path}");
        }
    }

    #[test]
    fn a_local_folder_is_relative_to_its_board_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("desk.toml");
        let local = "{ over = \"local\", folder = \"desk\" }";
        let text = WHOLE.replace("{ over = \"ssh\", host = \"desk\", folder = \"/opt\" }", local);
        fs::write(&path, text).unwrap();
        let board = find(path.to_str().unwrap()).unwrap();
        assert_eq!(board.id, "desk");
        assert_eq!(board.folder().path(), folder.path().join("desk"));
    }
}
