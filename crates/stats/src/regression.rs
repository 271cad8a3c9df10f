//! Linear least squares with few columns.

use crate::StatsError;
use crate::error::check_finite;
use crate::moments::{max_abs, safe_scale, sum};

/// A column whose part independent of the columns before it is smaller than this,
/// relative to the column, counts as dependent on them.
pub const RANK_TOLERANCE: f64 = 1e-10;

/// A fitted linear model, y = Σ coefficient · column + residual.
#[derive(Debug, Clone, PartialEq)]
pub struct LeastSquares {
    /// Number of rows.
    pub n: usize,
    /// One coefficient for each column.
    pub coefficients: Vec<f64>,
    /// y minus the fitted value, for each row.
    pub residuals: Vec<f64>,
    /// Standard error of each coefficient, for independent errors of equal variance;
    /// `None` without spare rows to estimate that variance from.
    pub standard_errors: Option<Vec<f64>>,
    /// Ratio of the largest to the smallest diagonal of R, columns scaled to length 1:
    /// a lower bound of the condition number. Its logarithm to base 10 is about the
    /// number of digits lost.
    pub condition: f64,
}

/// Fits by Householder QR of the columns scaled to length 1.
///
/// Golub & Van Loan, "Matrix Computations" (2013), section 5.3.2. There is no implied
/// intercept: pass a column of ones for one.
///
/// # Errors
/// [`StatsError::Empty`] without columns; [`StatsError::LengthMismatch`];
/// [`StatsError::NotFinite`], with the position within its column;
/// [`StatsError::TooFew`] with fewer rows than columns;
/// [`StatsError::RankDeficient`]; [`StatsError::Overflow`].
pub fn least_squares(columns: &[&[f64]], y: &[f64]) -> Result<LeastSquares, StatsError> {
    check(columns, y)?;
    let norms: Vec<f64> = columns.iter().map(|column| norm(column)).collect();
    let mut factors = Factors::scaled(columns, &norms, y)?;
    factors.triangularise()?;
    let coefficients: Vec<f64> =
        factors.solve().iter().zip(&norms).map(|(c, norm)| c / norm).collect();
    let residuals = residuals(columns, y, &coefficients);
    let standard_errors = factors.standard_errors(&norms, &residuals);
    let all = coefficients.iter().chain(&residuals).chain(standard_errors.iter().flatten());
    if !all.copied().all(f64::is_finite) {
        return Err(StatsError::Overflow { what: "least squares" });
    }
    Ok(LeastSquares {
        n: y.len(),
        coefficients,
        residuals,
        standard_errors,
        condition: factors.condition(),
    })
}

/// The columns and the right side, turned in place into R and Qᵀy.
struct Factors {
    columns: Vec<Vec<f64>>,
    right: Vec<f64>,
    diagonal: Vec<f64>,
}

impl Factors {
    fn scaled(columns: &[&[f64]], norms: &[f64], y: &[f64]) -> Result<Self, StatsError> {
        if let Some(column) = norms.iter().position(|&norm| norm == 0.0) {
            return Err(StatsError::RankDeficient { columns: columns.len(), column });
        }
        let scaled = columns.iter().zip(norms);
        Ok(Self {
            columns: scaled
                .map(|(column, norm)| column.iter().map(|v| v / norm).collect())
                .collect(),
            right: y.to_vec(),
            diagonal: Vec::new(),
        })
    }

    /// One reflection for each column.
    fn triangularise(&mut self) -> Result<(), StatsError> {
        for k in 0..self.columns.len() {
            let below = norm(&self.columns[k][k..]);
            if below.is_nan() || below <= RANK_TOLERANCE {
                return Err(StatsError::RankDeficient { columns: self.columns.len(), column: k });
            }
            let mut reflector = self.columns[k][k..].to_vec();
            let diagonal = -below.copysign(reflector[0]);
            reflector[0] -= diagonal;
            self.diagonal.push(diagonal);
            for column in &mut self.columns[k + 1..] {
                reflect(&reflector, &mut column[k..]);
            }
            reflect(&reflector, &mut self.right[k..]);
        }
        Ok(())
    }

    /// Back substitution in R c = Qᵀy.
    fn solve(&self) -> Vec<f64> {
        let mut solution = vec![0.0; self.columns.len()];
        for i in (0..self.columns.len()).rev() {
            let known = (i + 1..self.columns.len()).map(|j| self.columns[j][i] * solution[j]);
            solution[i] = (self.right[i] - sum(known)) / self.diagonal[i];
        }
        solution
    }

    /// Row i of the inverse of R, of which the squared length is the i-th diagonal of
    /// (RᵀR)⁻¹.
    fn inverse_row(&self, i: usize) -> Vec<f64> {
        let mut row = vec![0.0; self.columns.len()];
        row[i] = 1.0 / self.diagonal[i];
        for j in i + 1..self.columns.len() {
            let known = (i..j).map(|l| row[l] * self.columns[j][l]);
            row[j] = -sum(known) / self.diagonal[j];
        }
        row
    }

    fn standard_errors(&self, norms: &[f64], residuals: &[f64]) -> Option<Vec<f64>> {
        let spare = residuals.len() - norms.len();
        if spare == 0 {
            return None;
        }
        let sigma = norm(residuals) / (spare as f64).sqrt();
        let errors = norms.iter().enumerate();
        Some(errors.map(|(i, scale)| sigma * norm(&self.inverse_row(i)) / scale).collect())
    }

    fn condition(&self) -> f64 {
        let sizes = self.diagonal.iter().map(|d| d.abs());
        let largest = sizes.clone().fold(0.0, f64::max);
        largest / sizes.fold(f64::INFINITY, f64::min)
    }
}

/// Applies I - 2vvᵀ/vᵀv.
fn reflect(v: &[f64], target: &mut [f64]) {
    let length = sum(v.iter().map(|a| a * a));
    let factor = 2.0 * sum(v.iter().zip(&*target).map(|(a, b)| a * b)) / length;
    for (t, a) in target.iter_mut().zip(v) {
        *t -= factor * a;
    }
}

fn residuals(columns: &[&[f64]], y: &[f64], coefficients: &[f64]) -> Vec<f64> {
    let fitted = |row: usize| sum(columns.iter().zip(coefficients).map(|(x, c)| x[row] * c));
    y.iter().enumerate().map(|(row, y)| y - fitted(row)).collect()
}

/// Euclidean length, safe from overflow of the squares.
fn norm(values: &[f64]) -> f64 {
    let scale = safe_scale(max_abs(values));
    sum(values.iter().map(|v| (v * scale) * (v * scale))).sqrt() / scale
}

fn check(columns: &[&[f64]], y: &[f64]) -> Result<(), StatsError> {
    if columns.is_empty() {
        return Err(StatsError::Empty);
    }
    for column in columns.iter().chain([&y]) {
        check_finite(column)?;
        if column.len() != y.len() {
            return Err(StatsError::LengthMismatch { left: column.len(), right: y.len() });
        }
    }
    if y.len() < columns.len() {
        return Err(StatsError::TooFew {
            what: "least squares",
            n: y.len(),
            needed: columns.len(),
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_through_its_points() {
        let fit =
            least_squares(&[&[1.0; 4], &[0.0, 1.0, 2.0, 3.0]], &[1.0, 3.0, 5.0, 7.0]).unwrap();
        assert!((fit.coefficients[0] - 1.0).abs() < 1e-14);
        assert!((fit.coefficients[1] - 2.0).abs() < 1e-14);
        assert!(fit.residuals.iter().all(|r| r.abs() < 1e-14));
        assert!(fit.condition >= 1.0 && fit.condition < 10.0);
    }

    #[test]
    fn no_spare_rows_no_standard_errors() {
        let fit = least_squares(&[&[1.0, 1.0], &[0.0, 1.0]], &[1.0, 3.0]).unwrap();
        assert_eq!(fit.standard_errors, None);
    }

    #[test]
    fn dependent_columns_are_named() {
        let x = [0.1, 0.7, 1.3];
        let scaled = x.map(|v| v * 3.7);
        let error = least_squares(&[&x, &scaled], &[1.0, 2.0, 3.0]).unwrap_err();
        assert_eq!(error, StatsError::RankDeficient { columns: 2, column: 1 });
        assert!(least_squares(&[&[0.0, 0.0]], &[1.0, 2.0]).is_err());
    }

    #[test]
    fn bad_shapes_and_values_are_refused() {
        assert!(least_squares(&[], &[1.0]).is_err());
        assert!(least_squares(&[&[]], &[]).is_err());
        assert!(least_squares(&[&[1.0], &[2.0]], &[1.0]).is_err());
        assert!(least_squares(&[&[1.0, 2.0]], &[1.0]).is_err());
        assert!(least_squares(&[&[1.0, f64::NAN]], &[1.0, 2.0]).is_err());
        assert!(least_squares(&[&[1.0, 2.0]], &[f64::INFINITY, 2.0]).is_err());
        assert!(least_squares(&[&[1e-300, 1e-300]], &[1e300, 1e300]).is_err());
    }

    #[test]
    fn columns_of_unlike_size_do_not_matter() {
        let ones = [1.0, 1.0, 1.0, 1.0];
        let large = [1e150, 2e150, 3e150, 5e150];
        let fit = least_squares(&[&ones, &large], &[3.0, 5.0, 7.0, 11.0]).unwrap();
        assert!((fit.coefficients[0] - 1.0).abs() < 1e-12);
        assert!((fit.coefficients[1] - 2e-150).abs() < 1e-162);
    }
}
