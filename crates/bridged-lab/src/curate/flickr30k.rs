//! Flickr30k: photographs and five captions of each, grouped by the key words of the captions.
//!
//! From the token file of the publication, a line `1000092795.jpg#0⇥caption` each: the first 10,000
//! images, a row for every caption. Captions as TF-IDF without function words; the dense regions of
//! DBSCAN under the cosine distance are the groups, named by their three heaviest words. The image is
//! the entity of a row, so that a run never sees a tested image with another of its captions.
//!
//! The paper does not give the radius; here it is the one that yields the most groups.
//!
//! Young et al. 2014.

use super::alike::Alike;
use super::files::{bad_line, lines};
use super::groups::{Density, Regions, number_names, top_words};
use super::vectors::stem;
use super::{CurateError, Curated, Draft, Record, Selection, Sides};
use bridged::Watch;
use bridged_encode::tfidf::{ENGLISH, Tfidf};
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

/// Where the captions are, and how they are grouped.
#[derive(Clone, Debug, PartialEq)]
pub struct Flickr30k {
    /// The token file.
    pub captions: PathBuf,
    /// How many images to take, from the first.
    pub images: usize,
    /// What makes a group.
    pub density: Density,
}

const REMEDY: &str = "give the token file of Flickr30k, whose lines are `IMAGE.jpg#N`, a tab and \
                      the caption";

impl Flickr30k {
    /// How captions are grouped where nobody says otherwise.
    pub const DENSITY: Density = Density { eps: None, min_points: 10 };

    /// Reads the captions and makes the data set.
    pub fn curate(
        &self,
        sides: &Sides<'_>,
        selection: &Selection,
        watch: &dyn Watch,
    ) -> Result<Curated, CurateError> {
        let mut draft = self.read(watch)?;
        draft.skip_missing(sides, selection)?;
        let all: Vec<usize> = (0..draft.records.len()).collect();
        let texts = draft.cells(&all, TEXT);
        let vocabulary = Tfidf { stop_words: ENGLISH, ..Tfidf::default() }.fit(&texts);
        let rows = vocabulary.rows(&texts);
        let index = rows.transpose();
        let regions =
            |eps: f64| self.density.of_texts(&Alike::new(&rows, &index, eps), rows.rows(), watch);
        let Regions { eps, mut groups, dense, largest, .. } =
            self.density.search(rows.rows(), selection.rows_per_group, regions, |all| all)?;
        for group in &mut groups {
            group.name = top_words(&group.rows, &rows, &vocabulary);
        }
        number_names(&mut groups);
        let mut note = format!(
            "{dense} of {} captions lie in {} dense regions (eps {}, {} neighbours)",
            all.len(),
            groups.len(),
            eps,
            self.density.min_points
        );
        if groups.len() > 1 && 2 * largest > dense {
            note += &format!("; one of them holds {largest}: a smaller --eps divides it");
        }
        let entity = |row: usize| draft.records[row].carried[ENTITY].clone();
        let remedy = "lower --rows-per-group or --groups, or try another --eps or --min-points";
        let groups = selection.choose(groups, <[_]>::len, entity, remedy)?;
        draft.notes.push(note);
        draft.finish(groups, sides, watch)
    }

    fn read(&self, watch: &dyn Watch) -> Result<Draft, CurateError> {
        if self.images == 0 {
            let (name, need) = ("--first", "at least 1".to_string());
            return Err(CurateError::BadOption { name, need, got: "0".to_string() });
        }
        let mut draft = Draft::new(
            &["text", "entity"],
            &["file name", "name without ending", "image number"],
            &["`image#number`", "line number from 0"],
        );
        let mut images: HashMap<String, usize> = HashMap::new();
        let mut seen = HashSet::new();
        lines(&self.captions, REMEDY, watch, |line, text| {
            if text.trim().is_empty() {
                return Ok(true);
            }
            let bad = |reason: String| bad_line(&self.captions, line, reason, REMEDY);
            let (id, caption) = text
                .split_once('\t')
                .ok_or_else(|| bad("there is no tab between image and caption".to_string()))?;
            let (image, number) = id.rsplit_once('#').unwrap_or((id, ""));
            if image.is_empty() || number.parse::<u32>().is_err() {
                return Err(bad(format!("`{id}` is not the name of an image, # and a number")));
            }
            let caption = caption.trim();
            if caption.is_empty() {
                return Err(bad(format!("`{id}` has no caption")));
            }
            if !seen.insert(id.to_string()) {
                return Err(bad(format!("`{id}` was there before")));
            }
            let new = images.len();
            if new == self.images && !images.contains_key(image) {
                return Ok(false);
            }
            let nth = *images.entry(image.to_string()).or_insert(new);
            draft.records.push(Record {
                id: id.to_string(),
                carried: vec![caption.to_string(), image.to_string()],
                x_keys: vec![image.to_string(), stem(image), nth.to_string()],
                y_keys: vec![id.to_string(), (line - 1).to_string()],
            });
            Ok(true)
        })?;
        if draft.records.is_empty() {
            let (path, reason) = (self.captions.clone(), "is empty".to_string());
            return Err(CurateError::Nothing { path, reason, remedy: REMEDY.to_string() });
        }
        Ok(draft)
    }
}

const TEXT: usize = 0;
const ENTITY: usize = 1;
