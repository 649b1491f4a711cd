//! The tests of format specs, in one program: each file is a module about one subject.

mod bad;
mod committed;
mod diffs;
mod documented;
mod hand_over;
mod overlays;
mod round_trip;
