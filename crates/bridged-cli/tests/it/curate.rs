//! Data sets from small files in the published formats: the paper's rules, and what can be wrong.

use crate::support::Folder;
use bridged_lab::Dataset;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

/// A table of vectors: around the centre of its group, a little apart.
fn vectors<'a>(rows: impl IntoIterator<Item = (&'a str, usize)>, dim: usize) -> String {
    let mut csv = String::from("id,v\n");
    for (i, (id, group)) in rows.into_iter().enumerate() {
        let entry = |j: usize| {
            let noise = ((i * 37 + j * 101) % 17) as f64 / 40.0;
            noise + if j % 5 == group { 8.0 } else { 0.0 }
        };
        let cells: Vec<String> = (0..dim).map(|j| format!("{:.3}", entry(j))).collect();
        csv += &format!("\"{id}\",\"[{}]\"\n", cells.join(", "));
    }
    csv
}

/// The groups of a data set and their rows.
fn groups(data: &Dataset) -> BTreeMap<String, Vec<usize>> {
    let mut groups: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (row, &g) in data.groups.iter().enumerate() {
        groups.entry(data.group_names[g as usize].clone()).or_default().push(row);
    }
    groups
}

fn names(data: &Dataset) -> Vec<String> {
    groups(data).into_keys().collect()
}

/// A carried column of a table.
fn column(folder: &Folder, table: &str, name: &str) -> Vec<String> {
    let table = bridged_io::read(&folder.path(table)).expect("a table");
    let column = table.column(name).and_then(|c| c.to_text()).expect("a column of texts");
    column.values.into_iter().map(|v| v.expect("no gaps")).collect()
}

/// A small study of a data set runs and Bridged Clustering answers.
fn study_runs(folder: &Folder, table: &str, rows_per_group: usize) {
    folder.write(
        "study.toml",
        format!(
            "data = \"{table}\"\ngroups = [2]\npairs = [1]\nseeds = 1\nmethods = [\"bridged\", \
             \"knn\"]\n[protocol]\nrows_per_group = {rows_per_group}\n"
        ),
    );
    folder.ok(&format!("lab run study.toml -o results-{table}"));
    let runs = folder.text(&format!("results-{table}/runs.jsonl"));
    assert_eq!(runs.lines().count(), 8);
    assert!(runs.lines().all(|line| line.contains("\"scores\"")), "{runs}");
}

const BIOSCAN: &str = "processid,sampleid,taxon,phylum,class,order,family,subfamily,genus,species,\
    dna_bin,dna_barcode,country,province_state,coord-lat,coord-lon,image_measurement_value,\
    area_fraction,scale_factor,inferred_ranks,split,index_bioscan_1M_insect,chunk";

/// Two families with two species each, a third with one, eight specimens a species; and what the
/// rules leave out: a spider, specimens without a species, those of another split.
pub fn bioscan() -> Folder {
    let folder = Folder::new();
    let mut csv = format!("{BIOSCAN}\n");
    let mut ids = Vec::new();
    let mut line = |class: &str, family: &str, species: &str, split: &str, group: usize| {
        let id = format!("AB{:03}-20", ids.len());
        csv += &format!(
            "{id},S{id},{species},Arthropoda,{class},Diptera,{family},,,{species},BOLD:{group},\
             AACT{group},\"Costa Rica\",\"Area, north\",9.1,-84.2,1000,0.5,1.2,0,{split},,0\n"
        );
        ids.push((id, group));
    };
    let species = [
        ("Cecidomyiidae", "Alpha una"),
        ("Cecidomyiidae", "Alpha dua"),
        ("Phoridae", "Beta una"),
        ("Phoridae", "Beta dua"),
        ("Sciaridae", "Gamma una"),
    ];
    for i in 0..8 {
        for (group, (family, species)) in species.iter().enumerate() {
            line("Insecta", family, species, "test", group);
        }
        line("Arachnida", "Erigonidae", "Spinna", "test", 0);
        line("Insecta", "Culicidae", "", "test", 0);
        line("Insecta", "Culicidae", "Culex latens", "train", i % 5);
    }
    folder.write("metadata.csv", csv);
    let rows = || ids.iter().map(|(id, group)| (id.as_str(), *group));
    folder.write("images.csv", vectors(rows(), 6));
    let samples: Vec<(String, usize)> =
        rows().map(|(id, group)| (format!("S{id}"), group)).collect();
    folder.write("dna.csv", vectors(samples.iter().map(|(id, g)| (id.as_str(), *g)), 9));
    folder
}

const CURATE_BIOSCAN: &str =
    "lab curate bioscan --metadata metadata.csv --images images.csv --dna dna.csv -o bio.parquet";

#[test]
fn bioscan_takes_species_of_distinct_families_first() {
    let folder = bioscan();
    for seed in 0..6 {
        folder.ok(&format!("{CURATE_BIOSCAN} --rows-per-group 8 --groups 3 --seed {seed}"));
        let families: BTreeSet<String> =
            column(&folder, "bio.parquet", "family").into_iter().collect();
        assert_eq!(families.len(), 3, "seed {seed}");
    }
    let out = folder.ok(&format!("{CURATE_BIOSCAN} --rows-per-group 8"));
    assert!(out.contains("40 rows in 5 groups; x 6 numbers, y 9"), "{out}");
    assert!(out.contains("5 species of 3 families"), "{out}");
    let data = Dataset::read(&folder.path("bio.parquet")).unwrap();
    let expected = ["Alpha dua", "Alpha una", "Beta dua", "Beta una", "Gamma una"];
    assert_eq!(names(&data), expected, "insects of the test split with a species");
    assert!(groups(&data).values().all(|rows| rows.len() == 8));
    let sequences = column(&folder, "bio.parquet", "sequence");
    for (row, sequence) in sequences.iter().enumerate() {
        let group: usize = sequence.trim_start_matches("AACT").parse().unwrap();
        assert!(data.x.row(row)[group] >= 8.0 && data.y.row(row)[group] >= 8.0, "row {row}");
    }
    study_runs(&folder, "bio.parquet", 8);
    let out = folder.ok(&format!("{CURATE_BIOSCAN} --rows-per-group 8 --split all --json"));
    assert!(out.contains("Culex latens"), "{out}");
}

/// Three themes of six photographs with five captions each, and captions of nothing in particular.
pub fn flickr() -> Folder {
    let folder = Folder::new();
    let themes =
        ["surfer rides a huge wave", "dog chases the yellow ball", "climber on a steep rock"];
    let extra = ["today", "outside", "slowly", "fast", "again"];
    let (mut tokens, mut images) = (String::new(), Vec::new());
    for i in 0..20 {
        let name = format!("{}.jpg", 1000092795 + 7 * i);
        for c in 0..5 {
            let caption = match themes.get(i % 3) {
                _ if i >= 18 => format!("Nothing{i} word{c} thing{}", 10 * i + c),
                Some(theme) if i == 4 && c == 2 => theme.replace("dog chases", "unrelated"),
                Some(theme) => format!("A {theme} {} .", extra[c]),
                None => unreachable!("three themes"),
            };
            tokens += &format!("{name}#{c}\t{caption}\n");
        }
        images.push((name, i % 3));
    }
    folder.write("results.token", tokens);
    folder.write("images.csv", vectors(images.iter().map(|(n, g)| (n.as_str(), *g)), 6));
    folder
}

const CURATE_FLICKR: &str = "lab curate flickr30k --captions results.token --images images.csv \
                             -o flickr.parquet";

#[test]
fn flickr30k_groups_captions_by_key_words_and_keeps_those_of_an_image_together() {
    let folder = flickr();
    let out = folder.ok(CURATE_FLICKR);
    assert!(out.contains("no --texts: y is TF-IDF"), "{out}");
    let data = Dataset::read(&folder.path("flickr.parquet")).unwrap();
    assert_eq!(data.group_names.len(), 3, "{out}");
    let texts = data.texts.clone().unwrap();
    let entities = data.entities.clone().unwrap();
    let images = column(&folder, "flickr.parquet", "entity");
    for (name, rows) in groups(&data) {
        let word = name.split(' ').next().unwrap();
        assert!(rows.iter().all(|&r| texts[r].contains(word)), "{name}");
        assert!(rows.len() >= 25, "{name}");
    }
    // Five captions a photograph, one entity; the caption that is unlike the others is left out.
    let mut sizes: BTreeMap<u32, usize> = BTreeMap::new();
    entities.iter().for_each(|&e| *sizes.entry(e).or_default() += 1);
    assert_eq!(sizes.len(), 18);
    assert_eq!(sizes.values().filter(|&&n| n == 5).count(), 17);
    for (row, image) in images.iter().enumerate() {
        let nth = (image.trim_end_matches(".jpg").parse::<usize>().unwrap() - 1000092795) / 7;
        assert!(data.x.row(row)[nth % 3] >= 8.0, "the vector of {image}");
    }
    study_runs(&folder, "flickr.parquet", 12);

    let first = folder.read("flickr.parquet");
    folder.ok(&format!("{CURATE_FLICKR} --threads 1"));
    assert_eq!(folder.read("flickr.parquet"), first, "the same bytes on one thread");
    let out = folder.json(&format!("{CURATE_FLICKR} --first 9 --rows-per-group 10"));
    assert!(out["rows"].as_u64().unwrap() <= 45, "{out}");
    let out = folder.json(&format!("{CURATE_FLICKR} --groups 2 --max-rows 26"));
    assert_eq!(out["rows"], 52);
}

const WIT: [&str; 17] = [
    "language",
    "page_url",
    "image_url",
    "page_title",
    "section_title",
    "hierarchical_section_title",
    "caption_reference_description",
    "caption_attribution_description",
    "caption_alt_text_description",
    "mime_type",
    "original_height",
    "original_width",
    "is_main_image",
    "attribution_passes_lang_id",
    "page_changed_recently",
    "context_page_description",
    "context_section_description",
];

/// Bridges, stone churches, and pages that are alike to the encoder but share no title word; rows
/// in French and rows without a caption between them.
pub fn wit() -> Folder {
    let folder = Folder::new();
    let mut tsv = format!("{}\n", WIT.join("\t"));
    let (mut images, mut titles, mut n) = (Vec::new(), Vec::new(), 0);
    let mut line = |language: &str, title: &str, caption: &str, group: usize| {
        let image = format!("http://upload.example/wiki/{n}/Picture_{n}.jpg");
        let page = format!("https://en.example/wiki/{}", title.replace(' ', "_"));
        tsv += &format!(
            "{language}\t{page}\t{image}\t{title}\t\t{title}\t{caption}\t\t\timage/jpeg\t400\t600\t\
             true\ttrue\ttrue\t\"A page\twith a tab and a \"\"quote\"\"\"\t\n"
        );
        images.push((image, group));
        titles.push((title.to_string(), group));
        n += 1;
    };
    let places = ["Arno", "Ebro", "Tyne", "Oder", "Loire", "Po", "Elbe", "Douro", "Neva", "Main"];
    let saints =
        ["Anne", "Bede", "Clare", "David", "Edith", "Felix", "Giles", "Hilda", "Ives", "John"];
    let things =
        ["Lamp", "Chair", "Spoon", "Kettle", "Vase", "Clock", "Mirror", "Rug", "Stool", "Bed"];
    for i in 0..30 {
        let (place, nth) = (places[i % 10], i / 10);
        line("en", &format!("Stone bridge over the {place}"), &format!("A bridge, view {nth}"), 0);
        line(
            "en",
            &format!("Old church of Saint {}", saints[i % 10]),
            &format!("The nave, view {nth}"),
            1,
        );
        line("en", things[i % 10], &format!("An object, view {nth}"), 2);
        line("fr", &format!("Stone bridge over the {place}"), "Un pont", 0);
        line("en", &format!("Stone bridge over the {place}"), "", 0);
    }
    folder.write("wit.tsv", tsv);
    folder.write("images.csv", vectors(images.iter().map(|(n, g)| (n.as_str(), *g)), 6));
    let unique: BTreeMap<String, usize> = titles.into_iter().collect();
    folder.write("titles.csv", vectors(unique.iter().map(|(t, g)| (t.as_str(), *g)), 7));
    folder
}

const CURATE_WIT: &str = "lab curate wit --rows wit.tsv --images images.csv -o wit.parquet";

#[test]
fn wit_keeps_dense_titles_that_share_a_word() {
    let folder = wit();
    let out = folder.ok(&format!("{CURATE_WIT} --titles titles.csv"));
    let data = Dataset::read(&folder.path("wit.parquet")).unwrap();
    assert_eq!(names(&data), ["old church saint", "stone bridge"], "{out}");
    assert!(out.contains("2 of 3 dense regions"), "{out}");
    assert!(out.contains("150 rows looked at, 120 in language `en`, 90 of them"), "{out}");
    assert_eq!(data.rows(), 60, "English rows with a caption");
    let titles = column(&folder, "wit.parquet", "title");
    for (name, rows) in groups(&data) {
        let word = name.split(' ').next().unwrap();
        assert!(rows.iter().all(|&r| titles[r].to_lowercase().contains(word)), "{name}");
    }
    assert!(data.texts.unwrap().iter().all(|t| t.contains("view")));
    assert!(out.contains("vectors were found: --images by image URL"), "{out}");
    study_runs(&folder, "wit.parquet", 20);

    // The same from a compressed file, and without vectors of the titles.
    let whole = folder.read("wit.parquet");
    assert_eq!(folder.shell("gzip -c wit.tsv > wit.tsv.gz").code, 0);
    let gz = CURATE_WIT.replace("wit.tsv", "wit.tsv.gz");
    folder.ok(&format!("{gz} --titles titles.csv"));
    assert_eq!(folder.read("wit.parquet"), whole);
    let out = folder.ok(CURATE_WIT);
    assert!(out.contains("titles by TF-IDF, no --titles were given"), "{out}");
    assert_eq!(
        names(&Dataset::read(&folder.path("wit.parquet")).unwrap()),
        ["old church saint", "stone bridge"]
    );
}

/// Six photographs of each of three categories and of each of four sets of them, five captions each.
pub fn coco() -> Folder {
    let folder = Folder::new();
    let kinds: [&[u64]; 7] = [&[1], &[18], &[3], &[1, 18], &[1, 3], &[3, 18], &[1, 3, 18]];
    let words = [
        "person walking",
        "dog sleeping",
        "car parked",
        "person with dog",
        "person in car",
        "dog in car",
        "person dog car",
    ];
    let (mut images, mut objects, mut captions, mut table) = (vec![], vec![], vec![], vec![]);
    for i in 0..43u64 {
        let (id, kind) = (397133 + 11 * i, (i % 7) as usize);
        let name = format!("{id:012}.jpg");
        images
            .push(json!({"license": 4, "file_name": name, "height": 427, "width": 640, "id": id}));
        for (n, category) in kinds[kind].iter().enumerate() {
            for again in 0..2 {
                objects.push(json!({
                    "segmentation": [[510.66, 423.01, 511.72]], "area": 702.1, "iscrowd": 0,
                    "image_id": id, "bbox": [473.07, 395.93, 38.65, 28.67],
                    "category_id": category, "id": 100 * i + 10 * n as u64 + again
                }));
            }
        }
        for c in 0..5 {
            let caption = format!("A {} photo{c}.\n", words[kind]);
            captions.push(json!({"image_id": id, "id": 5000 + 5 * i + c, "caption": caption}));
        }
        table.push((name, kind % 5));
    }
    let category = |id: u64, name: &str| json!({"supercategory": "any", "id": id, "name": name});
    let categories = [category(1, "person"), category(18, "dog"), category(3, "car")];
    let info = json!({"description": "COCO 2017 Dataset", "year": 2017});
    folder.write(
        "instances.json",
        json!({"info": info, "licenses": [], "images": images, "annotations": objects,
               "categories": categories})
        .to_string(),
    );
    folder.write(
        "captions.json",
        json!({"info": info, "images": images, "licenses": [], "annotations": captions})
            .to_string(),
    );
    folder.write("images.csv", vectors(table.iter().map(|(n, g)| (n.as_str(), *g)), 6));
    folder
}

const CURATE_COCO: &str = "lab curate coco --captions captions.json --instances instances.json \
                           --images images.csv -o coco.parquet --rows-per-group 30";

#[test]
fn coco_takes_images_with_one_category_and_all_their_captions() {
    let folder = coco();
    let out = folder.ok(CURATE_COCO);
    assert!(out.contains("TF-IDF"), "{out}");
    let data = Dataset::read(&folder.path("coco.parquet")).unwrap();
    assert_eq!(names(&data), ["car", "dog", "person"], "one category, however many objects");
    assert_eq!(data.rows(), 19 * 5);
    let entities = data.entities.clone().unwrap();
    assert_eq!(entities.iter().collect::<BTreeSet<_>>().len(), 19);
    let labels = column(&folder, "coco.parquet", "labels");
    for (name, rows) in groups(&data) {
        assert!(
            rows.iter()
                .all(|&r| labels[r] == name && data.texts.as_ref().unwrap()[r].contains(&name))
        );
    }
    study_runs(&folder, "coco.parquet", 12);

    // Vectors of an encoder, keyed by the id of the caption; images by their id.
    let texts: Vec<String> = (5000..5215).map(|id| id.to_string()).collect();
    folder.write("texts.csv", vectors(texts.iter().map(|id| (id.as_str(), 1)), 4));
    let ids: Vec<String> = (0..43).map(|i| (397133 + 11 * i).to_string()).collect();
    folder.write("images.csv", vectors(ids.iter().map(|id| (id.as_str(), 2)), 6));
    let out = folder.json(&format!("{CURATE_COCO} --texts texts.csv"));
    assert_eq!((&out["y"], &out["rows"]), (&json!(4), &json!(95)), "{out}");
}

#[test]
fn overlapping_classes_are_sets_of_labels_with_one_in_common() {
    let folder = coco();
    let out = folder.ok(&format!("{CURATE_COCO} --overlap"));
    let data = Dataset::read(&folder.path("coco.parquet")).unwrap();
    let labels = column(&folder, "coco.parquet", "labels");
    let sets: Vec<BTreeSet<&str>> = labels.iter().map(|l| l.split(',').collect()).collect();
    assert!(sets.iter().all(|set| set.len() > 1), "several labels");
    assert_eq!(data.group_names.len(), 3, "{out}");
    for a in &sets {
        assert!(sets.iter().all(|b| !a.is_disjoint(b)), "any two classes share a label");
    }
    study_runs(&folder, "coco.parquet", 12);
    folder.ok(&format!("{CURATE_COCO} --overlap --share dog"));
    let data = Dataset::read(&folder.path("coco.parquet")).unwrap();
    assert_eq!(names(&data), ["car+dog", "car+dog+person", "dog+person"]);
    let parts = ["no category `horse`", "`car`, `dog`, `person`"];
    folder.fails(1, &format!("{CURATE_COCO} --overlap --share horse"), &parts);
}

#[test]
fn a_missing_column_is_named_beside_those_there_are() {
    let folder = bioscan();
    folder.write("metadata.csv", folder.text("metadata.csv").replacen("family", "kin", 1));
    let parts = ["metadata.csv", "no column `family`", "`species`", "`kin`", "BIOSCAN-5M"];
    folder.fails(1, CURATE_BIOSCAN, &parts);
    let folder = wit();
    folder.write("wit.tsv", folder.text("wit.tsv").replacen("page_title", "heading", 1));
    folder.fails(1, CURATE_WIT, &["no column `page_title`", "`heading`", "TSV of WIT"]);
}

#[test]
fn damage_is_named_by_file_and_line() {
    let folder = flickr();
    let tokens = folder.text("results.token");
    folder.write("results.token", tokens.replacen("#3\t", "#3 ", 1));
    folder.fails(
        1,
        CURATE_FLICKR,
        &["results.token", "line 4", "no tab", "token file of Flickr30k"],
    );
    folder.write("results.token", tokens.replacen("#3\t", "\t", 1));
    folder.fails(1, CURATE_FLICKR, &["line 4", "is not the name of an image, # and a number"]);
    folder.write("results.token", tokens.replacen("#3\t", "#2\t", 1));
    folder.fails(1, CURATE_FLICKR, &["line 4", "#2` was there before"]);
    folder.write("results.token", "");
    folder.fails(1, CURATE_FLICKR, &["results.token", "is empty"]);

    let folder = wit();
    let rows = folder.text("wit.tsv");
    folder.write("wit.tsv", rows.replacen("image/jpeg\t400", "image/jpeg 400", 1));
    folder.fails(1, CURATE_WIT, &["wit.tsv", "line 2", "16 cells, but the header has 17"]);

    let folder = coco();
    let captions = folder.text("captions.json");
    folder.write(
        "captions.json",
        captions.replacen("\"annotations\":[{", "\"annotations\":[\n{{", 1),
    );
    folder.fails(
        1,
        CURATE_COCO,
        &["captions.json", "line 2", "key must be a string", "captions file"],
    );
    folder.write("captions.json", &captions[..captions.len() / 2]);
    folder.fails(1, CURATE_COCO, &["captions.json", "line 1", "EOF"]);
    folder.write("captions.json", captions);
    let swapped = CURATE_COCO.replace("--captions", "--c").replace("--instances", "--captions");
    let swapped = swapped.replace("--c c", "--instances c");
    folder.fails(1, &swapped, &["captions.json", "missing field", "instances file of COCO"]);
}

#[test]
fn rows_without_a_vector_are_counted_listed_and_left_out_on_request() {
    let folder = coco();
    let images = folder.text("images.csv");
    // The first three photographs lose their vectors, one of each category.
    let mut lines: Vec<&str> = images.lines().collect();
    lines.drain(1..4);
    folder.write("images.csv", lines.join("\n"));
    let parts = [
        "--images `images.csv` has no vector for 15 of 95 rows",
        "`000000397133.jpg`",
        "its ids look like",
        "--skip-missing",
    ];
    folder.fails(1, CURATE_COCO, &parts);
    let out = folder.ok(&CURATE_COCO.replace("30", "25").replace("-o", "--skip-missing -o"));
    assert!(out.contains("80 rows in 3 groups"), "{out}");
    assert!(out.contains("rows have no vector and were left out"), "{out}");
    folder.write("images.csv", vectors([("a", 1), ("b", 2)], 3));
    folder.fails(1, &format!("{CURATE_COCO} --skip-missing"), &["has no vector for 95 of 95 rows"]);
}

#[test]
fn groups_that_are_too_small_and_odd_tables_are_refused() {
    let folder = coco();
    let parts = [
        "0 of 3 groups have at least 200 rows",
        "the largest is `person` with 35 rows",
        "lower --rows-per-group",
    ];
    folder.fails(1, &CURATE_COCO.replace(" --rows-per-group 30", ""), &parts);
    folder.fails(1, &format!("{CURATE_COCO} --groups 4"), &["3 of 3 groups", "4 were asked for"]);
    folder.fails(1, &format!("{CURATE_COCO} --max-rows 10"), &["--max-rows must be at least 30"]);
    folder.fails(1, &format!("{CURATE_COCO} --text-dim 0"), &["--text-dim must be at least 1"]);
    folder.fails(2, &CURATE_COCO.replace("coco.parquet", "coco.csv"), &["coco.csv", ".parquet"]);
    folder.fails(
        2,
        &CURATE_COCO.replace("coco.parquet", "no/coco.parquet"),
        &["`no`", "make it first"],
    );
    folder.fails(1, &CURATE_COCO.replace("captions.json", "lost.json"), &["lost.json"]);
    folder.write("images.csv", "id,v\na,\"[1, 2, 3]\"\nb,\"[1, 2]\"\n");
    folder.fails(
        1,
        CURATE_COCO,
        &["images.csv", "row `b`", "2 entries", "all vectors must have one length"],
    );
    let folder = flickr();
    let eps = format!("{CURATE_FLICKR} --eps 1.5");
    folder.fails(1, &eps, &["--eps must be between 0 and 1"]);
    let eps = format!("{CURATE_FLICKR} --eps 0.0001");
    folder.fails(1, &eps, &["0 of 0 groups", "try another --eps or --min-points"]);
}
