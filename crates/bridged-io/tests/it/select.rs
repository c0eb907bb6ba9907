//! Which column is which.

use crate::{Scratch, complaint, pool};
use bridged_io::{Pool, ROW_NUMBER, Select, TableError, read};

fn pick(content: &str, select: Select<'_>) -> Result<Pool, TableError> {
    let scratch = Scratch::new();
    read(&scratch.file("t.csv", content))?.into_pool(select)
}

fn vector(name: &str) -> Select<'_> {
    Select { vector: Some(name), ..Select::default() }
}

fn id(name: &str) -> Select<'_> {
    Select { id: Some(name), ..Select::default() }
}

#[test]
fn all_numeric_columns_but_the_id_are_the_vector_and_the_rest_is_carried() {
    let pool = pick("label,name,item_ID,w\n1,a,7,0.5\n2,,8,1.5\n", Select::default()).unwrap();
    assert_eq!(pool.vector_names, ["label", "w"]);
    assert_eq!(pool.id_name.as_deref(), Some("item_ID"));
    assert_eq!(pool.ids, ["7", "8"]);
    assert_eq!(pool.rows.data(), [1.0, 0.5, 2.0, 1.5]);
    assert_eq!(pool.carried.len(), 1);
    assert_eq!(pool.texts()[0].values, [Some("a".to_owned()), None]);
}

#[test]
fn beside_a_list_column_numbers_are_carried_as_texts() {
    let pool = pick("n,v\n1.50,\"[1, 2]\"\n2,\"[3, 4]\"\n", Select::default()).unwrap();
    assert_eq!(pool.vector_names, ["v"]);
    assert_eq!(pool.texts()[0].values, [Some("1.5".to_owned()), Some("2".to_owned())]);
}

#[test]
fn id_beats_other_ids_and_several_without_it_are_an_error() {
    let pool = pick("x_id,id,v\n1,2,3\n", Select::default()).unwrap();
    assert_eq!(pool.ids, ["2"]);
    assert_eq!(
        complaint("t.csv", "x_id,y_id,v\n1,2,3\n"),
        "`t.csv` has several columns that may be the id: `x_id`, `y_id`; name one with the id \
         option (`--id NAME`, or `--x-id NAME` and `--y-id NAME`)"
    );
    assert_eq!(pick("x_id,y_id,v\n1,2,3\n", id("y_id")).unwrap().ids, ["2"]);
}

#[test]
fn without_an_id_rows_are_numbered() {
    let pool = pick("v\n5\n6\n", Select::default()).unwrap();
    assert_eq!((pool.ids, pool.id_name), (vec!["0".to_owned(), "1".to_owned()], None));
    let pool = pick("group_id,v\n1,5\n1,6\n", id(ROW_NUMBER)).unwrap();
    assert_eq!(pool.ids, ["0", "1"]);
}

#[test]
fn ids_are_texts_whole_numbers_and_floats_without_a_fraction() {
    assert_eq!(pick("id,v\n12.0,1\n13.0,2\n", Select::default()).unwrap().ids, ["12", "13"]);
    assert_eq!(pick("id,v\n007,1\n12,2\n", Select::default()).unwrap().ids, ["007", "12"]);
    assert_eq!(pick("id,v\na b,1\n", Select::default()).unwrap().ids, ["a b"]);
    let huge = "18446744073709551615";
    assert_eq!(pick(&format!("id,v\n{huge},1\n"), Select::default()).unwrap().ids, [huge]);
    assert!(complaint("t.csv", "id,v\n1.5,1\n").contains("cannot be the id: it holds the number"));
    assert!(complaint("t.csv", "id,v\n1e300,1\n").contains("does not hold 1e300 exactly"));
    assert!(complaint("t.csv", "id,v\n[1 2],1\n").contains("it holds vectors of 2 entries"));
}

#[test]
fn numbers_spelled_in_their_own_way_still_measure() {
    let pool = pick("a,b\n007,1\n012,2\n", Select::default()).unwrap();
    assert_eq!(pool.rows.data(), [7.0, 1.0, 12.0, 2.0]);
}

#[test]
fn the_first_duplicate_id_is_named_with_both_rows() {
    assert_eq!(
        complaint("t.csv", "id,v\na,1\nb,2\nc,3\nb,4\na,5\n"),
        "`t.csv`, column `id`: the id `b` occurs in row 1 and again in row 3 (counted from 0); \
         ids must differ, or name `#row` as the id to number the rows"
    );
}

#[test]
fn a_row_without_an_id_is_named() {
    assert_eq!(
        complaint("t.csv", "id,v\na,1\n,2\n"),
        "`t.csv`, column `id`: row 1 (counted from 0) has no id; every row needs one"
    );
}

#[test]
fn several_lists_need_a_name_and_a_name_picks_one() {
    let content = "id,x,y,n\na,\"[1, 2]\",[3],9\n";
    assert_eq!(
        complaint("t.csv", content),
        "`t.csv` has several vector columns: `x`, `y`; name one with the vector option \
         (`--vector NAME`, or `--x-vector NAME` and `--y-vector NAME`)"
    );
    let pool = pick(content, vector("y")).unwrap();
    assert_eq!(pool.rows.data(), [3.0]);
    // The other vectors are not carried, the number is.
    assert_eq!(pool.carried.iter().map(|t| t.name.as_str()).collect::<Vec<_>>(), ["n"]);
    assert_eq!(pick(content, vector("n")).unwrap().rows.data(), [9.0]);
}

#[test]
fn a_start_of_names_picks_the_numbered_columns_in_order() {
    let content = "id,v_10,v_2,v_0,confidence,v_name\na,10,2,0,0.9,x\n";
    let pool = pick(content, vector("v")).unwrap();
    assert_eq!(pool.vector_names, ["v_0", "v_2", "v_10"]);
    assert_eq!(pool.rows.data(), [0.0, 2.0, 10.0]);
    assert_eq!(pool.carried.len(), 2);
    let error = pick("v_0,v_1\n1,x\n", vector("v")).unwrap_err().to_string();
    assert!(error.contains("column `v_1` holds texts, which is not a vector"), "{error}");
}

#[test]
fn a_name_that_is_not_there_or_not_a_vector_is_an_error() {
    let error = |select| pick("id,name,v\na,b,1\n", select).unwrap_err().to_string();
    assert!(error(vector("w")).ends_with("has no column `w`; it has `id`, `name`, `v`"));
    assert!(error(id("key")).contains("has no column `key`"));
    assert!(error(vector("name")).contains("column `name` holds texts"));
}

#[test]
fn a_name_shared_by_two_columns_is_an_error_when_it_matters() {
    assert!(complaint("t.csv", "id,id,v\n1,2,3\n").contains("several columns called `id`"));
    let scratch = Scratch::new();
    assert_eq!(pool(&scratch.file("t.csv", "v,v\n1,2\n")).unwrap().rows.data(), [1.0, 2.0]);
}
