//! COCO: photographs and captions, grouped by what is on them.
//!
//! From the two JSON files of the publication, `instances_*.json` (images, annotations with a
//! category, categories) and `captions_*.json` (annotations with a caption); a row for every caption,
//! the image is its entity.
//!
//! - **One category**: images whose objects are all of one category; the group is that category.
//! - **Overlapping classes**: images with several categories. A class is a set of categories, such as
//!   `dog+person`; the classes that are kept all hold one category in common, so that any draw of
//!   them consists of classes that share a label with another (§6 of the paper). `labels` holds the
//!   categories of a row, joined by commas.
//!
//! Lin et al. 2014.

use super::files::json;
use super::groups::by_name;
use super::vectors::stem;
use super::{CurateError, Curated, Draft, Record, Selection, Sides};
use bridged::Watch;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;

/// Where the files are, and which images count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coco {
    /// The captions.
    pub captions: PathBuf,
    /// The objects.
    pub instances: PathBuf,
    /// What makes a group.
    pub classes: Classes,
}

/// What makes a group of images.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Classes {
    /// All objects are of one category.
    Single,
    /// A set of several categories; the sets that are kept have one category in common, this one
    /// or else the one that the most of them share.
    Overlap(Option<String>),
}

const CAPTIONS: &str = "give the captions file of COCO, such as captions_val2017.json";
const INSTANCES: &str = "give the instances file of COCO, such as instances_val2017.json";

#[derive(Deserialize)]
struct Captions {
    images: Vec<Image>,
    annotations: Vec<Caption>,
}

#[derive(Deserialize)]
struct Image {
    id: u64,
    file_name: String,
}

#[derive(Deserialize)]
struct Caption {
    id: u64,
    image_id: u64,
    caption: String,
}

#[derive(Deserialize)]
struct Instances {
    annotations: Vec<Instance>,
    categories: Vec<Category>,
}

#[derive(Deserialize)]
struct Instance {
    image_id: u64,
    category_id: u64,
}

#[derive(Deserialize)]
struct Category {
    id: u64,
    name: String,
}

impl Coco {
    /// Reads both files and makes the data set.
    pub fn curate(
        &self,
        sides: &Sides<'_>,
        selection: &Selection,
        watch: &dyn Watch,
    ) -> Result<Curated, CurateError> {
        let labels = self.labels(watch)?;
        let mut draft = self.read(&labels, watch)?;
        draft.skip_missing(sides, selection)?;
        let names: Vec<String> =
            draft.records.iter().map(|r| r.carried[LABELS].replace(',', "+")).collect();
        let mut groups = by_name(names.iter().map(String::as_str));
        if let Classes::Overlap(given) = &self.classes {
            let large = groups.iter().filter(|g| g.rows.len() >= selection.rows_per_group);
            let common = match given {
                Some(label) => Some(label.clone()),
                None => most_shared(large.map(|g| (g.name.as_str(), g.rows.len()))),
            };
            if let Some(common) = common {
                groups.retain(|g| g.name.split('+').any(|label| label == common));
                draft.notes.push(format!("all classes share the label `{common}`"));
            }
        }
        let entity = |row: usize| draft.records[row].carried[ENTITY].clone();
        let remedy = "lower --rows-per-group or --groups, or take the files of a larger split";
        let groups = selection.choose(groups, <[_]>::len, entity, remedy)?;
        if self.classes != Classes::Single && groups.len() < 2 {
            return Err(CurateError::Nothing {
                path: self.instances.clone(),
                reason: format!("has one class, `{}`, where two must overlap", groups[0].name),
                remedy: "lower --rows-per-group, or choose another label with --share".to_string(),
            });
        }
        draft.finish(groups, sides, watch)
    }

    /// The categories of every image that counts.
    fn labels(&self, watch: &dyn Watch) -> Result<HashMap<u64, BTreeSet<String>>, CurateError> {
        let file: Instances = json(&self.instances, "read instances", INSTANCES, watch)?;
        let nothing = |reason: String, remedy: String| {
            Err(CurateError::Nothing { path: self.instances.clone(), reason, remedy })
        };
        let names: HashMap<u64, String> =
            file.categories.into_iter().map(|c| (c.id, c.name)).collect();
        if let Classes::Overlap(Some(label)) = &self.classes
            && !names.values().any(|name| name == label)
        {
            let known: BTreeSet<&str> = names.values().map(String::as_str).collect();
            let known = super::error::a_few(known, 100);
            return nothing(format!("has no category `{label}`"), format!("it has {known}"));
        }
        let mut labels: HashMap<u64, BTreeSet<String>> = HashMap::new();
        for Instance { image_id, category_id } in file.annotations {
            let Some(name) = names.get(&category_id) else {
                let reason = format!(
                    "has an object of category {category_id} on image {image_id}, but lists no \
                     such category"
                );
                return nothing(reason, "download it again".to_string());
            };
            labels.entry(image_id).or_default().insert(name.clone());
        }
        let single = self.classes == Classes::Single;
        labels.retain(|_, set| (set.len() == 1) == single);
        if labels.is_empty() {
            let what = if single { "exactly one category" } else { "several categories" };
            return nothing(format!("has no image with {what}"), INSTANCES.to_string());
        }
        Ok(labels)
    }

    fn read(
        &self,
        labels: &HashMap<u64, BTreeSet<String>>,
        watch: &dyn Watch,
    ) -> Result<Draft, CurateError> {
        let file: Captions = json(&self.captions, "read captions", CAPTIONS, watch)?;
        let mut draft = Draft::new(
            &["text", "entity", "labels"],
            &["file name", "image id", "name without ending", "place among the images"],
            &["caption id", "place among the captions"],
        );
        let images: HashMap<u64, (usize, &str)> = file
            .images
            .iter()
            .enumerate()
            .map(|(at, i)| (i.id, (at, i.file_name.as_str())))
            .collect();
        for (at, caption) in file.annotations.iter().enumerate() {
            let Some(labels) = labels.get(&caption.image_id) else { continue };
            let image = caption.image_id.to_string();
            let Some(&(place, name)) = images.get(&caption.image_id) else {
                return Err(CurateError::Nothing {
                    path: self.captions.clone(),
                    reason: format!("has a caption of image {image}, but lists no such image"),
                    remedy: "download it again".to_string(),
                });
            };
            let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
            draft.records.push(Record {
                id: caption.id.to_string(),
                carried: vec![caption.caption.trim().to_string(), image.clone(), labels.join(",")],
                x_keys: vec![name.to_string(), image, stem(name), place.to_string()],
                y_keys: vec![caption.id.to_string(), at.to_string()],
            });
        }
        if draft.records.is_empty() {
            return Err(CurateError::Nothing {
                path: self.captions.clone(),
                reason: format!("has no caption of the {} images that count", labels.len()),
                remedy: "give the captions and the instances of one split".to_string(),
            });
        }
        Ok(draft)
    }
}

const ENTITY: usize = 1;
const LABELS: usize = 2;

/// The label that the most classes hold; of those with equally many, the one with the most rows.
fn most_shared<'a>(classes: impl Iterator<Item = (&'a str, usize)>) -> Option<String> {
    let mut held: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for (name, rows) in classes {
        for label in name.split('+') {
            let held = held.entry(label).or_default();
            *held = (held.0 + 1, held.1 + rows);
        }
    }
    // Ties of both go to the first name.
    held.into_iter().rev().max_by_key(|(_, held)| *held).map(|(label, _)| label.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_common_label_is_the_one_that_most_classes_hold() {
        let classes = [("dog+person", 9), ("car+person", 9), ("car+dog+truck", 50)];
        // All three in two classes each; cars and dogs have more rows than persons.
        assert_eq!(most_shared(classes.into_iter()).as_deref(), Some("car"));
        assert_eq!(most_shared(classes.into_iter().take(2)).as_deref(), Some("person"));
        assert_eq!(most_shared(std::iter::empty()), None);
    }
}
