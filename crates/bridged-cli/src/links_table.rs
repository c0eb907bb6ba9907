//! The link table of a model as a file: one row for each link of each cluster, in both directions.

use crate::bridge_view::{Show, examples};
use anyhow::Result;
use bridged::bridge::Target;
use bridged::{BridgedModel, Direction};
use bridged_io::{Column, ColumnData};

/// Beside the first link of a cluster, one with a smaller share than this is left out.
const SHARE: f64 = 0.01;

#[derive(Default)]
struct Links {
    direction: Vec<Option<String>>,
    cluster: Vec<Option<i64>>,
    rows: Vec<Option<i64>>,
    pairs: Vec<Option<i64>>,
    members: Vec<Option<String>>,
    linked: Vec<Option<i64>>,
    share: Vec<f64>,
    linked_rows: Vec<Option<i64>>,
    linked_members: Vec<Option<String>>,
    support: Vec<Option<i64>>,
    expected_error: Vec<f64>,
    status: Vec<Option<String>>,
    answer: Vec<Option<String>>,
}

/// The columns of the table.
pub fn columns(model: &BridgedModel, show: Show<'_>) -> Result<Vec<Column>> {
    let mut links = Links::default();
    for direction in Direction::BOTH {
        links.add(model, direction, show)?;
    }
    let text = |name: &str, v| Column::new(name, ColumnData::Text(v));
    let whole = |name: &str, v| Column::new(name, ColumnData::Integer(v));
    let number = |name: &str, v| Column::new(name, ColumnData::Number(v));
    Ok(vec![
        text("direction", links.direction),
        whole("cluster", links.cluster),
        whole("rows", links.rows),
        whole("pairs", links.pairs),
        text("members", links.members),
        whole("linked", links.linked),
        number("share", links.share),
        whole("linked_rows", links.linked_rows),
        text("linked_members", links.linked_members),
        whole("support", links.support),
        number("expected_error", links.expected_error),
        text("status", links.status),
        text("answer", links.answer),
    ])
}

impl Links {
    fn add(&mut self, model: &BridgedModel, direction: Direction, show: Show<'_>) -> Result<()> {
        let (from, to) = (model.from(direction), model.to(direction));
        let (from_column, to_column) = show.of(direction);
        let name = format!("{} to {}", direction.input(), direction.output());
        for line in model.link_table(direction).rows() {
            let members = examples(from, line.cluster, from_column)?;
            let links = line.why.links.iter().enumerate();
            let seen = links.filter(|(rank, t)| *rank == 0 || t.weight >= SHARE);
            let targets: Vec<Option<&Target>> = seen.map(|(_, t)| Some(t)).collect();
            let targets = if targets.is_empty() { vec![None] } else { targets };
            for target in targets {
                self.direction.push(Some(name.clone()));
                self.cluster.push(Some(line.cluster.into()));
                self.rows.push(Some(line.rows.into()));
                self.pairs.push(Some(line.pairs.into()));
                self.members.push(Some(members.clone()));
                self.linked.push(target.map(|t| t.cluster.into()));
                self.share.push(target.map_or(f64::NAN, |t| t.weight));
                self.linked_rows.push(target.map(|t| to.sizes()[t.cluster as usize].into()));
                let members = target.map(|t| examples(to, t.cluster, to_column)).transpose()?;
                self.linked_members.push(members);
                self.support.push(Some(line.own_support.into()));
                self.expected_error.push(line.why.expected_error);
                self.status.push(Some(line.why.status.to_string()));
                self.answer.push(Some(line.why.source.to_string()));
            }
        }
        Ok(())
    }
}
