//! Blocks of rows in a temporary file.

/// Blocks that are numbered from 0, written and read in any order.
pub trait TemporaryFile {
    fn create() -> Self;
    /// `number`: of a block that was written before, or the next one.
    fn write(&mut self, number: u32, block: &Block);
    /// Of a block that was written.
    fn read(&mut self, number: u32, block: &mut Block);
}

/// As much as PostgreSQL itself writes at once.
pub const BLOCK: usize = 8192;

pub type Block = [u8; BLOCK];

pub(super) fn empty_block() -> Box<Block> {
    Box::new([0; BLOCK])
}

/// One file for all, as making one takes as long as writing a hundred blocks. Blocks are read once,
/// and then written over: it grows to what is put aside at a time. As many blocks as can be
/// numbered are 32 TiB.
pub(super) struct BlockFile<F> {
    /// None before the first block.
    file: Option<F>,
    blocks: u32,
    /// Those that were read.
    free: Vec<u32>,
}

impl<F: TemporaryFile> BlockFile<F> {
    pub(super) fn new() -> BlockFile<F> {
        BlockFile { file: None, blocks: 0, free: Vec::new() }
    }

    /// There is a file from here on, even if no block is ever full: whether there is one shows, and
    /// how many rows a group has is not to decide on it.
    pub(super) fn begin(&mut self) {
        let number = self.write(&[0; BLOCK]);
        self.free.push(number);
    }

    /// The block's number.
    pub(super) fn write(&mut self, block: &Block) -> u32 {
        let number = self.free.pop().unwrap_or_else(|| {
            self.blocks += 1;
            self.blocks - 1
        });
        self.file.get_or_insert_with(F::create).write(number, block);
        number
    }

    /// A block that was written, and is not needed any more.
    pub(super) fn take(&mut self, number: u32) -> Box<Block> {
        let mut block = empty_block();
        if let Some(file) = &mut self.file {
            file.read(number, &mut block);
        }
        self.free.push(number);
        block
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use std::cell::Cell;

    thread_local! { static USED: Cell<[usize; 3]> = const { Cell::new([0; 3]) } }

    /// What was made of files in memory on this thread since the last time: how many blocks were
    /// written and read, and how many the largest had.
    pub(in super::super) fn used() -> [usize; 3] {
        USED.take()
    }

    fn use_more([written, read, blocks]: [usize; 3]) {
        let [w, r, b] = USED.get();
        USED.set([w + written, r + read, b.max(blocks)]);
    }

    impl TemporaryFile for Vec<Block> {
        fn create() -> Self {
            Vec::new()
        }
        fn write(&mut self, number: u32, block: &Block) {
            match self.get_mut(number as usize) {
                Some(place) => *place = *block,
                None => {
                    assert_eq!(number as usize, self.len());
                    self.push(*block);
                }
            }
            use_more([1, 0, self.len()]);
        }
        fn read(&mut self, number: u32, block: &mut Block) {
            *block = self[number as usize];
            use_more([0, 1, 0]);
        }
    }

    #[test]
    fn blocks_come_back_and_their_places_are_used_again() {
        let mut file = BlockFile::<Vec<Block>>::new();
        let block = |of: u8| [of; BLOCK];
        let first: Vec<u32> = (0..5).map(|of| file.write(&block(of))).collect();
        assert_eq!(*file.take(first[3]), block(3));
        assert_eq!(*file.take(first[0]), block(0));
        let second: Vec<u32> = (5..8).map(|of| file.write(&block(of))).collect();
        for (number, of) in [(first[1], 1), (first[2], 2), (first[4], 4)] {
            assert_eq!(*file.take(number), block(of));
        }
        for (number, of) in second.into_iter().zip(5..) {
            assert_eq!(*file.take(number), block(of));
        }
        assert_eq!(file.blocks, 6);
    }
}
