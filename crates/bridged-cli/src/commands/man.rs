//! `bridged man`: the manual as pages for `man`.

use crate::{outputs, printer};
use anyhow::{Context, Result};
use bridged::files::Kind;
use clap_mangen::Man;
use std::io::Write;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Write a page for every command into this folder [default: print the page of `bridged`]
    #[arg(value_name = "FOLDER")]
    folder: Option<PathBuf>,
}

/// What is written, known by its title.
const PAGE: Kind = Kind {
    name: "a page of this manual",
    extension: None,
    holds: |path| {
        std::fs::read_to_string(path)
            .is_ok_and(|page| page.to_lowercase().contains("\n.th bridged"))
    },
};

pub fn run(args: &Args, command: clap::Command) -> Result<()> {
    let Some(folder) = &args.folder else {
        return Ok(std::io::stdout().write_all(render(Man::new(command))?.as_bytes())?);
    };
    std::fs::create_dir_all(folder).with_context(|| format!("`{}`", folder.display()))?;
    let mut pages = Vec::new();
    collect(command, "", &mut pages);
    for (name, _) in &pages {
        outputs::beside(&folder.join(format!("{name}.1")), PAGE, &[])?;
    }
    for (name, command) in &pages {
        let page = render(Man::new(command.clone()).title(name.to_uppercase()))?;
        let path = folder.join(format!("{name}.1"));
        bridged_io::replace(&path, |sink| Ok(sink.write_all(page.as_bytes())?))?;
    }
    let count = printer::plural(pages.len(), "page");
    Ok(writeln!(printer::out(), "wrote {count} into {}", folder.display())?)
}

/// A page whose examples are shown line by line, as they are typed.
fn render(man: Man) -> Result<String> {
    let mut page = Vec::new();
    man.render(&mut page)?;
    let page = String::from_utf8(page).context("a page is text")?;
    let page = page.replace(".SH EXTRA\n", ".SH EXAMPLES\n.nf\n");
    Ok(page.replace(".SH VERSION\n", ".fi\n.SH VERSION\n"))
}

/// The command and all below it, each named like its page: `bridged-lab-run`.
fn collect(mut command: clap::Command, above: &str, pages: &mut Vec<(String, clap::Command)>) {
    command = command.disable_help_subcommand(true);
    let own = command.get_name().to_string();
    let name = if above.is_empty() { own } else { format!("{above}-{own}") };
    if above.is_empty() {
        // Options of every verb reach the verbs.
        command.build();
    }
    let verbs: Vec<clap::Command> = command.get_subcommands().cloned().collect();
    pages.push((name.clone(), command.display_name(name.clone())));
    verbs.into_iter().for_each(|verb| collect(verb, &name, pages));
}
