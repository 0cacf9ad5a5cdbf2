//! Unrequested notifications of either side: resources, lists, log messages and roots.

mod lists;
mod logging;
mod resources;
mod roots;
