//! One analysis per file; each gives a section of the page, or none where it has nothing to show.

pub mod bridging;
pub mod clusterings;
mod compare;
pub mod conclusion;
pub mod conditions;
pub mod cost;
pub mod default;
pub mod encoders;
pub mod errors;
pub mod findings;
pub mod growth;
pub mod made;
pub mod natural;
pub mod overview;
pub mod quality;
pub mod scores;
pub mod spaces;
pub mod stacked;
pub mod texts;
pub mod variants;
pub mod wins;
