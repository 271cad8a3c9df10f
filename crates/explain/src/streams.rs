//! The files of one process, found by its own numbers for them.

use std::ops::{Index, IndexMut};

use crate::agreed::Agreed;
use crate::file_stream::FileStream;
use crate::file_table::FileId;
use crate::named::Named;
use crate::number_map::NumberMap;
use crate::process::Process;
use crate::runtime::{Rule, rule_of_process};

/// The files that a process has used so far.
pub(crate) struct Streams<'a> {
    agreed: &'a Agreed,
    process: &'a Process,
    streams: Vec<FileStream>,
    /// From the process's file numbers to streams, and from the recording's.
    numbers: NumberMap,
    ids: NumberMap,
    /// The last number that was looked up, and its stream.
    recent: (u32, u32),
    /// What the command line names, once that is asked for.
    named: Option<Named>,
    /// What makes all files of the process the runtime's.
    of_process: Option<&'static Rule>,
}

const NO_STREAM: u32 = u32::MAX;

impl<'a> Streams<'a> {
    pub fn new(agreed: &'a Agreed, process: &'a Process) -> Self {
        Streams {
            agreed,
            process,
            streams: Vec::new(),
            numbers: NumberMap::default(),
            ids: NumberMap::default(),
            recent: (0, NO_STREAM),
            named: None,
            of_process: rule_of_process(process).filter(|_| agreed.is_runtime_apart()),
        }
    }

    /// Index of the stream of a file number.
    #[inline]
    pub fn find(&mut self, number: u32) -> usize {
        if self.recent.0 != number || self.recent.1 == NO_STREAM {
            self.recent = (number, self.look_up(number));
        }
        self.recent.1 as usize
    }

    #[inline(never)]
    fn look_up(&mut self, number: u32) -> u32 {
        if let Some(stream) = self.numbers.get(&number) {
            return *stream;
        }
        let id = self.process.file(number);
        let stream = self.stream_of(id);
        // Damaged events may name any number of files: only those with a name are remembered.
        if id != FileId::UNKNOWN {
            self.numbers.insert(number, stream);
        }
        stream
    }

    /// Returns the stream of a file; a file may have several numbers.
    fn stream_of(&mut self, id: FileId) -> u32 {
        if let Some(stream) = self.ids.get(&id.0) {
            return *stream;
        }
        let stream = self.streams.len() as u32;
        let runtime = self.agreed.runtime_rule(id).filter(|rule| {
            let process = self.process;
            let mut is_named = || {
                let named = self.named.get_or_insert_with(|| Named::by(process));
                named.names(self.agreed.path(id))
            };
            !rule.may_be_named() || !is_named()
        });
        self.streams.push(FileStream::new(id, self.of_process.or(runtime), self.agreed));
        self.ids.insert(id.0, stream);
        stream
    }

    /// All of them.
    pub fn take(&mut self) -> Vec<FileStream> {
        std::mem::take(&mut self.streams)
    }
}

impl Index<usize> for Streams<'_> {
    type Output = FileStream;

    #[inline]
    fn index(&self, index: usize) -> &FileStream {
        &self.streams[index]
    }
}

impl IndexMut<usize> for Streams<'_> {
    #[inline]
    fn index_mut(&mut self, index: usize) -> &mut FileStream {
        &mut self.streams[index]
    }
}
