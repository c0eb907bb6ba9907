//! The options that choose an encoder and set it up, as the list of encoders has them.

use super::refuse;
use crate::options::{share, usage};
use anyhow::Result;
use bridged_encode::{ALL, Construct, EncoderOption, Entry, OptionValue, Reads, Settings};
use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use serde_json::{Value, json};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

/// One kind of item: what a verb of `bridged encode` reads.
pub trait Kind {
    /// What its encoders take.
    type Item: ?Sized + 'static;

    /// How an encoder is made, if it reads such items.
    fn construct(reads: &Reads) -> Option<&Construct<Self::Item>>;
}

#[derive(Debug)]
pub struct Images;

impl Kind for Images {
    type Item = [u8];

    fn construct(reads: &Reads) -> Option<&Construct<[u8]>> {
        if let Reads::Images(construct) = reads { Some(construct) } else { None }
    }
}

#[derive(Debug)]
pub struct Text;

impl Kind for Text {
    type Item = str;

    fn construct(reads: &Reads) -> Option<&Construct<str>> {
        if let Reads::Text(construct) = reads { Some(construct) } else { None }
    }
}

#[derive(Debug)]
pub struct Dna;

impl Kind for Dna {
    type Item = str;

    fn construct(reads: &Reads) -> Option<&Construct<str>> {
        if let Reads::Dna(construct) = reads { Some(construct) } else { None }
    }
}

/// The encoders of one kind of item, each with how it is made.
fn encoders<K: Kind>() -> impl Iterator<Item = (&'static Entry, &'static Construct<K::Item>)> {
    ALL.iter().copied().filter_map(|entry| Some((entry, K::construct(&entry.reads)?)))
}

/// The options of the encoders of one kind, each once.
fn options<K: Kind>() -> Vec<&'static EncoderOption> {
    let mut options: Vec<&EncoderOption> = Vec::new();
    for option in encoders::<K>().flat_map(|(entry, _)| entry.options) {
        if options.iter().all(|other| other.name != option.name) {
            options.push(option);
        }
    }
    options
}

/// The encoder that was chosen, its weights and its options.
#[derive(Debug)]
pub struct Choice<K> {
    pub entry: &'static Entry,
    pub weights: Option<PathBuf>,
    /// The options that were given.
    given: Vec<(&'static EncoderOption, Value)>,
    kind: PhantomData<K>,
}

impl<K: Kind> Choice<K> {
    /// How the encoder is made.
    pub fn construct(&self) -> &'static Construct<K::Item> {
        K::construct(&self.entry.reads).expect("clap accepts encoders of this kind only")
    }

    /// Whether the encoder learns a vocabulary, which is kept beside the output.
    pub fn learns(&self) -> bool {
        matches!(self.construct(), Construct::Vocabulary { .. }) && self.weights.is_none()
    }

    /// The options, after a look at whether the encoder has them.
    pub fn settings(&self) -> Result<Settings> {
        let has = |name: &str| self.entry.options.iter().any(|option| option.name == name);
        self.refuse_given(self.entry.name, |name| !has(name))?;
        let settings = self.given.iter().map(|(option, value)| (option.key(), value.clone()));
        Ok(Settings(settings.collect()))
    }

    /// Refuses the options of which that holds.
    pub fn refuse_given(&self, what: &str, fits: impl Fn(&str) -> bool) -> Result<()> {
        match self.given.iter().find(|(option, _)| fits(option.name)) {
            Some((option, _)) => Err(refuse(what, option.name)),
            None => Ok(()),
        }
    }

    /// The weights that were given, or where people get them.
    pub fn needed_weights(&self, source: &str) -> Result<&Path> {
        self.weights.as_deref().ok_or_else(|| {
            usage(format!(
                "`{}` needs its weights: give --weights with a file or folder; {source}",
                self.entry.name
            ))
        })
    }

    /// All that matters for the vectors, also what was not given.
    pub fn asked(&self) -> Value {
        let mut asked = json!({"weights": self.weights});
        for option in options::<K>() {
            let absent = if option.value == OptionValue::Flag { json!(false) } else { Value::Null };
            let given = self.given.iter().find(|(given, _)| given.name == option.name);
            asked[option.key()] = given.map_or(absent, |(_, value)| value.clone());
        }
        asked
    }
}

/// Names as people list them: `a, b or c`.
fn alternatives(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [only] => (*only).to_string(),
        [before @ .., last] => format!("{} or {last}", before.join(", ")),
    }
}

impl<K: Kind> clap::Args for Choice<K> {
    fn augment_args(command: Command) -> Command {
        let names: Vec<&str> = encoders::<K>().map(|(entry, _)| entry.name).collect();
        let values =
            encoders::<K>().map(|(entry, _)| PossibleValue::new(entry.name).help(entry.about));
        let encoder = Arg::new("encoder")
            .long("encoder")
            .short('e')
            .value_name("ENCODER")
            .required(true)
            .value_parser(PossibleValuesParser::new(values))
            .hide_possible_values(true)
            .help(format!("{}; `bridged encode list` shows what each is", alternatives(&names)));
        let weights = Arg::new("weights")
            .long("weights")
            .short('w')
            .value_name("PATH")
            .value_parser(value_parser!(PathBuf))
            .help(weights_help::<K>());
        options::<K>()
            .into_iter()
            .map(argument::<K>)
            .fold(command.arg(encoder).arg(weights), Command::arg)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

/// What --weights means to the encoders that need any.
fn weights_help<K: Kind>() -> String {
    let (mut trained, mut learned) = (Vec::new(), Vec::new());
    for (entry, construct) in encoders::<K>() {
        match construct {
            Construct::Plain(_) => {}
            Construct::Pretrained { .. } => trained.push(entry.name),
            Construct::Vocabulary { .. } => learned.push(entry.name),
        }
    }
    let mut parts = Vec::new();
    if !trained.is_empty() {
        let all = trained.len() == encoders::<K>().count();
        let of = if all { String::new() } else { format!(" of {}", alternatives(&trained)) };
        parts.push(format!(
            "The weights{of}: a safetensors or PyTorch file, a folder, or a Hugging Face cache"
        ));
    }
    if !learned.is_empty() {
        parts.push(format!(
            "for {} the vocabulary of an earlier run, so that new items get the same columns",
            alternatives(&learned)
        ));
    }
    parts.join("; ")
}

/// An option of some encoders on the command line.
fn argument<K: Kind>(option: &'static EncoderOption) -> Arg {
    let has = |entry: &Entry| entry.options.iter().any(|other| other.name == option.name);
    let names: Vec<&str> =
        encoders::<K>().map(|(e, _)| e).filter(|e| has(e)).map(|e| e.name).collect();
    let mut help = option.about.to_string();
    if names.len() < encoders::<K>().count() {
        help += &format!(" ({})", alternatives(&names));
    }
    if !option.default.is_empty() {
        help += &format!(" [default: {}]", option.default);
    }
    let argument = Arg::new(option.name).long(option.name).help(help);
    match option.value {
        OptionValue::Flag => argument.action(ArgAction::SetTrue),
        OptionValue::Switch => argument.value_name("true|false").value_parser(value_parser!(bool)),
        OptionValue::Count(least) => argument.value_name("N").value_parser(move |text: &str| {
            let number = text.parse::<usize>().ok().filter(|n| *n >= least);
            number.ok_or_else(|| format!("give a whole number of at least {least}"))
        }),
        OptionValue::Share => argument.value_name("SHARE").value_parser(share),
        OptionValue::Choice(names) => {
            argument.value_name("NAME").value_parser(PossibleValuesParser::new(names))
        }
    }
}

/// What was given for an option.
fn value(matches: &ArgMatches, option: &EncoderOption) -> Option<Value> {
    let name = option.name;
    match option.value {
        OptionValue::Flag => matches.get_flag(name).then_some(json!(true)),
        OptionValue::Switch => matches.get_one::<bool>(name).map(|v| json!(v)),
        OptionValue::Count(_) => matches.get_one::<usize>(name).map(|v| json!(v)),
        OptionValue::Share => matches.get_one::<f64>(name).map(|v| json!(v)),
        OptionValue::Choice(_) => matches.get_one::<String>(name).map(|v| json!(v)),
    }
}

impl<K: Kind> clap::FromArgMatches for Choice<K> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let name = matches.get_one::<String>("encoder").expect("clap requires it");
        let given =
            options::<K>().into_iter().filter_map(|option| Some((option, value(matches, option)?)));
        Ok(Self {
            entry: bridged_encode::named(name).expect("clap accepts listed encoders only"),
            weights: matches.get_one::<PathBuf>("weights").cloned(),
            given: given.collect(),
            kind: PhantomData,
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
