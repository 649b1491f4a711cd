//! The tests of the fuzz targets: it replays what they found, in one program: each file is a module about one subject.

mod injection;
mod replay;
