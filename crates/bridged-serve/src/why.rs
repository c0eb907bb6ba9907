//! An [`Explanation`] as JSON: what the columns of `bridged predict` say, under the same names.

use bridged::Explanation;
use bridged_io::answers::SHARE;
use serde::{Serialize, Serializer};

/// Why a row, or a cluster, is answered as it is.
#[derive(Serialize)]
pub(crate) struct Why<'a> {
    cluster: Option<u32>,
    linked: Option<u32>,
    probability: Option<f64>,
    expected_error: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    novelty: Option<f64>,
    weight: Option<f64>,
    links: Links<'a>,
    support: u32,
    status: &'static str,
    #[serde(serialize_with = "display")]
    answer: bridged::Source,
    #[serde(skip_serializing_if = "Option::is_none")]
    radius: Option<Option<f64>>,
}

impl<'a> Why<'a> {
    /// Of a row or a cluster; with a radius if a level was asked for.
    pub fn of(why: Explanation<'a>, with_radius: bool) -> Self {
        Self {
            cluster: why.cluster,
            linked: why.linked,
            probability: why.probability,
            expected_error: why.expected_error,
            novelty: why.novelty,
            weight: why.weight(),
            links: Links(why.links),
            support: why.support,
            status: why.status.name(),
            answer: why.source,
            radius: with_radius.then_some(why.radius),
        }
    }
}

fn display<S: Serializer>(source: &bridged::Source, serializer: S) -> Result<S::Ok, S::Error> {
    match source {
        bridged::Source::Link => serializer.serialize_str("link"), // nearly all of them
        source => serializer.collect_str(source),
    }
}

/// Output clusters with their shares, those that are worth naming.
struct Links<'a>(&'a [bridged::bridge::Target]);

#[derive(Serialize)]
struct Link {
    cluster: u32,
    share: f64,
}

impl Serialize for Links<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let seen = self.0.iter().filter(|t| t.weight >= SHARE);
        serializer.collect_seq(seen.map(|t| Link { cluster: t.cluster, share: t.weight }))
    }
}
