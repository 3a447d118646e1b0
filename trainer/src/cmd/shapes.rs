//! `gemmtree shapes`: the multiplications of named networks and grids.

use std::fmt;

use anyhow::bail;
use clap::builder::TypedValueParser;
use selector_core::GemmShape;
use serde::Serialize;
use trainer::shape_list;

use crate::output::Output;

/// Print the shapes of named networks, grids or files as CSV
#[derive(clap::Args)]
#[command(
    after_help = "Networks: alexnet, googlenet, mobilenet_v1, mobilenet_v2, resnet50, resnet50_v2, \
        squeezenet1.1, vgg16.\nGrids: antonnet, first-paper, go2, po2.\n\n\
        Example:\n  gemmtree shapes mobilenet_v2 resnet50 --max-flop 2e8 > shapes.csv"
)]
pub(crate) struct Args {
    /// Networks, or CSV files with columns m,k,n and perhaps batch
    #[arg(required_unless_present = "grid")]
    networks: Vec<String>,
    /// A named set of sizes; may be given more than once
    #[arg(long, value_name = "NAME")]
    grid: Vec<String>,
    #[command(flatten)]
    filter: Filter,
}

/// Flags that say which shapes of a network are meant.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct Filter {
    /// Images at once, of networks; a grid says so itself
    #[arg(long, value_name = "N", default_value = "1", value_parser = images())]
    pub(crate) batch: u16,
    /// Leave out shapes with more floating-point operations, e.g. 2e8
    #[arg(long, value_name = "F", value_parser = flop)]
    pub(crate) max_flop: Option<f64>,
}

pub(crate) fn run(args: &Args, out: &mut Output) -> anyhow::Result<()> {
    let sources: Vec<String> = args.networks.iter().chain(&args.grid).cloned().collect();
    let shapes = args.filter.shapes(&sources)?;
    out.detail(format_args!("{} shapes", shapes.len()));
    out.result(&Table(shapes))
}

impl Filter {
    /// The shapes of `sources`, each once.
    pub(crate) fn shapes(&self, sources: &[String]) -> anyhow::Result<Vec<GemmShape>> {
        let mut shapes = shape_list::of(sources, self.batch)?;
        let before = shapes.len();
        shapes.retain(|shape| self.max_flop.is_none_or(|most| shape.flop() <= most));
        match (shapes.is_empty(), self.max_flop) {
            (true, Some(most)) => bail!("none of {before} shapes has at most {most} operations"),
            _ => Ok(shapes),
        }
    }
}

fn images() -> impl TypedValueParser<Value = u16> {
    clap::value_parser!(u16).range(1..)
}

fn flop(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(flop) if flop > 0.0 => Ok(flop),
        _ => Err("expected a number above 0, e.g. 2e8".to_owned()),
    }
}

#[derive(Serialize)]
struct Table(Vec<GemmShape>);

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "m,k,n,batch")?;
        self.0
            .iter()
            .try_for_each(|GemmShape { m, k, n, batch }| writeln!(f, "{m},{k},{n},{batch}"))
    }
}

#[cfg(test)]
mod tests {
    use kernels::networks;

    use super::*;

    #[test]
    fn the_help_names_every_network_and_grid() {
        let help = <Args as clap::Args>::augment_args(clap::Command::new("shapes"));
        let help = help.get_after_help().unwrap().to_string();
        let networks: Vec<_> = networks::ALL.iter().map(|network| network.name).collect();
        assert!(help.contains(&format!("Networks: {}.", networks.join(", "))), "{help}");
        let grids: Vec<_> = networks::GRIDS.iter().map(|grid| grid.name).collect();
        assert!(help.contains(&format!("Grids: {}.", grids.join(", "))), "{help}");
    }

    #[test]
    fn the_filter_keeps_what_is_small_enough() {
        let filter = Filter { batch: 1, max_flop: Some(2.0 * 64.0 * 64.0 * 128.0) };
        assert_eq!(filter.shapes(&["po2".to_owned()]).unwrap().len(), 4);
        let filter = Filter { batch: 1, max_flop: Some(1.0) };
        assert!(filter.shapes(&["po2".to_owned()]).is_err());
        for bad in ["0", "-1", "nan", "x", ""] {
            assert!(flop(bad).is_err(), "{bad}");
        }
    }
}
