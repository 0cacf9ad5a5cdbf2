//! What one side tells the other without being asked: resources, lists, log messages and roots.

mod lists;
mod logging;
mod resources;
mod roots;
