//! Lists in pages, on both sides: a client walks them under one handle, a server splits them.

mod changes;
mod cursors;
mod served;
mod walk;
