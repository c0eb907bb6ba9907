//! Disjoint sets of rows (union–find with path halving; Tarjan & van Leeuwen 1984).

/// Disjoint sets; the root of each is its smallest member, so that sets do not depend on the order
/// in which they were joined.
#[derive(Clone, Debug)]
pub(super) struct Forest(Vec<u32>);

impl Forest {
    /// Every row on its own.
    pub fn new(n: usize) -> Self {
        Self((0..n as u32).collect())
    }

    /// The smallest member of the set of `i`.
    pub fn find(&mut self, mut i: usize) -> usize {
        while self.0[i] as usize != i {
            self.0[i] = self.0[self.0[i] as usize];
            i = self.0[i] as usize;
        }
        i
    }

    /// Joins two sets.
    pub fn union(&mut self, a: usize, b: usize) {
        let (a, b) = (self.find(a), self.find(b));
        self.0[a.max(b)] = a.min(b) as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_of_a_set_is_its_smallest_member() {
        let mut forest = Forest::new(6);
        for (a, b) in [(5, 4), (3, 5), (1, 2)] {
            forest.union(a, b);
        }
        let roots: Vec<usize> = (0..6).map(|i| forest.find(i)).collect();
        assert_eq!(roots, [0, 1, 1, 3, 3, 3]);
    }
}
