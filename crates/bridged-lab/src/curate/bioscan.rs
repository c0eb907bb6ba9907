//! BIOSCAN-5M: photographs of insects and their DNA barcodes, grouped by species.
//!
//! From the metadata CSV of the publication (one line a specimen, 23 columns, of which `processid`,
//! `sampleid`, `class`, `family`, `species`, `dna_barcode` and `split` are read): specimens of the
//! class Insecta with a species, of the test split, as in the paper. One species of each family
//! before a second one of any, drawn at random, so that the groups are well apart. x = images,
//! y = barcodes.
//!
//! Gharaee et al. 2024.

use super::files::Delimited;
use super::groups::{Group, by_name};
use super::{CurateError, Curated, Draft, Record, Selection, Sides};
use bridged::Watch;
use std::collections::HashSet;
use std::path::PathBuf;

/// Where the metadata are, and which of them count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bioscan {
    /// The metadata CSV.
    pub metadata: PathBuf,
    /// The split to take; all of them where none is named.
    pub split: Option<String>,
    /// The class to take.
    pub class: String,
}

const COLUMNS: [&str; 7] =
    ["processid", "sampleid", "class", "family", "species", "dna_barcode", "split"];
const REMEDY: &str = "give the metadata CSV of BIOSCAN-5M";
/// The most groups that a run of the paper has.
const GROUPS: usize = 7;

impl Bioscan {
    /// Reads the metadata and makes the data set; `sides.y` are the barcodes.
    pub fn curate(
        &self,
        sides: &Sides<'_>,
        selection: &Selection,
        watch: &dyn Watch,
    ) -> Result<Curated, CurateError> {
        let mut draft = self.read(watch)?;
        draft.skip_missing(sides, selection)?;
        let names = draft.records.iter().map(|r| r.carried[SPECIES].as_str());
        let mut groups = by_name(names);
        for group in &mut groups {
            group.kind = draft.records[group.rows[0]].carried[FAMILY].clone();
        }
        let default = |large: &[Group]| {
            let families: HashSet<&str> = large.iter().map(|g| g.kind.as_str()).collect();
            families.len().max(GROUPS)
        };
        let entity = |row: usize| draft.records[row].id.clone();
        let remedy = "lower --rows-per-group or --groups, or take more rows with --split all";
        let groups = selection.choose(groups, default, entity, remedy)?;
        let families: HashSet<&str> = groups.iter().map(|g| g.kind.as_str()).collect();
        if families.len() < groups.len() {
            let (all, families) = (groups.len(), families.len());
            draft.notes.push(format!(
                "{all} species of {families} families: a run may draw two of one family"
            ));
        }
        draft.finish(groups, sides, watch)
    }

    fn read(&self, watch: &dyn Watch) -> Result<Draft, CurateError> {
        let columns = if self.split.is_some() { &COLUMNS[..] } else { &COLUMNS[..6] };
        let mut rows = Delimited::open(&self.metadata, b',', columns, REMEDY, watch)?;
        let keys = &["processid", "sampleid", "row number"];
        let mut draft = Draft::new(&["sequence", "species", "family"], keys, keys);
        let (mut number, mut insects) = (0usize, 0usize);
        while rows.next()? {
            number += 1;
            if !rows.cell(2)?.eq_ignore_ascii_case(&self.class) {
                continue;
            }
            if let Some(split) = &self.split
                && rows.cell(6)? != split
            {
                continue;
            }
            insects += 1;
            let species = rows.cell(4)?;
            if species.is_empty() || species == "not_classified" {
                continue;
            }
            let id = rows.cell(0)?.to_string();
            let keys = vec![id.clone(), rows.cell(1)?.to_string(), (number - 1).to_string()];
            let carried =
                vec![rows.cell(5)?.to_string(), species.to_string(), rows.cell(3)?.to_string()];
            draft.records.push(Record { id, carried, x_keys: keys.clone(), y_keys: keys });
        }
        if draft.records.is_empty() {
            let split = self.split.as_ref().map_or(String::new(), |s| format!(" in split {s}"));
            return Err(CurateError::Nothing {
                path: self.metadata.clone(),
                reason: format!(
                    "has {number} rows, {insects} of class {}{split}, none of them with a species",
                    self.class
                ),
                remedy: format!("choose another --split or --class, or {REMEDY}"),
            });
        }
        Ok(draft)
    }
}

const SPECIES: usize = 1;
const FAMILY: usize = 2;
