//! The flag that says which shapes are held out.

use std::path::Path;

use clap::builder::{OsStringValueParser, TypedValueParser};
use trainer::dataset::Dataset;
use trainer::split::{self, Protocol, Split, SplitError};

use crate::failure::Hint as _;
use crate::output::Output;

/// What to score on.
#[derive(clap::Args)]
pub(super) struct SplitArgs {
    /// What to score on: `seeded` (five splits that hold out a fifth of the shapes), `seeded:N` (N
    /// further ones), `networks` (one network's shapes in turn), or a CSV file with columns
    /// m,k,n,batch and one a split, `train` or `test`
    #[arg(
        long = "splits", value_name = "PROTOCOL|FILE", default_value_t,
        value_parser = OsStringValueParser::new().try_map(|text| Protocol::parse(&text))
    )]
    pub(super) protocol: Protocol,
}

impl SplitArgs {
    /// The splits of the data set; tells what is odd about them.
    pub(super) fn draw(
        &self,
        dataset: &Dataset,
        seed: u64,
        out: &Output,
    ) -> anyhow::Result<Vec<Split>> {
        let shadowed = self.protocol.to_string();
        if !matches!(self.protocol, Protocol::File(_)) && Path::new(&shadowed).exists() {
            out.note(format_args!(
                "note: `--splits {shadowed}` is the protocol; `--splits ./{shadowed}` is the file"
            ));
        }
        let drawn = self.protocol.splits(&dataset.shapes(), seed);
        let drawn = match &self.protocol {
            Protocol::File(path) if !path.exists() => drawn.hint(
                "`seeded`, `seeded:N` and `networks` are protocols; anything else is a file",
            )?,
            Protocol::Networks => {
                drawn.hint("`--splits seeded` holds out shapes of any data set")?
            }
            _ => drawn?,
        };
        drawn.warnings.iter().for_each(|warning| out.warn(warning));
        Ok(drawn.splits)
    }

    /// The splits of one of several data sets, which is called `name`: a file that does not name
    /// all of its shapes is meant for another, and it is split by seed.
    pub(super) fn draw_among(
        &self,
        dataset: &Dataset,
        name: &str,
        seed: u64,
        out: &Output,
    ) -> anyhow::Result<Vec<Split>> {
        let shapes = dataset.shapes();
        let Protocol::File(path) = &self.protocol else { return self.draw(dataset, seed, out) };
        let names_all = match split::read(path, &shapes) {
            Ok(splits) => splits.iter().all(|one| one.train.len() + one.test.len() == shapes.len()),
            Err(SplitError::OneSided { .. }) => false,
            // Told as for a single data set.
            Err(_) => true,
        };
        if names_all {
            return self.draw(dataset, seed, out);
        }
        let (file, seeded) = (path.display(), Protocol::default());
        out.note(format_args!("`{file}` is not for the shapes of `{name}`: `{seeded}` splits"));
        Self { protocol: seeded }.draw(dataset, seed, out)
    }
}
