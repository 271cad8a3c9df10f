//! What an operation and a byte cost on a target: Uselton's ladder and its fit.
