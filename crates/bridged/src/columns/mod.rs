//! Which column of a table is the id, which hold the vector, and which are carried along.
//!
//! The rule sees descriptions of columns only, so it is the same for files and for data frames, whatever library holds
//! the cells.
//!
//! **Vector**: the list column if there is one; otherwise all numeric columns but the id, in the order of the table,
//! whatever they are called: a column `label` of numbers counts as a measurement, so store it as text or name the
//! vector. Columns without a name and pandas' `__index_level_0__` are numberings, not measurements. Among several list
//! columns the first that the caller calls likely is taken. A given name may be that of a list column, of one numeric
//! column, or the common start of `name_0`, `name_1`, … (or `name0`, `name1`, …).
//!
//! Names with `*` choose among the numeric columns (`columns`, `exclude`).
//!
//! **A model** knows the columns that it was fitted on ([`Fitted`]). A table is then read by their names, in whatever
//! order they are: a column that is not there is an error that names it, one that the model does not know is left out
//! and told. Only where a table or the model has no names for the entries (one list) do places decide.
//!
//! **Id**: the column given; else that of the model; else `id`; else the only column that ends in `_id`; else the row's number from 0. Upper
//! and lower case are alike.
//!
//! **Carried**: every other column that can be shown as text: texts, numbers and truth values.
//!
//! ```
//! use bridged::columns::{ColumnInfo, ColumnKind, Columns, VectorColumns, Wanted};
//!
//! let column = |name, kind| ColumnInfo { name, kind };
//! let table = [
//!     column("photo_id", ColumnKind::Integer),
//!     column("width", ColumnKind::Float),
//!     column("name", ColumnKind::Text),
//!     column("height", ColumnKind::Float),
//! ];
//! let chosen = Columns::choose(&table, Wanted::default())?;
//! assert_eq!(chosen.id, Some(0));
//! assert_eq!(chosen.vector, VectorColumns::Numbers(vec![1, 3]));
//! assert_eq!(chosen.carried, [2]);
//! # Ok::<(), bridged::columns::ColumnError>(())
//! ```

mod choose;
mod error;
mod id;
mod info;
mod look;
mod names;
mod notes;
mod pairs;
mod vector;

pub use choose::{Columns, Fitted, Missing, VectorColumns, Wanted, passed_over};
pub use error::{ColumnError, no_such_column};
pub use id::{ROW_NUMBER, chosen_id, id_column, position};
pub use info::{ColumnInfo, ColumnKind};
pub use look::{Look, look};
pub use names::{did_you_mean, fits_pattern, shown, similar, some_names};
pub use notes::{suspicious_note, taken_note, unknown_note};
pub use pairs::pair_columns;
