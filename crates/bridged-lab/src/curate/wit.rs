//! WIT: images of Wikipedia and their captions, grouped by the titles of their pages.
//!
//! From a TSV of the publication (17 columns, gzip or plain; `language`, `page_url`, `image_url`,
//! `page_title` and a caption are read): of the first 100,000 rows those in English with a title and
//! a caption. Titles as vectors of an encoder, or as TF-IDF; the dense regions of DBSCAN under the
//! cosine distance whose titles *all* share a word (function words do not count) are the groups, named
//! by it. The image is the entity of a row: one may stand on several pages.
//!
//! The paper does not give the radius; here it is the one that yields the most groups.
//!
//! Srinivasan et al. 2021.

use super::alike::Alike;
use super::files::Delimited;
use super::groups::{Density, Group, Regions, by_label, number_names};
use super::vectors::{Keys, Vectors, last_part};
use super::{CurateError, Curated, Draft, Record, Selection, Sides};
use bridged::cluster::{Clusterer, Dbscan, Eps, Metric};
use bridged::{Seed, Watch};
use bridged_encode::tfidf::{ENGLISH, Tfidf, words};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Where the rows are, and how they are grouped.
#[derive(Clone, Debug, PartialEq)]
pub struct Wit {
    /// The TSV.
    pub rows: PathBuf,
    /// How many rows to look at, from the first.
    pub first: usize,
    /// The language to take.
    pub language: String,
    /// The column of the caption, one of [`CAPTIONS`].
    pub caption: &'static str,
    /// What makes a group.
    pub density: Density,
}

/// The captions that WIT has: below the picture, of the picture's own page, and for screen readers.
pub const CAPTIONS: [&str; 3] = [
    "caption_reference_description",
    "caption_attribution_description",
    "caption_alt_text_description",
];

const REMEDY: &str = "give a TSV of WIT (v1), plain or gzip";
const TITLE_KEYS: &[&str] = &["title", "page URL", "row number"];

impl Wit {
    /// How titles are grouped where nobody says otherwise.
    pub const DENSITY: Density = Density { eps: None, min_points: 5 };

    /// Reads the rows and makes the data set; `titles` are vectors of the titles.
    pub fn curate(
        &self,
        titles: Option<&Vectors>,
        sides: &Sides<'_>,
        selection: &Selection,
        watch: &dyn Watch,
    ) -> Result<Curated, CurateError> {
        let mut draft = self.read(watch)?;
        if let Some(titles) = titles.filter(|_| selection.skip_missing) {
            let keys = title_keys(&draft);
            let rows: Vec<&[String]> = keys.iter().map(Vec::as_slice).collect();
            let keys = Keys { names: TITLE_KEYS, rows: &rows };
            let (found, _) = titles.find(keys);
            let out = found.iter().filter(|f| f.is_none()).count();
            if out == found.len() {
                return Err(titles.missing(keys, &found));
            }
            if out > 0 {
                draft
                    .notes
                    .push(format!("{out} rows have no vector of their title and were left out"));
            }
            let mut found = found.into_iter();
            draft.records.retain(|_| found.next().flatten().is_some());
        }
        draft.skip_missing(sides, selection)?;
        let shared = |regions: Vec<Group>| -> Vec<Group> {
            let named = |group: Group| {
                let title = |&row: &usize| draft.records[row].carried[TITLE].as_str();
                Some(Group { name: shared_words(group.rows.iter().map(title))?, ..group })
            };
            regions.into_iter().filter_map(named).collect()
        };
        let Regions { eps, mut groups, all, .. } =
            self.regions(&draft, titles, selection.rows_per_group, &shared, watch)?;
        let note = format!(
            "titles by {}: {} of {all} dense regions (eps {}, {} neighbours) share a title word",
            if titles.is_some() { "their vectors" } else { "TF-IDF, no --titles were given" },
            groups.len(),
            eps,
            self.density.min_points,
        );
        if groups.is_empty() {
            return Err(CurateError::Nothing {
                path: self.rows.clone(),
                reason: format!("gives no group: {note}"),
                remedy: "try another --eps or --min-points, or more rows with --first".to_string(),
            });
        }
        number_names(&mut groups);
        let entity = |row: usize| draft.records[row].carried[ENTITY].clone();
        let remedy = "lower --rows-per-group or --groups, try another --eps, or take more rows \
                      with --first";
        let groups = selection.choose(groups, <[_]>::len, entity, remedy)?;
        draft.notes.push(note);
        draft.finish(groups, sides, watch)
    }

    /// The dense regions of the titles, by their vectors or by TF-IDF.
    fn regions(
        &self,
        draft: &Draft,
        titles: Option<&Vectors>,
        rows_per_group: usize,
        shared: &dyn Fn(Vec<Group>) -> Vec<Group>,
        watch: &dyn Watch,
    ) -> Result<Regions, CurateError> {
        let all: Vec<usize> = (0..draft.records.len()).collect();
        let Some(titles) = titles else {
            let texts = draft.cells(&all, TITLE);
            let rows = Tfidf { stop_words: ENGLISH, ..Tfidf::default() }.fit(&texts).rows(&texts);
            let index = rows.transpose();
            let at = |eps| self.density.of_texts(&Alike::new(&rows, &index, eps), all.len(), watch);
            return self.density.search(all.len(), rows_per_group, at, shared);
        };
        let keys = title_keys(draft);
        let keys: Vec<&[String]> = keys.iter().map(Vec::as_slice).collect();
        let (rows, _) = titles.find_all(Keys { names: TITLE_KEYS, rows: &keys })?;
        let rows = titles.rows().select(rows);
        let at = |eps: f64| {
            let (eps, min_samples) = (Eps::Distance(eps), self.density.min_points);
            let dbscan = Dbscan { eps, min_samples, metric: Metric::Cosine };
            Ok(by_label(&dbscan.fit(rows.view(), Seed::default(), watch)?.labels))
        };
        self.density.search(all.len(), rows_per_group, at, shared)
    }

    fn read(&self, watch: &dyn Watch) -> Result<Draft, CurateError> {
        let columns = ["language", "page_url", "image_url", "page_title", self.caption];
        let mut rows = Delimited::open(&self.rows, b'\t', &columns, REMEDY, watch)?;
        let mut draft = Draft::new(
            &["text", "entity", "title", "page_url"],
            &["image URL", "file name", "row number"],
            &["row number", "image URL", "caption"],
        );
        let (mut seen, mut language) = (0, 0);
        while seen < self.first && rows.next()? {
            seen += 1;
            if !rows.cell(0)?.eq_ignore_ascii_case(&self.language) {
                continue;
            }
            language += 1;
            let (page, image) = (rows.cell(1)?.to_string(), rows.cell(2)?.to_string());
            let (title, caption) = (rows.cell(3)?.to_string(), rows.cell(4)?.to_string());
            if title.is_empty() || caption.is_empty() || image.is_empty() {
                continue;
            }
            let number = (seen - 1).to_string();
            draft.records.push(Record {
                id: number.clone(),
                x_keys: vec![image.clone(), last_part(&image), number.clone()],
                y_keys: vec![number, image.clone(), caption.clone()],
                carried: vec![caption, image, title, page],
            });
        }
        let kept = draft.records.len();
        let counts = format!(
            "{seen} rows looked at, {language} in language `{}`, {kept} of them with title and \
             {}",
            self.language, self.caption
        );
        if kept == 0 {
            return Err(CurateError::Nothing {
                path: self.rows.clone(),
                reason: format!("has no row of use: {counts}"),
                remedy: "choose another --language or --caption, or more rows with --first"
                    .to_string(),
            });
        }
        draft.notes.push(counts);
        Ok(draft)
    }
}

const ENTITY: usize = 1;
const TITLE: usize = 2;
const PAGE: usize = 3;

/// What the vector of a row's title may be called.
fn title_keys(draft: &Draft) -> Vec<Vec<String>> {
    let keys = |r: &Record| vec![r.carried[TITLE].clone(), r.carried[PAGE].clone(), r.id.clone()];
    draft.records.iter().map(keys).collect()
}

/// The words that all titles have, in the order of the first; none if they share none.
fn shared_words<'a>(mut titles: impl Iterator<Item = &'a str>) -> Option<String> {
    let content = |title: &str| -> Vec<String> {
        words(title).filter(|w| ENGLISH.binary_search(&w.as_str()).is_err()).collect()
    };
    let mut shared = content(titles.next()?);
    for title in titles {
        let title: BTreeSet<String> = content(title).into_iter().collect();
        shared.retain(|word| title.contains(word));
    }
    let mut once = BTreeSet::new();
    shared.retain(|word| once.insert(word.clone()));
    (!shared.is_empty()).then(|| shared.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn function_words_are_no_shared_words() {
        let shared = |titles: &[&str]| shared_words(titles.iter().copied());
        let churches = ["Church of St Mary, Barton", "Old church of Barton", "CHURCH in Barton"];
        assert_eq!(shared(&churches), Some("church barton".into()));
        assert_eq!(shared(&["History of Rome", "Flag of Spain"]), None);
        assert_eq!(shared(&["Baden Baden", "Baden"]), Some("baden".into()));
        assert_eq!(shared(&[]), None);
    }
}
