//! The state of Sinkhorn's iteration: scalings around absorbed potentials, in bands of rows.

use super::Task;
use bridged_math::cancel::carry;
use bridged_math::simd::{exp, vectorize, vectorize_wide};
use rayon::prelude::*;

/// Scalings stay between the inverse of this and this.
const RANGE: f64 = 1e100;
/// Entries of a band at least, and bands at most.
const BAND: (usize, usize) = (16_384, 32);

/// A band of kernel and costs, its potentials and scalings, and its part of Kᵀu.
type Band<'b> = (((&'b mut [f64], &'b [f64]), (&'b [f64], &'b [f64])), &'b mut [f64]);

/// The iteration's state: plan = u K v with K = exp((f + g − C)/ε), and w = Kᵀu.
pub(super) struct Scaling<'a> {
    cost: &'a [f64],
    a: &'a [f64],
    b: &'a [f64],
    eps: f64,
    pub(super) f: Vec<f64>,
    pub(super) g: Vec<f64>,
    pub(super) u: Vec<f64>,
    pub(super) v: Vec<f64>,
    w: Vec<f64>,
    pub(super) kernel: Vec<f64>,
    band: usize,
    partial: Vec<f64>,
}

impl<'a> Scaling<'a> {
    pub(super) fn new(task: Task<'a>, eps: f64) -> Self {
        let Task { cost, a, b, start, buffer: mut kernel } = task;
        let (n, m) = (a.len(), b.len());
        let (f, g) = match start {
            Some((f, g)) => (f.to_vec(), g.to_vec()),
            None => (vec![0.0; n], vec![0.0; m]),
        };
        if kernel.len() != n * m {
            // Fresh memory is zero already; filling it here would touch it on one thread.
            kernel = vec![0.0; n * m];
        }
        let band = n.div_ceil(BAND.1).max(BAND.0.div_ceil(m)).min(n);
        let partial = vec![0.0; n.div_ceil(band) * m];
        let (u, v, w) = (vec![1.0; n], vec![1.0; m], vec![0.0; m]);
        let mut scaling = Self { cost, a, b, eps, f, g, u, v, w, kernel, band, partial };
        scaling.rebuild();
        scaling
    }

    /// v = b / Kᵀu.
    pub(super) fn update_columns(&mut self) {
        if !self.divide_columns() {
            absorb(&mut self.f, &self.u, self.eps);
            self.u.fill(1.0);
            self.hard_columns();
            self.rebuild();
            self.divide_columns();
        }
    }

    /// u = a / K v, and w = Kᵀu.
    pub(super) fn update_rows(&mut self) {
        if !self.divide_rows() {
            absorb(&mut self.g, &self.v, self.eps);
            self.v.fill(1.0);
            self.hard_rows();
            self.rebuild();
            self.divide_rows();
        }
    }

    fn divide_columns(&mut self) -> bool {
        let mut inside = true;
        for ((v, b), w) in self.v.iter_mut().zip(self.b).zip(&self.w) {
            *v = b / w;
            inside &= *v <= RANGE && *v >= 1.0 / RANGE;
        }
        inside || {
            // What was there is lost, but f alone decides the new columns.
            self.v.fill(1.0);
            false
        }
    }

    fn divide_rows(&mut self) -> bool {
        let (m, v) = (self.b.len(), &self.v);
        let bands = self.kernel.par_chunks(self.band * m).zip(self.a.par_chunks(self.band));
        let out = self.u.par_chunks_mut(self.band).zip(self.partial.par_chunks_mut(m));
        let inside: Vec<bool> =
            bands.zip(out).map(carry(|((k, a), (u, w))| scale_rows(k, a, v, u, w))).collect();
        self.fold();
        inside.into_iter().all(|inside| inside)
    }

    /// g_j = min_i (C_ij − f_i): every column of K holds a 1.
    fn hard_columns(&mut self) {
        let m = self.b.len();
        let bands = self.cost.par_chunks(self.band * m).zip(self.f.par_chunks(self.band));
        let bands = bands.zip(self.partial.par_chunks_mut(m));
        bands.for_each(carry(|((cost, f), low)| least_of_columns(cost, f, low)));
        self.g.fill(f64::INFINITY);
        for low in self.partial.chunks_exact(m) {
            self.g.iter_mut().zip(low).for_each(|(g, l)| *g = g.min(*l));
        }
    }

    /// f_i = min_j (C_ij − g_j): every row of K holds a 1.
    fn hard_rows(&mut self) {
        let g = &self.g;
        let bands = self.cost.par_chunks(self.band * g.len()).zip(self.f.par_chunks_mut(self.band));
        bands.for_each(carry(|(cost, f)| least_of_rows(cost, g, f)));
    }

    /// K = exp((f + g − C)/ε) and w = Kᵀu.
    fn rebuild(&mut self) {
        let (m, g, inverse) = (self.b.len(), &self.g, 1.0 / self.eps);
        let rows = self.f.par_chunks(self.band).zip(self.u.par_chunks(self.band));
        let bands =
            self.kernel.par_chunks_mut(self.band * m).zip(self.cost.par_chunks(self.band * m));
        let bands = bands.zip(rows).zip(self.partial.par_chunks_mut(m));
        bands.for_each(carry(|(((kernel, cost), (f, u)), w): Band<'_>| {
            fill_rows(&mut *kernel, cost, f, g, inverse);
            add_rows(kernel, u, w);
        }));
        self.fold();
    }

    fn fold(&mut self) {
        self.w.fill(0.0);
        for part in self.partial.chunks_exact(self.w.len()) {
            self.w.iter_mut().zip(part).for_each(|(w, p)| *w += p);
        }
    }

    pub(super) fn column_error(&self) -> f64 {
        let sums = self.v.iter().zip(&self.w).map(|(v, w)| v * w);
        sums.zip(self.b).map(|(s, b)| (s - b).powi(2)).sum::<f64>().sqrt()
    }
}

/// potential + ε log scaling.
pub(super) fn absorb(potential: &mut [f64], scaling: &[f64], eps: f64) {
    potential.iter_mut().zip(scaling).for_each(|(p, s)| *p += eps * s.ln());
}

/// For every row k of a band: u = a / (k · v) and w += u k, four rows at a time while they are in
/// the cache; w starts from 0. Whether every u is in range.
fn scale_rows(kernel: &[f64], a: &[f64], v: &[f64], u: &mut [f64], w: &mut [f64]) -> bool {
    vectorize(
        #[inline(always)]
        || {
            let m = v.len();
            w.fill(0.0);
            for (rows, (a, u)) in kernel.chunks(4 * m).zip(a.chunks(4).zip(u.chunks_mut(4))) {
                if let [u0, u1, u2, u3] = u {
                    let (r0, rest) = rows.split_at(m);
                    let (r1, rest) = rest.split_at(m);
                    let (r2, r3) = rest.split_at(m);
                    let sums = dots([r0, r1, r2, r3], v);
                    (*u0, *u1, *u2, *u3) =
                        (a[0] / sums[0], a[1] / sums[1], a[2] / sums[2], a[3] / sums[3]);
                    for ((((w, k0), k1), k2), k3) in w.iter_mut().zip(r0).zip(r1).zip(r2).zip(r3) {
                        *w += (*u0 * k0 + *u1 * k1) + (*u2 * k2 + *u3 * k3);
                    }
                } else {
                    for ((row, a), u) in rows.chunks_exact(m).zip(a).zip(u) {
                        *u = a / row.iter().zip(v).map(|(k, v)| k * v).sum::<f64>();
                        row.iter().zip(&mut *w).for_each(|(k, w)| *w += *u * k);
                    }
                }
            }
            u.iter().all(|u| *u <= RANGE && *u >= 1.0 / RANGE)
        },
    )
}

/// K = exp((f + g − C) · inverse) of a band.
fn fill_rows(kernel: &mut [f64], cost: &[f64], f: &[f64], g: &[f64], inverse: f64) {
    vectorize_wide(
        #[inline(always)]
        || {
            let rows = kernel.chunks_exact_mut(g.len()).zip(cost.chunks_exact(g.len()));
            for ((kernel, cost), f) in rows.zip(f) {
                for ((k, c), g) in kernel.iter_mut().zip(cost).zip(g) {
                    *k = exp((f + g - c) * inverse);
                }
            }
        },
    )
}

/// w = Σ u_i k_i over the rows of a band.
fn add_rows(kernel: &[f64], u: &[f64], w: &mut [f64]) {
    vectorize(
        #[inline(always)]
        || {
            w.fill(0.0);
            for (row, u) in kernel.chunks_exact(w.len()).zip(u) {
                row.iter().zip(&mut *w).for_each(|(k, w)| *w += u * k);
            }
        },
    )
}

/// min_i (C_ij − f_i) over the rows of a band.
fn least_of_columns(cost: &[f64], f: &[f64], low: &mut [f64]) {
    vectorize(
        #[inline(always)]
        || {
            low.fill(f64::INFINITY);
            for (row, f) in cost.chunks_exact(low.len()).zip(f) {
                for (low, c) in low.iter_mut().zip(row) {
                    let value = c - f;
                    *low = if value < *low { value } else { *low };
                }
            }
        },
    )
}

/// f_i = min_j (C_ij − g_j) of a band.
fn least_of_rows(cost: &[f64], g: &[f64], f: &mut [f64]) {
    vectorize(
        #[inline(always)]
        || {
            for (row, f) in cost.chunks_exact(g.len()).zip(f) {
                let mut low = [f64::INFINITY; 8];
                let (costs, cost_rest) = row.as_chunks::<8>();
                let (prices, price_rest) = g.as_chunks::<8>();
                for (c, g) in costs.iter().zip(prices) {
                    for lane in 0..8 {
                        let value = c[lane] - g[lane];
                        low[lane] = if value < low[lane] { value } else { low[lane] };
                    }
                }
                let rest = cost_rest.iter().zip(price_rest).map(|(c, g)| c - g);
                *f = rest.chain(low).fold(f64::INFINITY, f64::min);
            }
        },
    )
}

/// The products of four rows with one vector, each in four lanes, which the compiler may hold in
/// vectors.
#[inline(always)]
fn dots([a, b, c, d]: [&[f64]; 4], v: &[f64]) -> [f64; 4] {
    let mut lanes = [[0.0; 4]; 4];
    let [(a, a_rest), (b, b_rest), (c, c_rest), (d, d_rest)] =
        [a, b, c, d].map(|row| row.as_chunks::<4>());
    let (v, v_rest) = v.as_chunks::<4>();
    for ((((v, a), b), c), d) in v.iter().zip(a).zip(b).zip(c).zip(d) {
        for lane in 0..4 {
            lanes[0][lane] += a[lane] * v[lane];
            lanes[1][lane] += b[lane] * v[lane];
            lanes[2][lane] += c[lane] * v[lane];
            lanes[3][lane] += d[lane] * v[lane];
        }
    }
    let rests = [a_rest, b_rest, c_rest, d_rest];
    std::array::from_fn(|row| {
        let rest: f64 = rests[row].iter().zip(v_rest).map(|(k, v)| k * v).sum();
        lanes[row].iter().sum::<f64>() + rest
    })
}

/// The largest |c|; NaN or infinite where a cost is.
pub(super) fn largest(cost: &[f64]) -> f64 {
    let of_band = |part: &[f64]| {
        let (mut high, mut finite) = (0.0f64, true);
        for c in part {
            high = high.max(c.abs());
            finite &= c.is_finite();
        }
        if finite { high } else { f64::INFINITY }
    };
    cost.par_chunks(BAND.0).map(carry(of_band)).reduce(|| 0.0, f64::max)
}
