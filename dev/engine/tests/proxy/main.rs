//! The proxy in front of llama.cpp with a random model. The model has learned nothing, so every right call is owed to the
//! grammar that the proxy sends.

mod calls;
mod clients;
mod generate;
mod setup;
mod upstream;

#[path = "../../../../integrations/server/tests/python.rs"]
mod python;

type Failure = Box<dyn std::error::Error + Send + Sync>;
