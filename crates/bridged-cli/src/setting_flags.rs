//! The flags that become parameters: each is one line of one list, and its key says what it means.
//!
//! The command only collects keys. What they mean, what they may be and what is left to its default
//! is decided by [`bridged::settings`].

use crate::options::{bridges, clusterings, presets, usage};
use anyhow::Result;
use bridged::settings::{BridgedClustering, Count, Keys, Members, Preset, SettingsError};
use clap::builder::{PossibleValuesParser, ValueParser};
use clap::{Arg, ArgAction, ArgMatches, Command, FromArgMatches};
use serde_json::Value;

/// One flag.
struct Flag {
    long: &'static str,
    short: Option<char>,
    key: &'static str,
    value_name: &'static str,
    takes: Takes,
    heading: &'static str,
    help: &'static str,
}

/// What a flag takes.
enum Takes {
    /// A word or a number, as `--set` would.
    Text,
    /// A whole number.
    Whole,
    /// One of some names.
    Name(fn() -> PossibleValuesParser),
    /// Nothing: it stands for this value.
    Switch(&'static str),
}

const fn flag(long: &'static str, key: &'static str, takes: Takes, help: &'static str) -> Flag {
    Flag { long, short: None, key, value_name: "NAME", takes, heading: "Clustering", help }
}

impl Flag {
    const fn short(self, short: char) -> Self {
        Self { short: Some(short), ..self }
    }

    const fn value(self, value_name: &'static str) -> Self {
        Self { value_name, ..self }
    }

    const fn under(self, heading: &'static str) -> Self {
        Self { heading, ..self }
    }
}

/// The values of `uncovered`, `refine` and `scale`, for completions and help.
fn uncovered() -> PossibleValuesParser {
    ["mean", "nearest", "abstain"].into()
}

fn members() -> PossibleValuesParser {
    ["one", "ladder"].into()
}

fn refinements() -> PossibleValuesParser {
    ["none", "supervised", "supervised-centroid", "residual"].into()
}

/// Every flag of `fit` that becomes a parameter. A new one is a line here.
const FLAGS: &[Flag] = &[
    flag(
        "clusters",
        "clusters",
        Takes::Whole,
        "Clusters on each side of the table that is read [default: half the root of the smaller pool's rows]",
    )
    .short('k')
    .value("K"),
    flag(
        "members",
        "members",
        Takes::Name(members),
        "What predicts: one clustering of each side, or a ladder of several and regressions on the pairs \
         [default: ladder]",
    )
    .value("HOW"),
    flag("x-clusters", "x.clusters", Takes::Whole, "Clusters of x, if other than --clusters")
        .value("K"),
    flag("y-clusters", "y.clusters", Takes::Whole, "Clusters of y, if other than --clusters")
        .value("K"),
    flag(
        "cluster",
        "cluster",
        Takes::Name(clusterings),
        "The clustering of both sides; `bridged list` shows all [default: balanced]",
    )
    .value("METHOD"),
    flag(
        "x-cluster",
        "x.cluster",
        Takes::Name(clusterings),
        "The clustering of x, if other than --cluster",
    )
    .value("METHOD"),
    flag(
        "y-cluster",
        "y.cluster",
        Takes::Name(clusterings),
        "The clustering of y, if other than --cluster",
    )
    .value("METHOD"),
    flag(
        "scale",
        "scale",
        Takes::Text,
        "Scaling of both sides: none, standardize, l2 or pca:N [default: none]",
    )
    .value("SCALE"),
    flag("x-scale", "x.scale", Takes::Text, "Scaling of x, if other than --scale").value("SCALE"),
    flag("y-scale", "y.scale", Takes::Text, "Scaling of y, if other than --scale").value("SCALE"),
    flag(
        "sample",
        "sample",
        Takes::Whole,
        "Cluster so many rows of each side, drawn by chance, and assign the others [default: all]",
    )
    .value("ROWS"),
    flag(
        "restarts",
        "cluster.restarts",
        Takes::Whole,
        "Runs of a clustering from different starts, of which the best is kept",
    )
    .value("N"),
    flag("max-iter", "cluster.max_iter", Takes::Whole, "The most iterations of a run").value("N"),
    flag(
        "pairs-apart",
        "pair_rows",
        Takes::Switch("apart"),
        "Cluster without the rows of the pairs; they only vote",
    ),
    flag(
        "bridge",
        "bridge",
        Takes::Name(bridges),
        "How pairs become links: posterior, majority, margin, hungarian or soft [default: posterior]",
    )
    .value("RULE")
    .under("Bridge"),
    flag(
        "uncovered",
        "uncovered",
        Takes::Name(uncovered),
        "What is predicted for a cluster without a link: mean, nearest or abstain [default: mean]; \
         a posterior bridge always has one, see predict --min-confidence",
    )
    .value("WHAT")
    .under("Bridge"),
    flag(
        "refine",
        "refine",
        Takes::Name(refinements),
        "Regression on the pairs: none, supervised or supervised-centroid inside linked clusters, \
         or residual for what the bridge leaves unexplained [default: residual with posterior, \
         else none]",
    )
    .value("KIND")
    .under("Bridge"),
    flag(
        "alpha",
        "refine.alpha",
        Takes::Text,
        "How far predictions follow that regression: auto, or 0 to 1 [default: auto]",
    )
    .value("ALPHA")
    .under("Bridge"),
    flag(
        "no-rows",
        "keep_rows",
        Takes::Switch("no"),
        "Leave the rows out of the model: a smaller file, but predictions cannot name real rows",
    )
    .under("Model"),
];

/// What the user said of the parameters.
#[derive(Clone, Debug, Default)]
pub struct SettingFlags {
    preset: Preset,
    keys: Keys,
    given: Vec<(&'static str, &'static str)>, // key, flag
}

impl clap::Args for SettingFlags {
    fn augment_args(command: Command) -> Command {
        let of_flag = |flag: &Flag| {
            let mut arg = Arg::new(flag.long)
                .long(flag.long)
                .short(flag.short)
                .help(flag.help)
                .help_heading(flag.heading);
            arg = match flag.takes {
                Takes::Switch(_) => return arg.action(ArgAction::SetTrue),
                Takes::Text => arg.value_parser(ValueParser::string()),
                Takes::Whole => arg.value_parser(clap::value_parser!(u64)),
                Takes::Name(names) => arg.value_parser(names()).hide_possible_values(true),
            };
            arg.value_name(flag.value_name)
        };
        let preset = Arg::new("preset")
            .long("preset")
            .value_name("NAME")
            .value_parser(presets())
            .hide_possible_values(true)
            .help(
                "Where the parameters start: default, paper (balanced k-means by Lloyd's iteration, \
                 majority vote, centroids) or voting (the same on plain k-means)",
            );
        let set =
            Arg::new("set").long("set").value_name("NAME=VALUE").action(ArgAction::Append).help(
                "Any parameter by its name, as in x.cluster.tol=0 (see `bridged inspect --json`)",
            );
        command.args(FLAGS.iter().map(of_flag)).args([preset, set])
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for SettingFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut flags = Self::default();
        flags.update_from_arg_matches(matches)?;
        Ok(flags)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        for flag in FLAGS {
            let value = match flag.takes {
                Takes::Switch(value) => matches.get_flag(flag.long).then(|| Value::from(value)),
                Takes::Whole => matches.get_one::<u64>(flag.long).map(|n| Value::from(*n)),
                Takes::Text | Takes::Name(_) => {
                    matches.get_one::<String>(flag.long).map(|text| word_or_number(text))
                }
            };
            if value.is_some() {
                self.given.push((flag.key, flag.long));
            }
            self.keys.set_some(flag.key, value);
        }
        if let Some(name) = matches.get_one::<String>("preset") {
            self.preset = Preset::named(name).expect("clap accepts listed presets only");
        }
        for setting in matches.get_many::<String>("set").into_iter().flatten() {
            let bad = |e: SettingsError| {
                clap::Error::raw(clap::error::ErrorKind::ValueValidation, format!("--set {e}\n"))
            };
            self.keys.parse(setting).map_err(bad)?;
        }
        Ok(())
    }
}

fn word_or_number(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::from(text))
}

impl SettingFlags {
    /// The parameters, checked.
    pub fn settings(&self) -> Result<BridgedClustering> {
        let settings = self.preset.settings().overlay(&self.keys).map_err(|e| self.blame(&e))?;
        for (side, spec) in [("x", &settings.x), ("y", &settings.y)] {
            let counts = settings.members == Members::Ladder && spec.count == Count::Auto;
            if spec.cluster.needs_k() && !counts && !self.keys.count_clusters(side) {
                return Err(self.uncounted(side));
            }
        }
        Ok(settings)
    }

    /// The error for a side whose number of clusters is not given, though one clustering of it is asked for.
    fn uncounted(&self, side: &str) -> anyhow::Error {
        let named = |key: &str| match self.given.iter().find(|(given, _)| *given == key) {
            Some((_, flag)) => format!("--{flag}"),
            None => format!("--set {key}"),
        };
        let mut why: Vec<String> =
            self.keys.that_make_one().into_iter().map(named).filter(|f| f != "--members").collect();
        if self.preset.settings().members == Members::One {
            why.insert(0, "--preset".to_string());
        }
        let count = format!("give --clusters K, or --{side}-clusters K");
        usage(match why.as_slice() {
            [] => format!("how many clusters? {}", count.replacen('g', "G", 1)),
            why => {
                let (flags, belong, them) = match why {
                    [one] => (one.clone(), "belongs", "it"),
                    several => (several.join(", "), "belong", "them"),
                };
                format!(
                    "{flags} {belong} to a model of one clustering of each side, which needs a number of \
                     clusters: {count}, or leave {them} out"
                )
            }
        })
    }

    /// The error with the flag that caused it.
    fn blame(&self, error: &SettingsError) -> anyhow::Error {
        let flag = self.given.iter().find(|(key, _)| error.key() == Some(*key));
        match flag {
            Some((_, flag)) => usage(format!("--{flag}: {error}")),
            None => usage(format!("--set: {error}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bridged::Uncovered;
    use bridged::cluster::{ClusterSpec, Descent};

    fn parse(args: &[&str]) -> Result<BridgedClustering> {
        let command = <SettingFlags as clap::Args>::augment_args(Command::new("fit"));
        let matches = command.try_get_matches_from([&["fit"], args].concat())?;
        SettingFlags::from_arg_matches(&matches)?.settings()
    }

    #[test]
    fn flags_and_their_keys_say_the_same() {
        let flags = ["-k", "4", "--restarts", "3", "--scale", "pca:2", "--alpha", "0.5"];
        let keys = ["clusters=4", "cluster.restarts=3", "scale=pca:2", "refine.alpha=0.5"];
        let set: Vec<&str> = keys.iter().flat_map(|key| ["--set", key]).collect();
        assert_eq!(parse(&flags).unwrap(), parse(&set).unwrap());
    }

    #[test]
    fn the_papers_preset_runs_lloyds_iteration() {
        let settings = parse(&["--preset", "paper", "-k", "7", "--uncovered", "nearest"]).unwrap();
        assert_eq!(settings.uncovered, Uncovered::Nearest);
        for side in [settings.x, settings.y] {
            let ClusterSpec::BalancedKMeans(balanced) = side.cluster else { panic!("balanced") };
            assert_eq!((balanced.descent, balanced.k), (Descent::Lloyd, 7));
        }
    }

    #[test]
    fn a_mistake_is_answered_with_the_flag_that_made_it() {
        let error = |args: &[&str]| parse(args).unwrap_err().to_string();
        assert_eq!(
            error(&["-k", "3", "--restarts", "0"]),
            "--restarts: `cluster.restarts` must be a whole number from 1 to 1000000, got 0"
        );
        assert_eq!(
            error(&["-k", "3", "--set", "bridge.prior=-5"]),
            "--set: `bridge.prior` must be between 0 and 1e6, got -5"
        );
        let count = "how many clusters? Give --clusters K, or --x-clusters K";
        assert_eq!(error(&["--members", "one"]), count);
        for told in [
            ["--preset", "paper"],
            ["--bridge", "majority"],
            ["--refine", "supervised"],
            ["--alpha", "0"],
        ] {
            let why = "belongs to a model of one clustering of each side, which needs a number of \
                       clusters: give --clusters K, or --x-clusters K, or leave it out";
            assert_eq!(error(&told), format!("{} {why}", told[0]));
        }
        let two = error(&["--bridge", "majority", "--set", "refine.ridge=2"]);
        assert!(two.starts_with("--bridge, --set refine.ridge belong to a model"), "{two}");
        assert!(parse(&[]).is_ok(), "several members need no number");
    }
}
