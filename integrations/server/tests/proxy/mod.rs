//! Tests of the proxy: what clients get of an upstream that replays outputs, and of one that fails.

mod agents;
mod cases;
mod choices;
mod clients;
mod contact;
mod faults;
mod guarantees;
#[cfg(feature = "tokens")]
mod id_upstream;
#[cfg(feature = "tokens")]
mod ids;
mod limits;
mod prompts;
mod replay;
mod responses;
mod setup;
mod upstream;
mod wire;
