//! What was captured from real servers and clients.

mod oracle;
mod samples;
mod support;
