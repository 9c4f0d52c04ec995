//! The way of blocks from the reader to the workers. Rows that only together make a record wait in
//! it until the source has ended.

use super::scan::Message;
use pentimento_core::format::frame::{Block, Joiner, MAX_HELD_BYTES};
use pentimento_core::format::{DecodeContext, LogFormat};
use std::sync::mpsc::SyncSender;

/// See the module.
pub(super) struct Outlet<'a> {
    sender: SyncSender<Message>,
    context: DecodeContext<'a>,
    waiting: Option<(Joiner, &'static dyn LogFormat)>,
}

impl<'a> Outlet<'a> {
    /// An outlet of one source.
    pub(super) fn new(sender: SyncSender<Message>, context: DecodeContext<'a>) -> Outlet<'a> {
        Outlet {
            sender,
            context,
            waiting: None,
        }
    }

    /// Sends a block on; false where nobody takes any more.
    pub(super) fn send(&mut self, block: Block, format: &'static dyn LogFormat) -> bool {
        if !format.joins_rows() {
            return self.pass(block, format);
        }
        let (joiner, _) = self
            .waiting
            .get_or_insert_with(|| (Joiner::new(MAX_HELD_BYTES), format));
        let header = block.header.clone();
        let context = DecodeContext {
            header: header.as_deref(),
            ..self.context
        };
        let blocks = joiner.take(block, format, &context);
        blocks.into_iter().all(|block| self.pass(block, format))
    }

    /// Sends what still waits when the source has ended.
    pub(super) fn finish(mut self, block_bytes: usize) {
        let Some((mut joiner, format)) = self.waiting.take() else {
            return;
        };
        while let Some(block) = joiner.next_block(block_bytes) {
            if !self.pass(block, format) {
                return;
            }
        }
    }

    fn pass(&self, block: Block, format: &'static dyn LogFormat) -> bool {
        let message = Message::Block(Box::new(block), format);
        self.sender.send(message).is_ok()
    }
}
