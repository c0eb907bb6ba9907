//! The table of cases that the Python package runs too: which column is the id, which the vector, which are carried.

use crate::Scratch;
use arrow_array::types::Float32Type;
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, FixedSizeListArray, Float64Array, Int64Array, ListArray,
    RecordBatch, StringArray, StructArray,
};
use arrow_ipc::writer::FileWriter;
use arrow_schema::{DataType, Field, Schema};
use bridged_io::{Select, TableError, read};
use serde_json::Value;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// Two rows of a kind of cell.
fn cells(kind: &str) -> ArrayRef {
    match kind {
        "text" => Arc::new(StringArray::from(vec!["a", "b"])),
        "integer" => Arc::new(Int64Array::from(vec![1, 2])),
        "float" => Arc::new(Float64Array::from(vec![1.0, 2.0])),
        "bool" => Arc::new(BooleanArray::from(vec![true, false])),
        "list" => {
            let rows = [[1.0, 2.0], [3.0, 4.0]].map(|row| Some(row.map(Some)));
            Arc::new(FixedSizeListArray::from_iter_primitive::<Float32Type, _, _>(rows, 2))
        }
        "list of texts" => {
            let mut builder =
                arrow_array::builder::ListBuilder::new(arrow_array::builder::StringBuilder::new());
            for _ in 0..2 {
                builder.values().append_value("tag");
                builder.append(true);
            }
            let lists: ListArray = builder.finish();
            Arc::new(lists)
        }
        "binary" => Arc::new(BinaryArray::from_vec(vec![b"\x00", b"\x01"])),
        "struct" => {
            let inner: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
            let field = Arc::new(Field::new("inner", DataType::Int64, false));
            Arc::new(StructArray::from(vec![(field, inner)]))
        }
        other => panic!("no such kind: {other}"),
    }
}

fn write(path: &Path, columns: &Value) {
    let columns: Vec<(&str, ArrayRef)> = (columns.as_array().unwrap().iter())
        .map(|c| (c[0].as_str().unwrap(), cells(c[1].as_str().unwrap())))
        .collect();
    let fields: Vec<Field> = (columns.iter())
        .map(|(name, cells)| Field::new(*name, cells.data_type().clone(), true))
        .collect();
    let schema = Arc::new(Schema::new(fields));
    let arrays = columns.into_iter().map(|(_, cells)| cells).collect();
    let batch = RecordBatch::try_new(Arc::clone(&schema), arrays).unwrap();
    let mut writer = FileWriter::try_new(File::create(path).unwrap(), &schema).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
}

fn names(json: &Value) -> Vec<&str> {
    json.as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect()
}

#[test]
fn every_case_of_the_table_holds_for_files() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/columns.json");
    let cases: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let scratch = Scratch::new();
    for case in cases.as_array().unwrap() {
        let fact = &case["fact"];
        let path = scratch.path("t.arrow");
        write(&path, &case["columns"]);
        let likely = ["x".to_owned()];
        let pool = read(&path).unwrap().into_pool(Select { likely: &likely, ..Select::default() });
        if let Some(expected) = case["error"].as_str() {
            let fits = match expected {
                "several ids" => matches!(pool, Err(TableError::SeveralIds { .. })),
                "several vectors" => matches!(pool, Err(TableError::SeveralVectors { .. })),
                "no vector" => matches!(pool, Err(TableError::NoVector { .. })),
                other => panic!("no such error: {other}"),
            };
            assert!(fits, "{fact}: {:?}", pool.map(|pool| pool.vector_names));
            continue;
        }
        let pool = pool.unwrap_or_else(|error| panic!("{fact}: {error}"));
        assert_eq!(pool.id_name.as_deref(), case["id"].as_str(), "{fact}");
        assert_eq!(pool.vector_names, names(&case["vector"]), "{fact}");
        let carried: Vec<&str> = pool.carried.iter().map(|t| t.name.as_str()).collect();
        assert_eq!(carried, names(&case["carried"]), "{fact}");
    }
}
