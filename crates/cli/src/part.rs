//! One of several parts that a large question is divided into.

use std::env;
use std::str::FromStr;

use anyhow::{Result, bail};

/// One of several parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// From 0 on.
    pub number: usize,
    pub parts: usize,
}

impl FromStr for Part {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text.split_once('/').and_then(|(number, parts)| {
            Some(Part { number: number.parse().ok()?, parts: parts.parse().ok()? })
        });
        numbers
            .filter(|it| it.number < it.parts)
            .ok_or_else(|| "expected I/N with I from 0 to N - 1, for example 0/4".to_string())
    }
}

impl Part {
    /// Returns the part that this task of Slurm has: of an array's tasks by their index, of a step's by their number, and both where an array runs steps.
    ///
    /// # Errors
    /// If it does not run under Slurm, or the indices of an array do not count evenly.
    pub fn of_slurm() -> Result<Self> {
        Part::of(&|name| env::var(name).ok()?.parse().ok())
    }

    fn of(variable: &dyn Fn(&str) -> Option<usize>) -> Result<Self> {
        let of_array = match (variable("SLURM_ARRAY_TASK_ID"), variable("SLURM_ARRAY_TASK_COUNT")) {
            (Some(index), Some(parts)) => {
                let first = variable("SLURM_ARRAY_TASK_MIN").unwrap_or(0);
                let step = variable("SLURM_ARRAY_TASK_STEP").unwrap_or(1).max(1);
                let number = index.saturating_sub(first) / step;
                if number >= parts || number * step + first != index {
                    bail!(
                        "the indices of this array of jobs do not count evenly, so that it is not known which part is this task's; hint: --part I/N"
                    );
                }
                Some(Part { number, parts })
            }
            _ => None,
        };
        let of_step = variable("SLURM_PROCID").zip(variable("SLURM_NTASKS"));
        let of_step = of_step.map(|(number, parts)| Part { number, parts });
        match (of_array, of_step.filter(|it| it.number < it.parts)) {
            (Some(array), Some(step)) => Ok(Part {
                number: array.number * step.parts + step.number,
                parts: array.parts * step.parts,
            }),
            (Some(part), None) | (None, Some(part)) => Ok(part),
            (None, None) => bail!(
                "which part this is was not said, and there is no SLURM_PROCID or SLURM_ARRAY_TASK_ID to tell it; hint: --part I/N"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn under(variables: &[(&str, usize)]) -> Result<Part> {
        Part::of(&|name| variables.iter().find(|it| it.0 == name).map(|it| it.1))
    }

    #[test]
    fn parts_count_from_zero() {
        assert_eq!("3/4".parse(), Ok(Part { number: 3, parts: 4 }));
        assert_eq!("0/1".parse(), Ok(Part { number: 0, parts: 1 }));
        for wrong in ["4/4", "0/0", "1", "/", "-1/4", "a/b", "1/2/3", ""] {
            assert!(wrong.parse::<Part>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn tasks_of_slurm_have_parts() {
        let step = [("SLURM_PROCID", 2), ("SLURM_NTASKS", 4)];
        assert_eq!(under(&step).unwrap(), Part { number: 2, parts: 4 });
        let array = [
            ("SLURM_ARRAY_TASK_ID", 7),
            ("SLURM_ARRAY_TASK_MIN", 1),
            ("SLURM_ARRAY_TASK_COUNT", 4),
            ("SLURM_ARRAY_TASK_STEP", 2),
        ];
        assert_eq!(under(&array).unwrap(), Part { number: 3, parts: 4 });
        let both = [array.as_slice(), &step].concat();
        assert_eq!(under(&both).unwrap(), Part { number: 14, parts: 16 });
        let uneven = [("SLURM_ARRAY_TASK_ID", 9), ("SLURM_ARRAY_TASK_COUNT", 3)];
        assert!(under(&uneven).unwrap_err().to_string().contains("do not count evenly"));
        assert!(under(&[]).unwrap_err().to_string().contains("--part I/N"));
    }
}
